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
    "sec-vit-pixels": "lecture 13, “Why not one token per pixel?”",
    "sec-vit-patchify": "lecture 13, “Patches as tokens”",
    "sec-vit-projection": "lecture 13, “A linear map of patches is a convolution”",
    "sec-vit-architecture": "lecture 13, “The rest of the model”",
    "sec-vit-parameters": "lecture 13, “Counting parameters”",
    "sec-vit-no-positions": "lecture 13, “What breaks without positions”",
    "sec-vit-rollout": "lecture 13, “Through all layers: attention rollout”",
    "sec-vit-resize": "lecture 13, “Larger images”",
    "sec-vit-position-kinds": "lecture 13, “Which positions?”",
    "sec-vit-distance": "lecture 13, “How far do the heads look?”",
    "sec-vit-patch-size": "lecture 13, “What a smaller patch buys”",
}


def reread(section: str, equation: str) -> str:
    """Where to read, with the anchors on the page: its title, ``#section``, ``#equation-label``."""
    anchors = [f"#{section}", *([f"#equation-{equation}"] if equation else [])]
    return f"{SECTIONS[section]}: {', '.join(anchors)}"
