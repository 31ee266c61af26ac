"""What a computation costs: processor time, memory at its peak, and how both grow with a length."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def processor_time(call: Callable[[], object], *, repeats: int = 5) -> float:
    """Seconds of processor time for ``call()``: the median of several calls, after one that is not counted.

    Other programs on the machine do not count, though they still take up caches and memory.

    Args:
        call: the work.
        repeats: number of calls that count.

    Example:
        >>> 0 <= processor_time(lambda: sum(range(1000))) < 1
        True
    """
    call()
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def peak_bytes(call: Callable[[], object]) -> int:
    """The most bytes that tensors made by ``call()`` hold at the same time.

    Every storage counts once, from the operation that returns it until it is freed, in the forward and in
    the backward pass. What existed before does not count, and neither does what a kernel uses inside itself.

    Args:
        call: the work.

    Example:
        >>> import torch
        >>> x = torch.zeros(1000)
        >>> peak_bytes(lambda: x + 1)  # 4 bytes each
        4000
        >>> peak_bytes(lambda: ((x + 1) * 2) * 3)  # before the last product is made, the sum is free
        8000
    """
    with _Live() as live:
        call()
    return live.peak


class _Live(TorchDispatchMode):
    """Keeps account of the storages that operations have returned and that still exist."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = {_address(x) for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)}
        out = func(*args, **(kwargs or {}))
        self.alive = {key: pair for key, pair in self.alive.items() if not pair[0].expired()}
        for x in tree_leaves(out):
            if isinstance(x, Tensor) and _address(x) not in given:
                storage = x.untyped_storage()
                self.alive.setdefault(_address(x), (StorageWeakRef(storage), storage.nbytes()))
        self.peak = max(self.peak, sum(size for _, size in self.alive.values()))
        return out


def _address(x: Tensor) -> int:
    return x.untyped_storage()._cdata


def fit_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The exponent α of the law cost = c · size^α: the slope of the straight line through the logarithms.

    Args:
        sizes: at least two different ones.
        costs: one for each size, all positive.

    Raises:
        ValueError: there are fewer than two sizes, not as many costs, or a number is not positive.

    Example:
        >>> round(fit_exponent([1, 2, 4], [5, 20, 80]), 6)
        2.0
    """
    if len(set(sizes)) < 2 or len(sizes) != len(costs):
        raise ValueError(f"two sizes at least, and a cost for each: {len(sizes)} sizes, {len(costs)} costs")
    if min(*sizes, *costs) <= 0:
        raise ValueError("a law with an exponent has positive sizes and costs: one of these is not")
    x, y = ([math.log(value) for value in values] for values in (sizes, costs))
    return statistics.linear_regression(x, y).slope
