"""The block: the one unit that every pioneer repeats."""

from collections.abc import Callable

from torch import Tensor, nn

from pioneers.layers.cache import KVCache
from pioneers.layers.feedforward import FeedForward, GatedFeedForward
from pioneers.layers.multi_head import MultiHeadAttention
from pioneers.layers.positions import Rotary

NORM_PLACEMENTS = ("pre", "post", "sandwich")
GATED_ACTIVATIONS = {"swiglu": "swish", "geglu": "gelu"}


class TransformerBlock(nn.Module):
    """Self-attention, cross-attention if asked for, and a feed-forward network, each added to what came in.

    Pre-norm computes ``x + Layer(Norm(x))``, post-norm ``Norm(x + Layer(x))``, sandwich norm
    ``x + Norm(Layer(Norm(x)))``: Vaswani et al. 2017, section 3.1; Xiong et al. 2020; Ding et al. 2021.

    Args:
        d_model: D.
        num_heads: H.
        d_ff: F; 4 D when left out.
        activation: as in :class:`FeedForward`, or ``"swiglu"`` or ``"geglu"`` for :class:`GatedFeedForward`.
        dropout: share dropped, in training, from the attention weights and from what each layer adds.
        norm: width → normalisation module, for instance ``torch.nn.RMSNorm``.
        norm_placement: ``"pre"``, ``"post"`` or ``"sandwich"``.
        cross: also attend to a memory, as the decoder of an encoder–decoder does.

    Attributes:
        residual_scale: α, the factor on x before a layer's output is added; 1 except in a DeepNet.

    Raises:
        ValueError: the heads do not divide the width, or the placement or the activation is unknown.

    Example:
        >>> import torch
        >>> block = TransformerBlock(12, 3, activation="swiglu", norm=nn.RMSNorm)
        >>> block(torch.zeros(2, 5, 12), causal=True).shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_ff: int | None = None,
        activation: str = "gelu",
        dropout: float = 0.0,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
        norm_placement: str = "pre",
        cross: bool = False,
    ) -> None:
        super().__init__()
        if norm_placement not in NORM_PLACEMENTS:
            raise ValueError(
                f"unknown norm_placement {norm_placement!r}; known: {', '.join(NORM_PLACEMENTS)}"
            )

        def norm_out() -> nn.Module:
            return norm(d_model) if norm_placement == "sandwich" else nn.Identity()

        self.norm_placement, self.residual_scale = norm_placement, 1.0
        self.norm_attn, self.norm_attn_out = norm(d_model), norm_out()
        self.attn = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.cross_attn: MultiHeadAttention | None = None
        if cross:
            self.norm_cross, self.norm_cross_out = norm(d_model), norm_out()
            self.cross_attn = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.norm_ffn, self.norm_ffn_out = norm(d_model), norm_out()
        self.ffn = _feed_forward(d_model, 4 * d_model if d_ff is None else d_ff, activation)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: bool = False,
        rotary: Rotary | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """``x (B, T, D)``, and ``memory (B, S, D)`` for a block with cross-attention → ``(B, T, D)``.

        ``context (B, S, D)`` is what self-attention looks at when ``x`` is only some positions of it.
        ``memory_mask`` says which positions of the memory may be attended to; ``mask``, ``bias``, ``causal``,
        ``rotary`` and ``cache`` are those of self-attention, see :meth:`MultiHeadAttention.forward`.

        Raises:
            ValueError: the block has cross-attention and there is no memory.
        """
        if context is not None and self.norm_placement != "post":
            context = self.norm_attn(context)

        def attend(h: Tensor) -> Tensor:
            return self.attn(h, context, mask=mask, bias=bias, causal=causal, rotary=rotary, cache=cache)

        x = self._add(x, attend, self.norm_attn, self.norm_attn_out)
        cross_attn = self.cross_attn
        if cross_attn is not None:
            if memory is None:
                raise ValueError("a block with cross=True needs a memory (B, S, D) to attend to")
            kept = None if cache is None else cache.memory

            def look_up(h: Tensor) -> Tensor:
                return cross_attn(h, memory, mask=memory_mask, cache=kept)

            x = self._add(x, look_up, self.norm_cross, self.norm_cross_out)
        return self._add(x, self.ffn, self.norm_ffn, self.norm_ffn_out)

    def _add(
        self, x: Tensor, layer: Callable[[Tensor], Tensor], norm: nn.Module, norm_out: nn.Module
    ) -> Tensor:
        """x plus what the layer makes of it, normalised where the placement says."""
        if self.norm_placement == "post":
            return norm(self.residual_scale * x + self.dropout(layer(x)))
        return self.residual_scale * x + self.dropout(norm_out(layer(norm(x))))


def _feed_forward(d_model: int, d_ff: int, activation: str) -> FeedForward | GatedFeedForward:
    if activation in GATED_ACTIVATIONS:
        return GatedFeedForward(d_model, d_ff, activation=GATED_ACTIVATIONS[activation])
    return FeedForward(d_model, d_ff, activation=activation)
