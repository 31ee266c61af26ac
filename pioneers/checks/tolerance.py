"""The tolerance within which an answer must agree with the reference.

Two right answers round differently, because they add the same numbers in another order. A sum of n terms can
be off by √n to n units in the last place, and the probes sum a few dozen terms at most. So each type is
allowed some tens of its rounding units (half precision, which is coarse, a few). Mistakes change the numbers
by far more.
"""

import torch
from torch import Tensor

TOLERANCE = {
    torch.float64: 1e-10,  # unit 2e-16; far below 6e-8, what a detour through float32 costs
    torch.float32: 1e-5,  # unit 1.2e-7
    torch.float16: 5e-3,  # unit 9.8e-4
    torch.bfloat16: 4e-2,  # unit 7.8e-3
}


def close(got: Tensor, want: Tensor, dtype: torch.dtype | None, slack: float = 1.0) -> bool:
    """Return whether two tensors of one shape agree within the tolerance of ``dtype``; NaN equals NaN.

    If ``dtype`` is None, because no input has a floating-point type, that of ``want`` is used.
    """
    if not (got.is_floating_point() and want.is_floating_point()):
        return torch.equal(got.to(want.dtype), want)
    limit = TOLERANCE[want.dtype if dtype is None else dtype] * slack
    return torch.allclose(got.double(), want.double(), rtol=limit, atol=limit, equal_nan=True)


def allowed(dtype: torch.dtype | None) -> str:
    """Return the tolerance in words."""
    return f"Allowed: {TOLERANCE[dtype]:g} (rounding in {str(dtype).removeprefix('torch.')})" if dtype else ""
