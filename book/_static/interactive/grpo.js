"use strict";
// data: groups, each with problem, answers (G) and rewards (G), 1 where the check found the right result, otherwise 0.
Interactive.figure("grpo", "A group of answers and its advantages", (panel, data, say) => {
  const { make, choice, check } = Interactive;
  const { groups } = data, EPS = 1e-4, MOST = 2.7;
  const rewards = groups.map(group => [...group.rewards]);
  const group = choice("Problem", groups.map(one => one.problem), update);
  const scale = check("divide by the standard deviation", true, update);
  const table = make("div", { class: "group-answers" });
  const set = (text, values) => make("button", {
    type: "button", onclick: () => { rewards[group.value] = values(groups[group.value]); update(); },
  }, text);
  panel.append(group.element, scale.element,
    make("p", { class: "legend" }, "Press an answer to change its reward; ✓ is 1, ✗ is 0."),
    make("p", { class: "choices" }, set("all right", one => one.answers.map(() => 1)),
      set("all wrong", one => one.answers.map(() => 0)), set("check again", one => [...one.rewards])), table);
  let rows = [], shown = -1;

  /** New rows for another problem only, so that a button keeps the focus when its reward changes. */
  function write() {
    shown = group.value;
    rows = groups[shown].answers.map((_, i) => ({
      button: make("button", {
        type: "button", onclick: () => { rewards[shown][i] = 1 - rewards[shown][i]; update(); },
      }),
      bar: make("span", {}),
      number: make("span", { class: "numbers" }),
    }));
    table.replaceChildren(...rows.flatMap(row => [
      row.button, make("span", { class: "push", "aria-hidden": "true" }, row.bar), row.number]));
  }

  const signed = x => `${x < -0.005 ? "−" : x > 0.005 ? "+" : ""}${Math.abs(x).toFixed(2)}`;

  function update() {
    if (shown !== group.value) write();
    const own = rewards[shown], G = own.length, right = own.reduce((a, b) => a + b, 0), mean = right / G;
    const std = Math.sqrt(own.reduce((sum, r) => sum + (r - mean) ** 2, 0) / G);
    const advantages = own.map(r => (r - mean) / (scale.value ? std + EPS : 1));
    rows.forEach((row, i) => {
      const long = 50 * Math.min(1, Math.abs(advantages[i]) / MOST);
      row.button.setAttribute("aria-pressed", own[i] === 1);
      row.button.textContent = `${own[i] ? "✓" : "✗"} ${groups[shown].answers[i]}`;
      row.bar.className = advantages[i] > 0 ? "up" : "down";
      row.bar.style.width = `${long}%`;
      row.bar.style.left = `${advantages[i] > 0 ? 50 : 50 - long}%`;
      row.number.textContent = signed(advantages[i]);
    });
    const first = `${right} of ${G} answers are right: mean ${mean.toFixed(3)}, standard deviation ${std.toFixed(3)}. `;
    const [up, down] = [1, 0].map(reward => signed(advantages[own.indexOf(reward)] ?? 0));
    say(first + (right === 0 || right === G
      ? "All rewards are equal, so every advantage is 0 and the group teaches nothing."
      : `A right answer has the advantage ${up} and becomes likelier, a wrong one ${down} and becomes less likely.`));
  }
  update();
});
