"""The lecture sections that exercises send a reader to, by anchor."""

SECTIONS = {
    "sec-lookup": "lecture 2, “A lookup that can bend”",
    "sec-loop-to-matrix": "lecture 2, “From loops to one matrix product”",
    "sec-scaling": "lecture 2, “Why the scores are divided by √d_k”",
    "sec-equivariance": "lecture 2, “Attention does not see word order”",
    "sec-causal": "lecture 2, “The causal mask: no looking ahead”",
    "sec-padding": "lecture 2, “The padding mask, and rows with nothing to see”",
    "sec-multihead-preview": "lecture 2, “What multi-head attention adds”",
}


def reread(section: str, equation: str) -> str:
    """Where to read, with the anchors on the page: its title, ``#section``, ``#equation-label``."""
    anchors = [f"#{section}", *([f"#equation-{equation}"] if equation else [])]
    return f"{SECTIONS[section]}: {', '.join(anchors)}"
