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
    "sec-forgetting": "lecture 8, “What is reused, and what is forgotten”",
    "sec-lm-objective": "lecture 9, “The objective: from a text to a loss”",
    "sec-teacher-forcing": "lecture 9, “Teacher forcing”",
    "sec-bits": "lecture 9, “Nats, bits, perplexity, and which of them can be compared”",
    "sec-sampling": "lecture 9, “Writing: from a distribution to a text”",
    "sec-kv-cache": "lecture 9, “The key/value cache”",
    "sec-gpt-linear-head": "lecture 9, “One linear map is enough”",
    "sec-gpt-shapes": "lecture 9, “Four shapes”",
    "sec-gpt-extract": "lecture 9, “Where the answer is read”",
    "sec-gpt-both-orders": "lecture 9, “Why both orders”",
    "sec-gpt-auxiliary": "lecture 9, “The auxiliary loss”",
    "sec-bert-inputs": "lecture 10, “What BERT reads”",
    "sec-masked-lm": "lecture 10, “Masked language modelling”",
    "sec-mlm-rates": "lecture 10, “Why 15, 80, 10 and 10?”",
    "sec-mlm-cost": "lecture 10, “Logits only where they are asked for”",
    "sec-nsp": "lecture 10, “Next-sentence prediction”",
    "sec-bert-sources": "lecture 10, “Sources, and what differs from the paper”",
    "sec-three-shapes": "lecture 10, “Three shapes”",
    "sec-task-tags": "lecture 10, “Every word: is it code?”",
    "sec-task-questions": "lecture 10, “A question: where is the answer?”",
}


def reread(section: str, equation: str) -> str:
    """Where to read, with the anchors on the page: its title, ``#section``, ``#equation-label``."""
    anchors = [f"#{section}", *([f"#equation-{equation}"] if equation else [])]
    return f"{SECTIONS[section]}: {', '.join(anchors)}"
