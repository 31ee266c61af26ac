"""Learning-rate schedules as plain functions: step → factor on the peak learning rate."""

import math


def inverse_sqrt(step: int, *, warmup_steps: int) -> float:
    """Warm up linearly to 1, then follow the inverse square root of the step (Vaswani et al. 2017, 5.3).

    The paper's rate is ``d_model^-0.5 · min(s^-0.5, s · warmup_steps^-1.5)`` with s counted from 1; it peaks
    at ``(d_model · warmup_steps)^-0.5``, which is the learning rate this factor multiplies. The first
    ``step`` is 0.

    Raises:
        ValueError: ``warmup_steps`` is less than 1, which would make the first rate infinite.

    Example:
        >>> [round(inverse_sqrt(s, warmup_steps=4), 2) for s in (0, 3, 15)]
        [0.25, 1.0, 0.5]
    """
    if warmup_steps < 1:
        raise ValueError(f"warmup_steps must be at least 1, not {warmup_steps}")
    return min((step + 1) / warmup_steps, (warmup_steps / (step + 1)) ** 0.5)


def linear(step: int, *, max_steps: int, warmup_steps: int = 0) -> float:
    """Warm up linearly to 1, then decay linearly to 0 at ``max_steps``: Devlin et al. 2019, appendix A.2.

    Args:
        step: the first is 0.
        max_steps: total number of updates.
        warmup_steps: length of the warm-up.

    Example:
        >>> [round(linear(s, max_steps=6, warmup_steps=2), 2) for s in range(7)]
        [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return max(0.0, (max_steps - step) / max(1, max_steps - warmup_steps))


def constant(step: int, *, max_steps: int, warmup_steps: int = 0, cooldown_steps: int = 0) -> float:
    """Warm up linearly to 1, stay there, and cool down linearly to 0 at the end: Hu et al. 2024, section 4.

    Until the cool-down begins, the factor does not depend on ``max_steps``: a run can be made longer.

    Args:
        step: the first is 0.
        max_steps: total number of updates.
        warmup_steps: length of the warm-up.
        cooldown_steps: length of the cool-down; without it the factor stays 1.

    Example:
        >>> [constant(s, max_steps=8, warmup_steps=2, cooldown_steps=4) for s in range(8)]
        [0.5, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return min(1.0, max(0, max_steps - step) / cooldown_steps) if cooldown_steps else 1.0


def cosine(step: int, *, max_steps: int, warmup_steps: int = 0, min_factor: float = 0.0) -> float:
    """Warm up linearly to 1, then follow half a cosine down to ``min_factor`` (Loshchilov & Hutter 2017).

    Step 0 is the first update, which already has a non-zero rate.

    Args:
        step: the first is 0.
        max_steps: total number of updates.
        warmup_steps: length of the warm-up.
        min_factor: the factor at the end.

    Example:
        >>> [round(cosine(s, max_steps=5, warmup_steps=2), 2) for s in range(6)]
        [0.5, 1.0, 1.0, 0.75, 0.25, 0.0]
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, max_steps - warmup_steps))
    return min_factor + (1 - min_factor) * 0.5 * (1 + math.cos(math.pi * progress))
