"use strict";
// data: parameters (n) and bits (n) of the small models; larger: parameters and bits of the model to be predicted;
// start: floor and exponent, where the sliders begin.
Interactive.figure("scaling", "A law through small models", (panel, data, say) => {
  const { make, drawing, slider, check, range } = Interactive;
  const { parameters, bits, larger, start } = data;
  const SIZE = { width: 340, height: 246, left: 30, top: 16, bottom: 34 };
  const [FROM, TO] = [parameters[0] / 1.5, larger.parameters * 1.6];
  const [LOW, HIGH] = [Math.min(...bits, larger.bits) * 0.95, Math.max(...bits) * 1.06];
  const mean = values => values.reduce((a, b) => a + b, 0) / values.length;
  const highest = Math.floor(20 * (Math.min(...bits) - 0.05)) / 20;
  const across = n => SIZE.left + (SIZE.width - SIZE.left) * Math.log(n / FROM) / Math.log(TO / FROM);
  const up = y => SIZE.top + (SIZE.height - SIZE.top - SIZE.bottom) * Math.log(HIGH / y) / Math.log(HIGH / LOW);

  const floor = slider("Floor, in bits", { min: 0, max: highest, step: 0.05, value: start.floor, words: x => x.toFixed(2) }, update);
  const exponent = slider("Exponent", { min: 0.05, max: 1, step: 0.01, value: start.exponent, words: x => x.toFixed(2) }, update);
  const shown = check("Show the larger model", false, update);

  const ticks = range(11).map(i => 2 + i / 5).filter(y => y > LOW && y < HIGH);
  const axes = make("g", {},
    ...[1e4, 1e5].map(n => make("line", { class: "grid", x1: across(n), x2: across(n), y1: SIZE.top, y2: up(LOW) })),
    ...ticks.map(y => make("line", { class: "grid", x1: SIZE.left, x2: SIZE.width, y1: up(y), y2: up(y) })),
    ...[[1e4, "10,000"], [1e5, "100,000"]].map(([n, name]) =>
      make("text", { x: across(n), y: SIZE.height - 19, "text-anchor": "middle" }, name)),
    ...ticks.map(y => make("text", { x: SIZE.left - 4, y: up(y) + 4, "text-anchor": "end" }, y.toFixed(1))),
    make("text", { x: SIZE.width / 2, y: SIZE.height - 3, "text-anchor": "middle" }, "parameters"),
    make("text", { x: 2, y: 10 }, "bits per character"));
  const law = make("polyline", { class: "curve" });
  const dots = parameters.map((n, i) => make("circle", { class: "dot", cx: across(n), cy: up(bits[i]), r: 4 }));
  const guess = make("line",
    { class: "grid", "stroke-dasharray": "4 4", x1: across(larger.parameters), x2: across(larger.parameters), y1: SIZE.top, y2: up(LOW) });
  const answer = make("circle", { class: "dot", cx: across(larger.parameters), cy: up(larger.bits), r: 6 });
  panel.append(floor.element, exponent.element, shown.element,
    make("p", { class: "legend" }, make("span", { class: "one" }, "━ your law"),
      " Dots are the small models, the dashed line is the larger one. Both axes are logarithmic."),
    drawing(SIZE.width, SIZE.height, axes, guess, law, ...dots, answer));

  function update() {
    const [c, b] = [floor.value, exponent.value];
    // The factor that puts the law through the middle of the points.
    const a = Math.exp(mean(parameters.map((n, i) => Math.log(Math.max(bits[i] - c, 1e-3)) + b * Math.log(n))));
    const value = n => c + a * n ** -b;
    const miss = mean(parameters.map((n, i) => Math.abs(Math.log(bits[i] / value(n)))));
    const line = range(61).map(i => FROM * (TO / FROM) ** (i / 60)).filter(n => value(n) >= LOW && value(n) <= HIGH);
    law.setAttribute("points", line.map(n => `${across(n)},${up(value(n))}`).join(" "));
    answer.style.visibility = shown.value ? "visible" : "hidden";
    const size = larger.parameters.toLocaleString("en");
    say(`Your law misses the small models by ${(100 * miss).toFixed(1)}% on average. It predicts ${value(larger.parameters).toFixed(2)} bits `
      + `for ${size} parameters.` + (shown.value ? ` Measured: ${larger.bits.toFixed(2)} bits.` : ""));
  }
  update();
});
