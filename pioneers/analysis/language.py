"""Measures of how well a text is predicted: by a language model, by n-gram counts, by compressors."""

import bz2
import lzma
import math
import zlib
from collections import Counter

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.progress import progress


@torch.inference_mode()
def negative_log_likelihood(
    model: nn.Module, tokens: Tensor, *, seq_len: int, stride: int, batch_size: int = 16
) -> float:
    """Sum −ln p over ``tokens (L,)`` after the first, each predicted once, in nats.

    Windows of ``seq_len`` tokens start ``stride`` apart, and each scores only what no earlier one has: every
    token but those of the first window has at least ``seq_len - stride`` tokens of context.

    Args:
        model: ids ``(B, T)`` → logits ``(B, T, V)``, in eval mode.
        tokens: the text, on the model's device.
        seq_len: length of a window, at most the model's ``max_seq_len``.
        stride: from one window to the next.
        batch_size: number of windows that are scored at once.

    Raises:
        ValueError: the stride is larger than the window, or there is nothing to predict.

    Example:
        >>> model = nn.Embedding.from_pretrained(torch.zeros(8, 8))  # knows nothing: log 8 per token
        >>> round(negative_log_likelihood(model, torch.arange(8), seq_len=5, stride=3) / math.log(8), 4)
        7.0
    """
    if not 0 < stride <= seq_len:
        raise ValueError(f"stride must be between 1 and seq_len={seq_len}, not {stride}")
    if len(tokens) < 2:
        raise ValueError("a text of fewer than two tokens leaves nothing to predict")
    seq_len = min(seq_len, len(tokens) - 1)
    starts = list(range(0, len(tokens) - seq_len, stride))
    if starts[-1] + seq_len < len(tokens) - 1:
        starts.append(len(tokens) - 1 - seq_len)
    total, scored = 0.0, 0
    for chunk in progress(range(0, len(starts), batch_size), desc="scoring", leave=False):
        some = starts[chunk : chunk + batch_size]
        windows = torch.stack([tokens[s : s + seq_len + 1] for s in some])
        logits = model(windows[:, :-1])
        losses = F.cross_entropy(logits.float().transpose(1, 2), windows[:, 1:], reduction="none")
        for start, loss in zip(some, losses, strict=True):
            total += loss[scored - start :].double().sum().item()
            scored = start + seq_len
    return total


def bits_per_character(nats: float, text: str) -> float:
    """Convert total ``nats`` of a ``text`` to bits per character, which do not depend on the tokenizer.

    Example:
        >>> bits_per_character(8 * math.log(2), "four")
        2.0
    """
    return nats / math.log(2) / len(text)


def ngram_bits(train: str, test: str, *, n: int) -> float:
    """Compute bits per character of ``test`` under add-one n-gram counts of ``train``.

    ``n=1`` is the unigram model, ``n=2`` the bigram model. The alphabet is that of both texts.

    Example:
        >>> ngram_bits("abab", "ab", n=1)
        1.0
    """
    alphabet = len(set(train) | set(test))
    padded = train[-(n - 1) :] + test if n > 1 else test
    grams = Counter(train[i : i + n] for i in range(len(train) - n + 1))
    contexts = Counter(train[i : i + n - 1] for i in range(len(train) - n + 1))
    bits = 0.0
    for i in range(len(test)):
        gram = padded[i : i + n]
        bits -= math.log2((grams[gram] + 1) / (contexts[gram[:-1]] + alphabet))
    return bits / len(test)


COMPRESSORS = {
    "gzip": lambda data: zlib.compress(data, 9),
    "bzip2": lambda data: bz2.compress(data, 9),
    "xz": lambda data: lzma.compress(data, preset=9 | lzma.PRESET_EXTREME),
}


def compressed_bits(compressor: str, test: str, *, primer: str = "") -> float:
    """Compute bits per character of ``test`` under a ``compressor``: ``"gzip"``, ``"bzip2"`` or ``"xz"``.

    With a ``primer``, the compressor reads that text first: the size of both minus that of the primer.

    Raises:
        ValueError: there is no such compressor.

    Example:
        >>> compressed_bits("xz", "ab" * 900) < 1
        True
    """
    if compressor not in COMPRESSORS:
        raise ValueError(f"compressor must be one of {', '.join(COMPRESSORS)}, not {compressor!r}")
    size = {text: len(COMPRESSORS[compressor](text.encode())) for text in (primer, primer + test)}
    return 8 * (size[primer + test] - (size[primer] if primer else 0)) / len(test)
