"use strict";
// Models that run in a page beside the GPT: what they do before and after the blocks of `live.js`, and their tokenizers.
const LiveModels = (() => {
  /** An encoder that says which token belongs at a place. */
  class BERT extends Live.Network {
    constructor(config, tensors) {
      super({ ...config, norm_placement: "post" }, tensors);
    }

    /** Logits (V,) for one place of a single text; sees(t, s): whether t may look at s. */
    logits(ids, place, sees) {
      const { d_model: D, activation } = this.config;
      let x = Live.add(this.rows("bert.embed.token.weight", ids), this.rows("bert.embed.position.table", [...ids.keys()]));
      x = Live.add(x, this.rows("bert.embed.segment.weight", ids.map(() => 0)));
      x = this.stack("bert.stack", this.norm(x, "bert.embed.norm"), { sees }); // (T, D)
      const asked = this.linear(x.subarray(place * D, (place + 1) * D), "masked_lm.transform").map(Live.activations[activation]);
      const table = { weight: this.tensors["bert.embed.token.weight"], bias: this.tensors["masked_lm.lm_head.bias"] };
      return Live.linear(this.norm(asked, "masked_lm.norm"), table);
    }
  }

  /** An encoder over patches of a picture, whose class token is read. */
  class ViT extends Live.Network {
    constructor(config, tensors) {
      super({ activation: "gelu", ...config }, tensors);
    }

    /** Logits for a grey picture, a flat array of its pixels row by row. */
    logits(pixels) {
      const { image_size: side, patch_size: P, d_model: D } = this.config, across = side / P;
      const patches = new Float32Array(side * side);
      for (let y = 0; y < side; y++) for (let x = 0; x < side; x++) {
        const n = Math.floor(y / P) * across + Math.floor(x / P);
        patches[n * P * P + (y % P) * P + x % P] = pixels[y * side + x];
      }
      const tokens = new Float32Array((across ** 2 + 1) * D);
      tokens.set(this.tensors["embed.cls_token"].data);
      tokens.set(this.linear(patches, "embed.patch.proj"), D);
      const x = this.stack("stack", Live.add(tokens, this.tensors["embed.position.table"].data)); // (1 + N, D)
      return this.linear(x.subarray(0, D), "head");
    }
  }

  /** An encoder–decoder. */
  class Transformer extends Live.Network {
    constructor(config, tensors) {
      super({ activation: "relu", ...config }, tensors);
    }

    /** Token vectors times √D, plus sines and cosines of the position. */
    embed(ids) {
      const { d_model: D } = this.config;
      return this.rows("embed.token.weight", ids).map((value, i) => {
        const column = i % D, angle = Math.floor(i / D) / 10000 ** ((column - column % 2) / D);
        return value * Math.sqrt(D) + (column % 2 ? Math.cos(angle) : Math.sin(angle));
      });
    }

    /** The memory (S, D) of a source. */
    encode(ids) { return this.stack("encoder", this.embed(ids)); }

    /** Logits (V,) for the token after these. */
    next(ids, memory) {
      const x = this.stack("decoder", this.embed(ids), { memory, sees: (t, s) => s <= t });
      return this.linear(x.subarray(-this.config.d_model), "embed.token");
    }
  }

  /** BERT's tokenizer: lower case without accents, then the longest pieces of the vocabulary. */
  class WordPiece {
    constructor(vocab) {
      Object.assign(this, { vocab, ids: new Map(vocab.map((piece, id) => [piece, id])) });
    }

    encode(text) {
      const chinese = "\\u3400-\\u4DBF\\u4E00-\\u9FFF\\uF900-\\uFAFF\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2B73F}\\u{2B740}-\\u{2B81F}\\u{2B820}-\\u{2CEAF}\\u{2F800}-\\u{2FA1F}";
      const alone = `\\p{P}!-\\/:-@\\[-\`\\{-~${chinese}`;
      const plain = char => char.normalize("NFD").replace(/\p{Mn}/gu, "");
      return (text.match(/[^\t\n\r\p{Z}]+/gu) || []).flatMap(word => {
        const kept = [...word.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\uFFFD]/gu, "")];
        const normal = kept.map(char => [...plain(char)].map(letter => letter.toLowerCase()).join("")).join("");
        return (normal.match(new RegExp(`[${alone}]|[^${alone}]+`, "gu")) || []).flatMap(token => this.spell([...token]));
      });
    }

    spell(letters) {
      const ids = [], unknown = [this.ids.get("[UNK]")];
      for (let start = 0; start < letters.length;) {
        let end = letters.length, piece;
        while (end > start && (piece = this.ids.get((start ? "##" : "") + letters.slice(start, end).join(""))) === undefined) end--;
        if (end === start || letters.length > 100) return unknown;
        ids.push(piece);
        start = end;
      }
      return ids;
    }
  }

  return { BERT, Transformer, ViT, WordPiece };
})();
