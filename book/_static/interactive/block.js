"use strict";
// data: placements, by name (post, pre, sandwich): the size of the stream before the first block and after each.
Interactive.figure("block", "The block's wiring", (panel, data, say) => {
  const { make, drawing, choice, slider, digits, range } = Interactive;
  const names = Object.keys(data.placements);
  const depth = data.placements[names[0]].length - 1;
  const STREAM = 62, SIDE = 206, BOX = { width: 112, height: 26 };
  const CHART = { width: 300, height: 264, left: 24, right: 112, top: 28, bottom: 38 };
  const TITLE = { post: "Post-norm", pre: "Pre-norm", sandwich: "Sandwich norm" };
  const TEXT = {
    post: "the norm is on the stream, and all that earlier layers wrote passes through it.",
    pre: "the norm is on the branch; nothing normalises the stream, and each layer only adds to it.",
    sandwich: "two norms are on the branch; nothing normalises the stream, and what a layer adds is normalised first.",
  };
  const kind = choice("Placement", names.map(name => TITLE[name]), update);
  const block = slider("Block", { min: 0, max: depth, value: 0, words: n => (n ? `${n} of ${depth}` : "before the first") }, update);
  const picture = make("div", { class: "beside" });
  const numbers = make("tbody");
  panel.append(kind.element, picture, block.element, make("table", { class: "values" }, numbers));

  const line = points => points.map(point => point.join(",")).join(" ");
  const wire = (...points) => make("polyline", { class: "wire", points: line(points) });
  /** The tip of a wire that ends at (x, y); it points up or to the left. */
  const tip = (x, y, up) => make("path", { class: "tip", d: up ? `M${x},${y} l-5,9 h10 z` : `M${x},${y} l9,-5 v10 z` });
  const box = (x, y, text, kind) => make("g", { class: `box ${kind}` },
    make("rect", { x: x - BOX.width / 2, y: y - BOX.height / 2, width: BOX.width, height: BOX.height, rx: 4 }),
    make("text", { x, y: y + 4, "text-anchor": "middle" }, text));

  /** One sum: from the stream through a branch and back, drawn upwards from `bottom`; ends at the returned height. */
  function sublayer(layer, name, bottom, parts) {
    const branch = { post: [layer], pre: ["Norm", layer], sandwich: ["Norm", layer, "Norm"] }[name];
    const first = bottom - 34, sum = first - 38 * branch.length;
    parts.push(wire([STREAM, first + 22], [SIDE, first + 22], [SIDE, sum], [STREAM + 18, sum]), tip(STREAM + 12, sum, false));
    branch.forEach((part, i) => parts.push(tip(SIDE, first - 38 * i + 5, true), box(SIDE, first - 38 * i - 8, part, part === "Norm" ? "norm" : `layer ${part.toLowerCase()}`)));
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

  /** The size of the stream up to block n, where a dot is: the chosen placement in colour. */
  function growth(chosen, n) {
    const top = Math.ceil(Math.max(...names.flatMap(name => data.placements[name])));
    const x = i => CHART.left + (CHART.width - CHART.left - CHART.right) * i / depth;
    const y = size => CHART.top + (CHART.height - CHART.top - CHART.bottom) * (1 - size / top);
    const levels = range(top + 1).flatMap(size => [
      make("line", { class: "grid", x1: x(0), x2: x(depth), y1: y(size), y2: y(size) }),
      make("text", { x: x(0) - 7, y: y(size) + 4, "text-anchor": "end" }, `${size}`)]);
    const blocks = [0, depth].map(i => make("text", { x: x(i), y: y(0) + 16, "text-anchor": "middle" }, `${i}`));
    const curves = names.filter(name => name !== chosen).concat(chosen).flatMap(name => {
      const sizes = data.placements[name], kind = name === chosen ? "curve" : "curve faint";
      return [make("polyline", { class: kind, points: line(sizes.slice(0, n + 1).map((size, i) => [x(i), y(size)])) }),
        ...(n && (name === chosen || n === depth)
          ? [make("text", { class: name === chosen ? "kept" : "dropped", x: x(n) + 8, y: y(sizes[n]) + 4 }, TITLE[name])] : [])];
    });
    const hint = make("text", { class: "dropped", x: x(depth / 2), y: y(top / 2), "text-anchor": "middle" }, n ? "" : "move the slider");
    return drawing(CHART.width, CHART.height, ...levels, ...blocks, hint, ...curves,
      make("circle", { class: "marker", r: 5, cx: x(n), cy: y(data.placements[chosen][n]) }),
      make("text", { x: x(0) - 16, y: 14 }, "size of the stream"),
      make("text", { x: x(depth / 2), y: y(0) + 32, "text-anchor": "middle" }, "block"));
  }

  function update() {
    const name = names[kind.value], n = block.value, where = n ? `after block ${n}` : "before the first block";
    picture.replaceChildren(wiring(name), growth(name, n));
    numbers.replaceChildren(...names.map(other => make("tr", { class: other === name && "next" },
      make("th", { scope: "row" }, `${TITLE[other]}: size of the stream ${where}`),
      make("td", { class: "numbers" }, digits(data.placements[other][n])))));
    say(`${TITLE[name]}: ${TEXT[name]} At the start of training the stream has size `
      + `${digits(data.placements[name][n])} ${where}.`);
  }
  update();
});
