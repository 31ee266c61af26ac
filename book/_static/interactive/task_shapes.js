"use strict";
// data: shapes, each with name and examples; an example has asks, what is asked, and texts, lists of tokens (the first of a
// choice is its context); longest, the largest value on the slider.
Interactive.figure("task_shapes", "Four shapes of a task", (panel, data, say) => {
  const { make, choice, slider, range } = Interactive;
  const { shapes, longest } = data;
  const HOW = {
    classification: "The linear map turns the state at the extract token into one score for each label.",
    entailment: "The linear map turns the state at the extract token into one score for each label. The order of the texts is part of the question.",
    similarity: "The two states at the extract token are added, then the linear map gives one score for each label. The sum does not know the order.",
    "multiple choice": "The linear map gives each sequence one score, and a softmax compares the answers.",
  };
  const MARKS = ["start", "delimiter", "extract"];
  const shape = choice("Shape", shapes.map(one => one.name), update);
  const example = choice("Example", ["1", "2"], update);
  const size = slider("Longest sequence", { min: 8, max: longest, value: longest, words: n => `${n} tokens` }, update);
  const back = slider("Read the answer", { min: 1 - longest, max: 0, value: 0, words: n => n ? `${-n} before it` : "at extract" }, update);
  const asked = make("p", { class: "legend" }), rows = make("ul", { class: "words" });
  panel.append(shape.element, example.element, size.element, back.element, asked, rows);

  /** start text extract, or start text delimiter text extract; what does not fit is cut from the end of the longer text. */
  function join(...texts) {
    const parts = texts.map(text => [...text]);
    while (parts.flat().length + parts.length + 1 > size.value)
      parts.reduce((long, part) => part.length > long.length ? part : long).pop();
    return [MARKS[0], ...parts.flatMap((part, i) => i ? [MARKS[1], ...part] : part), MARKS[2]];
  }

  /** The sequences of an example. */
  function sequences(name, texts) {
    if (name === "classification") return [join(texts[0])];
    if (name === "entailment") return [join(...texts)];
    if (name === "similarity") return [join(...texts), join(texts[1], texts[0])];
    return texts.slice(1).map(answer => join(texts[0], answer));
  }

  function update() {
    const { name, examples } = shapes[shape.value], one = examples[example.value];
    const made = sequences(name, one.texts), place = made.map(row => Math.max(0, row.length - 1 + back.value));
    asked.textContent = one.asks;
    rows.replaceChildren(...made.map((row, r) => make("li", {}, make("span", { class: "word" }, ...row.map((token, i) =>
      make("span", {
        class: MARKS.includes(token) ? "piece made" : "piece", "data-seen": i <= place[r] ? "yes" : "no", "data-read": i === place[r] && "yes",
        style: (i > place[r] ? "border-style: dashed; color: var(--faint); background: transparent;" : "")
          + (i === place[r] ? "outline: 3px solid var(--one); outline-offset: 1px;" : ""),
      }, token))))));
    const whole = place.every((at, r) => at === made[r].length - 1), blind = place.every(at => at === 0);
    const seen = `The outlined state has seen ${range(made.length).map(r => `${place[r] + 1} of ${made[r].length}`).join(", ")} tokens. `;
    say(`${made.length} sequence${made.length > 1 ? "s" : ""}. ${seen}` + (whole ? HOW[name]
      : blind ? "It is the same for every text, and so is the answer." : "What is dashed cannot influence the answer."));
  }
  update();
});
