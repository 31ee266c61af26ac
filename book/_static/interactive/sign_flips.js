"use strict";
// data: comparisons, each with a name and differences, one for each seed, in points.
Interactive.figure("sign_flips", "Flip the signs of the differences", (panel, data, say) => {
  const { make, drawing, choice, range } = Interactive;
  const { comparisons } = data;
  const WIDTH = 320, MIDDLE = 160, STEP = 9, FLOOR = 98;
  const chosen = choice("Comparison", comparisons.map(one => one.name), again);
  const seeds = comparisons[0].differences.map((_, i) => make("button", { type: "button", "aria-pressed": "false", onclick: () => flip(i) }));
  const group = make("div", { class: "control", role: "group", "aria-label": "Differences by seed: press one to flip its sign" }, ...seeds);
  const picture = drawing(WIDTH, FLOOR + 24);
  panel.append(chosen.element, group, picture);
  let pattern = 0;

  const points = x => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(1)}`;
  const sign = (k, i) => (k >> i & 1 ? -1 : 1);

  function flip(i) {
    pattern ^= 1 << i;
    update();
  }

  function again() {
    pattern = 0;
    update();
  }

  function update() {
    const { differences } = comparisons[chosen.value], n = differences.length;
    const means = range(2 ** n).map(k => differences.reduce((sum, d, i) => sum + sign(k, i) * d, 0) / n);
    const far = means.map(mean => Math.abs(mean) >= Math.abs(means[0]) - 1e-9);
    seeds.forEach((button, i) => {
      button.textContent = points(sign(pattern, i) * differences[i]);
      button.setAttribute("aria-pressed", sign(pattern, i) < 0);
    });
    const reach = Math.max(...means.map(Math.abs)), heights = new Map();
    const last = [...means.keys()].sort((a, b) => (a === pattern) - (b === pattern)); // the ring lies on top of its stack
    const dots = last.map(k => {
      const column = Math.round(means[k] / reach * (MIDDLE - 12) / STEP), height = heights.get(column) || 0;
      heights.set(column, height + 1);
      return make("circle", { class: far[k] ? "far" : "near", cx: MIDDLE + STEP * column, cy: FLOOR - STEP * (height + 0.5), r: k === pattern ? 6 : 3.5,
        style: `fill: var(${far[k] ? "--two" : "--one"}); stroke: ${k === pattern ? "currentColor" : "none"}; stroke-width: 2` });
    });
    const label = (x, words) => make("text", { x, y: FLOOR + 18, "text-anchor": "middle", style: "fill: currentColor; font-size: 12px" }, words);
    picture.replaceChildren(
      make("line", { x1: 0, x2: WIDTH, y1: FLOOR, y2: FLOOR, style: "stroke: currentColor" }), ...dots,
      label(MIDDLE, "0"), label(16, points(-reach)), label(WIDTH - 16, points(reach)));
    const count = far.filter(Boolean).length;
    say(`${pattern ? "With these signs" : "As measured,"} the mean is ${points(means[pattern])} points. Of the ${2 ** n} patterns of signs, `
      + `${count} have a mean at least as far from zero as the measured ${points(means[0])}: p = ${count}/${2 ** n}.`);
  }
  update();
});
