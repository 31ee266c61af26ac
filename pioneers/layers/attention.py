"""Attention as a function, explicit and fused.

Axes: B batch, H heads, T queries, S keys, K head_dim, D d_model.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from pioneers.layers.masks import causal_mask

# In bfloat16 on a CPU the explicit form is faster with up to EXPLICIT_MAX_KEYS keys; in training with a
# causal mask also with up to CHUNKED_MAX_KEYS, if a chunk of queries at a time meets the keys it may see.
# Forward and backward in ms, 8 heads of 32 on two cores: T = 128, 18 explicit and 40 fused; 256, 16 in chunks
# of 128 and 35 fused; 1024, 43 in chunks of 256 and 59 fused; 2048, 76 and 96. Beyond, memory would run out.
EXPLICIT_MAX_KEYS = 256
CHUNKED_MAX_KEYS = 2048
SMALL_CHUNK, LARGE_CHUNK = 128, 256  # queries at a time; the large ones from 1024 keys on


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
        k: keys ``(B, H, S, K)``; leading axes of length 1 serve all of the others', as in broadcasting.
        mask: boolean, broadcastable to ``(B, H, T, S)``; True = may attend. A row that may attend to nothing
            gets weights of zero, never NaN.
        bias: added to the scaled scores, broadcastable to ``(B, H, T, S)``.
        causal: also hide later positions; with T ≠ S the queries are the last T positions.
        scale: factor on the scores; ``1 / sqrt(K)`` when left out.

    Raises:
        ValueError: q and k differ in K, their leading axes cannot be broadcast, or the mask is not boolean.

    Example:
        >>> attention_weights(torch.zeros(2, 1), torch.zeros(2, 1), causal=True).tolist()
        [[1.0, 0.0], [0.5, 0.5]]
    """
    _check(mask, q, k)
    weights, blind = _weights(q, k, mask, bias, causal, scale)
    return weights if blind is None else weights.masked_fill(blind, 0.0)


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
    """Scaled dot-product attention by whichever kernel is fastest here; ``(B, H, T, K)``, as wide as v.

    The numbers are those of ``attention_weights(...) @ v``. The fused kernel never stores the ``(T, S)``
    weights, so its memory grows with T and not with T². They are stored where PyTorch has no such kernel (on
    a CPU: with dropout, or with a bias that learns), and in bfloat16 on a CPU where the explicit form is the
    faster one: with up to 256 keys, or 2,048 with nothing but a causal mask. Vaswani et al. 2017, equation
    (1); Dao et al. 2022.

    Args:
        q: queries ``(B, H, T, K)``; any leading axes will do.
        k: keys ``(B, H, S, K)``; leading axes of length 1 serve all of the others', as in broadcasting.
        v: values ``(B, H, S, K)``; their width may differ from that of q and k.
        mask: boolean, broadcastable to ``(B, H, T, S)``; True = may attend.
        bias: added to the scaled scores, broadcastable to ``(B, H, T, S)``.
        causal: also hide later positions; with T ≠ S the queries are the last T positions.
        dropout: share of the weights dropped. The caller passes 0 outside training.
        scale: factor on the scores; ``1 / sqrt(K)`` when left out.

    Raises:
        ValueError: q and k differ in K or k and v in S, their leading axes cannot be broadcast, or the mask
            is not boolean.

    Example:
        >>> q, k, v = torch.randn(3, 1, 2, 5, 4)  # B = 1, H = 2, T = S = 5, K = 4
        >>> explicit = attention_weights(q, k, causal=True) @ v
        >>> torch.allclose(attention(q, k, v, causal=True), explicit, atol=1e-5)
        True
    """
    _check(mask, q, k, v)
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(f"one value per key: k has {k.shape[-2]} positions, v has {v.shape[-2]}")
    plain = causal and mask is None and bias is None and q.shape[-2] == k.shape[-2]
    if q.device.type == "cpu" and q.dtype == torch.bfloat16:
        if plain and _learns(q, k, v) and SMALL_CHUNK < k.shape[-2] <= CHUNKED_MAX_KEYS:
            return _in_chunks(q, k, v, dropout, scale)
        if k.shape[-2] <= EXPLICIT_MAX_KEYS:
            return _explicit(q, k, v, mask, bias, causal, dropout, scale)
    if plain:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout, scale=scale)
    mask = _with_causal(mask, causal, q, k)
    if bias is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout, scale=scale)
    added = bias.to(q.dtype)
    if mask is not None:
        added = added.masked_fill(~mask, -math.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=added, dropout_p=dropout, scale=scale)


def _check(mask: Tensor | None, q: Tensor, k: Tensor, *v: Tensor) -> None:
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"queries and keys must have the same width K to be multiplied: "
            f"q is {tuple(q.shape)}, k is {tuple(k.shape)}"
        )
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be boolean (True = may attend), not {mask.dtype}; pass additive terms as bias="
        )
    leading = [x.shape[:-2] for x in (q, k, *v)]
    if any(axes != leading[0] for axes in leading):
        try:
            torch.broadcast_shapes(*leading)
        except RuntimeError:
            shapes = ", ".join(str(tuple(x.shape)) for x in (q, k, *v))
            raise ValueError(
                f"q, k and v must have the same batch and heads, or 1 to serve all; they are {shapes}"
            ) from None


def _weights(
    q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None, causal: bool, scale: float | None
) -> tuple[Tensor, Tensor | None]:
    """Weights ``(B, H, T, S)``, equal ones for a query that sees nothing, and those queries ``(…, T, 1)``."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = (q * scale) @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    allowed = _with_causal(mask, causal, q, k)
    if allowed is None:
        return scores.softmax(dim=-1), None
    # Added, which costs nothing on the way back. Not -inf: a row of nothing but -inf has no softmax.
    hidden = torch.finfo(scores.dtype).min / 2
    scores = scores + torch.zeros_like(allowed, dtype=scores.dtype).masked_fill(~allowed, hidden)
    some_for_all = mask is None and q.shape[-2] <= k.shape[-2]
    return scores.softmax(dim=-1), None if some_for_all else ~allowed.any(dim=-1, keepdim=True)


def _explicit(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    causal: bool,
    dropout: float,
    scale: float | None,
) -> Tensor:
    weights, blind = _weights(q, k, mask, bias, causal, scale)  # (B, H, T, S)
    out = F.dropout(weights, dropout).to(v.dtype) @ v  # (B, H, T, K)
    return out if blind is None else out.masked_fill(blind, 0.0)


def _in_chunks(q: Tensor, k: Tensor, v: Tensor, dropout: float, scale: float | None) -> Tensor:
    """Causal attention, explicit, a chunk of queries at a time: each sees no keys beyond its own end."""
    chunk = LARGE_CHUNK if k.shape[-2] >= 1024 else SMALL_CHUNK
    parts = []
    for end in range(chunk, k.shape[-2] + chunk, chunk):
        seen_k, seen_v = k[..., :end, :], v[..., :end, :]  # (B, H, end, K)
        newest = q[..., end - chunk : end, :]  # (B, H, chunk, K)
        parts.append(_explicit(newest, seen_k, seen_v, None, None, True, dropout, scale))
    return torch.cat(parts, dim=-2)  # (B, H, T, K)


def _learns(*tensors: Tensor) -> bool:
    """Return whether a gradient is wanted: the fused kernel is slow in the backward pass."""
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def _with_causal(mask: Tensor | None, causal: bool, q: Tensor, k: Tensor) -> Tensor | None:
    """``mask`` with later positions hidden too. A single query is the newest: it may see every key."""
    if not causal or q.shape[-2] == 1:
        return mask
    lower = causal_mask(q.shape[-2], k.shape[-2], device=q.device)
    return lower if mask is None else mask & lower
