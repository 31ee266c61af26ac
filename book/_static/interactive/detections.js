"use strict";
// data: cells, in a row of the feature map; start, a query; scenes, each: photo, a data URL; digits, their number; queries, each:
// label, p, box (cx, cy, w, h as shares) and look (cells², thousandths of its cross-attention, row by row).
Interactive.figure("detections", "A detector and its queries", (panel, data, say) => {
  const { make, drawing, choice, slider, row, range } = Interactive;
  const { cells, scenes } = data;
  const SIZE = 288, CELL = SIZE / cells;
  const scene = choice("Scene", range(scenes.length).map(i => `${i + 1}`), update);
  const threshold = slider("Threshold", { min: 1, max: 99, value: 90, words: n => (n / 100).toFixed(2) }, update);
  const buttons = scenes[0].queries.map((_, i) => make("button", { type: "button" }));
  const pointed = row(buttons, update, data.start, 5);
  const photo = make("canvas", { width: SIZE, height: SIZE, role: "img", "aria-label": "The scene" });
  const over = make("div");
  panel.append(scene.element, threshold.element, make("div", { class: "beside" },
    make("div", { class: "scene" }, photo, over),
    make("div", { class: "object-queries-side" }, make("p", { class: "legend" }, "The queries, each with its likeliest digit and the probability of it"),
      make("div", { class: "object-queries", role: "group", "aria-label": "Queries" }, ...buttons),
      make("p", { class: "legend" }, "Light cells: where the chosen query looks, in the last block of the decoder."))));
  const images = scenes.map((one, i) => make("img", { src: one.photo, alt: "", onload: () => { if (i === scene.value) paint(); } }));

  function paint() {
    const pen = photo.getContext("2d");
    pen.imageSmoothingEnabled = false;
    if (images[scene.value].complete) pen.drawImage(images[scene.value], 0, 0, SIZE, SIZE);
  }

  function frame({ box: [cx, cy, w, h], label }, kind) {
    const [x, y] = [SIZE * (cx - w / 2), SIZE * (cy - h / 2)];
    return make("g", { class: kind },
      make("rect", { x, y, width: SIZE * w, height: SIZE * h }),
      make("text", { x: Math.max(2, x + 3), y: y > 16 ? y - 5 : y + SIZE * h + 14 }, `${label}`));
  }

  function update() {
    const one = scenes[scene.value], least = threshold.value / 100, chosen = one.queries[pointed.value];
    const drawn = one.queries.filter(query => query.p >= least);
    const top = Math.max(...chosen.look);
    const heat = chosen.look.map((share, i) => make("rect", {
      class: "heat", x: CELL * (i % cells), y: CELL * Math.floor(i / cells), width: CELL, height: CELL,
      "fill-opacity": (0.65 * share / top).toFixed(3),
    }));
    const others = drawn.filter(query => query !== chosen).map(query => frame(query, "found"));
    over.replaceChildren(drawing(SIZE, SIZE, ...heat, ...others, frame(chosen, chosen.p >= least ? "found chosen" : "chosen")));
    buttons.forEach((button, i) => {
      const { label, p } = one.queries[i];
      button.replaceChildren(make("span", { class: "name" }, `query ${i}`), make("strong", {}, `${label}`), make("span", { class: "numbers" }, p.toFixed(2)));
      button.classList.toggle("below", p < least);
    });
    paint();
    const place = chosen.look.indexOf(top);
    say(`Threshold ${least.toFixed(2)}: ${drawn.length} ${drawn.length === 1 ? "box" : "boxes"} for ${one.digits} ${one.digits === 1 ? "digit" : "digits"}. `
      + `Query ${pointed.value} says ${chosen.label} with probability ${chosen.p.toFixed(2)}; its box is ${chosen.p >= least ? "drawn" : "below the threshold, and dashed"}. `
      + `It looks most at the cell in row ${Math.floor(place / cells) + 1}, column ${place % cells + 1}.`);
  }
  update();
});
