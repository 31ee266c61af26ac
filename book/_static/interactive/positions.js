"use strict";
// data: query (K), key (K), places: how many places the key may take, distances, base.
Interactive.figure("positions", "Positions in a score", (panel, data, say) => {
  const { make, drawing, slider, choice, range } = Interactive;
  const { query, key, places, distances } = data;
  const K = query.length, half = K / 2;
  const RADIUS = 26, CELL = 74, CHART = { width: 300, height: 130, left: 34, right: 8, top: 10, bottom: 24 };
  const kind = choice("Positions", ["sinusoids added", "rotary"], update, 1);
  const distance = slider("Distance, query − key", { min: 0, max: distances, value: 3 }, update);
  const place = slider("Position of the key", { min: 0, max: places - 1, value: 4 }, update);
  const base = slider("Base", {
    min: 1, max: 6, step: 0.5, value: Math.log10(data.base), words: x => Math.round(10 ** x).toLocaleString("en"),
  }, update);

  const dials = range(half).map(i => {
    const x = CELL * (i % 4 + 0.5), y = 4 + RADIUS + (CELL + 12) * Math.floor(i / 4);
    const hands = ["query-hand", "key-hand"].map(name => make("line", { class: name, x1: x, y1: y }));
    const face = make("circle", { class: "face", cx: x, cy: y, r: RADIUS });
    const label = make("text", { x, y: y + RADIUS + 15, "text-anchor": "middle" }, `pair ${i}`);
    return { x, y, hands, element: make("g", {}, face, ...hands, label) };
  });
  const curve = make("polyline", { class: "curve" });
  const marker = make("circle", { class: "marker", r: 6 });
  const axes = make("g", {});
  const legend = make("p", { class: "legend" }, make("span", { class: "one" }, "━ query"), " ",
    make("span", { class: "two" }, "╍ key"), " Each dial is a pair of channels; the hands turn with the position.");
  const title = make("p", { class: "legend" }, "The score of this query and this key at this distance, wherever the key is:");
  panel.append(kind.element, distance.element, place.element, base.element,
    drawing(4 * CELL, 2 * (CELL + 12), ...dials.map(dial => dial.element)), legend,
    title, drawing(CHART.width, CHART.height, axes, curve, marker));

  const angles = () => range(half).map(i => (10 ** base.value) ** (-2 * i / K));

  /** Sines and cosines of a position, in turn. */
  const wave = t => angles().flatMap(angle => [Math.sin(t * angle), Math.cos(t * angle)]);

  /** Channel i and channel i + K/2 as a plane, turned by the position. */
  function turn(x, t) {
    const parts = angles().map((angle, i) => {
      const [c, s] = [Math.cos(t * angle), Math.sin(t * angle)];
      return [x[i] * c - x[i + half] * s, x[i + half] * c + x[i] * s];
    });
    return [...parts.map(part => part[0]), ...parts.map(part => part[1])];
  }

  function score(rotary, m, n) {
    const placed = (x, t) => { const w = wave(t); return rotary ? turn(x, t) : x.map((value, i) => value + w[i]); };
    const [q, k] = [placed(query, m), placed(key, n)];
    return q.reduce((sum, value, i) => sum + value * k[i], 0);
  }

  function drawChart(scores, n) {
    const every = [...scores, ...range(places).map(t => score(kind.value === 0, t + distance.value, t)), 0];
    const low = Math.floor(Math.min(...every)), high = Math.ceil(Math.max(...every));
    const x = t => CHART.left + (CHART.width - CHART.left - CHART.right) * t / (places - 1);
    const y = s => CHART.top + (CHART.height - CHART.top - CHART.bottom) * (high - s) / (high - low);
    const tick = s => [make("line", { class: "grid", x1: CHART.left, x2: CHART.width - CHART.right, y1: y(s), y2: y(s) }),
      make("text", { x: CHART.left - 6, y: y(s) + 4, "text-anchor": "end" }, `${s}`)];
    axes.replaceChildren(...[...new Set([low, 0, high])].flatMap(tick),
      make("text", { x: CHART.left, y: CHART.height - 4 }, "0"),
      make("text", { x: CHART.width - CHART.right, y: CHART.height - 4, "text-anchor": "end" }, `key at ${places - 1}`));
    curve.setAttribute("points", scores.map((s, t) => `${x(t)},${y(s)}`).join(" "));
    marker.setAttribute("cx", x(n));
    marker.setAttribute("cy", y(scores[n]));
  }

  function update() {
    const n = place.value, m = n + distance.value, rotary = kind.value === 1;
    angles().forEach((angle, i) => dials[i].hands.forEach((hand, j) => {
      const turned = angle * (j ? n : m);
      hand.setAttribute("x2", dials[i].x + (RADIUS - 4) * Math.sin(turned));
      hand.setAttribute("y2", dials[i].y - (RADIUS - 4) * Math.cos(turned));
    }));
    const scores = range(places).map(t => score(rotary, t + distance.value, t));
    drawChart(scores, n);
    const [low, high] = [Math.min(...scores), Math.max(...scores)].map(s => s.toFixed(2));
    say(`${rotary ? "Rotary" : "Sinusoids added"}: query at ${m}, key at ${n}, score ${scores[n].toFixed(2)}. At distance `
      + `${distance.value} the score ${low === high ? `is ${low} everywhere` : `varies from ${low} to ${high} with the place`}.`);
  }
  update();
});
