"""Random tensors that are the same on every machine."""

from collections.abc import Callable

import torch
from torch import Tensor


def normals(seed: int) -> Callable[..., Tensor]:
    """A function that draws standard normal tensors, ``normal(2, 3, dtype=torch.float64)``, from one seed."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        # Drawn in double precision, or a float64 tensor would hold single-precision numbers.
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    return normal
