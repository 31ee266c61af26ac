"use strict";
// data: tokens (S), scores (S) of one query, values (S), one component of each; tiles, the sizes to choose from; start, tiles read.
Interactive.figure("online_softmax", "The online softmax, tile by tile", (panel, data, say) => {
  const { make, drawing, stepper, choice, check, range, digits } = Interactive;
  const { tokens, scores, values, tiles } = data;
  const S = scores.length, HEIGHT = 130, BAR = 13, low = Math.min(...scores), high = Math.max(...scores);
  const size = choice("Keys in a tile", tiles.map(String), change, 1);
  const step = stepper("Tiles read", Math.ceil(S / tiles[1]), update, data.start);
  const rescale = check("Rescale the old sums", true, update);
  const place = score => HEIGHT - 8 - (HEIGHT - 24) * (score - low) / (high - low);
  const bars = scores.map((score, j) => make("rect", {
    x: j * BAR + 2, y: place(score), width: BAR - 4, height: HEIGHT - place(score),
  }));
  const line = make("path", { class: "curve other" });
  const body = make("tbody");
  panel.append(size.element, step.element, rescale.element, make("p", { class: "legend" }, "One bar per key, as high as its score: ",
    make("span", { class: "swatch computed" }), " in the tile just read, ", make("span", { class: "swatch read" }), " read and forgotten, ",
    make("span", { class: "swatch kept" }), " not read yet. The dashed line is m, the largest score so far."),
  drawing(S * BAR, HEIGHT, ...bars, line), make("table", { class: "values" }, body));

  /** The state after some tiles: m, the sum, the mixture, and the last factor. */
  function state(count, tile) {
    let m = -Infinity, l = 0, a = 0, factor = 0;
    for (const start of range(count).map(i => i * tile)) {
      const keys = range(S).slice(start, start + tile);
      const largest = Math.max(m, ...keys.map(j => scores[j]));
      factor = Math.exp(m - largest);
      if (!rescale.value && start) factor = 1;
      const terms = keys.map(j => Math.exp(scores[j] - largest));
      l = factor * l + terms.reduce((sum, x) => sum + x, 0);
      a = factor * a + terms.reduce((sum, x, i) => sum + x * values[keys[i]], 0);
      m = largest;
    }
    return { m, l, a, factor };
  }

  function change() { step.last = Math.ceil(S / tiles[size.value]); update(); }

  function update() {
    const tile = tiles[size.value], count = Math.min(step.value, Math.ceil(S / tile));
    const { m, l, a, factor } = state(count, tile), last = (count - 1) * tile;
    bars.forEach((bar, j) => bar.setAttribute("class", j >= count * tile ? "kept" : j >= last ? "computed" : "read"));
    line.setAttribute("d", count ? `M0,${place(m)}H${S * BAR}` : "");
    const rows = [["m, the largest score so far", count ? digits(m) : "−∞"], ["factor on the old sums", count > 1 ? factor.toFixed(3) : "–"],
      ["ℓ, the sum of the exponentials", digits(l)], ["a, the sum of exponentials times values", digits(a)],
      ["a / ℓ", count ? digits(a / l) : "–"]];
    body.replaceChildren(...rows.map(([name, value]) => make("tr", {},
      make("th", { scope: "row" }, name), make("td", { class: "numbers" }, value))));
    const total = scores.map(s => Math.exp(s - high)), exact = total.reduce((sum, x, j) => sum + x * values[j], 0) / total.reduce((x, y) => x + y);
    const read = Math.min(count * tile, S);
    say(`${read} of ${S} keys read${count ? `, the last is “${tokens[read - 1].trim() || "↵"}”` : ""}. `
      + (read < S ? "The output is a / ℓ at the end." : `a / ℓ is ${digits(a / l)}; the softmax over the whole row gives ${digits(exact)}.`));
  }
  update();
});
