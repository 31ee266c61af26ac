"""How long a layer takes to read a sequence, by batch size and by number of threads: RNN, LSTM and attention.

    make experiments NAME=reading_time

What is measured is the processor time of the thread that waits for all others: its share of each operation
that threads divide, and everything that they cannot divide. With that many free cores it is about the time
that passes; unlike the latter, it does not depend on what else the machine has to do.
"""

import os
import time
from typing import Any

import torch
from torch import Tensor, nn

from experiments.common import run
from pioneers.layers import MultiHeadAttention

CONFIG: dict[str, Any] = {"width": 128, "lengths": (32, 128, 512), "repeats": 4}
KINDS, BATCHES, THREADS = ("RNN", "LSTM", "attention"), (1, 16, 64), (1, 2, 4)
CASES: dict[str, dict[str, Any]] = {
    f"{kind}, batch {batch}, {threads} threads": {"kind": kind, "batch": batch, "threads": threads}
    for kind in KINDS
    for batch in BATCHES
    for threads in THREADS
}


def layer_of(kind: str, width: int) -> nn.Module:
    """A recurrent layer of PyTorch's, or attention with one head."""
    if kind == "attention":
        return MultiHeadAttention(width, 1)
    return {"RNN": nn.RNN, "LSTM": nn.LSTM}[kind](width, width, batch_first=True)


def both_passes(layer: nn.Module, x: Tensor) -> None:
    """One forward and one backward pass."""
    out = layer(x)
    (out if isinstance(out, Tensor) else out[0]).sum().backward()


def one_case(
    *, seed: int, kind: str, batch: int, threads: int, width: int, lengths: tuple[int, ...], repeats: int
) -> dict[str, Any]:
    """Milliseconds of the waiting thread for both passes, the least of several, by length."""
    torch.manual_seed(seed)
    layer, before, milliseconds = layer_of(kind, width), torch.get_num_threads(), []
    torch.set_num_threads(threads)
    try:
        for length in lengths:
            x, taken = torch.randn(batch, length, width), []
            both_passes(layer, x)  # the first pass is slower
            for _ in range(repeats):
                start = time.thread_time()
                both_passes(layer, x)
                taken.append(1e3 * (time.thread_time() - start))
            milliseconds.append(min(taken))
    finally:
        torch.set_num_threads(before)
    return {"milliseconds": milliseconds}


def main() -> None:
    """Run what is missing and write the results."""
    os.environ["GOMP_SPINCOUNT"] = "0"  # in the processes that measure, a thread that waits takes no time
    torch.set_num_threads(1)
    run("reading_time", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()
