"use strict";
// data: sentences; views, what the model may read; start, a sentence and a token in it; first, the text shown until the
// model is there.
Interactive.figure("gaps", "Hide a word, and a BERT guesses it", (panel, data, say) => {
  const { make, choice, row, bar, range, script, whenNear } = Interactive;
  const SHOWN = 5;
  const words = make("textarea", { id: "gaps-words", rows: 2, spellcheck: "false", oninput: () => edit(0) });
  const sentence = choice("Sentence", data.sentences.map((_, i) => `${i + 1}`), () => take(1), data.start[0]);
  const view = choice("BERT reads", data.views, update);
  const strip = make("div", { class: "tokens", role: "group", "aria-label": "Tokens: point at one to hide it, press it to keep it hidden" });
  const lines = range(SHOWN).map(() => {
    const name = make("th", { scope: "row" }), place = make("td", { class: "wide" }), share = make("td", { class: "numbers" });
    return { name, place, share, element: make("tr", {}, name, place, share) };
  });
  panel.append(sentence.element, make("label", { for: "gaps-words" }, "Change it, or write your own"), words, view.element, strip,
    make("table", { class: "values" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "guess"), make("td"), make("th", { scope: "col" }, "probability"))),
      make("tbody", {}, ...lines.map(line => line.element))));

  let model, tokenizer, ids = [], cut = "", kept = new Set(), buttons = [], hidden;

  async function start() {
    say("The model is on its way.");
    await script("live.js");
    await Promise.all([script("live_models.js"), script("../live/bert.js")]);
    const { config, vocab, weights } = Live.models.bert;
    tokenizer = new LiveModels.WordPiece(vocab);
    model = new LiveModels.BERT(config, Live.unpack(weights));
    edit(data.start[1]);
  }

  function take(place) {
    words.value = data.sentences[sentence.value];
    edit(place);
  }

  /** The reader has changed the text. */
  function edit(place) {
    if (!model) return;
    const found = tokenizer.encode(words.value), most = model.config.max_seq_len - 2;
    ids = found.slice(0, most);
    cut = found.length > most ? ` It reads the first ${most} tokens of your text, and no more.` : "";
    kept = new Set();
    buttons = ids.map((_, i) => make("button", { type: "button", onclick: () => keep(i) }));
    strip.replaceChildren(...buttons);
    if (!ids.length) {
      lines.forEach(line => [line.name, line.place, line.share].forEach(cell => cell.replaceChildren()));
      say("Write a sentence, and the model has something to read.");
      return;
    }
    hidden = row(buttons, update, Math.min(place, ids.length - 1));
    update();
  }

  /** A token that was pressed stays hidden, until it is pressed again. */
  function keep(i) {
    if (!kept.delete(i)) kept.add(i);
    update();
  }

  /** Whether a place is out of sight: left of the gap, or right of it. */
  const away = (place, gap) => (view.value === 1 && place > gap) || (view.value === 2 && place < gap);

  function update() {
    if (!ids.length) return;
    const gap = hidden.value, { vocab } = tokenizer, special = name => tokenizer.ids.get(name);
    const seen = ids.map((id, i) => (i === gap || kept.has(i) ? special("[MASK]") : id));
    const p = Live.softmax(model.logits([special("[CLS]"), ...seen, special("[SEP]")], gap + 1, (_, s) => !away(s - 1, gap)));
    buttons.forEach((button, i) => {
      const masked = i === gap || kept.has(i), token = vocab[ids[i]];
      button.textContent = away(i, gap) ? "·" : masked ? "[MASK]" : token;
      button.classList.toggle("made", kept.has(i));
      button.setAttribute("aria-label", masked ? `[MASK] in place of ${token}${kept.has(i) ? ", kept hidden" : ""}` : token);
    });
    const best = range(p.length).sort((a, b) => p[b] - p[a]), rank = best.indexOf(ids[gap]) + 1;
    lines.forEach(({ name, place, share }, i) => {
      name.textContent = vocab[best[i]];
      name.setAttribute("style", `font-weight: ${best[i] === ids[gap] ? "bold" : "normal"}`);
      place.replaceChildren(bar(p[best[i]]));
      share.textContent = p[best[i]].toFixed(2);
    });
    const where = rank === 1 ? "the first guess" : `guess ${rank.toLocaleString("en")} of ${vocab.length.toLocaleString("en")}`;
    const others = [...kept].filter(i => i !== gap).length, more = others ? ` ${others} more hidden.` : "";
    say(`Hidden: “${vocab[ids[gap]]}”.${more} With ${["both sides", "the left side only", "the right side only"][view.value]} to read, it is `
      + `${where}, with a probability of ${p[ids[gap]].toFixed(3)}.${cut}`);
  }

  whenNear(panel, say, start);
  words.value = data.sentences[data.start[0]];
  say(data.first);
});
