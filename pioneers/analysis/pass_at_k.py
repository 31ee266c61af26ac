"""How often at least one of k answers is right."""

import math


def pass_at_k(right: int, samples: int, k: int) -> float:
    """Estimate the probability that at least one of ``k`` answers to a problem is right.

    Chen et al. 2021, equation (1): of ``samples`` answers ``right`` were right, and this is the share of all
    choices of ``k`` among them that hold a right one. It is unbiased; ``1 - (1 - right / samples) ** k`` is
    not.

    Args:
        right: how many of the answers were right.
        samples: how many answers were drawn.
        k: how many one may try.

    Raises:
        ValueError: not ``0 ≤ right ≤ samples`` or not ``1 ≤ k ≤ samples``.

    Example:
        >>> [pass_at_k(1, 4, k) for k in (1, 2, 4)]
        [0.25, 0.5, 1.0]
    """
    if not 0 <= right <= samples or not 1 <= k <= samples:
        raise ValueError(
            f"of samples={samples} answers, right={right} must be between 0 and {samples}, and k={k} "
            f"between 1 and {samples}"
        )
    return 1 - math.comb(samples - right, k) / math.comb(samples, k)
