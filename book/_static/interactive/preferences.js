"use strict";
// data: pairs, each with prompt, answers (2), before and after (2 each), their log-probabilities in nats under the model
// before and after DPO, and reader, the number of the answer that the rule of the page prefers.
Interactive.figure("preferences", "Which answer is better?", (panel, data, say) => {
  const { make, slider, choice, bar, digits } = Interactive;
  const { pairs } = data, NAMES = ["A", "B"];
  const pair = choice("Pair", pairs.map((_, i) => `${i + 1}`), update);
  const better = choice("I prefer", NAMES.map(name => `answer ${name}`), update);
  const beta = slider("β", { min: -2, max: 0.5, step: 0.25, value: -1, words: x => digits(10 ** x) }, update);
  const prompt = make("p", {});
  const rows = NAMES.map(name => {
    const cells = ["wide", "numbers", "numbers", "numbers"].map(kind => make("td", { class: kind }));
    return { cells, element: make("tr", {}, make("th", { scope: "row" }, name), ...cells) };
  });
  const head = ["", "answer", "before", "after", "log-ratio"];
  const chance = make("p", {});
  panel.append(pair.element, prompt, make("div", { class: "scroll" }, make("table", { class: "values" },
    make("thead", {}, make("tr", {}, ...head.map(text => make(text ? "th" : "td", text ? { scope: "col" } : {}, text)))),
    make("tbody", {}, ...rows.map(row => row.element)))), better.element, beta.element, chance);

  const signed = value => `${value < 0 ? "−" : ""}${Math.abs(value).toFixed(2)}`;

  function update() {
    const one = pairs[pair.value], mine = better.value, b = 10 ** beta.value;
    const ratios = one.after.map((value, i) => value - one.before[i]);
    prompt.textContent = one.prompt;
    rows.forEach((row, i) => [one.answers[i], ...[one.before[i], one.after[i], ratios[i]].map(signed)]
      .forEach((text, k) => { row.cells[k].textContent = text; }));
    const margin = b * (ratios[mine] - ratios[1 - mine]);
    const p = 1 / (1 + Math.exp(-margin));
    chance.replaceChildren(`Going by the log-ratios, your choice has a probability of ${(100 * p).toFixed(0)}%.`, bar(p));
    say(`You prefer ${NAMES[mine]}; the reader of this page prefers ${NAMES[one.reader]}. At β = ${digits(b)} the margin is ${signed(margin)}, `
      + `the loss ${digits(Math.log1p(Math.exp(-margin)))}, and the gradient's weight ${digits(b * (1 - p))}.`);
  }
  update();
});
