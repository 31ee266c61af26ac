"use strict";
// A GPT to be read: tokenizer, forward pass with a key/value cache, sampling. No library; `gpt.js` shows it.
// Letters as in the book: T positions, D width, H heads, K = D / H, V vocabulary. Matrices are flat arrays, row by row.
const LiveGPT = (() => {
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
  function layerNorm(x, { weight, bias }) {
    const D = weight.shape[0], y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += D) {
      let mean = 0, variance = 0;
      for (let i = 0; i < D; i++) mean += x[start + i] / D;
      for (let i = 0; i < D; i++) variance += (x[start + i] - mean) ** 2 / D;
      const size = Math.sqrt(variance + 1e-5);
      for (let i = 0; i < D; i++) y[start + i] = (x[start + i] - mean) / size * weight.data[i] + bias.data[i];
    }
    return y;
  }

  const gelu = x => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
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

  /** What the reader has switched off; everything is on at first. */
  const everything = ({ num_layers: L, num_heads: H }) => ({
    mask: true, scale: true, positions: true, norms: true, heads: Array.from({ length: L }, () => Array(H).fill(true)),
  });

  class Model {
    constructor(config, tensors) {
      const { num_layers: L, num_heads: H, max_seq_len: T, d_model: D } = config;
      Object.assign(this, { config, tensors, ids: [], switches: "" });
      const room = size => Array.from({ length: L }, () => new Float32Array(size));
      Object.assign(this, { keys: room(T * D), values: room(T * D), weights: room(H * T * T) });
      Object.assign(this, { logits: [], probabilities: [] }); // one array (V,) for each position
    }

    part(name) {
      return { weight: this.tensors[`${name}.weight`], bias: this.tensors[`${name}.bias`] };
    }

    /** Read the ids. What stood before the first change is in the cache; only the rest is computed. */
    read(ids, switches = everything(this.config)) {
      const setting = JSON.stringify(switches);
      let start = 0;
      while (start < ids.length && ids[start] === this.ids[start]) start++;
      const same = start === ids.length && start === this.ids.length;
      // Without a mask every position depends on every other: nothing may be kept.
      if (setting !== this.switches || (!switches.mask && !same)) start = 0;
      Object.assign(this, { ids: [...ids], switches: setting });
      this.logits.length = this.probabilities.length = start;
      if (start < ids.length) this.forward(start, switches);
    }

    forward(start, switches) {
      const { num_layers: L, d_model: D } = this.config, T = this.ids.length;
      const norm = (x, name) => (switches.norms ? layerNorm(x, this.part(name)) : x);
      const token = this.tensors["embed.token.weight"], position = this.tensors["embed.position.table"].data;
      let x = new Float32Array((T - start) * D);
      for (let t = start; t < T; t++) for (let i = 0; i < D; i++) {
        x[(t - start) * D + i] = token.data[this.ids[t] * D + i] + (switches.positions ? position[t * D + i] : 0);
      }
      for (let l = 0; l < L; l++) {
        const block = `stack.blocks.${l}`;
        const mixed = this.attention(l, start, norm(x, `${block}.norm_attn`), switches); // (T, D)
        x = add(x, linear(mixed, this.part(`${block}.attn.o_proj`)));
        const up = linear(norm(x, `${block}.norm_ffn`), this.part(`${block}.ffn.up`)); // (T, 4 D)
        x = add(x, linear(up.map(gelu), this.part(`${block}.ffn.down`)));
      }
      const logits = linear(norm(x, "stack.norm"), { weight: token }); // (T, V): the embedding again
      const V = token.shape[0];
      for (let t = start; t < T; t++) {
        this.logits[t] = logits.subarray((t - start) * V, (t - start + 1) * V);
        this.probabilities[t] = softmax(this.logits[t]);
      }
    }

    /** Queries of the new positions meet the keys of all; the keys and values of old ones are in the cache. */
    attention(l, start, x, switches) {
      const { num_heads: H, max_seq_len: room, d_model: D } = this.config, K = D / H, T = this.ids.length;
      const [q, k, v] = [..."qkv"].map(name => linear(x, this.part(`stack.blocks.${l}.attn.${name}_proj`)));
      const keys = this.keys[l], values = this.values[l], out = new Float32Array(q.length);
      keys.set(k, start * D);
      values.set(v, start * D);
      for (let h = 0; h < H; h++) for (let t = start; t < T; t++) {
        const seen = switches.mask ? t + 1 : T, scores = new Float64Array(seen);
        const query = (t - start) * D + h * K;
        for (let s = 0; s < seen; s++) {
          for (let i = 0; i < K; i++) scores[s] += q[query + i] * keys[s * D + h * K + i];
          if (switches.scale) scores[s] /= Math.sqrt(K);
        }
        const weights = softmax(scores);
        this.weights[l].fill(0, (h * room + t) * room, (h * room + t + 1) * room);
        this.weights[l].set(weights, (h * room + t) * room);
        if (!switches.heads[l][h]) continue; // a head that is off adds nothing
        for (let s = 0; s < seen; s++) {
          for (let i = 0; i < K; i++) out[query + i] += weights[s] * values[s * D + h * K + i];
        }
      }
      return out;
    }

    /** The weights of one query in one head, (T,). */
    lookingFrom(l, h, t) {
      const room = this.config.max_seq_len, begin = (h * room + t) * room;
      return this.weights[l].subarray(begin, begin + this.ids.length);
    }

    /** Bits that each token but the first costs: minus the logarithm of the probability it was given. */
    bits() {
      return this.ids.slice(1).map((id, t) => -Math.log2(this.probabilities[t][id]));
    }
  }

  class Tokenizer {
    constructor({ pattern, bytes, merges }) {
      // JavaScript's \s is not quite Python's; the Unicode property is the same in both.
      this.chunks = new RegExp(pattern.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}"), "gu");
      this.ofByte = new Map(bytes.map((byte, id) => [byte, id]));
      this.rank = new Map(merges.map((pair, i) => [pair.join(), i]));
      this.pieces = bytes.map(byte => [byte]);
      for (const [a, b] of merges) this.pieces.push([...this.pieces[a], ...this.pieces[b]]);
    }

    encode(text) {
      return (text.match(this.chunks) || []).flatMap(chunk => this.merge(chunk));
    }

    /** Join the pair that was learned first, again and again. */
    merge(chunk) {
      let ids = Array.from(new TextEncoder().encode(chunk), byte => this.ofByte.get(byte));
      for (;;) {
        const ranks = ids.slice(1).map((id, i) => this.rank.get(`${ids[i]},${id}`) ?? Infinity);
        const first = ranks.reduce((a, b) => Math.min(a, b), Infinity);
        if (first === Infinity) return ids;
        const joined = [];
        for (let i = 0; i < ids.length; i++) {
          if (i + 1 < ids.length && this.rank.get(`${ids[i]},${ids[i + 1]}`) === first) {
            joined.push(256 + first);
            i++;
          } else joined.push(ids[i]);
        }
        ids = joined;
      }
    }

    decode(ids) {
      return new TextDecoder().decode(Uint8Array.from(ids.flatMap(id => this.pieces[id])));
    }
  }

  /** A number in [0, 1) for each seed and place (mulberry32), so that a text can be had again. */
  function random(seed, place) {
    let a = (seed * 65537 + place * 0x6d2b79f5) | 0;
    a = Math.imul(a ^ (a >>> 15), a | 1);
    a ^= a + Math.imul(a ^ (a >>> 7), a | 61);
    return ((a ^ (a >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Probabilities at a temperature, and of these the likeliest whose sum reaches topP. Temperature 0 is greedy. */
  function choices(probabilities, temperature, topP) {
    const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
    const tempered = softmax(Float64Array.from(probabilities, p => Math.log(p) / (temperature || 1)));
    const kept = [];
    let sum = 0;
    for (const id of order) {
      kept.push({ id, p: tempered[id] });
      sum += tempered[id];
      if (!temperature || sum >= topP) break;
    }
    return kept.map(({ id, p }) => ({ id, p: p / sum }));
  }

  /** Draw one of the choices with a number in [0, 1). */
  function draw(kept, number) {
    for (const { id, p } of kept) if ((number -= p) < 0) return id;
    return kept[0].id;
  }

  return { readTensors, Model, Tokenizer, everything, choices, draw, random };
})();
