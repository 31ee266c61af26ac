"use strict";
// data: side, patches in a row; patch, its side in pixels; heads, decoderHeads; tensors, name → shape, step and int8
// numbers in base64, which times the step are the weights; names and images, pixels as whole numbers up to levels;
// mean, the pixels of the mean image; start, the patches hidden at first.
Interactive.figure("mae_masks", "A masked autoencoder that paints what you hide", (panel, data, say) => {
  const { make, slider, choice, range, digits } = Interactive;
  const { side, patch, names, levels } = data;
  const N = side * side, size = side * patch, tensors = {};
  for (const [name, { shape, step, numbers }] of Object.entries(data.tensors)) {
    const bytes = Int8Array.from(atob(numbers), letter => letter.charCodeAt(0));
    tensors[name] = { shape, numbers: Float64Array.from(bytes, byte => step * byte) };
  }
  const blocks = stack => Object.keys(tensors).filter(name => name.startsWith(stack) && name.endsWith("norm_attn.weight")).length;

  // The model, on lists of vectors.
  const add = (x, y) => x.map((vector, t) => vector.map((value, i) => value + y[t][i]));
  const part = (name, i) => {
    const { shape, numbers } = tensors[name], width = shape[shape.length - 1];
    return [...numbers.subarray(i * width, (i + 1) * width)];
  };

  function linear(x, name) {
    const weight = tensors[`${name}.weight`].numbers, bias = tensors[`${name}.bias`].numbers, width = weight.length / bias.length;
    return x.map(vector => range(bias.length).map(r => {
      let sum = bias[r];
      for (let i = 0; i < width; i++) sum += weight[r * width + i] * vector[i];
      return sum;
    }));
  }

  function norm(x, name) {
    const gain = tensors[`${name}.weight`].numbers, bias = tensors[`${name}.bias`].numbers;
    return x.map(vector => {
      const mean = vector.reduce((a, b) => a + b, 0) / vector.length;
      const variance = vector.reduce((a, b) => a + (b - mean) ** 2, 0) / vector.length;
      return vector.map((value, i) => (value - mean) / Math.sqrt(variance + 1e-6) * gain[i] + bias[i]);
    });
  }

  /** GELU with the error function of Abramowitz and Stegun, 7.1.26: exact to six digits. */
  function gelu(x) {
    const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
    const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return 0.5 * x * (1 + Math.sign(x) * (1 - tail * Math.exp(-z * z)));
  }

  function attention(x, name, heads) {
    const [q, k, v] = [..."qkv"].map(letter => linear(x, `${name}.${letter}_proj`)), width = q[0].length / heads;
    const mixed = q.map(query => query.map(() => 0));
    for (let h = 0; h < heads; h++) q.forEach((query, t) => {
      const inside = range(width).map(i => h * width + i);
      const scores = k.map(key => inside.reduce((sum, i) => sum + query[i] * key[i], 0) / Math.sqrt(width));
      const most = Math.max(...scores), powers = scores.map(score => Math.exp(score - most));
      const sum = powers.reduce((a, b) => a + b, 0);
      v.forEach((value, s) => inside.forEach(i => { mixed[t][i] += powers[s] / sum * value[i]; }));
    });
    return linear(mixed, `${name}.o_proj`);
  }

  function run(x, stack, heads) {
    for (let l = 0; l < blocks(stack); l++) {
      const name = `${stack}.blocks.${l}`;
      x = add(x, attention(norm(x, `${name}.norm_attn`), `${name}.attn`, heads));
      const up = linear(norm(x, `${name}.norm_ffn`), `${name}.ffn.up`);
      x = add(x, linear(up.map(vector => vector.map(gelu)), `${name}.ffn.down`));
    }
    return norm(x, `${stack}.norm`);
  }

  /** The patches of an image, as lists of pixels. */
  const patchify = pixels => range(N).map(n => range(patch * patch).map(m =>
    pixels[(Math.floor(n / side) * patch + Math.floor(m / patch)) * size + n % side * patch + m % patch]));

  /** What the model predicts for every patch; the encoder reads the visible ones alone. */
  function reconstruct(patches, hidden) {
    const visible = range(N).filter(n => !hidden[n]);
    const kept = linear(visible.map(n => patches[n]), "vit.embed.patch.proj");
    const table = "vit.embed.position.table";
    const tokens = [part("vit.embed.cls_token", 0), ...kept];
    const states = linear(run(add(tokens, [0, ...visible.map(n => n + 1)].map(n => part(table, n))), "vit.stack", data.heads), "to_decoder");
    const full = [states[0], ...range(N).map(n => (hidden[n] ? part("mask_token", 0) : states[1 + visible.indexOf(n)]))];
    const read = add(full, range(N + 1).map(n => part("position.table", n)));
    return linear(run(read, "decoder", data.decoderHeads).slice(1), "head");
  }

  // The controls.
  let draws = 0;
  const random = () => { // mulberry32
    let a = (++draws * 0x6d2b79f5) | 0;
    a = Math.imul(a ^ (a >>> 15), a | 1);
    a ^= a + Math.imul(a ^ (a >>> 7), a | 61);
    return ((a ^ (a >>> 14)) >>> 0) / 2 ** 32;
  };
  const hidden = range(N).map(n => data.start.includes(n));
  const redraw = () => {
    const noise = range(N).map(random);
    const order = range(N).sort((a, b) => noise[a] - noise[b]);
    order.forEach((n, place) => { hidden[n] = place >= N - count.value; });
    update();
  };
  const digit = choice("Digit", names, () => update());
  const count = slider("Hide at random", {
    min: 1, max: N - 1, value: data.start.length, words: n => `${n} of ${N}`,
  }, redraw);
  count.element.append(make("button", { type: "button", onclick: redraw }, "Draw another mask"));
  const canvas = label => make("canvas", { width: size, height: size, role: "img", "aria-label": label });
  const [seen, painted, whole] = ["The digit", "What the model paints", "The digit, uncovered"].map(canvas);
  const keys = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -side, ArrowDown: side };
  const tiles = range(N).map(n => make("button", {
    type: "button", "aria-label": `row ${Math.floor(n / side)}, column ${n % side}`,
    onclick: () => { hidden[n] = !hidden[n]; reach(n); update(); },
    onkeydown: event => {
      if (!(event.key in keys)) return;
      event.preventDefault();
      const goal = n + keys[event.key];
      if (tiles[goal]) { reach(goal); tiles[goal].focus(); }
    },
  }));
  const reach = n => tiles.forEach((tile, m) => { tile.tabIndex = n === m ? 0 : -1; });
  const cover = make("div", { class: "cover", role: "group", "aria-label": "Patches: press to hide or show" }, ...tiles);
  cover.style.setProperty("--side", side);
  const shown = (title, ...content) => make("figure", {}, make("div", { class: "sheet" }, ...content), make("figcaption", {}, title));
  panel.append(digit.element, count.element, make("div", { class: "autoencoder" },
    shown("The encoder sees", seen, cover), shown("The model paints", painted), shown("The digit", whole)));

  function draw(on, patches) {
    const pen = on.getContext("2d");
    patches.forEach((pixels, n) => pixels.forEach((ink, m) => {
      const light = Math.round(255 * (1 - Math.min(1, Math.max(0, ink))));
      pen.fillStyle = `rgb(${light}, ${light}, ${light})`;
      pen.fillRect(n % side * patch + m % patch, Math.floor(n / side) * patch + Math.floor(m / patch), 1, 1);
    }));
  }

  function update() {
    const patches = patchify(data.images[digit.value].map(level => level / levels)), mean = patchify(data.mean);
    const guess = reconstruct(patches, hidden), away = range(N).filter(n => hidden[n]);
    const error = other => away.reduce((sum, n) =>
      sum + patches[n].reduce((a, ink, m) => a + (ink - other[n][m]) ** 2, 0) / patch ** 2, 0) / away.length;
    draw(seen, patches);
    draw(painted, patches.map((pixels, n) => (hidden[n] ? guess[n] : pixels)));
    draw(whole, patches);
    tiles.forEach((tile, n) => tile.setAttribute("aria-pressed", hidden[n]));
    if (!away.length) say("No patch is hidden, so there is nothing to paint. Press on a patch to hide it.");
    else say(`${away.length} of ${N} patches are hidden, and the encoder reads ${N - away.length}. The squared error of a hidden pixel is `
      + `${digits(error(guess))} on average. With the mean of all digits in its place it would be ${digits(error(mean))}.`);
  }
  reach(0);
  update();
});
