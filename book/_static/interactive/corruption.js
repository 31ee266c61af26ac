"use strict";
// data: words of a sentence; hidden, the places of those that are cut out at first.
Interactive.figure("corruption", "What three models read and write", (panel, data, say) => {
  const { make, choice } = Interactive;
  const { words } = data;
  const hidden = new Set(data.hidden);
  const way = choice("Pretrained like", ["T5", "BART", "BERT"], update);
  const buttons = words.map((word, i) => make("button", {
    type: "button",
    onclick: () => { if (!hidden.delete(i)) hidden.add(i); update(); },
  }, word));
  const reads = make("td"), writes = make("td");
  panel.append(way.element, make("p", { class: "legend" }, "Press the words that are to be cut out:"),
    make("p", { class: "choices" }, ...buttons),
    make("table", { class: "values" }, make("tbody", {},
      make("tr", {}, make("th", { scope: "row" }, "reads"), reads),
      make("tr", {}, make("th", { scope: "row" }, "writes"), writes))));

  /** The sentence as runs of words that are all kept or all cut out. */
  function runs() {
    const found = [];
    words.forEach((word, i) => {
      const cut = hidden.has(i), last = found.at(-1);
      if (last && last.cut === cut) last.words.push(word);
      else found.push({ cut, words: [word] });
    });
    return found;
  }

  const sentinel = n => `<${"XYZABCDEFG"[n]}>`;
  const ways = {
    T5(parts) {
      let read = 0, written = 0;
      const inputs = parts.flatMap(part => (part.cut ? [sentinel(read++)] : part.words));
      const targets = parts.filter(part => part.cut).flatMap(part => [sentinel(written++), ...part.words]);
      return [inputs, [...targets, sentinel(written)]];
    },
    BART: parts => [parts.flatMap(part => (part.cut ? ["[MASK]"] : part.words)), words],
    BERT: parts => [
      parts.flatMap(part => (part.cut ? part.words.map(() => "[MASK]") : part.words)),
      parts.filter(part => part.cut).flatMap(part => part.words),
    ],
  };

  function update() {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", hidden.has(i)));
    const name = ["T5", "BART", "BERT"][way.value];
    const [inputs, targets] = ways[name](runs());
    reads.textContent = inputs.join(" ");
    writes.textContent = targets.join(" ") || "nothing";
    const where = name === "BERT" ? "each at its own place, all at once" : "one after the other";
    say(`${name} reads ${inputs.length} tokens and writes ${targets.length}, ${where}.`);
  }
  update();
});
