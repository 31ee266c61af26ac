"""Attention to a window around each position and to a few global positions: Longformer, BigBird.

Axes: B batch, H heads, T positions, K head_dim, N blocks of a window's length, D d_model.
"""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from pioneers.layers.attention import attention
from pioneers.layers.positions import Rotary
from pioneers.layers.variants import VariantAttention


def local_global_mask(
    num_positions: int, *, window: int, num_global: int = 0, num_random: int = 0, causal: bool = False
) -> Tensor:
    """Mask ``(T, T)``: a query sees a window around itself, the global positions and a few random ones.

    The first ``num_global`` positions see everything and are seen by all: Beltagy et al. 2020, section 3.1.
    Random keys for each query were added by Zaheer et al. 2020, section 2; they are drawn from torch's
    global generator, and may fall on keys that are seen anyway.

    Args:
        num_positions: T.
        window: positions less than this far away are seen, so up to ``2 window - 1``, or ``window`` of them
            if ``causal``, when the mask without global positions is that of :func:`window_mask`.
        num_global: how many of the first positions are global.
        num_random: random keys for each query.
        causal: also hide later positions from every query, global ones included.

    Raises:
        ValueError: the window is smaller than 1, or another number is negative or exceeds T.

    Example:
        >>> local_global_mask(5, window=2, num_global=1).int()
        tensor([[1, 1, 1, 1, 1],
                [1, 1, 1, 0, 0],
                [1, 1, 1, 1, 0],
                [1, 0, 1, 1, 1],
                [1, 0, 0, 1, 1]], dtype=torch.int32)
    """
    _check(window, num_global)
    if not 0 <= max(num_global, num_random) <= num_positions or num_random < 0:
        raise ValueError(
            f"num_global={num_global} and num_random={num_random} must be between 0 and T={num_positions}"
        )
    place = torch.arange(num_positions)
    query, key = place[:, None], place[None, :]
    mask = ((query - key).abs() < window) | (query < num_global) | (key < num_global)
    if num_random:
        chosen = torch.rand(num_positions, num_positions).topk(num_random, dim=-1).indices
        mask = mask.scatter(1, chosen, torch.tensor(True).expand_as(chosen))
    return mask.tril() if causal else mask


def local_attention(
    q: Tensor, k: Tensor, v: Tensor, *, window: int, num_global: int = 0, causal: bool = False
) -> Tensor:
    """Attention under a :func:`local_global_mask`, in time and memory linear in T; ``(B, H, T, K)``.

    The sequence is cut into blocks as long as the window. The queries of a block meet the keys of their own
    block and of its neighbours, and the global keys: no other scores are computed. Beltagy et al. 2020,
    section 3.2.

    Args:
        q: queries ``(B, H, T, K)``.
        k: keys ``(B, H, T, K)``.
        v: values ``(B, H, T, K)``.
        window: as in :func:`local_global_mask`.
        num_global: as in :func:`local_global_mask`.
        causal: as in :func:`local_global_mask`.

    Raises:
        ValueError: q, k and v differ in shape, the window is smaller than 1 or ``num_global`` is negative.

    Example:
        >>> q, k, v = torch.randn(3, 1, 2, 11, 4)  # B = 1, H = 2, T = 11, K = 4
        >>> masked = attention(q, k, v, mask=local_global_mask(11, window=3))
        >>> torch.allclose(local_attention(q, k, v, window=3), masked, atol=1e-5)
        True
    """
    _check(window, num_global)
    if not q.shape == k.shape == v.shape:
        raise ValueError(f"q, k and v must have the same shape, not {q.shape}, {k.shape}, {v.shape}")
    T, H = q.shape[-2], q.shape[-3]
    seen = _seen_in_blocks(T, window, num_global, causal, q.device)  # (N, C, width)
    behind = -T % window
    blocks = F.pad(q, (0, 0, 0, behind)).unflatten(-2, (-1, window))  # (B, H, N, C, K)
    k_near, v_near = (_nearby(x, window, num_global, causal) for x in (k, v))  # (B, H, N, width, K)
    flat = (x.flatten(-4, -3) for x in (blocks, k_near, v_near))  # (B, H · N, …): a fused kernel takes those
    out = attention(*flat, mask=seen.repeat(H, 1, 1))  # (B, H · N, C, K)
    out = out.unflatten(-3, (H, -1)).flatten(-3, -2)[..., :T, :]  # (B, H, T, K)
    if causal or not num_global:
        return out
    everything = attention(q[..., :num_global, :], k, v)  # global positions look everywhere
    return torch.cat([everything, out[..., num_global:, :]], dim=-2)


class LocalAttention(VariantAttention):
    """Multi-head self-attention by :func:`local_attention`.

    Longformer's global positions have projections of their own; here all positions share theirs.

    Args:
        d_model: D, width of what comes in and goes out.
        num_heads: H.
        window: as in :func:`local_global_mask`.
        num_global: as in :func:`local_global_mask`.

    Raises:
        ValueError: the window is smaller than 1 or ``num_global`` is negative.

    Example:
        >>> attn = LocalAttention(12, 3, window=2, num_global=1)
        >>> attn(torch.zeros(2, 5, 12), causal=True).shape
        torch.Size([2, 5, 12])
    """

    refuses: ClassVar = {
        "mask": "it has one of its own; give MultiHeadAttention the mask local_global_mask(...) & yours",
        "bias": "it computes only a few of the (T, T) scores",
        "cache": "it cuts a sequence into blocks; generate by MultiHeadAttention with the same mask",
    }

    def __init__(self, d_model: int, num_heads: int, *, window: int, num_global: int = 0) -> None:
        super().__init__(d_model, num_heads)
        _check(window, num_global)
        self.window, self.num_global = window, num_global

    def mix(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Apply :func:`local_attention` to the heads.

        Args:
            q: queries ``(B, H, T, K)``.
            k: keys ``(B, H, T, K)``.
            v: values ``(B, H, T, K)``.
            mask: None; see ``refuses``.
            causal: whether later positions are hidden.
        """
        how = {"window": self.window, "num_global": min(self.num_global, q.shape[-2])}
        return local_attention(q, k, v, causal=causal, **how)

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
        """The weights ``(B, H, T, T)`` of ``forward``, with zeros where it computes none.

        Args:
            query: ``(B, T, D)``.
            key: ``(B, T, D)``; the query when left out.
            mask: refused.
            bias: refused.
            causal: whether later positions are hidden.
            rotary: turns queries and keys by their positions.

        Raises:
            ValueError: an argument is refused.
        """
        self._refuse(mask=mask, bias=bias)
        T = query.shape[-2]
        how = {"window": self.window, "num_global": min(self.num_global, T)}
        own = local_global_mask(T, causal=causal, **how).to(query.device)
        return super().weights(query, key, mask=own, rotary=rotary)


def _check(window: int, num_global: int) -> None:
    if window < 1 or num_global < 0:
        raise ValueError(
            f"window must be at least 1 (the query's own position) and num_global at least 0, "
            f"not {window} and {num_global}"
        )


def _nearby(x: Tensor, window: int, num_global: int, causal: bool) -> Tensor:
    """Global positions, then the block before, its own and, unless causal, the next: (B, H, N, width, K)."""
    T = x.shape[-2]
    blocks, behind = -(-T // window), -T % window
    padded = F.pad(x, (0, 0, window, behind if causal else behind + window))
    near = padded.unfold(-2, (2 if causal else 3) * window, window).mT  # (B, H, N, 2 or 3 windows, K)
    first = x[..., None, :num_global, :].expand(*x.shape[:-2], blocks, -1, -1)
    return torch.cat([first, near], dim=-2)


def _seen_in_blocks(T: int, window: int, num_global: int, causal: bool, device: torch.device) -> Tensor:
    """Which keys of :func:`_nearby` a query of a block sees: (N, C, width)."""
    starts = torch.arange(0, T, window, device=device)[:, None]  # (N, 1)
    query = (starts + torch.arange(window, device=device))[:, :, None]  # (N, C, 1)
    width = (2 if causal else 3) * window
    near = (starts - window + torch.arange(width, device=device))[:, None]  # (N, 1, 2 or 3 windows)
    first = torch.arange(num_global, device=device).expand(len(starts), 1, -1)
    inside = (near >= num_global) & (near < T) & ((near - query).abs() < window)
    seen = torch.cat([torch.ones_like(query + first, dtype=torch.bool), inside], dim=-1)
    return seen & (torch.cat([first, near], dim=-1) <= query) if causal else seen
