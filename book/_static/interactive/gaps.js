"use strict";
// data: views, what the model may read; vocabulary, its size; texts, each with tokens (T) and guesses, for each view and
// place { best: the likeliest tokens with their probabilities, p: that of the token that was there, rank: its place }; start.
Interactive.figure("gaps", "Hide a word, and a BERT guesses it", (panel, data, say) => {
  const { make, choice, row, bar } = Interactive;
  const { texts, views, start } = data;
  const text = choice("Sentence", texts.map((_, i) => `${i + 1}`), redraw, start[0]);
  const view = choice("BERT reads", views, update);
  const strip = make("div", { class: "tokens", role: "group", "aria-label": "Tokens: choose the one to hide" });
  const lines = data.texts[0].guesses[0][0].best.map(() => {
    const name = make("th", { scope: "row" }), place = make("td", { class: "wide" }), share = make("td", { class: "numbers" });
    return { name, place, share, element: make("tr", {}, name, place, share) };
  });
  panel.append(text.element, view.element, strip, make("table", { class: "values" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "guess"), make("th"), make("th", { scope: "col" }, "probability"))),
    make("tbody", {}, ...lines.map(line => line.element))));

  let buttons = [], hidden;
  function redraw() {
    const first = hidden === undefined ? start[1] : Math.min(1, texts[text.value].tokens.length - 1);
    buttons = texts[text.value].tokens.map(token => make("button", { type: "button" }, token));
    hidden = row(buttons, update, first);
    strip.replaceChildren(...buttons);
    update();
  }

  /** Whether a place is out of sight: left of the gap, or right of it. */
  const away = (place, gap) => (view.value === 1 && place > gap) || (view.value === 2 && place < gap);

  function update() {
    const { tokens, guesses } = texts[text.value], gap = hidden.value, { best, p, rank } = guesses[view.value][gap];
    buttons.forEach((button, i) => {
      button.textContent = i === gap ? "[MASK]" : away(i, gap) ? "·" : tokens[i];
      button.setAttribute("aria-label", i === gap ? `[MASK] in place of ${tokens[i]}` : tokens[i]);
    });
    best.forEach(([token, share], i) => {
      lines[i].name.textContent = token;
      lines[i].name.setAttribute("style", `font-weight: ${token === tokens[gap] ? "bold" : "normal"}`);
      lines[i].place.replaceChildren(bar(share));
      lines[i].share.textContent = share.toFixed(2);
    });
    const where = rank === 1 ? "the first guess" : `guess ${rank.toLocaleString("en")} of ${data.vocabulary.toLocaleString("en")}`;
    say(`Hidden: “${tokens[gap]}”. With ${["both sides", "the left side only", "the right side only"][view.value]} to read, it is ${where}, `
      + `with a probability of ${p.toFixed(3)}.`);
  }
  redraw();
});
