"""The position-wise feed-forward network."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between, applied to each position alone.

    ``FFN(x) = activation(x W_up + b_up) W_down + b_down``; Vaswani et al. 2017, section 3.3, equation (2).

    Args:
        d_model: D.
        d_ff: F, usually 4 D.
        activation: ``"relu"``, ``"gelu"`` (exact) or ``"gelu_tanh"`` (Hendrycks & Gimpel 2016).

    Raises:
        ValueError: the activation is unknown.
    """

    def __init__(self, d_model: int, d_ff: int, *, activation: str = "gelu") -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"unknown activation {activation!r}; known: {', '.join(ACTIVATIONS)}")
        self.activation = ACTIVATIONS[activation]
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        return self.down(self.activation(self.up(x)))
