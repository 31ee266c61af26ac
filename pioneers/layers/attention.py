"""Attention, explicit and fused, and the multi-head layer that every pioneer uses.

Axes: B batch, H heads, T queries, S keys, K head_dim, D d_model.
"""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.layers.cache import KVCache, MemoryCache
from pioneers.layers.masks import causal_mask
from pioneers.layers.positions import Rotary

# Up to this many keys the explicit form is the faster one in bfloat16 on a CPU: a training step of 6 blocks
# of width 256 at T = 256 on two cores ran 5,400 tokens/s explicit and 5,000 fused. Long ones want the kernel.
EXPLICIT_BF16_MAX_KEYS = 256


def attention_weights(
    q: Tensor,
    k: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """The attention weights in explicit form: softmax(q kᵀ · scale + bias), ``(B, H, T, S)``.

    Vaswani et al. 2017, section 3.2.1, equation (1).

    Args:
        q: queries ``(B, H, T, K)``; any leading axes will do.
        k: keys ``(B, H, S, K)``.
        mask: boolean, broadcastable to ``(B, H, T, S)``; True = may attend. A row that may attend to nothing
            gets weights of zero, never NaN.
        bias: added to the scaled scores, broadcastable to ``(B, H, T, S)``.
        causal: also hide later positions; with T ≠ S the queries are the last T positions.
        scale: factor on the scores; ``1 / sqrt(K)`` when left out.

    Raises:
        ValueError: the shapes of q and k do not fit, or the mask is not boolean.
    """
    _check(q, k, mask)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = (q * scale) @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    mask = _with_causal(mask, causal, q, k)
    if mask is None:
        return scores.softmax(dim=-1)
    # The lowest finite number, not -inf: a row of nothing but -inf would make softmax return NaN.
    hidden = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, hidden).softmax(dim=-1).masked_fill(~mask, 0.0)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention, ``(B, H, T, K)``, by whichever kernel is fastest here.

    The numbers are those of ``attention_weights(...) @ v``. The fused kernel never stores the ``(T, S)``
    weights, so its memory grows with T and not with T². Vaswani et al. 2017, equation (1); Dao et al. 2022.

    Args:
        q: queries ``(B, H, T, K)``.
        k: keys ``(B, H, S, K)``.
        v: values ``(B, H, S, K)``; their width may differ from that of q and k.
        mask: boolean, broadcastable to ``(B, H, T, S)``; True = may attend.
        bias: added to the scaled scores, broadcastable to ``(B, H, T, S)``.
        causal: also hide later positions; with T ≠ S the queries are the last T positions.
        dropout: share of the weights dropped. The caller passes 0 outside training.
        scale: factor on the scores; ``1 / sqrt(K)`` when left out.

    Raises:
        ValueError: the shapes of q, k and v do not fit, or the mask is not boolean.
    """
    _check(q, k, mask)
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(f"one value per key: k has {k.shape[-2]} positions, v has {v.shape[-2]}")
    if q.device.type == "cpu" and q.dtype == torch.bfloat16 and k.shape[-2] <= EXPLICIT_BF16_MAX_KEYS:
        weights = attention_weights(q, k, mask=mask, bias=bias, causal=causal, scale=scale)
        return F.dropout(weights, dropout).to(v.dtype) @ v
    if causal and mask is None and bias is None and q.shape[-2] == k.shape[-2]:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout, scale=scale)
    mask = _with_causal(mask, causal, q, k)
    if bias is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout, scale=scale)
    added = bias.to(q.dtype)
    if mask is not None:
        added = added.masked_fill(~mask, -math.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=added, dropout_p=dropout, scale=scale)


def _check(q: Tensor, k: Tensor, mask: Tensor | None) -> None:
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"queries and keys must have the same width K to be multiplied: "
            f"q is {tuple(q.shape)}, k is {tuple(k.shape)}"
        )
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be boolean (True = may attend), not {mask.dtype}; pass additive terms as bias="
        )


def _with_causal(mask: Tensor | None, causal: bool, q: Tensor, k: Tensor) -> Tensor | None:
    """``mask`` with later positions hidden too. A single query is the newest: it may see every key."""
    if not causal or q.shape[-2] == 1:
        return mask
    lower = causal_mask(q.shape[-2], k.shape[-2], device=q.device)
    return lower if mask is None else mask & lower


class MultiHeadAttention(nn.Module):
    """Multi-head attention: self-, cross- and grouped-query attention in one class.

    Vaswani et al. 2017, section 3.2.2: ``Concat(head_1 … head_H) W^O``; grouped queries as in Ainslie et al.
    2023.

    Args:
        d_model: D, width of what comes in and goes out.
        num_heads: H.
        num_kv_heads: number of key/value heads, shared by groups of query heads; H when left out.
        head_dim: K; D / H when left out.
        bias: whether the four projections have a bias.
        dropout: share of the attention weights dropped in training.
        scale: factor on the scores; ``1 / sqrt(K)`` when left out.

    Raises:
        ValueError: the heads do not divide the width, or the key/value heads do not divide the heads.

    Example:
        >>> attn = MultiHeadAttention(12, 3)
        >>> attn(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"num_heads={num_heads} must divide d_model={d_model}, or give head_dim")
        self.num_heads = num_heads
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if num_heads % self.num_kv_heads:
            raise ValueError(f"num_kv_heads={num_kv_heads} must divide num_heads={num_heads}")
        self.head_dim = d_model // num_heads if head_dim is None else head_dim
        self.dropout, self.scale = dropout, scale
        self.q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(d_model, self.num_kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, self.num_kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: bool = False,
        rotary: Rotary | None = None,
        cache: KVCache | MemoryCache | None = None,
    ) -> Tensor:
        """Attend from ``query (B, T, D)`` to ``key`` and ``value (B, S, D)``; returns ``(B, T, D)``.

        ``key`` is the query when left out (self-attention), ``value`` is the key. ``mask``, ``bias`` and
        ``causal`` are those of :func:`attention`; ``rotary`` turns queries and keys by their positions. With
        a ``cache`` the new keys and values are appended to it and the queries see everything in it; a
        :class:`MemoryCache` keeps those of the first call for good.
        """
        key = query if key is None else key
        value = key if value is None else value
        start = 0 if cache is None else cache.length
        q = self._split(self.q_proj(query))
        if rotary is not None:
            q = rotary(q, start)
        project = partial(self._keys_values, key, value, rotary, start)
        k, v = project() if cache is None else cache.extend(project)
        k, v = self._share(k), self._share(v)
        dropout = self.dropout * self.training
        out = attention(q, k, v, mask=mask, bias=bias, causal=causal, dropout=dropout, scale=self.scale)
        return self.o_proj(out.transpose(1, 2).flatten(2))

    def weights(
        self,
        query: Tensor,
        key: Tensor | None = None,
        *,
        rotary: Rotary | None = None,
        **how: Tensor | bool | None,
    ) -> Tensor:
        """The weights ``(B, H, T, S)`` that :meth:`forward` uses for the same arguments (without a cache)."""
        key = query if key is None else key
        q, k = self._split(self.q_proj(query)), self._split(self.k_proj(key))
        if rotary is not None:
            q, k = rotary(q), rotary(k)
        return attention_weights(q, self._share(k), scale=self.scale, **how)

    def _keys_values(
        self, key: Tensor, value: Tensor, rotary: Rotary | None, start: int
    ) -> tuple[Tensor, Tensor]:
        k, v = self._split(self.k_proj(key)), self._split(self.v_proj(value))
        return (k if rotary is None else rotary(k, start)), v

    def _split(self, x: Tensor) -> Tensor:
        """(B, T, H·K) → (B, H, T, K)."""
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def _share(self, x: Tensor) -> Tensor:
        """(B, kv heads, S, K) → (B, H, S, K): each key/value head serves a group of query heads."""
        groups = self.num_heads // self.num_kv_heads
        return x if groups == 1 else x.repeat_interleave(groups, dim=1)
