"""Relative positions as values added to the scores."""

import math

import torch
import torch.nn.functional as F
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
    distance = relative_position(num_queries, num_keys, device).abs()
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
        relative = relative_position(num_queries, num_keys, self.table.weight.device)
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


class WindowBias(nn.Module):
    """One learned bias per head and offset in a window: Liu et al. 2021, section 3.2, equation (4).

    Args:
        num_heads: H.
        window_size: M, the side of the window in tokens; offsets run from 1 - M to M - 1 in both directions.

    Example:
        >>> WindowBias(3, window_size=2)().shape
        torch.Size([3, 4, 4])
    """

    offset: Tensor

    def __init__(self, num_heads: int, window_size: int) -> None:
        super().__init__()
        self.table = nn.Embedding((2 * window_size - 1) ** 2, num_heads)
        self.register_buffer("offset", window_offsets(window_size), persistent=False)

    def forward(self) -> Tensor:
        """The bias ``(H, M · M, M · M)``."""
        return self.table(self.offset).permute(2, 0, 1)


class LogWindowBias(nn.Module):
    """A bias that a small network computes from the offset in a window: Liu et al. 2022, section 3.3.

    Offsets are scaled to ±8 and their logarithm is taken, so a network trained in small windows extrapolates
    little when it is moved to large ones. Its output is squashed to between -8 and 8. The authors' code has 0
    and 16, where bfloat16 keeps fewer digits; softmax does not see the difference.

    Args:
        num_heads: H.
        window_size: M, the side of the window in tokens.
        trained_size: M of the windows that the network was trained in; the same when left out.
        hidden: width of the network.

    Example:
        >>> LogWindowBias(3, window_size=2)().shape
        torch.Size([3, 4, 4])
    """

    offset: Tensor

    def __init__(
        self, num_heads: int, window_size: int, *, trained_size: int | None = None, hidden: int = 512
    ) -> None:
        super().__init__()
        self.up = nn.Linear(2, hidden)
        self.down = nn.Linear(hidden, num_heads, bias=False)
        self.register_buffer("offset", window_offsets(window_size), persistent=False)
        coordinates = log_offsets(window_size, window_size if trained_size is None else trained_size)
        self.register_buffer("coordinates", coordinates, persistent=False)

    def forward(self) -> Tensor:
        """The bias ``(H, M · M, M · M)``."""
        table = self.down(F.relu(self.up(self.coordinates)))  # ((2 M - 1)², H)
        return 8 * torch.tanh(table / 2)[self.offset].permute(2, 0, 1)


def window_offsets(window_size: int) -> Tensor:
    """Number the offset of each query from each key of a window: ``(M · M, M · M)``, in [0, (2 M - 1)²).

    Row by row: ``(2 M - 1) · (rows + M - 1) + columns + M - 1`` for a query so many rows below and columns to
    the right of the key. Liu et al. 2021, section 3.2; ``window_size`` is M.

    Example:
        >>> window_offsets(2)[0].tolist()  # the token in the upper left corner
        [4, 3, 1, 0]
    """
    axis = torch.arange(window_size)
    row, column = torch.cartesian_prod(axis, axis).T  # (M · M,) each
    down, right = (place[:, None] - place + window_size - 1 for place in (row, column))
    return (2 * window_size - 1) * down + right


def log_offsets(window_size: int, trained_size: int) -> Tensor:
    """Give the two coordinates of every offset of :func:`window_offsets`, ``((2 M - 1)², 2)``.

    ``sign(x) · log₂(1 + 8 |x|) / 3``, where x is the offset divided by the largest of the windows trained in:
    Liu et al. 2022, equation (4), with the scale of the authors' code.

    Args:
        window_size: M.
        trained_size: M of the windows trained in.

    Example:
        >>> log_offsets(2, 2)[:3]
        tensor([[-1.0566, -1.0566],
                [-1.0566,  0.0000],
                [-1.0566,  1.0566]])
    """
    axis = 8 * torch.arange(1 - window_size, window_size) / max(trained_size - 1, 1)
    axis = axis.sign() * torch.log2(1 + axis.abs()) / 3
    return torch.cartesian_prod(axis, axis)


def relative_position(num_queries: int, num_keys: int | None, device: torch.device | None) -> Tensor:
    """Key position minus query position, ``(T, S)``; the queries are the last T of the S positions."""
    num_keys = num_queries if num_keys is None else num_keys
    queries = torch.arange(num_keys - num_queries, num_keys, device=device)
    return torch.arange(num_keys, device=device) - queries[:, None]


def pick(scores: Tensor, row: Tensor) -> Tensor:
    """Pick, for each query and key, the score of the distance or relation they are at: ``(B, H, T, S)``.

    Args:
        scores: ``(B, H, T, R)``, of each query and each of R distances.
        row: which of the R it is, broadcastable to ``(B, H, T, S)``.

    Example:
        >>> pick(torch.tensor([[[[5.0, 6.0, 7.0]]]]), torch.tensor([[2, 0]]))
        tensor([[[[7., 5.]]]])
    """
    return scores.gather(-1, row.expand(*scores.shape[:-1], -1))
