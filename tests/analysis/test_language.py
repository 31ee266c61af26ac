import lzma
import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from pioneers.analysis import bits_per_character, compressed_bits, negative_log_likelihood, ngram_bits
from pioneers.models import GPT, GPTConfig


class Counter(nn.Module):
    """A "language model" whose prediction depends on the newest token only."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(11, 11, generator=torch.Generator().manual_seed(0)))

    def forward(self, input_ids):
        return self.table[input_ids]


@pytest.mark.parametrize("length", [2, 5, 8, 9, 23, 24, 25])
@pytest.mark.parametrize(("seq_len", "stride"), [(7, 7), (7, 3), (7, 1)])
def test_every_token_is_scored_once(length, seq_len, stride):
    model = Counter()
    tokens = torch.randint(11, (length,), generator=torch.Generator().manual_seed(length))
    logp = model.table.log_softmax(-1)
    expected = -sum(logp[a, b].item() for a, b in pairwise(tokens))
    got = negative_log_likelihood(model, tokens, seq_len=seq_len, stride=stride, batch_size=2)
    assert got == pytest.approx(expected, abs=1e-4)


def test_every_token_has_the_promised_context():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=11, max_seq_len=6, d_model=12, num_layers=1, num_heads=3)).eval()
    tokens = torch.randint(11, (14,))
    stepwise = 0.0
    for i in range(1, 14):
        start = max(0, i - 6)  # stride 1: always the longest context there is
        logits = model(tokens[None, start:i])[0, -1]
        stepwise -= logits.log_softmax(-1)[tokens[i]].item()
    got = negative_log_likelihood(model, tokens, seq_len=6, stride=1)
    assert got == pytest.approx(stepwise, abs=1e-4)


def test_likelihood_refuses_nonsense():
    with pytest.raises(ValueError, match="stride must be between 1 and seq_len=7, not 8"):
        negative_log_likelihood(Counter(), torch.arange(9), seq_len=7, stride=8)
    with pytest.raises(ValueError, match="leaves nothing to predict"):
        negative_log_likelihood(Counter(), torch.arange(1), seq_len=7, stride=3)


def test_bits_per_character_of_a_fair_coin_is_one():
    assert bits_per_character(10 * math.log(2), "x" * 10) == pytest.approx(1.0)


def test_unigram_and_bigram_by_hand():
    # alphabet {a, b}; counts in "aab": a 2, b 1; after a: a 1, b 1
    assert ngram_bits("aab", "ab", n=1) == pytest.approx((-math.log2(3 / 5) - math.log2(2 / 5)) / 2)
    # "b" ends the training text: after b nothing is known (1/2); after a, b has (1 + 1) / (2 + 2)
    assert ngram_bits("aab", "ab", n=2) == pytest.approx((-math.log2(1 / 2) - math.log2(2 / 4)) / 2)


def test_compressors_count_bits_and_use_the_primer():
    text = "the quick brown fox jumps over the lazy dog. " * 5
    expected = 8 * len(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)) / len(text)
    assert compressed_bits("xz", text) == pytest.approx(expected)
    for compressor in ("gzip", "bzip2", "xz"):
        primed = compressed_bits(compressor, text, primer="unrelated words come first, then: " + text)
        assert 0 <= primed < compressed_bits(compressor, text) / 2


def test_an_unknown_compressor_is_named():
    with pytest.raises(ValueError, match="compressor must be one of gzip, bzip2, xz, not 'zip'"):
        compressed_bits("zip", "text")
