"""Attention by the angle between query and key, whatever their lengths: Swin Transformer V2."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.layers.multi_head import MultiHeadAttention

LARGEST_SCALE = 100.0  # the temperature τ is at least 0.01


class CosineAttention(MultiHeadAttention):
    """Multi-head attention with scores ``cos(q, k) / τ``, where each head learns its temperature τ ≥ 0.01.

    No query or key can dominate by being long. Keys have no bias, which would no longer cancel in the
    softmax: Liu et al. 2022, section 3.2, equation (2); the start at τ = 0.1 is that of the authors' code.

    Args:
        d_model: D, width of what comes in and goes out.
        num_heads: H.
        dropout: share of the attention weights dropped in training.

    Example:
        >>> CosineAttention(12, 3)(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(self, d_model: int, num_heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(d_model, num_heads, dropout=dropout, scale=1.0, qk_norm=lambda _: _UnitLength())
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.q_norm = _ScaledUnitLength(num_heads)


class _UnitLength(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        """(B, H, T, K) → (B, H, T, K), each vector of length 1."""
        return F.normalize(x, dim=-1)


class _ScaledUnitLength(nn.Module):
    """Vectors of length 1 / τ, with a learned τ for each head."""

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.full((num_heads, 1, 1), math.log(10)))

    def forward(self, x: Tensor) -> Tensor:
        """(B, H, T, K) → (B, H, T, K)."""
        return F.normalize(x, dim=-1) * self.log_scale.clamp(max=math.log(LARGEST_SCALE)).exp()
