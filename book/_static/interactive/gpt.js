"use strict";
// data: prompt; opening, what the model makes of it, shown until the model is there; first, what is said until then.
// The model's files lie in ../live.
{
  const here = document.currentScript.src;
  const ask = async file => {
    const answer = await fetch(new URL(`../live/${file}`, here));
    if (!answer.ok) throw new Error(`${file}: ${answer.status}`);
    return answer;
  };
  const percent = p => `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)}%`;
  const plain = piece => piece.replaceAll("\n", "↵"), quoted = piece => `“${plain(piece)}”`;

  Interactive.figure("gpt", "A GPT in this page", (panel, data, say) => {
    const { make, slider, choice, check, row, bar, range, script, whenNear } = Interactive;
    const WRITTEN = 24, SHOWN = 8, models = new Map();
    let about, tokenizer, model, intact, switches, ids, chosen, head, block, quiet, writing = false;

    const prompt = make("textarea", { id: "live-prompt", rows: 3, spellcheck: "false", oninput: edit });
    prompt.value = data.prompt;
    const write = make("button", { type: "button", onclick: () => (writing ? (writing = false) : writeOn()) }, "Keep writing");
    const again = make("button", { type: "button", onclick: () => { prompt.value = data.prompt; edit(); } }, "Start again");
    const seed = make("input", { type: "number", id: "live-seed", min: 0, max: 9999, value: 0 });
    const temperature = slider("Temperature", { min: 0, max: 2, step: 0.1, value: 0.7, words: t => (t ? t.toFixed(1) : "0, greedy") }, next);
    const topP = slider("Top-p", { min: 0.05, max: 1, step: 0.05, value: 0.9, words: p => p.toFixed(2) }, next);
    const tokens = make("div", { class: "tokens", role: "group", "aria-label": "Tokens of the prompt" });
    const candidates = make("tbody"), caption = make("caption"), loss = make("output", { class: "loss" });
    const look = make("div"), remove = make("details", {}, make("summary", {}, "Switch parts off"));
    const training = make("div");
    const controlled = make("fieldset", { disabled: true });
    panel.classList.add("live-gpt");
    panel.append(make("label", { for: "live-prompt" }, "Prompt: change it"), prompt, controlled);
    controlled.append(
      make("div", { class: "control" }, write, again, make("label", { for: "live-seed" }, "Seed"), seed),
      temperature.element, topP.element, make("table", { class: "values" }, caption, candidates),
      make("p", { class: "legend" }, "Each token, the bits it costs the model, and how much attention it gets from the chosen one:"),
      tokens, look, make("p", {}, "Loss of the prompt: ", loss), training, remove);

    const announce = text => { clearTimeout(quiet); quiet = setTimeout(say, 400, text); };

    async function start() {
      if (location.protocol === "file:") {
        say("This copy was opened from a disk, where browsers let no page read the model’s file. Serve the folder: python -m http.server");
        return;
      }
      say("The model is on its way.");
      [about, tokenizer] = await Promise.all(["model.json", "tokenizer.json"].map(async file => (await ask(file)).json()));
      await script("live.js");
      await script("gpt_model.js");
      tokenizer = new LiveGPT.Tokenizer(tokenizer);
      switches = LiveGPT.everything(about.config);
      controls(about.config);
      controlled.disabled = false;
      await load(about.checkpoints.length - 1);
    }

    /** One of the checkpoints of the training. */
    async function load(i) {
      if (!models.has(i)) {
        const tensors = Live.readTensors(await (await ask(about.checkpoints[i].file)).arrayBuffer());
        models.set(i, range(2).map(() => new LiveGPT.Model(about.config, tensors)));
      }
      [model, intact] = models.get(i); // the second keeps all its parts
      edit();
    }

    function controls({ num_layers: L, num_heads: H }) {
      block = choice("Attention of block", range(L).map(l => `${l + 1}`), attention, 0);
      head = choice("Head", [...range(H).map(h => `${h + 1}`), "mean"], attention, 0);
      look.append(block.element, head.element);
      const points = about.checkpoints, last = points.length - 1;
      const words = i => `after ${points[i].step.toLocaleString("en")} steps`;
      const point = slider("Training", { min: 0, max: last, value: last, words }, () => load(point.value));
      training.append(point.element);
      const names = { mask: "causal mask", scale: "division by √K", positions: "positions", norms: "norms" };
      for (const [name, words] of Object.entries(names)) {
        const box = check(words, true, () => { switches[name] = box.value; update(); });
        remove.append(box.element);
      }
      const box = (l, h) => make("label", {}, make("input", {
        type: "checkbox", checked: true, "aria-label": `Block ${l + 1}, head ${h + 1}`,
        onchange: event => { switches.heads[l][h] = event.target.checked; update(); },
      }), ` ${h + 1}`);
      remove.append(...range(L).map(l => make("div", { class: "control heads" },
        make("span", {}, `heads of block ${l + 1}`), ...range(H).map(h => box(l, h)))));
    }

    /** The reader has changed the prompt. */
    function edit() {
      if (!model) return;
      ids = tokenizer.encode(about.prefix + prompt.value).slice(0, about.config.max_seq_len);
      update();
    }

    function update() {
      model.read(ids, switches);
      const bits = model.bits();
      const buttons = ids.map((id, i) => token(tokenizer.decode([id]), bits[i - 1]));
      tokens.replaceChildren(...buttons);
      chosen = row(buttons, next, buttons.length - 1);
      loss.textContent = bits.length ? `${mean(bits).toFixed(2)} bits per token` : "no token yet";
      if (bits.length && model.switches !== JSON.stringify(LiveGPT.everything(about.config))) {
        intact.read(ids);
        loss.textContent += ` (${mean(intact.bits()).toFixed(2)} with every part on)`;
      }
      next();
    }
    const token = (piece, bits) => make("button", { type: "button" }, make("span", { class: "piece-text" }, plain(piece)),
      make("span", { class: "numbers" }, bits === undefined ? "–" : bits.toFixed(1)), bar(0));
    const candidate = (piece, p, kept, isNext) => make("tr", { class: isNext ? "next" : "" },
      make("th", { scope: "row" }, make("span", { class: "piece" }, plain(piece))),
      make("td", { class: "wide" }, bar(p), bar(kept, "other")),
      make("td", { class: "numbers" }, `${percent(p)} → ${percent(kept)}`));
    const heading = from => `After …${quoted(from)}: the model’s probability → after temperature and top-p`;
    const mean = numbers => numbers.reduce((a, b) => a + b, 0) / numbers.length;

    /** The next token's probabilities, at the chosen position. */
    function next() {
      if (!model) return;
      const t = chosen.value, from = tokenizer.decode(ids.slice(Math.max(0, t - 3), t + 1));
      const kept = LiveGPT.choices(model.probabilities[t], temperature.value, topP.value);
      const likely = LiveGPT.choices(model.probabilities[t], 1, 1).slice(0, SHOWN);
      const chance = new Map(kept.map(({ id, p }) => [id, p]));
      candidates.replaceChildren(...likely.map(({ id, p }) =>
        candidate(tokenizer.decode([id]), p, chance.get(id) || 0, id === ids[t + 1])));
      caption.textContent = heading(from);
      const three = likely.slice(0, 3).map(({ id, p }) => `${quoted(tokenizer.decode([id]))} ${percent(p)}`);
      announce(`After ${quoted(from)} the likeliest tokens are ${three.join(", ")}. Loss of the prompt: ${loss.textContent}.`);
      attention();
    }

    /** The bars under the tokens: one head's weights, or the mean of the heads. */
    function attention() {
      const { num_heads: H } = about.config, heads = head.value < H ? [head.value] : range(H);
      const rows = heads.map(h => model.lookingFrom(block.value, h, chosen.value));
      [...tokens.children].forEach((button, i) => {
        const share = mean(rows.map(weights => weights[i]));
        const text = `${plain(tokenizer.decode([ids[i]]))}, attention ${percent(share)}`;
        button.lastChild.firstChild.style.width = `${100 * share}%`;
        button.setAttribute("aria-label", text);
      });
    }

    /** Write token by token; between two of them the page may react. */
    async function writeOn() {
      await begin();
      if (!model) return;
      writing = true;
      write.textContent = "Stop";
      const end = Math.min(ids.length + WRITTEN, about.config.max_seq_len);
      while (writing && ids.length < end) {
        const kept = LiveGPT.choices(model.probabilities[ids.length - 1], temperature.value, topP.value);
        ids = [...ids, LiveGPT.draw(kept, LiveGPT.random(seed.valueAsNumber || 0, ids.length))];
        prompt.value = tokenizer.decode(ids).slice(about.prefix.length);
        update();
        await new Promise(resolve => setTimeout(resolve));
      }
      writing = false;
      write.textContent = "Keep writing";
      if (ids.length >= about.config.max_seq_len) announce(`The model reads at most ${about.config.max_seq_len} tokens, and the text has reached this length.`);
    }

    const { pieces, bits, likely } = data.opening; // the last position, with the sliders as they are
    tokens.append(...pieces.map((piece, i) => token(piece, bits[i - 1])));
    candidates.append(...likely.map(one => candidate(...one)));
    caption.textContent = heading(pieces.slice(-4).join(""));
    loss.textContent = `${mean(bits).toFixed(2)} bits per token`;
    const begin = whenNear(panel, say, start);
    say(data.first);
  });
}
