"use strict";
// data: width, numbers in a key (K); bytes, of a number; pattern, tokens, window: where the controls start.
Interactive.figure("attention_patterns", "Patterns of attention", (panel, data, say) => {
  const { make, drawing, slider, choice, range } = Interactive;
  const K = data.width, SIZE = 256, GLOBAL = 1;
  const near = (t, s, r) => Math.abs(t - s) < r;
  // Each pattern: its name, which cells of its table are filled, how many columns the table has, and the products per cell.
  const PATTERNS = [
    { name: "full", sees: () => true },
    { name: "causal", sees: (t, s) => s <= t },
    { name: "window", sees: near },
    { name: "window and a global token", sees: (t, s, r) => near(t, s, r) || t < GLOBAL || s < GLOBAL },
    { name: "Linformer", sees: () => true, columns: (T, r) => r, products: 4 },
    { name: "kernel", sees: () => true, rows: () => K, columns: () => K + 1 },
  ];
  const pattern = choice("Pattern", PATTERNS.map(one => one.name), update, data.pattern);
  const tokens = slider("Tokens T", { min: 8, max: 32, step: 4, value: data.tokens }, update);
  const window_ = slider("Window r, or mixtures c", { min: 1, max: 8, value: data.window }, update);
  const filled = make("path", { class: "seen" }), lines = make("path", { class: "grid" });
  const side = make("text", { "text-anchor": "middle" }), top = make("text", { x: 30, y: 12 });
  panel.append(pattern.element, tokens.element, window_.element, drawing(SIZE + 34, SIZE + 26, filled, lines, side, top));

  /** The table of a pattern for T tokens: rows, columns, filled cells, and products to make and use it. */
  function table(one, T) {
    const r = window_.value;
    const rows = one.rows ? one.rows() : T, columns = one.columns ? one.columns(T, r) : T;
    const cells = range(rows).flatMap(t => range(columns).filter(s => one.sees(t, s, r)).map(s => [t, s]));
    const products = one.rows ? 2 * T * K * columns : (one.products ?? 2) * K * cells.length;
    return { rows, columns, cells, products };
  }

  function update() {
    const one = PATTERNS[pattern.value], T = tokens.value;
    const { rows, columns, cells, products } = table(one, T);
    const cell = SIZE / Math.max(T, K + 1);
    const [left, above] = [30, 20];
    filled.setAttribute("d", cells.map(([t, s]) => `M${left + s * cell},${above + t * cell}h${cell}v${cell}h${-cell}z`).join(""));
    const across = range(rows + 1).map(t => `M${left},${above + t * cell}h${columns * cell}`);
    const down = range(columns + 1).map(s => `M${left + s * cell},${above}v${rows * cell}`);
    lines.setAttribute("d", across.concat(down).join(""));
    side.textContent = one.rows ? "K" : "T queries";
    side.setAttribute("transform", `translate(${left - 10},${above + rows * cell / 2}) rotate(-90)`);
    top.textContent = one.rows ? "K + 1" : one.columns ? "c mixtures" : "T keys";
    const comma = number => number.toLocaleString("en-US");
    const times = (table(one, 2 * T).products / products).toFixed(1);
    say(`${one.name[0].toUpperCase()}${one.name.slice(1)}, ${T} tokens: a table of ${comma(cells.length)} numbers per head, `
      + `${comma(cells.length * data.bytes)} bytes, and ${comma(products)} multiplications. Twice the tokens take ${times} times as many.`);
  }
  update();
});
