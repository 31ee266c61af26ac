"use strict";
// data: times, of each word; letters; merges [[a, b], ...]; steps, the words in pieces after 0, 1, 2 ... merges.
Interactive.figure("bpe", "Byte-pair encoding, merge by merge", (panel, data, say) => {
  const { make, stepper, bar } = Interactive;
  const { times, letters, merges, steps } = data;
  const step = stepper("Merges", merges.length, update);
  const words = make("ul", { class: "words" });
  const table = make("tbody");
  const id = "interactive-own-word";
  const own = make("input", { type: "text", id, value: "lowest", size: 12, autocomplete: "off", oninput: update });
  const cut = make("span", { class: "word" });
  panel.append(step.element, words,
    make("table", { class: "values" }, make("caption", {}, "The most frequent pairs of neighbours now"), table),
    make("div", { class: "control" }, make("label", { for: id }, "Cut a word of your own"), own, cut));

  function pairs(words) {
    const counts = new Map();
    words.forEach((pieces, w) => pieces.slice(1).forEach((right, i) => {
      const pair = `${pieces[i]} ${right}`;
      counts.set(pair, (counts.get(pair) || 0) + times[w]);
    }));
    return counts;
  }

  /** The pairs, first the one that is joined: the most frequent; of equals, the one that comes first in the vocabulary. */
  function ranked(words, done) {
    const vocabulary = [...letters, ...merges.slice(0, done).map(pair => pair.join(""))];
    const place = pair => pair.split(" ").map(piece => vocabulary.indexOf(piece));
    return [...pairs(words)].sort(([a, m], [b, n]) => {
      const [p, q] = [place(a), place(b)];
      return n - m || p[0] - q[0] || p[1] - q[1];
    });
  }

  function join(pieces, [left, right]) {
    const joined = [];
    for (const piece of pieces) {
      if (piece === right && joined.at(-1) === left) joined[joined.length - 1] += piece;
      else joined.push(piece);
    }
    return joined;
  }

  function boxes(pieces, made, next) {
    const kinds = pieces.map(piece => (piece === made ? "piece made" : "piece"));
    for (let i = 1; i < pieces.length; i += 1) {
      if (next && pieces[i - 1] === next[0] && pieces[i] === next[1] && !kinds[i - 1].includes("second")) {
        kinds[i - 1] += " first";
        kinds[i] += " second";
      }
    }
    return pieces.map((piece, i) => make("span", { class: kinds[i] }, piece));
  }

  function update() {
    const done = step.value, next = merges[done], made = done ? merges[done - 1].join("") : undefined;
    words.replaceChildren(...steps[done].map((pieces, i) => make("li", {},
      make("span", { class: "word" }, ...boxes(pieces, made, next)), make("span", { class: "numbers" }, `${times[i]} times`))));
    const rows = ranked(steps[done], done).slice(0, 5);
    table.replaceChildren(...rows.map(([pair, count], i) => make("tr", i ? {} : { class: "next" },
      make("th", { scope: "row" }, pair.replace(" ", " + ")), make("td", { class: "wide" }, bar(count / 10, i ? "" : "other")),
      make("td", { class: "numbers" }, `${count}`))));
    const spelled = merges.slice(0, done).reduce(join, [...own.value]);
    cut.replaceChildren(...boxes(spelled));
    const last = done ? `Merge ${done} made “${made}”. ` : "Only letters so far. ";
    const coming = rows.length ? `Next: ${rows[0][0].replace(" ", " + ")}, ${rows[0][1]} times. ` : "Nothing is left to join. ";
    say(`${last}${coming}“${own.value}” is now ${spelled.length} piece${spelled.length === 1 ? "" : "s"}: ${spelled.join(" | ")}.`);
  }
  update();
});
