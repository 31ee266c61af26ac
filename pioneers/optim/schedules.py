"""Learning-rate schedules as plain functions: step → factor on the peak learning rate."""

import math


def cosine(step: int, *, max_steps: int, warmup_steps: int = 0, min_factor: float = 0.0) -> float:
    """Linear warm-up to 1, then half a cosine down to ``min_factor`` (Loshchilov & Hutter 2017).

    Step 0 is the first update, which already has a non-zero rate.

    Example:
        >>> [round(cosine(s, max_steps=5, warmup_steps=2), 2) for s in range(6)]
        [0.5, 1.0, 1.0, 0.75, 0.25, 0.0]
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, max_steps - warmup_steps))
    return min_factor + (1 - min_factor) * 0.5 * (1 + math.cos(math.pi * progress))
