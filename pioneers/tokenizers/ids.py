"""Token ids that are to be decoded."""

from collections.abc import Iterable


def known_ids(ids: Iterable[int], vocab_size: int) -> list[int]:
    """List ``ids`` after checking that each is one of ``vocab_size`` tokens.

    Raises:
        ValueError: an id is not in the vocabulary.

    Example:
        >>> known_ids((2, 0), vocab_size=3)
        [2, 0]
    """
    ids = list(ids)
    for i in ids:
        if not 0 <= i < vocab_size:
            raise ValueError(f"token id {i} is not in the vocabulary of {vocab_size} tokens")
    return ids
