"use strict";
// data: widths [...]; scores, for each width the dot products of one query with the same number of keys.
Interactive.figure("softmax", "Softmax: width, scale and temperature", (panel, data, say) => {
  const { make, slider, check, bar, digits } = Interactive;
  const count = data.scores[0].length;
  const width = slider("Width of the keys", {
    max: data.widths.length - 1, min: 0, value: 2, words: i => `d_k = ${data.widths[i]}`,
  }, update);
  const scaled = check("Divide by √d_k", false, update);
  const temperature = slider("Temperature", {
    min: -1.5, max: 1.5, step: 0.1, value: 0, words: x => `τ = ${digits(10 ** x)}`,
  }, update);

  const rows = data.scores[0].map((_, i) => {
    const score = make("td", { class: "numbers" });
    const weight = make("td", { class: "numbers" });
    const place = make("td", { class: "wide" });
    return { score, weight, place, element: make("tr", {}, make("th", { scope: "row" }, `key ${i + 1}`), score, place, weight) };
  });
  const head = make("tr", {}, ...["", "score", "", "weight"].map(text => make(text ? "th" : "td", text ? { scope: "col" } : {}, text)));
  panel.append(width.element, scaled.element, temperature.element,
    make("table", { class: "values" }, make("thead", {}, head), make("tbody", {}, ...rows.map(row => row.element))));

  function weightsOf(scores) {
    const top = Math.max(...scores);
    const powers = scores.map(score => Math.exp(score - top));
    const total = powers.reduce((a, b) => a + b);
    return powers.map(power => power / total);
  }

  /** The Frobenius norm of J = diag(p) - p pᵀ. */
  function jacobian(p) {
    const entries = p.flatMap((a, i) => p.map((b, j) => (i === j ? a : 0) - a * b));
    return Math.hypot(...entries);
  }

  function update() {
    const d = data.widths[width.value];
    const divisor = (scaled.value ? Math.sqrt(d) : 1) * 10 ** temperature.value;
    const scores = data.scores[width.value].map(score => score / divisor);
    const p = weightsOf(scores);
    rows.forEach((row, i) => {
      row.score.textContent = scores[i].toFixed(2);
      row.weight.textContent = p[i].toFixed(3);
      row.place.replaceChildren(bar(p[i]));
    });
    const best = p.indexOf(Math.max(...p));
    const entropy = -p.reduce((sum, x) => sum + (x > 0 ? x * Math.log(x) : 0), 0) / Math.log(count);
    say(`d_k = ${d}, ${scaled.value ? "divided by √d_k" : "no scale"}, τ = ${digits(10 ** temperature.value)}: `
      + `key ${best + 1} has ${(100 * p[best]).toFixed(0)}% of the weight. `
      + `Entropy: ${entropy.toFixed(2)} of the largest possible. Norm of J: ${digits(jacobian(p))}.`);
  }
  update();
});
