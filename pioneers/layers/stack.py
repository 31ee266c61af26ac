"""Blocks on top of one another."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from pioneers.layers.block import TransformerBlock
from pioneers.layers.cache import KVCache


class Stack(nn.Module):
    """``num_layers`` blocks, then one more norm unless they are post-norm: nothing else bounds their sum.

    Args:
        num_layers: number of blocks.
        d_model: D.
        num_heads: H.
        block: the remaining arguments of :class:`~pioneers.layers.block.TransformerBlock`.
    """

    def __init__(self, num_layers: int, d_model: int, num_heads: int, **block: Any) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(TransformerBlock(d_model, num_heads, **block) for _ in range(num_layers))
        post = block.get("norm_placement") == "post"
        self.norm = nn.Identity() if post else block.get("norm", nn.LayerNorm)(d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        caches: Sequence[KVCache] | None = None,
        **how: Any,
    ) -> Tensor:
        """(B, T, D) → (B, T, D).

        ``caches`` holds one :class:`KVCache` per block; the other arguments are those of the block's forward
        and go to each block alike.
        """
        for i, block in enumerate(self.blocks):
            x = block(x, memory, cache=None if caches is None else caches[i], **how)
        return self.norm(x)
