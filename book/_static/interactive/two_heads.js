"use strict";
// data: tokens (T); maps (blocks, heads, T, t), weights of token t for tokens 1 … t, in percent; start [block, head] twice and the token.
Interactive.figure("two_heads", "Two heads on one text", (panel, data, say) => {
  const { make, row, range, bar } = Interactive;
  const { tokens, maps, start } = data;
  const names = maps.flatMap((heads, b) => heads.map((_, h) => ({ b, h, name: `block ${b + 1}, head ${h + 1}` })));

  /** A list of all heads. */
  function chooser(label, [b, h]) {
    const options = names.map(one => make("option", { selected: one.b === b && one.h === h }, one.name));
    const select = make("select", { onchange: update }, ...options);
    return {
      element: make("div", { class: "control" }, make("label", {}, make("span", {}, label), " ", select)),
      get chosen() { return names[select.selectedIndex]; },
    };
  }

  const heads = [chooser("Blue head", start[0]), chooser("Orange head", start[1])];
  const shown = token => token.replaceAll("\n", "↵");
  const buttons = tokens.map(token => make("button", { type: "button" },
    make("span", { class: "piece-text" }, shown(token)), bar(0), bar(0, "other")));
  const query = row(buttons, update, start[2]);
  panel.append(...heads.map(head => head.element), make("p", { class: "legend" }, "The chosen token has a frame. ",
    "Bars under a token: how much the blue and the orange head look at it from there."),
    make("div", { class: "tokens", role: "group", "aria-label": "The text: choose the token that looks" }, ...buttons));

  /** Whom a head looks at most, in words. */
  function words({ chosen: { b, h, name } }, colour) {
    const weights = maps[b][h][query.value];
    const order = range(weights.length).sort((i, j) => weights[j] - weights[i]).slice(0, 2);
    const most = order.map(j => `“${shown(tokens[j]).trim()}” in place ${j + 1} (${weights[j]}%)`);
    return `${colour}, ${name}: ${most.join(" and ")}.`;
  }

  function update() {
    buttons.forEach((button, j) => {
      const shares = heads.map(({ chosen: { b, h } }) => maps[b][h][query.value][j] ?? 0);
      shares.forEach((share, i) => { button.children[i + 1].firstChild.style.width = `${share}%`; });
      button.setAttribute("aria-label", `${shown(tokens[j])}, blue ${shares[0]}%, orange ${shares[1]}%`);
    });
    say(`“${shown(tokens[query.value]).trim()}” in place ${query.value + 1} looks most at … `
      + `${words(heads[0], "Blue")} ${words(heads[1], "Orange")}`);
  }
  update();
});
