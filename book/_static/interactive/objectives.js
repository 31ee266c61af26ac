"use strict";
// data: objectives, each with its name, tokens (n), seen (n, n), 1 where a row's position may look at a column's, answers (n),
// empty where nothing is asked, and split, how many tokens an encoder reads before a decoder begins (n if there is none).
Interactive.figure("objectives", "Three objectives of pretraining", (panel, data, say) => {
  const { make, drawing, slider, choice, range } = Interactive;
  const { objectives } = data, SIDE = 240;
  const kind = choice("Objective", objectives.map(one => one.name), change);
  const place = slider("Position", { min: 0, max: objectives[0].tokens.length - 1, value: 3, words: i => `${i + 1}` }, update);
  const text = make("p", { class: "word" }), square = make("g");
  let cells = [];
  panel.append(kind.element, place.element, text, make("p", { class: "legend" },
    "Rows are the positions that look, columns those they look at. ", make("span", { class: "two" }, "■ your position"), " ",
    make("span", { class: "one" }, "■ what it may look at")), drawing(SIDE, SIDE, square));

  function change() {
    const { tokens } = objectives[kind.value], n = tokens.length, size = SIDE / n;
    cells = range(n * n).map(i => make("rect", {
      x: size * (i % n) + 0.5, y: size * Math.floor(i / n) + 0.5, width: size - 1, height: size - 1,
    }));
    square.replaceChildren(...cells);
    place.max = n - 1;
    update();
  }

  function update() {
    const { name, tokens, seen, answers, split } = objectives[kind.value], t = place.value, n = tokens.length;
    text.replaceChildren(...tokens.map((token, s) => make("span", {
      class: `piece${s === t ? " made" : seen[t][s] ? " new" : ""}`, style: seen[t][s] || s === t ? "" : "opacity: 0.75",
    }, token)));
    cells.forEach((cell, i) => {
      const [row, column] = [Math.floor(i / n), i % n], hue = row === t && column === t ? "--two" : "--one";
      const strength = !seen[row][column] ? 0.04 : row === t ? 1 : 0.3;
      cell.setAttribute("style", `fill: var(${hue}); fill-opacity: ${strength}`);
    });
    const where = split < n ? (t < split ? "in the encoder, " : "in the decoder, ") : "";
    const asked = answers[t] ? `is asked for “${answers[t]}”` : "is asked for nothing";
    say(`${name}: ${where}“${tokens[t]}” may look at ${seen[t].reduce((a, b) => a + b, 0)} of ${n} tokens and ${asked}. `
      + `This text gives ${answers.filter(Boolean).length} answers.`);
  }
  change();
});
