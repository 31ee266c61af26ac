"""Multi-head attention: the layer that every pioneer uses.

Axes: B batch, H heads, T queries, S keys, K head_dim, D d_model.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from pioneers.layers.attention import attention, attention_weights
from pioneers.layers.cache import KVCache, MemoryCache
from pioneers.layers.positions import Rotary


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
        qk_norm: K → normalisation module, for the queries and the keys of each head before they are turned;
            none when left out. Henry et al. 2020; Yang et al. 2025, section 2.

    Raises:
        ValueError: the heads do not divide the width, or the key/value heads do not divide the heads.

    Example:
        >>> import torch
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
        qk_norm: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"num_heads={num_heads} must divide d_model={d_model}, or give head_dim")
        self.d_model, self.num_heads = d_model, num_heads
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if num_heads % self.num_kv_heads:
            raise ValueError(f"num_kv_heads={num_kv_heads} must divide num_heads={num_heads}")
        self.head_dim = d_model // num_heads if head_dim is None else head_dim
        self.dropout, self.scale = dropout, scale
        self.q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(d_model, self.num_kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, self.num_kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=bias)
        norm = nn.Identity if qk_norm is None else qk_norm
        self.q_norm, self.k_norm = norm(self.head_dim), norm(self.head_dim)

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

        There may be further axes after B, such as one of windows, if there is no cache and nothing turned.
        ``key`` is the query when left out (self-attention), ``value`` is the key. ``mask``, ``bias`` and
        ``causal`` are those of :func:`attention`; ``rotary`` turns queries and keys by their positions. With
        a ``cache`` the new keys and values are appended to it and the queries see everything in it; a
        :class:`MemoryCache` keeps those of the first call for good.
        """
        key = query if key is None else key
        value = key if value is None else value
        query, key, value = _cast_once(query, key, value)
        q = _normed(self._split(self.q_proj(query)), self.q_norm)  # (B, H, T, K)
        k, v = self._keys_values(key, value, cache)  # (B, kv heads, S, K)
        if rotary is not None:
            start = 0 if cache is None else cache.length
            q, k = rotary(q, start), rotary(k, start)
        if cache is not None:
            k, v = cache.update(k, v)  # (B, kv heads, earlier and new, K)
        out = attention(
            q,
            self._share(k),
            self._share(v),
            mask=mask,
            bias=self.added_scores(q, k, bias),
            causal=causal,
            dropout=self.dropout * self.training,
            scale=self.scale,
        )  # (B, H, T, K)
        return self.o_proj(out.transpose(-3, -2).flatten(-2))  # (B, T, D)

    def weights(
        self,
        query: Tensor,
        key: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: bool = False,
        rotary: Rotary | None = None,
    ) -> Tensor:
        """The weights ``(B, H, T, S)`` that :meth:`forward` uses for the same arguments (without a cache).

        Args:
            query: ``(B, T, D)``.
            key: ``(B, S, D)``; the query when left out.
            mask: as in :func:`attention_weights`.
            bias: as in :func:`attention_weights`.
            causal: as in :func:`attention_weights`.
            rotary: turns queries and keys by their positions.
        """
        key = query if key is None else key
        q = _normed(self._split(self.q_proj(query)), self.q_norm)
        k = _normed(self._split(self.k_proj(key)), self.k_norm)
        if rotary is not None:
            q, k = rotary(q), rotary(k)
        bias = self.added_scores(q, k, bias)
        return attention_weights(q, self._share(k), mask=mask, bias=bias, causal=causal, scale=self.scale)

    def added_scores(self, q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor | None:
        """What is added to the scaled scores: the ``bias``, and in a subclass terms of its own.

        Args:
            q: queries ``(B, H, T, K)``.
            k: keys ``(B, kv heads, S, K)``.
            bias: as in :func:`attention`.
        """
        return bias

    def _keys_values(
        self, key: Tensor, value: Tensor, cache: KVCache | MemoryCache | None
    ) -> tuple[Tensor, Tensor]:
        if cache is not None and cache.kept is not None:
            return cache.kept
        return _normed(self._split(self.k_proj(key)), self.k_norm), self._split(self.v_proj(value))

    def _split(self, x: Tensor) -> Tensor:
        """(B, T, H·K) → (B, H, T, K)."""
        return x.unflatten(-1, (-1, self.head_dim)).transpose(-3, -2)

    def _share(self, x: Tensor) -> Tensor:
        """(B, kv heads, S, K) → (B, H, S, K): each key/value head serves a group of query heads."""
        groups = self.num_heads // self.num_kv_heads
        return x if groups == 1 else x.repeat_interleave(groups, dim=-3)


def _normed(x: Tensor, norm: nn.Module) -> Tensor:
    """Apply ``norm`` with as many bits as its weights have, where autocast has left fewer to x."""
    if isinstance(norm, nn.Identity):  # most models: one token at a time, a search for its weights is felt
        return x
    dtype = next((p.dtype for p in norm.parameters()), x.dtype)
    return norm(x.to(dtype)).to(x.dtype)


def _cast_once(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Cast the three as autocast would; what is one tensor stays one, or each projection would copy it."""
    kind = query.device.type
    known = torch.amp.is_autocast_available(kind)  # not to the meta device
    if not (known and torch.is_autocast_enabled(kind)):
        return query, key, value
    dtype = torch.get_autocast_dtype(kind)

    def cast(x: Tensor) -> Tensor:
        return x.to(dtype) if x.dtype == torch.float32 else x

    q = cast(query)
    k = q if key is query else cast(key)
    return q, k, k if value is key else cast(value)
