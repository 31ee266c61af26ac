"use strict";
// data: digits, pictures as hexadecimal numbers row by row, each from 0 to f, and labels; start, one of them; first, the text
// shown until the model is there.
Interactive.figure("vit", "Draw a digit, and a ViT reads it", (panel, data, say) => {
  const { make, choice, bar, range, script, whenNear } = Interactive;
  const SIDE = 28, P = 4, ACROSS = SIDE / P, SCALE = 8, CLASSES = 10;
  const digit = choice("Digit", data.digits.map(({ label }) => `${label}`), () => take(digit.value), data.start);
  const tool = choice("Tool", ["draw", "erase", "hide patches"], () => { pen.down = false; draw(); });
  const canvas = make("canvas", { width: SIDE * SCALE, height: SIDE * SCALE, tabindex: 0, role: "application" });
  const clear = make("button", { type: "button", onclick: () => { pixels.fill(0); update(); } }, "Clear");
  const show = make("button", { type: "button", onclick: () => { hidden.clear(); update(); } }, "Show every patch");
  const lines = range(CLASSES).map(label => {
    const name = make("th", { scope: "row" }, `${label}`), place = make("td", { class: "wide" }), share = make("td", { class: "numbers" });
    return { name, place, share, element: make("tr", {}, name, place, share) };
  });
  const look = make("div");
  panel.append(digit.element, tool.element,
    make("div", { class: "beside" }, canvas, make("table", { class: "values reading" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "digit"), make("td"), make("th", { scope: "col" }, "probability"))),
      make("tbody", {}, ...lines.map(line => line.element)))),
    make("div", { class: "control" }, clear, show), look);

  const pixels = new Float32Array(SIDE * SIDE), hidden = new Set(), pen = { x: 14, y: 14, down: false };
  let model, block, head, weights = new Float32Array(1 + ACROSS ** 2), busy = false;
  const patchOf = (x, y) => Math.floor(y / P) * ACROSS + Math.floor(x / P), patch = () => patchOf(pen.x, pen.y);
  const hiding = () => tool.value === 2;

  async function start() {
    say("The model is on its way.");
    await script("live.js");
    await Promise.all([script("live_models.js"), script("../live/vit.js")]);
    const { config, weights: packed } = Live.models.vit;
    model = new LiveModels.ViT(config, Live.unpack(packed));
    block = choice("Attention of block", range(config.num_layers).map(l => `${l + 1}`), update, config.num_layers - 1);
    head = choice("Head", [...range(config.num_heads).map(h => `${h + 1}`), "mean"], update, config.num_heads);
    look.append(block.element, head.element);
    update();
  }

  function take(i) {
    pixels.set(Array.from(data.digits[i].picture, letter => parseInt(letter, 16) / 15));
    update();
  }

  /** What the pen does where it is: ink, or none, in a soft circle, or a patch that changes sides. */
  function mark(first) {
    if (hiding()) {
      if (first) pen.hides = !hidden.has(patch());
      if (pen.hides) hidden.add(patch());
      else hidden.delete(patch());
      return;
    }
    for (let y = 0; y < SIDE; y++) for (let x = 0; x < SIDE; x++) {
      const ink = Math.min(1, Math.max(0, 2.1 - Math.hypot(x + 0.5 - pen.x, y + 0.5 - pen.y))), i = y * SIDE + x;
      pixels[i] = tool.value === 0 ? Math.max(pixels[i], ink) : Math.min(pixels[i], 1 - ink);
    }
  }

  const seen = () => pixels.map((value, i) => (hidden.has(patchOf(i % SIDE, Math.floor(i / SIDE))) ? 0 : value));

  function draw() {
    const picture = canvas.getContext("2d");
    const most = Math.max(...weights.slice(1)) || 1, shown = seen();
    for (let i = 0; i < pixels.length; i++) {
      picture.fillStyle = `rgb(${Array(3).fill(Math.round(255 * shown[i])).join()})`;
      picture.fillRect(i % SIDE * SCALE, Math.floor(i / SIDE) * SCALE, SCALE, SCALE);
    }
    const size = P * SCALE;
    for (let n = 0; n < ACROSS ** 2; n++) {
      const x = n % ACROSS * size, y = Math.floor(n / ACROSS) * size;
      picture.fillStyle = `rgb(255 122 51 / ${0.75 * weights[1 + n] / most})`;
      picture.fillRect(x, y, size, size);
      picture.strokeStyle = "#6b7280";
      picture.lineWidth = 1;
      picture.strokeRect(x + 0.5, y + 0.5, size, size);
      if (!hidden.has(n)) continue;
      picture.strokeStyle = "#b9c0ca";
      picture.beginPath();
      for (let d = 8; d < 2 * size; d += 8) {
        picture.moveTo(x + Math.max(0, d - size), y + Math.min(size, d));
        picture.lineTo(x + Math.min(size, d), y + Math.max(0, d - size));
      }
      picture.stroke();
    }
    if (document.activeElement !== canvas) return;
    picture.strokeStyle = "#7ab8ff";
    picture.lineWidth = 3;
    picture.beginPath();
    if (hiding()) picture.rect(patch() % ACROSS * size + 2, Math.floor(patch() / ACROSS) * size + 2, size - 4, size - 4);
    else picture.arc(pen.x * SCALE, pen.y * SCALE, pen.down ? 7 : 11, 0, 7);
    picture.stroke();
  }

  function update() {
    canvas.setAttribute("aria-label", hiding() ? "Picture of 7 by 7 patches: arrows choose one, Space hides or shows it"
      : "Picture of 28 by 28 pixels: arrows move the pen, Space lowers or lifts it");
    if (!model) { draw(); return; }
    const shown = seen(), p = Live.softmax(model.logits(shown)), best = range(CLASSES).sort((a, b) => p[b] - p[a]);
    const maps = model.weights[`stack.blocks.${block.value}.attn`].map(rows => rows[0]); // of the class token
    const heads = head.value < maps.length ? [maps[head.value]] : maps;
    weights = weights.map((_, n) => heads.reduce((sum, row) => sum + row[n], 0) / heads.length);
    lines.forEach(({ name, place, share }, label) => {
      name.setAttribute("style", `font-weight: ${label === best[0] ? "bold" : "normal"}`);
      place.replaceChildren(bar(p[label]));
      share.textContent = p[label].toFixed(2);
    });
    const top = weights.indexOf(Math.max(...weights.slice(1)), 1) - 1, inked = new Set();
    shown.forEach((value, i) => { if (value > 0.2) inked.add(patchOf(i % SIDE, Math.floor(i / SIDE))); });
    const onInk = [...inked].reduce((sum, n) => sum + weights[1 + n], 0);
    const covered = hidden.size ? ` ${hidden.size} of its ${ACROSS ** 2} patches hidden.` : "";
    const a = label => `${label === 8 ? "an" : "a"} ${label}`;
    say(`It reads ${a(best[0])}, with a probability of ${p[best[0]].toFixed(2)}; then ${a(best[1])}, ${p[best[1]].toFixed(2)}.${covered} `
      + `The class token looks most at row ${Math.floor(top / ACROSS) + 1}, column ${top % ACROSS + 1} `
      + `(${weights[1 + top].toFixed(2)}), and at all patches with ink together ${onInk.toFixed(2)}.`);
    draw();
  }

  /** Move the pen; what a fast pointer skips is drawn, too. The model reads once per frame. */
  function moveTo(x, y) {
    const steps = pen.down ? Math.max(1, Math.ceil(Math.hypot(x - pen.x, y - pen.y))) : 1, from = { ...pen };
    for (let i = 1; i <= steps; i++) {
      Object.assign(pen, { x: from.x + (x - from.x) * i / steps, y: from.y + (y - from.y) * i / steps });
      if (pen.down) mark(false);
    }
    if (!pen.down) { draw(); return; }
    if (!busy) requestAnimationFrame(() => { busy = false; update(); });
    busy = true;
  }

  const inside = value => Math.min(SIDE - 0.01, Math.max(0, value));
  const place = event => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map(share => inside(share * SIDE));
  };
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    [pen.x, pen.y] = place(event);
    pen.down = true;
    mark(true);
    update();
  });
  canvas.addEventListener("pointermove", event => { if (canvas.hasPointerCapture(event.pointerId)) moveTo(...place(event)); });
  canvas.addEventListener("pointerup", () => { pen.down = false; update(); });
  canvas.addEventListener("keydown", event => {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }, step = hiding() ? P : 1;
    if (moves[event.key]) {
      const [dx, dy] = moves[event.key];
      moveTo(inside(pen.x + step * dx), inside(pen.y + step * dy));
    } else if (event.key === " ") {
      pen.down = !hiding() && !pen.down;
      if (hiding() || pen.down) mark(true);
      update();
    } else return;
    event.preventDefault();
  });
  for (const sign of ["focus", "blur"]) canvas.addEventListener(sign, draw);

  whenNear(panel, say, start);
  take(data.start);
  say(data.first);
});
