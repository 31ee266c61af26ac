"""Blocks on top of one another."""

from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor, nn

from pioneers.layers.block import TransformerBlock
from pioneers.layers.cache import KVCache
from pioneers.layers.positions import Rotary


class Stack(nn.Module):
    """Blocks one after the other, then a last norm if there is one.

    Args:
        blocks: the blocks, first one first.
        norm: what follows them. Pre-norm and sandwich norm need one: nothing else bounds the sum of what the
            blocks add.

    Example:
        >>> import torch
        >>> from pioneers.layers import FeedForward, MultiHeadAttention
        >>> blocks = [TransformerBlock(MultiHeadAttention(12, 3), FeedForward(12)) for _ in range(2)]
        >>> Stack(blocks, nn.LayerNorm(12))(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(self, blocks: Iterable[TransformerBlock], norm: nn.Module | None = None) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.Identity() if norm is None else norm

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        memory_positions: Tensor | None = None,
        mask: Tensor | Sequence[Tensor | None] | None = None,
        memory_mask: Tensor | None = None,
        bias: Tensor | Sequence[Tensor | None] | None = None,
        causal: bool = False,
        rotary: Rotary | None = None,
        caches: Sequence[KVCache] | None = None,
    ) -> Tensor:
        """``x (B, T, D)``, and ``memory (B, S, D)`` for blocks with cross-attention → ``(B, T, D)``.

        ``mask`` and ``bias`` are one tensor for all blocks or a sequence with one for each, and ``caches`` is
        one :class:`KVCache` per block. ``positions``, ``memory_positions``, ``memory_mask``, ``causal`` and
        ``rotary`` are passed unchanged to every block, see :meth:`TransformerBlock.forward`.

        Raises:
            ValueError: the blocks have cross-attention and there is no memory, or a sequence does not have
                one entry per block.
        """
        own = (self._per_block(given) for given in (mask, bias, caches))
        for block, its_mask, its_bias, cache in zip(self.blocks, *own, strict=True):
            x = block(
                x,
                memory,
                positions=positions,
                memory_positions=memory_positions,
                mask=its_mask,
                memory_mask=memory_mask,
                bias=its_bias,
                causal=causal,
                rotary=rotary,
                cache=cache,
            )  # (B, T, D)
        return self.norm(x)

    def _per_block(self, given: Any) -> Sequence[Any]:
        """One entry per block."""
        if given is None or isinstance(given, Tensor):
            return [given] * len(self.blocks)
        if len(given) != len(self.blocks):
            raise ValueError(f"one entry per block: there are {len(self.blocks)} blocks, not {len(given)}")
        return given
