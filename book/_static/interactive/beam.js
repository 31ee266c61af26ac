"use strict";
// data: source; stop; searches, by number of beams: steps, in each the beginnings {text: [...], after: [[token, p], ...]};
// found, the answer of each: {text: [...], p}.
Interactive.figure("beam", "Beam search as a tree", (panel, data, say) => {
  const { make, drawing, choice, stepper, range } = Interactive;
  const sizes = Object.keys(data.searches);
  const LINE = 20, COLUMN = 104, TOP = 16, LETTER = 7.5;
  const last = () => data.searches[sizes[beams.value]].length;
  const beams = choice("Beams", sizes, () => { step.last = last(); update(); });
  const step = stepper("Steps", last(), () => update(), 1);
  const tree = make("div", { class: "wide-drawing", tabindex: 0, role: "group", "aria-label": "Tree, scrolls sideways" });
  const list = make("tbody");
  panel.append(beams.element, step.element, tree, make("p", { class: "legend" },
    make("span", { class: "one" }, "━ kept"), " ", make("span", { class: "two" }, "━ finished"), " ┈ dropped"),
    make("table", { class: "values" }, make("caption", {}, "Candidates of this step, by probability"), list));

  /** The beginnings of a step with all that may follow, the likeliest first; each knows what becomes of it. */
  function candidates(steps, t, width) {
    const open = steps[t + 1] ? steps[t + 1].map(one => one.text.join(" ")) : [];
    const every = steps[t].flatMap((one, parent) => one.after.map(([token, p]) => ({
      parent, token, p, text: [...one.text, token], all: one.p * p,
    }))).sort((a, b) => b.all - a.all);
    return every.map((one, rank) => {
      const finished = one.token === data.stop && rank < width;
      return { ...one, fate: finished ? "finished" : open.includes(one.text.join(" ")) ? "kept" : "dropped" };
    });
  }

  /** The probability of each beginning is that of the candidate it was. */
  function follow(steps, width) {
    steps[0][0].p = 1;
    return range(steps.length).map(t => {
      const found = candidates(steps, t, width);
      (steps[t + 1] || []).forEach(one => { one.p = found.find(c => c.text.join(" ") === one.text.join(" ")).all; });
      return found;
    });
  }

  function draw(steps, rounds, now) {
    const parts = [], height = TOP + LINE * Math.max(2, ...rounds.map(round => round.length));
    const middle = (i, n) => height / 2 + (i - (n - 1) / 2) * Math.min(2 * LINE, height / n);
    const node = (x, y, text, kind) => make("text", { x, y: y + 4, class: kind }, text);
    const edge = (x1, y1, x2, y2, kind) => make("line", { x1, y1, x2, y2, class: `edge ${kind}` });
    let before = [{ x: 40, y: height / 2 }];
    parts.push(node(0, height / 2, "start", "kept"));
    range(now).forEach(t => {
      const x = 64 + COLUMN * t;
      const shown = rounds[t].filter(one => t === now - 1 || one.fate !== "dropped").sort((a, b) => before[a.parent].y - before[b.parent].y);
      const after = [];
      shown.forEach((one, i) => {
        const y = middle(i, shown.length);
        const { x: start, y: level } = before[one.parent];
        parts.push(edge(start, level, x - 4, y, one.fate), node(x, y, one.token, one.fate));
        const place = steps[t + 1] ? steps[t + 1].findIndex(next => next.text.join(" ") === one.text.join(" ")) : -1;
        if (place >= 0) after[place] = { x: x + 6 + LETTER * one.token.length, y };
      });
      before = after;
    });
    return drawing(Math.max(240, 64 + COLUMN * now), height, ...parts);
  }

  function update() {
    const width = Number(sizes[beams.value]), steps = data.searches[width], found = data.found[width];
    const now = step.value, rounds = follow(steps, width);
    tree.replaceChildren(draw(steps, rounds, now));
    tree.scrollLeft = tree.scrollWidth;
    const round = now ? rounds[now - 1] : [];
    list.replaceChildren(...round.slice(0, 2 * width + 2).map(one => make("tr", { class: one.fate === "dropped" ? "" : "next" },
      make("th", { scope: "row" }, one.text.join(" ")), make("td", { class: "numbers" }, one.all.toFixed(4)), make("td", {}, one.fate))));
    const many = `${width} beam${width === 1 ? "" : "s"}`;
    const kept = round.filter(one => one.fate === "kept").map(one => `“${one.text.join(" ")}”`);
    const over = now === steps.length ? ` The search is over: “${found.text.join(" ")}” with probability ${found.p.toFixed(4)}.` : "";
    say(now === 0 ? `${many}: nothing is written yet. Source: ${data.source}.`
      : `${many}, step ${now}: ${kept.length && !over ? `kept ${kept.join(", ")}.` : ""}${over}`);
  }
  update();
});
