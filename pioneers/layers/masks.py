"""Boolean attention masks. One convention everywhere: True = this query may attend to this key."""

import torch
from torch import Tensor


def causal_mask(
    num_queries: int, num_keys: int | None = None, *, device: torch.device | None = None
) -> Tensor:
    """Mask ``(T, S)`` that lets a query see its own position and earlier ones.

    The queries are taken to be the *last* T of the S positions (aligned bottom right), which is what a
    decoder with cached keys needs. With T = S this is the lower triangle.

    Example:
        >>> causal_mask(2, 3).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    num_keys = num_queries if num_keys is None else num_keys
    everything = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return everything.tril(diagonal=num_keys - num_queries)


def padding_mask(lengths: Tensor, max_len: int | None = None) -> Tensor:
    """Mask ``(B, 1, 1, S)`` that hides the padding behind each sequence of a batch.

    Args:
        lengths: integer tensor ``(B,)``, the number of real tokens of each sequence.
        max_len: S, the padded length; the longest of ``lengths`` when left out.

    Raises:
        ValueError: a length is negative or exceeds ``max_len``.

    Example:
        >>> padding_mask(torch.tensor([1, 3])).int().squeeze()
        tensor([[1, 0, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    longest = int(lengths.max()) if max_len is None else max_len
    if int(lengths.min()) < 0 or int(lengths.max()) > longest:
        raise ValueError(f"lengths must lie between 0 and max_len={longest}, got {lengths.tolist()}")
    positions = torch.arange(longest, device=lengths.device)
    return (positions < lengths[:, None])[:, None, None, :]
