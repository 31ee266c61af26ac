"use strict";
// data: gpus, numbers of GPUs; cards, bytes of two common GPUs; batch, sequences on each GPU; start, the model chosen at first;
// models, each with name, length of the sequences and bytes[precision][recompute][gpus], four numbers: weights, gradients,
// optimiser and activations.
Interactive.figure("memory", "What each GPU keeps", (panel, data, say) => {
  const { make, drawing, slider, choice, check, range } = Interactive;
  const PARTS = ["weights", "gradients", "optimiser", "activations"], WIDTH = 340, HEIGHT = 92, TOP = 26, BAR = 34;
  const { models, gpus, cards, batch, start } = data;
  const model = choice("Model", models.map(one => one.name), update, start);
  const number = slider("GPUs", { min: 0, max: gpus.length - 1, words: i => gpus[i].toLocaleString("en") }, update);
  const share = choice("They share", ["the batch", "the batch and the model"], update);
  const precision = choice("Compute in", ["float32", "bfloat16"], update, 1);
  const again = check("recompute the activations", false, update);
  const gb = bytes => {
    const amount = bytes / 1e9;
    return amount.toLocaleString("en", { maximumFractionDigits: amount < 10 ? 1 : 0 });
  };

  const bars = range(4).map(i => make("rect", { class: `part${i}`, y: TOP, height: BAR }));
  const axis = make("line", { style: "stroke: var(--ink)", x1: 0, x2: WIDTH, y1: TOP + BAR, y2: TOP + BAR });
  const lines = cards.map(() => make("line", { class: "card", y1: TOP - 8, y2: TOP + BAR + 8 }));
  const names = cards.map(size => make("text", { y: TOP - 12, "text-anchor": "middle" }, `${gb(size)} GB`));
  const end = make("text", { y: TOP + BAR + 24, "text-anchor": "middle" });
  const legend = make("p", { class: "legend" }, ...PARTS.flatMap((part, i) => [make("span", { class: `part${i}` }, "■"), ` ${part} `]));
  const picture = drawing(WIDTH, HEIGHT, axis, ...bars, ...lines, ...names, end);
  picture.setAttribute("style", "margin-inline: 0; max-width: 32rem; width: 100%");
  panel.append(model.element, number.element, share.element, precision.element, again.element, legend, picture);

  function update() {
    const one = models[model.value], count = gpus[number.value];
    const parts = one.bytes[precision.value][+again.value][share.value ? number.value : 0];
    const total = parts.reduce((a, b) => a + b, 0);
    const held = cards.filter(size => total <= size);
    const across = bytes => bytes / (1.1 * Math.max(total, cards.at(-1))) * WIDTH;
    let left = 0;
    parts.forEach((bytes, i) => {
      bars[i].setAttribute("x", left);
      bars[i].setAttribute("width", across(bytes));
      left += across(bytes);
    });
    cards.forEach((size, i) => {
      ["x1", "x2"].forEach(name => lines[i].setAttribute(name, across(size)));
      names[i].setAttribute("x", Math.max(24, across(size)));
      const crowded = i + 1 < cards.length && across(cards[i + 1] - size) < 50;
      names[i].setAttribute("visibility", crowded ? "hidden" : "visible");
    });
    end.setAttribute("x", Math.min(Math.max(left, 26), WIDTH - 34));
    end.textContent = `${gb(total)} GB`;
    const fits = held.length === 0 ? `Not even a GPU of ${gb(cards.at(-1))} GB holds this.` : `A GPU of ${gb(held[0])} GB holds this.`;
    say(`${one.name} on ${count} GPU${count > 1 ? "s" : ""}, ${batch} sequence${batch > 1 ? "s" : ""} of ${one.length} tokens on each, in GB: `
      + `${PARTS.map((part, i) => `${part} ${gb(parts[i])}`).join(", ")}; together ${gb(total)}. ${fits}`);
  }
  update();
});
