"""Boolean attention masks. One convention everywhere: True = this query may attend to this key."""

import torch
from torch import Tensor


def causal_mask(
    num_queries: int, num_keys: int | None = None, *, device: torch.device | None = None
) -> Tensor:
    """Mask ``(T, S)`` that lets a query see its own position and earlier ones.

    The queries are taken to be the *last* T of the S positions (aligned bottom right), which is what a
    decoder with cached keys needs. With T = S this is the lower triangle.

    Args:
        num_queries: T.
        num_keys: S; T when left out.
        device: where the mask is made.

    Example:
        >>> causal_mask(2, 3).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    num_keys = num_queries if num_keys is None else num_keys
    everything = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return everything.tril(diagonal=num_keys - num_queries)


def window_mask(
    num_queries: int, num_keys: int | None = None, *, window: int, device: torch.device | None = None
) -> Tensor:
    """Causal mask ``(T, S)`` in which a query sees only the ``window`` newest positions, its own included.

    Child et al. 2019; Beltagy et al. 2020, section 3.1.

    Args:
        num_queries: T; the queries are the last T of the S positions.
        num_keys: S; T when left out.
        window: number of positions.
        device: where the mask is made.

    Raises:
        ValueError: the window is smaller than 1.

    Example:
        >>> window_mask(2, 4, window=2).int()
        tensor([[0, 1, 1, 0],
                [0, 0, 1, 1]], dtype=torch.int32)
    """
    if window < 1:
        raise ValueError(f"window must be at least 1 (the query's own position), not {window}")
    causal = causal_mask(num_queries, num_keys, device=device)
    return causal & causal.triu(diagonal=causal.shape[1] - num_queries - window + 1)


def document_mask(document_ids: Tensor) -> Tensor:
    """Mask ``(B, 1, T, T)`` for documents packed into one row: a token sees its own document only.

    All of it: the mask is not causal, so a language model gives ``causal=True`` beside it.

    Args:
        document_ids: ``(B, T)``, the number of the document that each token belongs to.

    Example:
        >>> document_mask(torch.tensor([[0, 0, 1]])).int()[0, 0]
        tensor([[1, 1, 0],
                [1, 1, 0],
                [0, 0, 1]], dtype=torch.int32)
    """
    return (document_ids[:, :, None] == document_ids[:, None, :])[:, None]


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
    # A compiled graph cannot look at numbers while it runs.
    if not torch.compiler.is_compiling() and (int(lengths.min()) < 0 or int(lengths.max()) > longest):
        raise ValueError(f"lengths must lie between 0 and max_len={longest}, got {lengths.tolist()}")
    positions = torch.arange(longest, device=lengths.device)
    return (positions < lengths[:, None])[:, None, None, :]
