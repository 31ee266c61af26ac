"use strict";
// What the models that run in a page share: the block, its attention, and the files of weights. No library.
// Letters as in the book: T queries, S keys, D width, H heads, K = D / H, V vocabulary. Matrices are flat arrays, row by row.
const Live = (() => {
  /** x (T, columns) times the transposed weight (rows, columns), plus the bias: (T, rows). */
  function linear(x, { weight, bias }) {
    const [rows, columns] = weight.shape, w = weight.data, T = x.length / columns;
    const y = new Float32Array(T * rows);
    for (let t = 0; t < T; t += 4) { // four positions at a time: each weight is read once for all of them
      const a = t * columns, b = Math.min(t + 1, T - 1) * columns;
      const c = Math.min(t + 2, T - 1) * columns, d = Math.min(t + 3, T - 1) * columns;
      for (let r = 0; r < rows; r++) {
        let A = 0, B = 0, C = 0, D = 0;
        for (let i = 0, j = r * columns; i < columns; i++, j++) {
          const one = w[j];
          A += one * x[a + i]; B += one * x[b + i]; C += one * x[c + i]; D += one * x[d + i];
        }
        const add = bias ? bias.data[r] : 0;
        y[t * rows + r] = A + add;
        if (t + 1 < T) y[(t + 1) * rows + r] = B + add;
        if (t + 2 < T) y[(t + 2) * rows + r] = C + add;
        if (t + 3 < T) y[(t + 3) * rows + r] = D + add;
      }
    }
    return y;
  }

  /** Each position's vector with mean 0 and variance 1, then the learned gain and bias: (T, D). */
  function layerNorm(x, { weight, bias }, eps) {
    const D = weight.shape[0], y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += D) {
      let mean = 0, variance = 0;
      for (let i = 0; i < D; i++) mean += x[start + i] / D;
      for (let i = 0; i < D; i++) variance += (x[start + i] - mean) ** 2 / D;
      const size = Math.sqrt(variance + eps);
      for (let i = 0; i < D; i++) y[start + i] = (x[start + i] - mean) / size * weight.data[i] + bias.data[i];
    }
    return y;
  }

  /** The error function to seven digits: Abramowitz and Stegun, 7.1.26. */
  function erf(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return Math.sign(x) * (1 - sum * Math.exp(-x * x));
  }

  const activations = {
    relu: x => Math.max(0, x),
    gelu: x => 0.5 * x * (1 + erf(x / Math.SQRT2)),
    gelu_tanh: x => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  };
  const add = (x, y) => x.map((value, i) => value + y[i]);

  function softmax(scores) {
    const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
    const powers = scores.map(score => Math.exp(score - most));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map(power => power / sum);
  }

  /** The tensors of a safetensors file by name; int8 matrices have one scale for each row. */
  function readTensors(buffer) {
    const length = new DataView(buffer).getUint32(0, true), tensors = {};
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    const raw = name => {
      const { dtype, shape, data_offsets: [begin] } = header[name];
      const size = shape.reduce((a, b) => a * b, 1), Numbers = dtype === "I8" ? Int8Array : Float32Array;
      return new Numbers(buffer, 8 + length + begin, size);
    };
    for (const name of Object.keys(header)) {
      if (name === "__metadata__" || name.endsWith(".scale")) continue;
      const { shape } = header[name], scale = header[`${name}.scale`] && raw(`${name}.scale`);
      const data = new Float32Array(raw(name)); // a copy as floats, to be multiplied
      if (scale) for (let i = 0; i < data.length; i++) data[i] *= scale[Math.floor(i / shape[1])];
      tensors[name] = { shape, data };
    }
    return tensors;
  }

  /** The same from base64, as a script holds them: browsers load scripts, but no other files, into a page from a disk. */
  const unpack = text => readTensors(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer);

  /** A model whose tensors have the names that torch gives them. A subclass embeds, calls the stack and reads it. */
  class Network {
    constructor(config, tensors) {
      Object.assign(this, { config: { norm_placement: "pre", norm_eps: 1e-5, ...config }, tensors, weights: {} });
    }

    part(name) {
      return { weight: this.tensors[`${name}.weight`], bias: this.tensors[`${name}.bias`] };
    }

    linear(x, name) { return linear(x, this.part(name)); }

    norm(x, name) { return layerNorm(x, this.part(name), this.config.norm_eps); }

    /** The rows of a table, (T, D), for these ids. */
    rows(name, ids) {
      const { data, shape: [, D] } = this.tensors[name], x = new Float32Array(ids.length * D);
      ids.forEach((id, t) => x.set(data.subarray(id * D, (id + 1) * D), t * D));
      return x;
    }

    stack(name, x, how = {}) {
      for (let l = 0; l < this.config.num_layers; l++) x = this.block(`${name}.blocks.${l}`, x, how);
      return this.config.norm_placement === "post" ? x : this.norm(x, `${name}.norm`);
    }

    /** One block; with a memory, (S, D), it also attends to that. */
    block(name, x, { memory, ...how }) {
      const layer = (norm, inner) => {
        const after = this.config.norm_placement === "post";
        x = after ? this.norm(add(x, inner(x)), `${name}.${norm}`) : add(x, inner(this.norm(x, `${name}.${norm}`)));
      };
      layer("norm_attn", h => this.attention(`${name}.attn`, h, h, how));
      if (memory) layer("norm_cross", h => this.attention(`${name}.cross_attn`, h, memory, {}));
      layer("norm_ffn", h => this.linear(this.linear(h, `${name}.ffn.up`).map(activations[this.config.activation]), `${name}.ffn.down`));
      return x;
    }

    /**
     * Attention of x (T, D) to the memory (S, D); its weights are kept under its name, by head and query.
     * sees(t, s): whether t may look at s. cache: keys and values of earlier positions; x begins at position start.
     * unscaled: scores are not divided by √K. heads: which of them add something; all if left out.
     */
    attention(name, x, memory, { sees, cache, start = 0, unscaled = false, heads }) {
      const { num_heads: H, d_model: D } = this.config, K = D / H, T = x.length / D;
      const q = this.linear(x, `${name}.q_proj`), out = new Float32Array(q.length);
      let [keys, values] = ["k", "v"].map(letter => this.linear(memory, `${name}.${letter}_proj`));
      const S = start + memory.length / D, kept = this.weights[name] ??= [];
      if (cache) {
        cache.keys.set(keys, start * D);
        cache.values.set(values, start * D);
        ({ keys, values } = cache);
      }
      for (let h = 0; h < H; h++) for (let t = 0; t < T; t++) {
        const scores = new Float64Array(S).fill(-Infinity), from = t * D + h * K;
        for (let s = 0; s < S; s++) {
          if (sees && !sees(start + t, s)) continue;
          let score = 0;
          for (let i = 0; i < K; i++) score += q[from + i] * keys[s * D + h * K + i];
          scores[s] = unscaled ? score : score / Math.sqrt(K);
        }
        const weights = softmax(scores);
        (kept[h] ??= [])[start + t] = weights;
        if (heads && !heads[h]) continue;
        for (let s = 0; s < S; s++) {
          for (let i = 0; i < K; i++) out[from + i] += weights[s] * values[s * D + h * K + i];
        }
      }
      return this.linear(out, `${name}.o_proj`);
    }
  }

  return { linear, add, softmax, activations, readTensors, unpack, Network, models: {} };
})();
