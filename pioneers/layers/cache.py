"""The key/value cache: what lets generation process only the newest token."""

from torch import Tensor


class MemoryCache:
    """Keys and values of a memory, for cross-attention: they never change, so the first step's are kept.

    Attributes:
        kept: keys and values, ``(B, H, S, K)`` each; None before the first step.

    Example:
        >>> import torch
        >>> cache, keys, values = MemoryCache(), torch.zeros(1, 2, 3, 4), torch.ones(1, 2, 3, 4)
        >>> cache.update(keys, values)[0] is keys, cache.kept == (keys, values)
        (True, True)
    """

    length = 0  # no earlier positions of the memory precede those it is given

    def __init__(self) -> None:
        self.kept: tuple[Tensor, Tensor] | None = None

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keep keys ``k`` and values ``v``, ``(B, H, S, K)`` each, and return them."""
        self.kept = (k, v)
        return k, v


class KVCache:
    """Keys and values of the positions seen so far, for one block, in memory allocated once.

    Args:
        max_seq_len: number of positions there is room for.

    Attributes:
        length: number of positions stored, 0 at first.
        memory: the same for the block's cross-attention, if it has one.

    Example:
        >>> import torch
        >>> cache = KVCache(max_seq_len=8)
        >>> keys, values = cache.update(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4))
        >>> keys.shape, cache.length
        (torch.Size([1, 2, 3, 4]), 3)
    """

    kept = None  # what it holds are the earlier positions; the new ones have yet to be projected

    def __init__(self, max_seq_len: int) -> None:
        self.max_seq_len = max_seq_len
        self.length = 0
        self.memory = MemoryCache()
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append keys ``k`` and values ``v``, ``(B, H, T, K)``; returns all of them, ``(B, H, length, K)``.

        Raises:
            ValueError: the cache is full.
        """
        end = self.length + k.shape[-2]
        if end > self.max_seq_len:
            raise ValueError(
                f"the cache holds {self.max_seq_len} positions and {end} are needed; "
                f"make it larger or generate fewer tokens"
            )
        if self._keys is None or self._values is None:
            self._keys = k.new_empty(*k.shape[:-2], self.max_seq_len, k.shape[-1])
            self._values = v.new_empty(*v.shape[:-2], self.max_seq_len, v.shape[-1])
        self._keys[..., self.length : end, :] = k
        self._values[..., self.length : end, :] = v
        self.length = end
        return self._keys[..., :end, :], self._values[..., :end, :]

    def reorder(self, rows: Tensor) -> None:
        """Let row i continue what row ``rows[i]`` holds, as beam search does; ``rows`` is ``(B,)``.

        The memory stays: rows must only be exchanged among those with the same memory.
        """
        if self._keys is not None and self._values is not None:
            for stored in (self._keys, self._values):
                stored[..., : self.length, :] = stored[rows, ..., : self.length, :]
