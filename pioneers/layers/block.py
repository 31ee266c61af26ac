"""The block: the one unit that every pioneer repeats."""

from torch import Tensor, nn

from pioneers.layers.attention import MultiHeadAttention
from pioneers.layers.cache import KVCache
from pioneers.layers.feedforward import FeedForward


class TransformerBlock(nn.Module):
    """Self-attention, then a feed-forward network, each with a residual connection and LayerNorm.

    Pre-norm computes ``x + Layer(LayerNorm(x))``, post-norm ``LayerNorm(x + Layer(x))``
    (Vaswani et al. 2017, section 3.1; Xiong et al. 2020).

    Args:
        d_model: D.
        num_heads: H.
        d_ff: F; 4 D when left out.
        activation: that of :class:`~pioneers.layers.feedforward.FeedForward`.
        dropout: share dropped, in training, from the attention weights and from what each layer adds.
        norm_first: pre-norm if true, post-norm if not.
        norm_eps: the eps of LayerNorm.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_ff: int | None = None,
        activation: str = "gelu",
        dropout: float = 0.0,
        norm_first: bool = True,
        norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.norm_attn = nn.LayerNorm(d_model, eps=norm_eps)
        self.attn = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.norm_ffn = nn.LayerNorm(d_model, eps=norm_eps)
        self.ffn = FeedForward(d_model, 4 * d_model if d_ff is None else d_ff, activation=activation)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, *, mask: Tensor | None = None, causal: bool = False, cache: KVCache | None = None
    ) -> Tensor:
        """(B, T, D) → (B, T, D); ``mask``, ``causal`` and ``cache`` go to the attention layer."""
        how = {"mask": mask, "causal": causal, "cache": cache}
        if self.norm_first:
            x = x + self.dropout(self.attn(self.norm_attn(x), **how))
            return x + self.dropout(self.ffn(self.norm_ffn(x)))
        x = self.norm_attn(x + self.dropout(self.attn(x, **how)))
        return self.norm_ffn(x + self.dropout(self.ffn(x)))
