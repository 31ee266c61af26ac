"""The block: the one unit that every pioneer repeats."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from pioneers.layers.cache import KVCache
from pioneers.layers.multi_head import MultiHeadAttention
from pioneers.layers.positions import Rotary

NORM_PLACEMENTS = ("pre", "post", "sandwich", "res-post")


class TransformerBlock(nn.Module):
    """Self-attention, cross-attention if there is any, and a feed-forward network, each added to its input.

    Pre-norm computes ``x + Layer(Norm(x))``, post-norm ``Norm(x + Layer(x))``, sandwich norm
    ``x + Norm(Layer(Norm(x)))``: Vaswani et al. 2017, section 3.1; Xiong et al. 2020; Ding et al. 2021.
    Res-post-norm computes ``x + Norm(Layer(x))``: Liu et al. 2022, section 3.2.

    Args:
        attn: self-attention; its ``d_model`` is the width D of the block.
        ffn: what each position goes through alone, ``(B, T, D)`` → ``(B, T, D)``: a :class:`FeedForward`, a
            :class:`GatedFeedForward` or a module of your own.
        cross_attn: attention to a memory, as in the decoder of an encoder–decoder.
        norm: width → normalisation module, for instance ``torch.nn.RMSNorm``.
        norm_placement: ``"pre"``, ``"post"``, ``"sandwich"`` or ``"res-post"``.
        dropout: share dropped, in training, from what each layer adds.
        drop_path: how often, in training, a layer adds nothing to a sequence: Huang et al. 2016, section 3.

    Attributes:
        residual_scale: α, the factor on x before a layer's output is added; 1 except in a DeepNet.

    Raises:
        ValueError: the placement is unknown.

    Example:
        >>> block = TransformerBlock(MultiHeadAttention(12, 3), nn.Linear(12, 12), norm=nn.RMSNorm)
        >>> block(torch.zeros(2, 5, 12), causal=True).shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        attn: MultiHeadAttention,
        ffn: nn.Module,
        *,
        cross_attn: MultiHeadAttention | None = None,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
        norm_placement: str = "pre",
        dropout: float = 0.0,
        drop_path: float = 0.0,
    ) -> None:
        super().__init__()
        if norm_placement not in NORM_PLACEMENTS:
            raise ValueError(
                f"unknown norm_placement {norm_placement!r}; known: {', '.join(NORM_PLACEMENTS)}"
            )

        def norm_in() -> nn.Module:
            return nn.Identity() if norm_placement == "res-post" else norm(attn.d_model)

        def norm_out() -> nn.Module:
            return norm(attn.d_model) if norm_placement in ("sandwich", "res-post") else nn.Identity()

        self.norm_placement, self.residual_scale = norm_placement, 1.0
        self.norm_attn, self.norm_attn_out = norm_in(), norm_out()
        self.attn = attn
        if cross_attn is not None:
            self.norm_cross, self.norm_cross_out = norm_in(), norm_out()
        self.cross_attn = cross_attn
        self.norm_ffn, self.norm_ffn_out = norm_in(), norm_out()
        self.ffn = ffn
        self.dropout, self.drop_path = nn.Dropout(dropout), drop_path

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        memory_positions: Tensor | None = None,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: bool = False,
        rotary: Rotary | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """``x (B, T, D)``, and ``memory (B, S, D)`` for a block with cross-attention → ``(B, T, D)``.

        Args:
            positions: added to the queries and the keys, not to the values; broadcastable to ``(B, T, D)``.
            memory_positions: added to the keys that the memory makes; broadcastable to ``(B, S, D)``.
            mask: of self-attention, as in :func:`attention`, and so are ``bias`` and ``causal``.
            memory_mask: which positions of the memory may be attended to.
            rotary: turns queries and keys of self-attention by their positions.
            cache: keys and values of the positions before these, and of the memory.

        Raises:
            ValueError: the block has cross-attention and there is no memory.
        """
        h = self._normed(x, self.norm_attn)  # (B, T, D)
        q = _plus(h, positions)
        h = self.attn(q, q, h, mask=mask, bias=bias, causal=causal, rotary=rotary, cache=cache)
        x = self._add(x, h, self.norm_attn, self.norm_attn_out)
        if self.cross_attn is not None:
            if memory is None:
                raise ValueError("a block with cross-attention needs a memory (B, S, D) to attend to")
            q = _plus(self._normed(x, self.norm_cross), positions)  # (B, T, D)
            k = _plus(memory, memory_positions)  # (B, S, D)
            seen = None if cache is None else cache.memory
            h = self.cross_attn(q, k, memory, mask=memory_mask, cache=seen)  # (B, T, D)
            x = self._add(x, h, self.norm_cross, self.norm_cross_out)
        h = self.ffn(self._normed(x, self.norm_ffn))  # (B, T, D)
        return self._add(x, h, self.norm_ffn, self.norm_ffn_out)

    def _normed(self, x: Tensor, norm: nn.Module) -> Tensor:
        """The input of a layer: x itself where the norm comes after the sum."""
        return x if self.norm_placement == "post" else norm(x)

    def _add(self, x: Tensor, h: Tensor, norm: nn.Module, norm_out: nn.Module) -> Tensor:
        """x plus what a layer made of it, normalised where the placement says."""
        h = self.dropout(norm_out(h))
        if self.drop_path and self.training:
            kept = torch.rand(len(h), *[1] * (h.ndim - 1), device=h.device) >= self.drop_path
            h = h * kept / (1 - self.drop_path)
        x = self.residual_scale * x + h
        return norm(x) if self.norm_placement == "post" else x


def _plus(x: Tensor, positions: Tensor | None) -> Tensor:
    return x if positions is None else x + positions
