"use strict";
// A GPT to be read: tokenizer, forward pass with a key/value cache, sampling. Its blocks are those of `live.js`; `gpt.js` shows it.
const LiveGPT = (() => {
  /** What the reader has switched off; everything is on at first. */
  const everything = ({ num_layers: L, num_heads: H }) => ({
    mask: true, scale: true, positions: true, norms: true, heads: Array.from({ length: L }, () => Array(H).fill(true)),
  });

  class Model extends Live.Network {
    constructor(config, tensors) {
      super(config, tensors);
      const { num_layers: L, max_seq_len: T, d_model: D } = config;
      const caches = Array.from({ length: L }, () => ({ keys: new Float32Array(T * D), values: new Float32Array(T * D) }));
      Object.assign(this, { caches, ids: [], switches: "", on: everything(config) });
      Object.assign(this, { logits: [], probabilities: [] }); // one array (V,) for each position
    }

    norm(x, name) { return this.on.norms ? super.norm(x, name) : x; }

    /** Read the ids. What stood before the first change is in the cache; only the rest is computed. */
    read(ids, switches = everything(this.config)) {
      const setting = JSON.stringify(switches);
      let start = 0;
      while (start < ids.length && ids[start] === this.ids[start]) start++;
      const same = start === ids.length && start === this.ids.length;
      // Without a mask every position depends on every other: nothing may be kept.
      if (setting !== this.switches || (!switches.mask && !same)) start = 0;
      Object.assign(this, { ids: [...ids], switches: setting, on: switches });
      this.logits.length = this.probabilities.length = start;
      if (start < ids.length) this.forward(start);
    }

    forward(start) {
      const { mask, scale, positions, heads } = this.on, sees = (t, s) => !mask || s <= t;
      let x = this.rows("embed.token.weight", this.ids.slice(start));
      if (positions) x = Live.add(x, this.rows("embed.position.table", [...this.ids.keys()].slice(start)));
      for (let l = 0; l < this.config.num_layers; l++) {
        const how = { sees, start, cache: this.caches[l], unscaled: !scale, heads: heads[l] };
        x = this.block(`stack.blocks.${l}`, x, how);
      }
      const logits = this.linear(this.norm(x, "stack.norm"), "embed.token"); // (T, V): the embedding again
      const V = this.config.vocab_size;
      for (let t = start; t < this.ids.length; t++) {
        this.logits[t] = logits.subarray((t - start) * V, (t - start + 1) * V);
        this.probabilities[t] = Live.softmax(this.logits[t]);
      }
    }

    /** The weights of one query in one head, (T,). */
    lookingFrom(l, h, t) {
      const row = this.weights[`stack.blocks.${l}.attn`][h][t];
      return this.ids.map((_, s) => row[s] ?? 0);
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
    const tempered = Live.softmax(Float64Array.from(probabilities, p => Math.log(p) / (temperature || 1)));
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

  return { Model, Tokenizer, everything, choices, draw, random };
})();
