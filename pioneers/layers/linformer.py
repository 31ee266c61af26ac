"""Attention over a compressed sequence: Linformer.

Axes: B batch, H heads, T queries, S keys, C compressed keys, K head_dim, D d_model.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from pioneers.layers.attention import attention, attention_weights
from pioneers.layers.positions import Rotary
from pioneers.layers.variants import VariantAttention, hide_keys


class LinformerAttention(VariantAttention):
    """Multi-head attention to C learned mixtures of the keys and values: ``softmax(q (E k)ᵀ / √K) F v``.

    The scores are ``(T, C)`` and not ``(T, S)``, so that time and memory grow with T. All heads share E and
    F, which are tied to positions: Wang et al. 2020, section 4, equation (7) and "headwise sharing".

    Args:
        d_model: D, width of what comes in and goes out.
        num_heads: H.
        max_seq_len: longest sequence; E and F have a column for each of its positions.
        num_compressed: C.

    Raises:
        ValueError: C is not between 1 and ``max_seq_len``.

    Example:
        >>> attn = LinformerAttention(12, 3, max_seq_len=7, num_compressed=2)
        >>> attn(torch.zeros(2, 5, 12)).shape, attn.weights(torch.zeros(2, 5, 12)).shape
        (torch.Size([2, 5, 12]), torch.Size([2, 3, 5, 2]))
    """

    refuses: ClassVar = {
        "causal": "a compressed key is a mixture of all positions, later ones included",
        "bias": "its columns are mixtures of positions, to which no bias (T, S) belongs",
        "rotary": "a mixture of keys turned by different angles has no position of its own",
        "cache": "each new key changes every compressed key",
    }

    def __init__(self, d_model: int, num_heads: int, *, max_seq_len: int, num_compressed: int) -> None:
        super().__init__(d_model, num_heads)
        if not 1 <= num_compressed <= max_seq_len:
            raise ValueError(
                f"num_compressed={num_compressed} must be between 1 and max_seq_len={max_seq_len}"
            )
        self.max_seq_len, self.num_compressed = max_seq_len, num_compressed
        # So that a mixture of max_seq_len independent keys is as long as one of them.
        std = max_seq_len**-0.5
        self.compress_keys = nn.Parameter(std * torch.randn(num_compressed, max_seq_len))  # E
        self.compress_values = nn.Parameter(std * torch.randn(num_compressed, max_seq_len))  # F

    def mix(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Compress keys and values ``(B, H, S, K)`` to ``(B, H, C, K)``, then attend.

        Args:
            q: queries ``(B, H, T, K)``.
            k: keys.
            v: values.
            mask: hides padding, ``(B, 1, 1, S)``: hidden keys and values are left out of the mixtures.
            causal: False; see ``refuses``.

        Raises:
            ValueError: there are more keys than ``max_seq_len``, or the mask differs between queries.
        """
        k, v = self._compressed(k, self.compress_keys, mask), self._compressed(v, self.compress_values, mask)
        return attention(q, k, v)  # (B, H, T, K)

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
        """The weights ``(B, H, T, C)`` of the compressed keys that ``forward`` uses.

        Args:
            query: ``(B, T, D)``.
            key: ``(B, S, D)``; the query when left out.
            mask: as in :meth:`mix`.
            bias: refused, and so are the next two.
            causal: refused.
            rotary: refused.

        Raises:
            ValueError: as ``forward``.
        """
        self._refuse(bias=bias, causal=causal or None, rotary=rotary)
        q, k = self._split(self.q_proj(query)), self._split(self.k_proj(query if key is None else key))
        return attention_weights(q, self._compressed(k, self.compress_keys, mask))

    def _compressed(self, x: Tensor, matrix: Tensor, mask: Tensor | None) -> Tensor:
        """(B, H, S, K) → (B, H, C, K)."""
        if x.shape[-2] > self.max_seq_len:
            raise ValueError(
                f"{x.shape[-2]} keys, but E and F were made for max_seq_len={self.max_seq_len} positions"
            )
        return matrix[:, : x.shape[-2]] @ hide_keys(x, mask)
