"use strict";
// data: kinds, each with its name and shares (n), what is left of a gradient by the number of steps back, and chain, whether
// the gradient has to pass all the words between; start, a number of steps.
Interactive.figure("reach", "How much of a gradient arrives", (panel, data, say) => {
  const { make, drawing, slider, range, digits } = Interactive;
  const { kinds, start } = data;
  const last = kinds[0].shares.length - 1, WIDTH = 340, STEP = (WIDTH - 20) / last, LINE = 74, LOWEST = 1e-12, TOP = 122, ROW = 40;
  const place = k => WIDTH - 10 - STEP * k;
  const along = x => WIDTH * Math.max(0, Math.min(1, 1 - Math.log(x) / Math.log(LOWEST)));
  const told = x => (x < 0.01 ? x.toExponential(1) : digits(x));
  const distance = slider("Steps back", { min: 1, max: last, value: start, words: k => `${k}` }, update);

  const words = range(last + 1).map(k => make("circle", { cx: place(k), cy: LINE, r: 3 }));
  const links = range(last).map(k => make("line", { x1: place(k + 1), x2: place(k), y1: LINE, y2: LINE }));
  const jump = make("path", { fill: "none" });
  const names = kinds.map((_, i) => make("text", { x: 0, y: TOP + ROW * i - 5 }));
  const bars = kinds.map((kind, i) => make("rect", { x: 0, y: TOP + ROW * i, height: 12 }));
  const ticks = [[1e-7, "10⁻⁷"], [1, "1"]].map(([x, name]) => make("g", {},
    make("line", { class: "grid", x1: along(x), x2: along(x), y1: TOP, y2: TOP + ROW * kinds.length - 20 }),
    make("text", { x: along(x), y: TOP + ROW * kinds.length - 6, "text-anchor": x < 1 ? "middle" : "end" }, name)));
  panel.append(distance.element, make("p", { class: "legend" },
    make("span", { class: "one" }, "━ from word to word"), " ", make("span", { class: "two" }, "━ directly"),
    ". The bars are logarithmic: what is left of the gradient, where the nearest word's is 1."),
    drawing(WIDTH, TOP + ROW * kinds.length, jump, ...links, ...words, ...ticks, ...bars, ...names));

  function update() {
    const k = distance.value, chain = kinds.find(kind => kind.chain).shares;
    const shade = x => Math.max(0.08, along(x) / WIDTH).toFixed(2);
    links.forEach((link, i) => link.setAttribute("style", i < k
      ? `stroke: var(--one); stroke-width: 4; stroke-opacity: ${shade(chain[i + 1])}` : "stroke: var(--line); stroke-width: 1"));
    words.forEach((word, i) => {
      word.setAttribute("r", i === 0 || i === k ? 6 : 3);
      word.setAttribute("style", i === 0 || i === k ? "fill: var(--ink)" : "fill: var(--line)");
    });
    const [from, to] = [place(k), place(0)], high = LINE - 14 - 1.5 * k;
    jump.setAttribute("d", `M${from},${LINE - 8} Q${(from + to) / 2},${high - 16} ${to},${LINE - 8}`);
    jump.setAttribute("style", "stroke: var(--two); stroke-width: 4");
    kinds.forEach((kind, i) => {
      bars[i].setAttribute("width", along(kind.shares[k]));
      bars[i].setAttribute("style", `fill: var(${kind.chain ? "--one" : "--two"})`);
      names[i].textContent = `${kind.name}: ${told(kind.shares[k])}`;
    });
    say(`From ${k} step${k > 1 ? "s" : ""} back arrives, compared with the nearest word: `
      + `${kinds.map(kind => `${kind.name} ${told(kind.shares[k])}`).join(", ")}.`);
  }
  update();
});
