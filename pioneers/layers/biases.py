"""Relative positions as values added to the scores."""

import math

import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    """The slopes ``(H,)`` of Press et al. 2022, section 3: ``2^(-8/H), 2^(-16/H), …, 2^(-8)``.

    For a ``num_heads`` that is not a power of two, the slopes of the next lower power are filled up with
    every second slope of the next higher one, as the paper's code does.

    Example:
        >>> alibi_slopes(4)
        tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    extra = [2 ** (-4 * (h + 1) / power) for h in range(0, 2 * (num_heads - power), 2)]
    return torch.tensor(slopes + extra)


def alibi_bias(
    num_heads: int, num_queries: int, num_keys: int | None = None, *, device: torch.device | None = None
) -> Tensor:
    """Bias ``(H, T, S)``: minus the slope of the head times the distance from query to key.

    Press et al. 2022, section 3.

    Args:
        num_heads: H.
        num_queries: T; the queries are the last T of the S positions.
        num_keys: S; T when left out.
        device: where the bias is made.

    Example:
        >>> alibi_bias(1, 2, 3) * 2**8
        tensor([[[-1., -0., -1.],
                 [-2., -1., -0.]]])
    """
    distance = _relative_position(num_queries, num_keys, device).abs()
    return -alibi_slopes(num_heads).to(device)[:, None, None] * distance


class RelativeBias(nn.Module):
    """One learned bias per head and bucket of distances: Raffel et al. 2020, section 2.1.

    Half of the buckets hold one distance each; the other half grow logarithmically up to ``max_distance``,
    beyond which all distances share the last one.

    Args:
        num_heads: H.
        num_buckets: number of buckets.
        max_distance: the last bucket holds all distances from here on, and the nearest ones before it.
        bidirectional: half of the buckets for keys before the query, half for keys after it (an encoder).
            Without it, keys after the query share the bucket of distance 0 (a causal decoder).

    Raises:
        ValueError: there are fewer than 2 buckets, or than 4 if bidirectional.

    Example:
        >>> RelativeBias(3)(num_queries=5, num_keys=7).shape
        torch.Size([3, 5, 7])
    """

    def __init__(
        self,
        num_heads: int,
        *,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
    ) -> None:
        super().__init__()
        least = 4 if bidirectional else 2
        if num_buckets < least:
            raise ValueError(f"num_buckets must be at least {least} here, not {num_buckets}")
        self.num_buckets, self.max_distance, self.bidirectional = num_buckets, max_distance, bidirectional
        self.table = nn.Embedding(num_buckets, num_heads)

    def forward(self, num_queries: int, num_keys: int | None = None) -> Tensor:
        """The bias ``(H, T, S)``.

        Args:
            num_queries: T; the queries are the last T of the S positions.
            num_keys: S; T when left out.
        """
        relative = _relative_position(num_queries, num_keys, self.table.weight.device)
        return self.table(self._bucket(relative)).permute(2, 0, 1)

    def _bucket(self, relative: Tensor) -> Tensor:
        """Key position minus query position → bucket."""
        buckets = self.num_buckets
        if self.bidirectional:
            buckets //= 2
            offset = (relative > 0) * buckets
            distance = relative.abs()
        else:
            offset = torch.zeros_like(relative)
            distance = (-relative).clamp(min=0)
        exact = buckets // 2
        ratio = torch.log(distance.clamp(min=1) / exact) / math.log(self.max_distance / exact)
        far = (exact + (ratio * (buckets - exact)).long()).clamp(max=buckets - 1)
        return offset + torch.where(distance < exact, distance, far)


def _relative_position(num_queries: int, num_keys: int | None, device: torch.device | None) -> Tensor:
    """Key position minus query position, ``(T, S)``."""
    num_keys = num_queries if num_keys is None else num_keys
    queries = torch.arange(num_keys - num_queries, num_keys, device=device)
    return torch.arange(num_keys, device=device) - queries[:, None]
