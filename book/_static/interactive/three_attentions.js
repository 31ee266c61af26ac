"use strict";
// data: source, target: the words that the encoder and the decoder read; next: what each target position has to
// write; pad: how many of the last source words are padding; asks: which word asks first, in source and target.
Interactive.figure("three_attentions", "The three attentions of the Transformer", (panel, data, say) => {
  const { make, drawing, choice, row, range } = Interactive;
  const real = data.source.length - data.pad, CELL = 15;
  const KINDS = [
    { title: "encoder: self", queries: data.source, keys: data.source, shape: "(S, S)", may: (t, s) => s < real },
    { title: "decoder: self", queries: data.target, keys: data.target, shape: "(T, T)", may: (t, s) => s <= t },
    { title: "decoder: cross", queries: data.target, keys: data.source, shape: "(T, S)", may: (t, s) => s < real },
  ];
  const kind = choice("Attention", KINDS.map(one => one.title), fill);
  const words = make("div", { class: "tokens", role: "group", "aria-label": "Query" });
  const keys = make("ul", { class: "tokens", "aria-label": "Keys" });
  const table = make("div", { class: "wide-drawing" });
  const label = text => make("p", { class: "legend" }, text);
  panel.append(kind.element, label("The word that asks (query):"), words,
    label("The words that it may look at (keys):"), keys, table);
  let query;

  /** Show the words of another attention. */
  function fill() {
    const { queries } = KINDS[kind.value];
    const buttons = queries.map(word => make("button", { type: "button" }, word));
    words.replaceChildren(...buttons);
    query = row(buttons, update, data.asks[kind.value ? 1 : 0]);
    update();
  }

  function update() {
    const { queries, keys: others, shape, may } = KINDS[kind.value], t = query.value;
    keys.replaceChildren(...others.map((word, s) =>
      make("li", { class: may(t, s) ? "readable" : "unreadable" }, word)));
    const cells = range(queries.length).flatMap(i => range(others.length).map(s => make("rect", {
      class: `${may(i, s) ? "may" : "may-not"}${i === t ? " asks" : ""}`, x: 2 + s * CELL, y: 2 + i * CELL, width: CELL, height: CELL,
    })));
    const frame = make("rect", { class: "asking", x: 2, y: 2 + t * CELL, width: others.length * CELL, height: CELL });
    table.replaceChildren(drawing(4 + others.length * CELL, 4 + queries.length * CELL, ...cells, frame));
    const seen = others.filter((_, s) => may(t, s)).length, hidden = others.length - seen;
    const task = kind.value ? `The position that reads “${queries[t]}” has to write “${data.next[t]}”. ` : `“${queries[t]}” asks. `;
    const why = hidden ? (kind.value === 1 ? "not written yet" : "padding") : "";
    say(`${task}It may look at ${seen} of ${others.length} words${hidden ? `; ${hidden} are hidden: ${why}` : ""}. `
      + `The table of weights has the shape ${shape} = (${queries.length}, ${others.length}).`);
  }
  fill();
});
