"""The lecture sections that exercises send a reader to, by anchor."""

SECTIONS = {
    "sec-lookup": "lecture 2, “A lookup that can bend”",
    "sec-loop-to-matrix": "lecture 2, “From loops to one matrix product”",
    "sec-scaling": "lecture 2, “Why the scores are divided by √d_k”",
    "sec-equivariance": "lecture 2, “Attention does not see word order”",
    "sec-causal": "lecture 2, “The causal mask: no looking ahead”",
    "sec-padding": "lecture 2, “The padding mask, and rows with nothing to see”",
    "sec-multihead-preview": "lecture 2, “What multi-head attention adds”",
    "sec-sinusoids": "lecture 4, “Sinusoids”",
    "sec-shift": "lecture 4, “The shift is a rotation: proof”",
    "sec-distance": "lecture 4, “Dot products know distances”",
    "sec-relative": "lecture 4, “Relative positions in the scores”",
    "sec-t5": "lecture 4, “T5: one number for each bucket of distances”",
    "sec-alibi": "lecture 4, “ALiBi: a straight line, and nothing learned”",
    "sec-rope": "lecture 4, “Rotary positions”",
    "sec-rope-derived": "lecture 4, “The derivation: what the wish forces”",
    "sec-residual": "lecture 5, “The sum: residual connections”",
    "sec-layernorm": "lecture 5, “The norm: LayerNorm and RMSNorm”",
    "sec-rmsnorm": "lecture 5, “RMSNorm: without the mean”",
    "sec-norm-placement": "lecture 5, “Where the norm stands: post, pre, sandwich”",
    "sec-ffn": "lecture 5, “The small network: feed-forward layers”",
    "sec-activations": "lecture 5, “Activations: from ReLU to GELU”",
    "sec-gated": "lecture 5, “Gates of their own: SwiGLU and GeGLU”",
    "sec-block": "lecture 5, “The whole block”",
    "sec-bpe-by-hand": "lecture 7, “Byte-pair encoding, by hand”",
    "sec-bpe-code": "lecture 7, “The same in thirty lines”",
    "sec-wordpiece": "lecture 7, “WordPiece”",
    "sec-wordpiece-criterion": "lecture 7, “The criterion, derived”",
    "sec-cross-attention": "lecture 6, “Cross-attention”",
    "sec-three-attentions": "lecture 6, “Three attentions, three masks”",
    "sec-shifted-targets": "lecture 6, “Teacher forcing, and why the decoder shifts right”",
    "sec-label-smoothing": "lecture 6, “Label smoothing, and the loss that cannot be beaten”",
    "sec-warmup": "lecture 6, “Warm-up, then the inverse square root”",
    "sec-decoding": "lecture 6, “Which text should it write?”",
    "sec-greedy": "lecture 6, “Greedy: the best token at each step”",
    "sec-beam": "lecture 6, “Beam search: do not put everything on one card”",
    "sec-length-penalty": "lecture 6, “Why short texts win, and the length penalty”",
    "sec-bleu": "lecture 6, “How good is it? BLEU”",
}


def reread(section: str, equation: str) -> str:
    """Where to read, with the anchors on the page: its title, ``#section``, ``#equation-label``."""
    anchors = [f"#{section}", *([f"#equation-{equation}"] if equation else [])]
    return f"{SECTIONS[section]}: {', '.join(anchors)}"
