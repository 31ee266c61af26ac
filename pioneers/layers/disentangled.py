"""Disentangled attention: a token attends by content and by distance, each with projections of its own.

Axes: B batch, H heads, T queries, S keys, K head_dim, D d_model, R relative distances.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.layers.biases import pick, relative_position
from pioneers.layers.multi_head import MultiHeadAttention


class ClippedDistances(nn.Module):
    """A vector for each distance, clipped at k: He et al. 2021, equation (3).

    Query i and key j look up row ``δ(i, j) = i - j + k``, but at least 0 and at most 2k - 1.

    Args:
        d_model: D.
        max_distance: k.

    Example:
        >>> vectors, row = ClippedDistances(6, 2)(3, 3)
        >>> vectors.shape, row.tolist()
        (torch.Size([4, 6]), [[2, 1, 0], [3, 2, 1], [3, 3, 2]])
    """

    def __init__(self, d_model: int, max_distance: int) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Embedding(2 * max_distance, d_model)

    def forward(self, num_queries: int, num_keys: int) -> tuple[Tensor, Tensor]:
        """Vectors ``(R, D)``, and which of them T queries and S keys look up, ``(T, S)``.

        The queries are the last T of the S positions. Rows of the table that nobody looks up are left out.

        Args:
            num_queries: T.
            num_keys: S.
        """
        reach = min(self.max_distance, num_keys)
        vectors = self.table.weight[self.max_distance - reach : self.max_distance + reach]  # (R, D)
        distance = -relative_position(num_queries, num_keys, vectors.device)  # (T, S)
        return vectors, (distance + reach).clamp(0, 2 * reach - 1)


class BucketedDistances(nn.Module):
    """A vector for each bucket of distances, normalised: DeBERTa's second version, He et al. 2023.

    Half of the buckets on either side hold one distance each, the others grow logarithmically.

    Args:
        d_model: D.
        num_buckets: number of buckets on either side, at least 4.
        max_distance: where the last bucket is.
        eps: added to the variance in the norm.

    Raises:
        ValueError: there are fewer than 4 buckets, or they are not fewer than the distances.

    Example:
        >>> vectors, row = BucketedDistances(6, 4, 16)(1, 16)
        >>> vectors.shape, row.tolist()
        (torch.Size([8, 6]), [[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 5, 4]])
    """

    def __init__(self, d_model: int, num_buckets: int, max_distance: int, *, eps: float = 1e-7) -> None:
        super().__init__()
        if not 4 <= num_buckets < max_distance:
            raise ValueError(
                f"num_buckets must be at least 4 and less than max_distance={max_distance}, not {num_buckets}"
            )
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.table = nn.Embedding(2 * num_buckets, d_model)
        self.norm = nn.LayerNorm(d_model, eps=eps)

    def forward(self, num_queries: int, num_keys: int) -> tuple[Tensor, Tensor]:
        """Vectors ``(R, D)`` and rows ``(T, S)``; ``num_queries`` and ``num_keys`` as for clipped ones."""
        distance = -relative_position(num_queries, num_keys, self.table.weight.device)  # (T, S)
        exact = self.num_buckets // 2
        far = distance.abs().clamp(min=exact) / exact
        last = torch.tensor((self.max_distance - 1) / exact, device=far.device)
        far = exact + torch.ceil(far.log() / last.log() * (exact - 1)).long()
        bucket = torch.where(distance.abs() <= exact, distance, far * distance.sign())
        row = (bucket + self.num_buckets).clamp(0, 2 * self.num_buckets - 1)
        return self.norm(self.table.weight), row


class DisentangledAttention(MultiHeadAttention):
    """Multi-head attention whose scores are a sum of three products: He et al. 2021, section 3.1.

    With ``Q_c`` and ``K_c`` made of the content, ``K_r = P W_kr`` and ``Q_r = P W_qr`` made of P, the vectors
    of the distances, and δ(i, j) the row that query i and key j look up, equation (4) is

    ``score(i, j) = (Q_c[i]·K_c[j] + Q_c[i]·K_r[δ(i, j)] + K_c[j]·Q_r[δ(i, j)]) / √(3K)``

    and its terms are content-to-content, content-to-position and position-to-content. Equation (2) is their
    origin, and its fourth term, position-to-position, is left out. The paper's last term has ``δ(j, i)``;
    here it is ``δ(i, j)`` as in the code of its authors, which the published weights were trained with.

    Args:
        d_model: D.
        num_heads: H.
        distances: P and δ, the same for all blocks: :class:`ClippedDistances` or :class:`BucketedDistances`.
        shared: whether W_kr and W_qr are the projections of the content, as from the second version on.
        dropout: share of the attention weights, and of the table's numbers, dropped in training.

    Raises:
        ValueError: the heads do not divide the width.

    Example:
        >>> import torch
        >>> attn = DisentangledAttention(12, 3, ClippedDistances(12, 5))
        >>> attn(torch.zeros(2, 7, 12)).shape
        torch.Size([2, 7, 12])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        distances: ClippedDistances | BucketedDistances,
        *,
        shared: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(d_model, num_heads, dropout=dropout)
        self.scale: float = (3 * self.head_dim) ** -0.5
        self.k_proj = nn.Linear(d_model, d_model, bias=shared)
        self.distances = distances
        self.distance_k_proj = self.k_proj if shared else nn.Linear(d_model, d_model, bias=False)
        self.distance_q_proj = self.q_proj if shared else nn.Linear(d_model, d_model)

    def added_scores(self, q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
        """Content-to-position plus position-to-content, scaled, plus the ``bias`` if any: ``(B, H, T, S)``.

        Args:
            q: queries ``(B, H, T, K)``.
            k: keys ``(B, H, S, K)``.
            bias: as in :func:`attention`.
        """
        vectors, row = self.distances(q.shape[-2], k.shape[-2])  # (R, D) and (T, S)
        table = F.dropout(vectors, self.dropout, self.training)
        content_to_position = q @ self._split(self.distance_k_proj(table)[None]).mT  # (B, H, T, R)
        position_to_content = k @ self._split(self.distance_q_proj(table)[None]).mT  # (B, H, S, R)
        added = pick(content_to_position, row) + pick(position_to_content, row.T).mT  # (B, H, T, S)
        added = added * self.scale
        return added if bias is None else added + bias
