"""Random tensors that are the same on every machine, and others in each variant."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.variant import own_seed


def seeded(seed: int) -> torch.Generator:
    """Return a generator with the seed that ``seed`` becomes in the variant in use."""
    return torch.Generator().manual_seed(own_seed(seed))


def normals(seed: int) -> Callable[..., Tensor]:
    """Return a function that draws standard normal tensors, seeded with ``seed`` in the variant in use.

    Example:
        >>> normal = normals(seed=3)
        >>> normal(2, 5, dtype=torch.float64).shape
        torch.Size([2, 5])
    """
    generator = seeded(seed)

    def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        # Drawn in double precision, or a float64 tensor would hold single-precision numbers.
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    return normal


def wholes(seed: int) -> Callable[..., Any]:
    """Return a function that draws whole numbers, seeded with ``seed`` in the variant in use.

    It draws one number from ``low`` to ``high``, or nested lists of them in a given shape.

    Example:
        >>> whole = wholes(seed=3)
        >>> whole(2, 2), whole(5, 5, 1, 2)
        (2, [[5, 5]])
    """
    generator = seeded(seed)

    def whole(low: int, high: int, *shape: int) -> Any:
        return torch.randint(low, high + 1, shape, generator=generator).tolist()

    return whole
