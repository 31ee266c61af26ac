"""Floating-point operations: counted call by call, and by formula."""

from collections.abc import Callable

import torch
from torch.utils.flop_counter import FlopCounterMode

from pioneers.models import GPTConfig


def count_operations(call: Callable[[], object]) -> int:
    """Count the floating-point operations of a call, without carrying them out.

    Counted are the matrix products, two operations for each multiplication; sums, norms and softmaxes are
    left out. Tensors that the call makes have shapes, but no contents (they are on the device ``meta``).

    Args:
        call: a function without arguments. It makes its model itself, and moves tensors that it is given to
            the device ``meta``.

    Example:
        >>> count_operations(lambda: torch.ones(2, 3) @ torch.ones(3, 5))
        60
    """
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def training_operations(config: GPTConfig, tokens: int) -> int:
    """Floating-point operations of training a GPT: 6 for each number in a matrix and token, and attention.

    Each such number is multiplied and added once per token going forward, and twice going back, for its own
    gradient and for that of its input. The scores of T tokens and their weighted sums take 4 T D operations
    per token and block going forward. Kaplan et al. 2020, table 1, count the attention that a mask leaves,
    2 T D; their estimate of 6 N D then leaves out attention and embeddings.

    Args:
        config: of the GPT.
        tokens: how many it reads in training, in sequences of ``max_seq_len``.

    Returns:
        The operations of all steps together. Attention is counted as if nothing were masked, as
        :func:`count_operations` does.

    Example:
        >>> f"{training_operations(GPTConfig.preset('gpt2'), tokens=1024):.3g}"
        '8.75e+11'
    """
    d_ff = 4 * config.d_model if config.d_ff is None else config.d_ff
    block = 4 * config.d_model**2 + 2 * config.d_model * d_ff
    matrices = config.num_layers * block + config.vocab_size * config.d_model
    attention = 4 * config.num_layers * config.max_seq_len * config.d_model
    return tokens * (6 * matrices + 3 * attention)
