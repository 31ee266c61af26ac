"""The position-wise feed-forward network."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "swish": F.silu,
}


class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between, applied to each position alone.

    ``FFN(x) = activation(x W_up + b_up) W_down + b_down``; Vaswani et al. 2017, section 3.3, equation (2).

    Args:
        d_model: D.
        d_ff: F; 4 D when left out.
        bias: whether the two maps have a bias.
        activation: ``"relu"``; ``"gelu"`` (exact), ``"gelu_tanh"`` or ``"gelu_sigmoid"`` (Hendrycks & Gimpel
            2016, section 2); ``"swish"`` (Ramachandran et al. 2017).
        dropout: share of the hidden units dropped in training.

    Raises:
        ValueError: the activation is unknown.

    Example:
        >>> FeedForward(6, 24, activation="relu")(torch.zeros(2, 5, 6)).shape
        torch.Size([2, 5, 6])
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        *,
        activation: str = "gelu",
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.activation = _activation(activation)
        self.up = nn.Linear(d_model, d_ff, bias=bias)
        self.down = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        hidden = self.activation(self.up(x))  # (B, T, F)
        return self.down(self.dropout(hidden))


class GatedFeedForward(nn.Module):
    """A feed-forward network whose hidden units are multiplied by a gate: Shazeer 2020, equation (6).

    ``FFN(x) = (activation(x W_gate) ⊙ x W_up) W_down``, without biases; ``activation="swish"`` is SwiGLU,
    ``"gelu"`` GeGLU; the names are those of Llama's code. At F = 8 D / 3 it has the parameters of a plain
    network with F = 4 D.

    Args:
        d_model: D.
        d_ff: F; 4 D when left out.
        activation: as in :class:`FeedForward`.
        dropout: share of the hidden units dropped in training.

    Raises:
        ValueError: the activation is unknown.

    Example:
        >>> GatedFeedForward(6, 16)(torch.zeros(2, 5, 6)).shape
        torch.Size([2, 5, 6])
    """

    def __init__(
        self, d_model: int, d_ff: int | None = None, *, activation: str = "swish", dropout: float = 0.0
    ) -> None:
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.activation = _activation(activation)
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        hidden = self.activation(self.gate(x)) * self.up(x)  # (B, T, F)
        return self.down(self.dropout(hidden))


def _activation(name: str) -> Callable[[Tensor], Tensor]:
    if name not in ACTIVATIONS:
        raise ValueError(f"unknown activation {name!r}; known: {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]
