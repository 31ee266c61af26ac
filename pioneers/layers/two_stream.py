"""Two-stream attention: one stream knows the token at its position, the other predicts it.

Axes: B batch, H heads, T positions, K head_dim, D d_model, R = 2T - 1 relative distances.
"""

import torch
from torch import Tensor, nn

from pioneers.layers.attention import attention
from pioneers.layers.biases import pick, relative_position


def relative_sinusoids(length: int, d_model: int, *, device: torch.device | None = None) -> Tensor:
    """Sines, then cosines, of the distances ``1 - T … T - 1`` of T positions: ``(2T - 1, D)``.

    Dai et al. 2019, section 3.3; row r is distance ``r - T + 1``, from key to query.

    Args:
        length: T.
        d_model: D, even.
        device: where the table is made.

    Example:
        >>> relative_sinusoids(2, 2)
        tensor([[-0.8415,  0.5403],
                [ 0.0000,  1.0000],
                [ 0.8415,  0.5403]])
    """
    distances = torch.arange(1 - length, length, device=device)
    frequencies = 10000.0 ** (-torch.arange(0, d_model, 2, device=device) / d_model)
    angles = distances[:, None] * frequencies  # (R, D / 2)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class RelativeAttention(nn.Module):
    """Attention by content, distance and segment, each with a bias of its own on the queries.

    ``score(i, j) = ((q_i + u)·k_j + (q_i + v)·r_{i-j} + (q_i + b)·s_ij) / √K`` with ``r = R W_r`` made of
    fixed sinusoids R, and ``s_ij`` one of two vectors: i and j are in the same segment, or they are not. The
    first two terms are Transformer-XL's, Dai et al. 2019, section 3.3; the third is XLNet's, Yang et al.
    2019, section 2.5. In published checkpoints u, v and b are ``r_w_bias``, ``r_r_bias`` and ``r_s_bias``.

    Args:
        d_model: D.
        num_heads: H.
        dropout: share of the attention weights dropped in training.

    Raises:
        ValueError: the heads do not divide the width.

    Example:
        >>> attn, x = RelativeAttention(12, 3), torch.zeros(2, 5, 12)
        >>> attn(x, x, relative_sinusoids(5, 12)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(self, d_model: int, num_heads: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads={num_heads} must divide d_model={d_model}")
        self.num_heads, self.dropout = num_heads, dropout
        self.scale = (d_model // num_heads) ** -0.5
        self.q_proj, self.k_proj, self.v_proj, self.o_proj, self.distance_proj = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )
        self.content_bias, self.distance_bias, self.segment_bias = (
            nn.Parameter(torch.empty(num_heads, d_model // num_heads).normal_(std=0.02)) for _ in range(3)
        )  # u, v and b
        self.segment = nn.Parameter(torch.empty(2, num_heads, d_model // num_heads).normal_(std=0.02))

    def forward(
        self,
        query: Tensor,
        content: Tensor,
        distances: Tensor,
        *,
        other_segment: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Attend from ``query (B, T, D)`` to ``content (B, T, D)`` at the same T positions: ``(B, T, D)``.

        Args:
            query: the stream that asks.
            content: the stream that keys and values are made of.
            distances: R, ``(2T - 1, D)``, from :func:`relative_sinusoids`.
            other_segment: ``(B, T, T)``, 1 where query and key are in different segments and 0 elsewhere;
                without it segments play no part.
            mask: as in :func:`attention`.
        """
        q, k, v = (
            self._split(self.q_proj(query)),
            *map(self._split, (self.k_proj(content), self.v_proj(content))),
        )
        r = self._split(self.distance_proj(distances)[None])  # (1, H, R, K)
        length = q.shape[-2]
        row = length - 1 - relative_position(length, None, q.device)  # (T, T)
        added = pick((q + self.distance_bias[:, None].to(q.dtype)) @ r.mT, row)  # (B, H, T, T)
        if other_segment is not None:
            by_segment = (q + self.segment_bias[:, None].to(q.dtype)) @ self.segment.permute(
                1, 2, 0
            )  # (B, H, T, 2)
            added = added + pick(by_segment, other_segment[:, None])
        out = attention(
            q + self.content_bias[:, None].to(q.dtype),
            k,
            v,
            mask=mask,
            bias=added * self.scale,
            dropout=self.dropout * self.training,
        )  # (B, H, T, K)
        return self.o_proj(out.transpose(1, 2).flatten(2))  # (B, T, D)

    def _split(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, H, T, K)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


class TwoStreamBlock(nn.Module):
    """A post-norm block that two streams go through, with the same weights: Yang et al. 2019, section 2.3.

    Keys and values are always made of the content stream h. The queries of h know the token at their
    position, those of the query stream g know where it is and nothing of what it is.

    Args:
        attn: the attention of both streams.
        ffn: what each position goes through alone.
        d_model: D.
        eps: added to the variance in both norms.
        dropout: share dropped, in training, from what each layer adds.

    Example:
        >>> block = TwoStreamBlock(RelativeAttention(12, 3), nn.Linear(12, 12), d_model=12)
        >>> h, g = block(torch.zeros(2, 5, 12), torch.ones(2, 5, 12), relative_sinusoids(5, 12))
        >>> h.shape, g.shape
        (torch.Size([2, 5, 12]), torch.Size([2, 5, 12]))
    """

    def __init__(
        self,
        attn: RelativeAttention,
        ffn: nn.Module,
        *,
        d_model: int,
        eps: float = 1e-5,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attn, self.ffn = attn, ffn
        self.norm_attn, self.norm_ffn = nn.LayerNorm(d_model, eps=eps), nn.LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        h: Tensor,
        g: Tensor | None,
        distances: Tensor,
        *,
        other_segment: Tensor | None = None,
        content_mask: Tensor | None = None,
        query_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The content stream ``h`` and the query stream ``g``, both ``(B, T, D)`` → the same, one block on.

        Args:
            h: content.
            g: queries; None where nothing is to be predicted.
            distances: as in :meth:`RelativeAttention.forward`, and so is ``other_segment``.
            content_mask: which positions h may attend to, its own among them; broadcastable to
                ``(B, H, T, T)``.
            query_mask: which positions g may attend to: not its own.
        """
        new_h = self._stream(h, h, distances, other_segment, content_mask)
        new_g = None if g is None else self._stream(g, h, distances, other_segment, query_mask)
        return new_h, new_g

    def _stream(
        self, x: Tensor, h: Tensor, distances: Tensor, other_segment: Tensor | None, mask: Tensor | None
    ) -> Tensor:
        seen = self.attn(x, h, distances, other_segment=other_segment, mask=mask)
        x = self.norm_attn(x + self.dropout(seen))
        return self.norm_ffn(x + self.dropout(self.ffn(x)))
