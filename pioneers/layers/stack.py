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
        block: the remaining arguments of :class:`TransformerBlock`.

    Raises:
        ValueError: as :class:`TransformerBlock`.

    Example:
        >>> import torch
        >>> Stack(2, 12, 3, norm_placement="post")(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
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
        first: int | None = None,
        **how: Any,
    ) -> Tensor:
        """``x (B, T, D)``, and ``memory (B, S, D)`` for blocks with cross-attention → ``(B, T, D)``.

        Args:
            caches: one :class:`KVCache` per block.
            first: number of positions, from the first, whose output is wanted: ``(B, first, D)``. The last
                block computes only these, which saves most of its work; all look at all until then.
            how: the other arguments of :meth:`TransformerBlock.forward`, which go to each block alike.

        Raises:
            ValueError: ``first`` together with caches or a causal mask, which count positions from the last;
                or the blocks have cross-attention and there is no memory.
        """
        if first is not None and (caches is not None or how.get("causal")):
            raise ValueError("first= cannot be combined with causal= or caches=, which count from the end")
        last = len(self.blocks) - 1
        for i, block in enumerate(self.blocks):
            context = x if first is not None and i == last else None
            cache = None if caches is None else caches[i]
            x = block(x if context is None else x[:, :first], memory, context=context, cache=cache, **how)
        return self.norm(x)
