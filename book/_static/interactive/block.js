"use strict";
// data: placements, by name (post, pre, sandwich): the size of the stream before the first block and after each.
Interactive.figure("block", "The block's wiring", (panel, data, say) => {
  const { make, drawing, choice, slider, digits } = Interactive;
  const names = Object.keys(data.placements);
  const depth = data.placements[names[0]].length - 1;
  const STREAM = 62, SIDE = 206, BOX = { width: 112, height: 26 };
  const TITLE = { post: "Post-norm", pre: "Pre-norm", sandwich: "Sandwich norm" };
  const TEXT = {
    post: "the norm is on the stream, and all that earlier layers wrote passes through it.",
    pre: "the norm is on the branch; nothing normalises the stream, and each layer only adds to it.",
    sandwich: "two norms are on the branch; nothing normalises the stream, and what a layer adds is normalised first.",
  };
  const kind = choice("Norm", names.map(name => TITLE[name]), update);
  const block = slider("Block", { min: 0, max: depth, value: 0, words: n => (n ? `${n} of ${depth}` : "before the first") }, update);
  const picture = make("div");
  const numbers = make("tbody");
  panel.append(kind.element, picture, block.element, make("table", { class: "values" }, numbers));

  const arrow = (...points) => make("polyline", { class: "wire", points: points.map(point => point.join(",")).join(" ") });
  const box = (x, y, text, kind) => make("g", { class: `box ${kind}` },
    make("rect", { x: x - BOX.width / 2, y: y - BOX.height / 2, width: BOX.width, height: BOX.height, rx: 4 }),
    make("text", { x, y: y + 4, "text-anchor": "middle" }, text));

  /** One sum: from the stream through a branch and back, drawn upwards from `bottom`; ends at the returned height. */
  function sublayer(layer, name, bottom, parts) {
    const branch = { post: [layer], pre: ["Norm", layer], sandwich: ["Norm", layer, "Norm"] }[name];
    const first = bottom - 34, sum = first - 38 * branch.length;
    parts.push(arrow([STREAM, first + 22], [SIDE, first + 22], [SIDE, sum], [STREAM + 11, sum]));
    branch.forEach((part, i) => parts.push(box(SIDE, first - 38 * i - 8, part, part === "Norm" ? "norm" : `layer ${part.toLowerCase()}`)));
    parts.push(make("circle", { class: "sum", cx: STREAM, cy: sum, r: 11 }),
      make("text", { x: STREAM, y: sum + 5, "text-anchor": "middle" }, "+"));
    if (name !== "post") return sum - 11;
    parts.push(box(STREAM, sum - 34, "Norm", "norm"));
    return sum - 34 - BOX.height / 2;
  }

  function wiring(name) {
    const height = { post: 280, pre: 284, sandwich: 360 }[name], parts = [];
    const halfway = sublayer("Attention", name, height - 22, parts);
    sublayer("Feed-forward", name, halfway, parts);
    const stream = make("line", { class: "stream", x1: STREAM, x2: STREAM, y1: height - 16, y2: 14 });
    return drawing(280, height, stream, ...parts, make("text", { x: STREAM, y: 11, "text-anchor": "middle" }, "x′"),
      make("text", { x: STREAM, y: height - 3, "text-anchor": "middle" }, "x"));
  }

  function update() {
    const name = names[kind.value], n = block.value, where = n ? `after block ${n}` : "before the first block";
    picture.replaceChildren(wiring(name));
    numbers.replaceChildren(...names.map(other => make("tr", {},
      make("th", { scope: "row" }, `${TITLE[other]}: size of the stream ${where}`),
      make("td", { class: "numbers" }, digits(data.placements[other][n])))));
    say(`${TITLE[name]}: ${n ? TEXT[name] : "which path does the stream take?"} At the start of training the stream has size `
      + `${digits(data.placements[name][n])} ${where}.`);
  }
  update();
});
