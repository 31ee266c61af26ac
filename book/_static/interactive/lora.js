"use strict";
// data: shown (n, n), a corner of the difference; u, v (n, R), rows of its singular vectors; s, all singular values; size, the
// matrix's rows; ranks on the slider; exact, the share of right translations at each; whole, without a cut; start, an index.
Interactive.figure("lora", "A difference of weights at a lower rank", (panel, data, say) => {
  const { make, drawing, slider, range } = Interactive;
  const { shown, u, v, s, size, ranks, exact, whole } = data;
  const n = shown.length, CELL = 7, GAP = 16, TOP = 18, SIDE = n * CELL, STEP = (2 * SIDE + GAP) / ranks.length, HIGH = 70;
  const rank = slider("Rank", { min: 0, max: ranks.length - 1, value: data.start, words: i => `${ranks[i]}` }, update);
  const most = Math.max(...shown.flat().map(Math.abs));
  const squares = list => list.reduce((sum, x) => sum + x * x, 0);
  const missing = r => Math.sqrt(squares(s.slice(r)) / squares(s));

  /** A grid of cells that can be painted: colour is sign, opacity is size. */
  function grid(left, title) {
    const cells = range(n * n).map(i => make("rect", {
      x: left + CELL * (i % n), y: TOP + CELL * Math.floor(i / n), width: CELL, height: CELL,
    }));
    const paint = value => cells.forEach((cell, i) => {
      const x = value(Math.floor(i / n), i % n);
      cell.setAttribute("style", `fill: var(${x > 0 ? "--two" : "--one"}); fill-opacity: ${Math.min(1, Math.abs(x) / most).toFixed(2)}`);
    });
    return { element: make("g", {}, make("text", { x: left + SIDE / 2, y: 12, "text-anchor": "middle" }, title), ...cells), paint };
  }

  const [given, made] = [grid(0, "the difference"), grid(SIDE + GAP, "at this rank")];
  const base = TOP + SIDE + 30 + HIGH;
  const bars = ranks.map((_, i) => make("rect", {
    x: i * STEP + 4, width: STEP - 8, y: base - HIGH * exact[i], height: HIGH * exact[i],
  }));
  const share = x => `${(100 * x).toFixed(0)}%`;
  const write = (i, y, words) => make("text", { x: (i + 0.5) * STEP, y, "text-anchor": "middle" }, words);
  const names = ranks.map((r, i) => [write(i, base + 14, `${r}`), write(i, base - HIGH * exact[i] - 4, share(exact[i]))]).flat();
  const picture = drawing(2 * SIDE + GAP, base + 20, given.element, made.element, ...bars, ...names);
  picture.setAttribute("style", "width: 30rem");
  panel.append(rank.element, make("p", { class: "legend" },
    make("span", { class: "two" }, "■ weights that grew"), " ", make("span", { class: "one" }, "■ weights that fell"),
    ". The bars: dates translated correctly, by rank."),
    picture);
  given.paint((i, j) => shown[i][j]);

  function update() {
    const r = ranks[rank.value];
    made.paint((i, j) => range(r).reduce((sum, k) => sum + u[i][k] * s[k] * v[j][k], 0));
    bars.forEach((bar, i) => bar.setAttribute("style", `fill: var(--one); fill-opacity: ${i === rank.value ? 1 : 0.35}`));
    say(`Rank ${r} takes ${(2 * size * r).toLocaleString("en")} numbers in place of ${(size * size).toLocaleString("en")}. In this `
      + `matrix, what is missing is ${share(missing(r))} as long as the difference. With every matrix cut to this rank, `
      + `${share(exact[rank.value])} of the dates come out right; without a cut, ${share(whole)}.`);
  }
  update();
});
