"use strict";
// data: tokens (T); maps (blocks, heads, T, T), rows are queries; start [block, head, token];
// other { label, place, token, maps }: the same sentence with another token in one place.
Interactive.figure("attention", "Attention explorer", (panel, data, say) => {
  const { make, drawing, choice, row, range, bar } = Interactive;
  const { maps, start, other } = data;
  const tokens = [...data.tokens];
  const HEIGHT = 30, WIDTH = 90;
  const heads = maps[0].length;
  const pair = [tokens[other.place], other.token];
  const word = choice(other.label, pair, update);
  const block = choice("Block", maps.map((_, i) => `${i + 1}`), update, start[0]);
  const head = choice("Head", [...range(heads).map(i => `${i + 1}`), "mean"], update, start[1]);

  const buttons = tokens.map(token => make("button", { type: "button" }, token));
  const query = row(buttons, update, start[2]);
  const lines = tokens.map(() => make("line", { x1: 0, x2: WIDTH, "stroke-linecap": "round" }));
  const keys = tokens.map(token => {
    const weight = make("span", { class: "numbers" });
    const place = make("span", { class: "place" });
    const name = make("span", { class: "token" }, token);
    return { name, weight, place, element: make("li", {}, name, place, weight) };
  });
  panel.append(word.element, block.element, head.element, make("div", { class: "explorer" },
    make("div", { class: "queries", role: "group", "aria-label": "Query: the token that looks" }, ...buttons),
    drawing(WIDTH, HEIGHT * tokens.length, ...lines),
    make("ol", { class: "keys", "aria-label": "Keys: where it looks" }, ...keys.map(key => key.element))));

  function weights() {
    const layer = [maps, other.maps][word.value][block.value];
    if (head.value < heads) return layer[head.value][query.value];
    return tokens.map((_, j) => layer.reduce((sum, map) => sum + map[query.value][j], 0) / heads);
  }

  function update() {
    tokens[other.place] = pair[word.value];
    for (const shown of [buttons[other.place], keys[other.place].name]) shown.textContent = tokens[other.place];
    const shares = weights();
    const middle = i => (i + 0.5) * HEIGHT;
    shares.forEach((share, j) => {
      const line = lines[j];
      line.setAttribute("y1", middle(query.value));
      line.setAttribute("y2", middle(j));
      line.setAttribute("stroke-width", 12 * share);
      keys[j].weight.textContent = share.toFixed(2);
      keys[j].place.replaceChildren(bar(share));
    });
    const order = range(tokens.length).sort((a, b) => shares[b] - shares[a]).slice(0, 3);
    const named = order.map(j => `“${tokens[j]}” in place ${j + 1} (${shares[j].toFixed(2)})`);
    const who = head.value < heads ? `head ${head.value + 1}` : "mean of the heads";
    say(`Block ${block.value + 1}, ${who}: “${tokens[query.value]}” in place ${query.value + 1} looks at `
      + `${named.slice(0, 2).join(", ")} and ${named[2]}. All weights together: ${shares.reduce((a, b) => a + b).toFixed(2)}.`);
  }
  update();
});
