"use strict";
// data: sentences, each with characters (T) and probabilities (T, E) of a router; factors, to choose a capacity from, null for no limit.
Interactive.figure("experts", "Characters and their experts", (panel, data, say) => {
  const { make, slider, choice, row, bar, range } = Interactive;
  const { sentences, factors } = data;
  const E = sentences[0].probabilities[0].length;
  const short = text => text.length > 24 ? `${text.slice(0, 23)}…` : text;
  const chosen = choice("Text", sentences.map(one => short(one.characters.join(""))), update);
  const k = slider("Experts per character, k", { min: 1, max: 3 }, update);
  const factor = choice("Capacity factor", factors.map(f => f === null ? "no limit" : `${f}`), update, factors.indexOf(null));
  const names = range(E).map(e => make("button", { type: "button" }, `expert ${e + 1}`));
  const shown = row(names, update);
  const cells = names.map(() => [make("td", { class: "wide" }), make("td", { class: "numbers" })]);
  const table = make("table", { class: "values" }, make("caption", {}, "Characters of each expert, in orange those without room; point at one"),
    make("tbody", {}, ...names.map((name, e) => make("tr", {}, make("th", { scope: "row" }, name), ...cells[e]))));
  const text = make("p", { class: "routed" });
  panel.append(chosen.element, k.element, factor.element, text, make("p", { class: "legend" },
    "Below each character: its experts. ", make("span", { class: "made" }, "Filled"), ": those of the chosen expert. ",
    make("span", { class: "lost" }, "Struck out"), ": no room at any of its experts."), table);

  /** For each character its experts, best first, each with whether it found room, in the order of the text. */
  function route({ probabilities }, room) {
    const queue = Array(E).fill(0);
    return probabilities.map(of => range(E).sort((a, b) => of[b] - of[a]).slice(0, k.value)
      .map(expert => ({ expert, kept: ++queue[expert] <= room })));
  }

  function update() {
    const one = sentences[chosen.value], T = one.characters.length;
    const times = factors[factor.value];
    const room = times === null ? Infinity : Math.ceil(times * T * k.value / E - 1e-6);
    const routes = route(one, room);
    text.replaceChildren(...one.characters.map((character, t) => {
      const mine = routes[t].some(({ expert, kept }) => kept && expert === shown.value);
      const lost = routes[t].every(({ kept }) => !kept);
      const numbers = routes[t].map(({ expert, kept }) => make("small", { class: kept ? "" : "lost" }, `${expert + 1}`));
      return make("span", { class: mine ? "made" : "" }, make("span", { class: lost ? "lost" : "" }, character === " " ? "␣" : character), ...numbers);
    }));
    const taken = range(E).map(e => routes.flat().filter(({ expert, kept }) => kept && expert === e).length);
    const asked = range(E).map(e => routes.flat().filter(({ expert }) => expert === e).length);
    const most = Math.max(...asked);
    cells.forEach(([wide, numbers], e) => {
      const lost = asked[e] > taken[e] ? [bar((asked[e] - taken[e]) / most, "other")] : [];
      wide.replaceChildren(bar(taken[e] / most), ...lost);
      numbers.textContent = asked[e] > taken[e] ? `${taken[e]} of ${asked[e]}` : `${asked[e]}`;
    });
    const dropped = routes.filter(of => of.every(({ kept }) => !kept)).length;
    const total = asked.reduce((a, b) => a + b, 0) - taken.reduce((a, b) => a + b, 0);
    say(`${T} characters make ${T * k.value} choices. ${times === null ? "Every expert takes all that come" : `Each expert has room for ${room}`}; `
      + `the most popular one is chosen ${most} times. ${total} choices find no room, and ${dropped} characters pass without an expert.`);
  }
  update();
});
