"use strict";
// data: dates, in English; languages, the code and name of each; pattern, of a piece; start, the block and head of the
// decoder shown first; first, the text shown until the model is there.
Interactive.figure("dates", "A Transformer translates a date", (panel, data, say) => {
  const { make, choice, bar, range, script, whenNear } = Interactive;
  const SHOWN = 3, START = 1, STOP = 2, LONGEST = 14;
  const date = make("input", { type: "text", id: "dates-date", spellcheck: "false", autocomplete: "off", oninput: () => again() });
  const examples = make("select", { id: "dates-examples", onchange: () => { date.value = examples.value; again(); } },
    ...data.dates.map(text => make("option", {}, text)));
  const language = choice("Into", data.languages.map(([, name]) => name), () => again());
  const on = make("button", { type: "button", onclick: () => { step(); update(); } }, "Next token");
  const all = make("button", { type: "button", onclick: () => { while (step()); update(); } }, "To the end");
  const back = make("button", { type: "button", onclick: () => again() }, "Start again");
  const text = make("output", { class: "translation" });
  const caption = make("caption"), body = make("tbody"), look = make("div");
  const map = make("div", { class: "wide-drawing", tabindex: 0, role: "region", "aria-label": "Where each written token looks" });
  panel.append(
    make("div", { class: "control" }, make("label", { for: "dates-examples" }, "A date"), examples),
    make("div", { class: "control" }, make("label", { for: "dates-date" }, "Change it"), date), language.element,
    make("div", { class: "control" }, on, all, back), make("p", {}, "Written: ", text),
    make("table", { class: "values" }, caption, body),
    make("p", { class: "legend" }, "Where each written token looked: a row is a written token, a column a token of the source."), map, look);

  let model, tokens, ids, source = [], memory, written = [], chances, block, head;
  const name = id => (id === STOP ? "end" : tokens[id].trim() || "space");
  const done = () => written.at(-1) === STOP || written.length >= LONGEST;

  async function start() {
    say("The model is on its way.");
    await script("live.js");
    await Promise.all([script("live_models.js"), script("../live/dates.js")]);
    const { config, weights, ...held } = Live.models.dates;
    tokens = held.tokens;
    ids = new Map(tokens.map((token, id) => [token, id]));
    model = new LiveModels.Transformer(config, Live.unpack(weights));
    block = choice("Attention of block", range(config.num_layers).map(l => `${l + 1}`), update, data.start[0]);
    head = choice("Head", [...range(config.num_heads).map(h => `${h + 1}`), "mean"], update, data.start[1]);
    look.append(block.element, head.element);
    again();
  }

  /** Read the source, and begin to write. */
  function again() {
    if (!model) return;
    const pieces = date.value.trim().match(new RegExp(data.pattern, "g")) || [], strange = pieces.find(piece => !ids.has(piece));
    written = [];
    source = [`<${data.languages[language.value][0]}>`, ...pieces].map(piece => ids.get(piece));
    const fault = strange !== undefined ? `“${strange.trim()}” is not in the vocabulary: this model knows nothing but dates, such as ${data.dates[0]}.`
      : !pieces.length ? "Write a date, and the model has something to read."
      : source.length > model.config.max_seq_len ? `This model reads at most ${model.config.max_seq_len - 1} tokens.` : "";
    if (fault) {
      source = [];
      [text, body, map, caption].forEach(part => part.replaceChildren());
      say(fault);
      return;
    }
    memory = model.encode(source);
    ask();
    update();
  }

  /** What may come next. The row of attention of the last position belongs to the token that it writes. */
  function ask() { chances = Live.softmax(model.next([START, ...written], memory)); }

  /** Write the likeliest token, unless the end is reached. */
  function step() {
    if (!source.length || done()) return false;
    written.push(chances.indexOf(Math.max(...chances)));
    if (!done()) ask();
    return true;
  }

  /** Where the position that writes token t looks, (S,). */
  function looking(t) {
    const rows = model.weights[`decoder.blocks.${block.value}.cross_attn`].map(one => one[t]);
    const heads = head.value < rows.length ? [rows[head.value]] : rows;
    return source.map((_, s) => heads.reduce((sum, row) => sum + row[s], 0) / heads.length);
  }

  function update() {
    if (!model || !source.length) return;
    text.textContent = written.filter(id => id !== STOP).map(id => tokens[id]).join("") || "nothing yet";
    for (const button of [on, all]) button.setAttribute("aria-disabled", done());
    const best = range(chances.length).sort((a, b) => chances[b] - chances[a]).slice(0, SHOWN);
    caption.textContent = done() ? "At the last step it had the choice of" : `What comes as token ${written.length + 1}?`;
    body.replaceChildren(...best.map(id => make("tr", {}, make("th", { scope: "row" }, name(id)),
      make("td", { class: "wide" }, bar(chances[id])), make("td", { class: "numbers" }, chances[id].toFixed(2)))));
    const cell = weight => {
      const one = make("td", {}, make("span", { class: "unseen" }, weight.toFixed(2)));
      one.style.setProperty("--share", `${100 * weight}%`);
      return one;
    };
    map.replaceChildren(make("table", { class: "alignment" },
      make("thead", {}, make("tr", {}, make("td"), ...source.map(id => make("th", { scope: "col" }, name(id))))),
      make("tbody", {}, ...written.map((id, t) => make("tr", {}, make("th", { scope: "row" }, name(id)), ...looking(t).map(cell))))));
    if (!written.length) {
      say(`It has read ${source.length} tokens, the first of which names the language, and has written nothing yet.`);
      return;
    }
    const last = written.length - 1, weights = looking(last), most = weights.indexOf(Math.max(...weights));
    const ends = done() ? ` The translation is “${text.textContent}”.` : "";
    say(`To write “${name(written[last])}”, it looks most at “${name(source[most])}”, with ${weights[most].toFixed(2)} of its attention.${ends}`);
  }

  whenNear(panel, say, start);
  date.value = data.dates[0];
  say(data.first);
});
