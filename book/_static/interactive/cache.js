"use strict";
// data: tokens, prompt and continuation; prompt, how many of them were given; layers, width, bytes of one number;
// start, how many tokens are written at first (1 if left out).
Interactive.figure("cache", "The key/value cache, step by step", (panel, data, say) => {
  const { make, drawing, stepper, check, range } = Interactive;
  const { tokens, prompt } = data;
  const last = tokens.length - prompt - 1, CELL = 15, LEFT = 50;
  const step = stepper("Tokens written", last + 1, update, data.start ?? 1);
  const cached = check("Keep keys and values", true, update);
  const text = make("p", { class: "word" });
  const cells = make("g", {});
  const height = (last + 2) * CELL + 18;
  const numbers = make("tbody");
  panel.append(step.element, cached.element, text,
    make("p", { class: "legend" }, "One row per pass through the model, one column per position: ",
      make("span", { class: "swatch computed" }), " computed, ", make("span", { class: "swatch kept" }), " read from the cache."),
    drawing(LEFT + tokens.length * CELL, height, cells), make("table", { class: "values" }, numbers));

  /** How many positions a pass has before it, and how many of those it computes. */
  const seen = pass => prompt + pass;
  const computed = (pass, keep) => (keep && pass > 0 ? 1 : seen(pass));
  const total = (passes, keep) => range(passes).reduce((sum, pass) => sum + computed(pass, keep), 0);

  const label = (pass, kind = "") => make("text", { class: kind, x: 0, y: 28 + pass * CELL }, `pass ${pass + 1}`);

  function drawPass(pass) {
    const first = seen(pass) - computed(pass, cached.value), y = 16 + pass * CELL;
    const squares = range(seen(pass)).map(i => make("rect", {
      class: i < first ? "kept" : "computed", x: LEFT + i * CELL + 1, y: y + 1, width: CELL - 2, height: CELL - 2,
    }));
    return make("g", {}, label(pass), ...squares);
  }

  function update() {
    const written = step.value;
    text.replaceChildren(...tokens.slice(0, prompt + written).map((token, i) => make("span", {
      class: i < prompt ? "piece" : i === prompt + written - 1 ? "piece made" : "piece new",
    }, token)));
    cells.replaceChildren(make("text", { x: LEFT, y: 11 }, "position 1 …"),
      ...range(last + 1).map(pass => (pass < written ? drawPass(pass) : label(pass, "dropped"))));
    const kept = written ? seen(written - 1) : 0;
    const bytes = 2 * data.layers * data.width * data.bytes * (cached.value ? kept : 0);
    const rows = [["Positions computed in this pass", written ? computed(written - 1, cached.value) : 0],
      ["Positions computed in all", total(written, cached.value)], ["Bytes in the cache", bytes]];
    numbers.replaceChildren(...rows.map(([name, value]) => make("tr", {},
      make("th", { scope: "row" }, name), make("td", { class: "numbers" }, value.toLocaleString("en")))));
    say(written === 0 ? `The prompt has ${prompt} tokens. Nothing has been computed yet.`
      : `${written} token${written === 1 ? "" : "s"} written, the last is “${tokens[prompt + written - 1]}”. With the cache ${total(written, true)} positions `
      + `went through the model, without it ${total(written, false)}.`);
  }
  update();
});
