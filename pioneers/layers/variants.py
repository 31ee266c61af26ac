"""The frame of layers that mix heads by another rule than softmax over all keys.

Axes: B batch, H heads, T queries, S keys, K head_dim, D d_model.
"""

from typing import ClassVar

from torch import Tensor

from pioneers.layers.cache import KVCache, MemoryCache
from pioneers.layers.multi_head import MultiHeadAttention
from pioneers.layers.positions import Rotary


class VariantAttention(MultiHeadAttention):
    """Multi-head attention with its four projections, whose heads mix as a subclass says in :meth:`mix`.

    It is called like :class:`MultiHeadAttention` and fits into a :class:`TransformerBlock`. Arguments that
    have no meaning for a rule are refused rather than ignored.

    Args:
        d_model: D, width of what comes in and goes out.
        num_heads: H.

    Attributes:
        refuses: argument → why this rule cannot use it.

    Example:
        >>> import torch
        >>> class Mean(VariantAttention):
        ...     def mix(self, q, k, v, mask, causal):
        ...         return v.mean(-2, keepdim=True).expand_as(v)
        >>> Mean(12, 3)(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
    """

    refuses: ClassVar[dict[str, str]] = {}

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__(d_model, num_heads)

    def mix(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Queries ``(B, H, T, K)``, keys and values ``(B, H, S, K)`` → ``(B, H, T, K)``.

        Args:
            q: queries.
            k: keys.
            v: values.
            mask: as given, True = may attend.
            causal: whether later positions are hidden.

        Raises:
            NotImplementedError: the subclass does not define it.
        """
        raise NotImplementedError("a subclass of VariantAttention defines mix(q, k, v, mask, causal)")

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

        ``mask``, ``bias``, ``causal``, ``rotary`` and ``cache`` are as in :meth:`MultiHeadAttention.forward`;
        those in ``refuses`` raise an error.

        Raises:
            ValueError: an argument was given that this rule cannot use.
        """
        self._refuse(mask=mask, bias=bias, causal=causal or None, rotary=rotary, cache=cache)
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = (
            self._split(project(x))
            for project, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )  # (B, H, T, K), (B, H, S, K) twice
        if rotary is not None:
            q, k = rotary(q), rotary(k)
        out = self.mix(q, k, v, mask, causal)  # (B, H, T, K)
        return self.o_proj(out.transpose(-3, -2).flatten(-2))  # (B, T, D)

    def _refuse(self, **given: object) -> None:
        for name, value in given.items():
            if value is not None and name in self.refuses:
                raise ValueError(f"{type(self).__name__} takes no {name}: {self.refuses[name]}")


def hide_keys(x: Tensor, mask: Tensor | None) -> Tensor:
    """Keys or values ``x (B, H, S, K)`` with zeros where a padding mask ``(B, 1, 1, S)`` is False.

    Args:
        x: keys or values.
        mask: boolean; the same for all queries. None hides nothing.

    Raises:
        ValueError: the mask differs between queries, or is not boolean.

    Example:
        >>> import torch
        >>> hide_keys(torch.ones(1, 1, 3, 1), torch.tensor([True, True, False])[None, None, None]).flatten()
        tensor([1., 1., 0.])
    """
    if mask is None:
        return x
    if str(mask.dtype) != "torch.bool" or mask.ndim < 2 or mask.shape[-2] != 1:
        raise ValueError(
            f"the mask must be boolean and the same for all queries, such as padding_mask(...) of shape "
            f"(B, 1, 1, S), not {mask.dtype} of shape {tuple(mask.shape)}"
        )
    return x.masked_fill(~mask.transpose(-2, -1), 0.0)
