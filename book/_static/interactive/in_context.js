"use strict";
// data: points (P) on the x axis; prompts, each with w, x (K), y (K) and model (K, P), the predictions after 0, 1, … examples;
// noise, the standard deviation of y; width, that of the bumps of attention.
Interactive.figure("in_context", "A model that reads examples", (panel, data, say) => {
  const { make, drawing, slider, choice, range } = Interactive;
  const { points, prompts, noise, width } = data;
  const NAMES = ["ridge regression", "least squares", "averaging by attention"], ASKED = 1.5;
  const SIZE = { width: 340, height: 250, left: 26, bottom: 20 }, REACH = points.at(-1);
  const last = prompts[0].x.length - 1;
  const prompt = choice("Prompt", prompts.map((_, i) => `${i + 1}`), update);
  const examples = slider("Examples in the prompt", { min: 0, max: last, value: 3 }, update);
  const other = choice("Compare with", NAMES, update);
  const HIGH = Math.ceil(Math.max(...prompts.flatMap(one => one.y.map(Math.abs)))) + 2;
  const across = x => SIZE.left + (SIZE.width - SIZE.left) * (x + REACH) / (2 * REACH);
  const up = y => (SIZE.height - SIZE.bottom) * (HIGH - y) / (2 * HIGH);

  const sign = value => `${value}`.replace("-", "−");

  const axes = make("g", {},
    ...[-REACH, 0, REACH].map(x => make("line", { class: "grid", x1: across(x), x2: across(x), y1: 0, y2: up(-HIGH) })),
    ...[-HIGH, 0, HIGH].map(y => make("line", { class: "grid", x1: SIZE.left, x2: SIZE.width, y1: up(y), y2: up(y) })),
    ...[-4, -2, 2, 4].map(x => make("text", { x: across(x), y: SIZE.height - 5, "text-anchor": "middle" }, sign(x))),
    make("text", { x: across(0), y: SIZE.height - 5, "text-anchor": "middle" }, "x = 0"),
    ...[[HIGH, 11], [0, 4], [-HIGH, 0]].map(([y, down]) => make("text", { x: SIZE.left - 4, y: up(y) + down, "text-anchor": "end" }, sign(y))),
    make("text", { x: SIZE.left + 4, y: 13 }, "y"));
  const truth = make("polyline", { class: "curve truth" });
  const theirs = make("polyline", { class: "curve other" });
  const own = make("polyline", { class: "curve" });
  const dots = make("g", {});
  panel.append(prompt.element, examples.element, other.element,
    make("p", { class: "legend" }, make("span", { class: "one" }, "━ the model"), " ",
      make("span", { class: "two" }, "╍ the other method"), " ┈ the true line. Dots are the examples read so far."),
    drawing(SIZE.width, SIZE.height, axes, truth, theirs, own, dots));

  /** What the chosen method predicts at a point from the first examples. */
  function predict(x, y, asked) {
    if (!x.length) return 0;
    const sum = values => values.reduce((a, b) => a + b, 0);
    if (other.value === 2) {
      const distances = x.map(one => (one - asked) ** 2), least = Math.min(...distances);
      const weights = distances.map(one => Math.exp((least - one) / (2 * width ** 2)));
      return sum(weights.map((one, i) => one * y[i])) / sum(weights);
    }
    const penalty = other.value === 0 ? noise ** 2 : 0;
    return asked * sum(x.map((one, i) => one * y[i])) / (sum(x.map(one => one * one)) + penalty);
  }

  function update() {
    const one = prompts[prompt.value], k = examples.value;
    const [x, y] = [one.x.slice(0, k), one.y.slice(0, k)];
    const line = value => points.map((at, i) => [at, value(at, i)]).filter(point => Math.abs(point[1]) <= HIGH)
      .map(([at, y]) => `${across(at)},${up(y)}`).join(" ");
    truth.setAttribute("points", line(at => one.w * at));
    theirs.setAttribute("points", line(at => predict(x, y, at)));
    own.setAttribute("points", line((_, i) => one.model[k][i]));
    dots.replaceChildren(...range(k).map(i => make("circle", { class: "dot", cx: across(x[i]), cy: up(y[i]), r: 4 })));
    const at = points.findIndex(value => Math.abs(value - ASKED) < 1e-6);
    const numbers = [one.model[k][at], predict(x, y, ASKED), one.w * ASKED].map(value => value.toFixed(2));
    say(`After ${k} example${k === 1 ? "" : "s"} the model predicts ${numbers[0]} at x = ${ASKED}, ${NAMES[other.value]} ${numbers[1]}. `
      + `The true line is at ${numbers[2]} there.`);
  }
  update();
});
