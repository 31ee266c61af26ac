"""Random tensors that are the same on every machine."""

from collections.abc import Callable

import torch
from torch import Tensor


def normals(seed: int) -> Callable[..., Tensor]:
    """Return a function that draws standard normal tensors, seeded with ``seed``.

    Example:
        >>> normal = normals(seed=3)
        >>> normal(2, 5, dtype=torch.float64).shape
        torch.Size([2, 5])
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        # Drawn in double precision, or a float64 tensor would hold single-precision numbers.
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    return normal
