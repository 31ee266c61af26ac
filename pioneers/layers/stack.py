"""Blocks on top of one another."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from pioneers.layers.block import TransformerBlock
from pioneers.layers.cache import KVCache


class Stack(nn.Module):
    """``num_layers`` blocks; a pre-norm stack ends with one more LayerNorm, as nothing else bounds its sum.

    Args:
        num_layers: number of blocks.
        d_model: D.
        num_heads: H.
        block: the remaining arguments of :class:`~pioneers.layers.block.TransformerBlock`.
    """

    def __init__(self, num_layers: int, d_model: int, num_heads: int, **block: Any) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(TransformerBlock(d_model, num_heads, **block) for _ in range(num_layers))
        norm_first = block.get("norm_first", True)
        self.norm = nn.LayerNorm(d_model, eps=block.get("norm_eps", 1e-5)) if norm_first else nn.Identity()

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        caches: Sequence[KVCache] | None = None,
    ) -> Tensor:
        """(B, T, D) → (B, T, D); ``caches`` holds one :class:`KVCache` per block."""
        for i, block in enumerate(self.blocks):
            x = block(x, mask=mask, causal=causal, cache=None if caches is None else caches[i])
        return self.norm(x)
