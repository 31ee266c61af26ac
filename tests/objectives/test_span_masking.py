import math
from collections import Counter

import pytest
import torch

from pioneers.objectives import span_masking

PAD, CLS, SEP, MASK, V = 0, 1, 2, 3, 1009
HOW = {"mask_id": MASK, "vocab_size": V, "special_ids": (PAD, CLS, SEP)}


def texts(rows, length, seed=1):
    ids = torch.randint(4, V, (rows, length), generator=torch.Generator().manual_seed(seed))
    ids[:, 0], ids[:, -1] = CLS, SEP
    return ids


def mask(ids, **how):
    return span_masking(ids, **HOW, **how, generator=torch.Generator().manual_seed(0))


def spans(hidden):
    """Every span of every row as (row, position before it, position after it), read off the targets."""
    found = []
    for row, line in enumerate((hidden.targets != -100).tolist()):
        starts = [t for t in range(1, len(line)) if line[t] and not line[t - 1]]
        found += [(row, t - 1, t + line[t:].index(False)) for t in starts]
    return found


def test_lengths_are_geometric_and_the_share_is_that_of_the_paper():
    ids = texts(100, 2002)
    hidden = mask(ids)
    lengths = Counter(after - before - 1 for _, before, after in spans(hidden))
    assert sum(n * count for n, count in lengths.items()) == 100 * 300  # 15% of each row
    total = sum(lengths.values())
    weights = {n: 0.2 * 0.8 ** (n - 1) for n in range(1, 11)}
    mean = sum(n * w for n, w in weights.items()) / sum(weights.values())
    assert round(mean, 1) == 3.8  # section 3.1
    assert abs(30_000 / total - mean) < 0.1
    assert set(lengths) == set(weights)
    for n, weight in weights.items():
        p = weight / sum(weights.values())  # and the last of some 79 spans is cut
        assert abs(lengths[n] - total * p) < 4 * math.sqrt(total * p * (1 - p)) + 100 * p


def test_boundaries_are_the_visible_tokens_around_each_span():
    ids = texts(11, 53)
    ids[3, 29:] = PAD
    ids[3, 29] = SEP
    hidden = mask(ids, mask_prob=0.4)
    left, right = torch.arange(53).repeat(11, 1), torch.arange(53).repeat(11, 1)
    for row, before, after in spans(hidden):
        left[row, before + 1 : after], right[row, before + 1 : after] = before, after
    assert torch.equal(hidden.left, left)
    assert torch.equal(hidden.right, right)
    chosen = hidden.targets != -100
    assert torch.equal(hidden.targets[chosen], ids[chosen])
    assert torch.equal(hidden.input_ids[~chosen], ids[~chosen])
    assert not chosen[ids < 4].any()
    assert chosen[3].sum() == round(0.4 * 28)
    states = torch.randn(11, 53, 5, generator=torch.Generator().manual_seed(2))
    rows = [
        (states[row, before], states[row, after], place)
        for row, before, after in spans(hidden)
        for place in range(after - before - 1)
    ]
    for got, expected in zip(hidden.boundaries(states), zip(*rows, strict=True), strict=True):
        assert got.tolist() == [x.tolist() if isinstance(x, torch.Tensor) else x for x in expected]


def test_a_span_has_one_fate_and_random_tokens_are_drawn_one_by_one():
    hidden = mask(texts(200, 502))
    fates = Counter()
    ids = texts(200, 502)
    for row, before, after in spans(hidden):
        now, old = hidden.input_ids[row, before + 1 : after], ids[row, before + 1 : after]
        if (now == MASK).all():
            fates["masked"] += 1
        elif torch.equal(now, old):
            fates["kept"] += 1
        else:
            assert MASK not in now
            fates["random"] += 1
            assert len(now) < 4 or len(set(now.tolist())) > 1
    n = sum(fates.values())
    for fate, share in {"masked": 0.8, "random": 0.1, "kept": 0.1}.items():
        assert abs(fates[fate] - n * share) < 4 * math.sqrt(n * share * (1 - share))


def test_spans_begin_and_end_with_words():
    ids = texts(50, 402)
    word_ids = (torch.rand(ids.shape, generator=torch.Generator().manual_seed(3)) < 0.5).cumsum(1)
    word_ids = word_ids - word_ids[:, :1]
    hidden = mask(ids, word_ids=word_ids)
    words = Counter()
    for row, before, after in spans(hidden):
        numbers = word_ids[row].tolist()
        assert before == 0 or numbers[before] != numbers[before + 1]
        assert after == 401 or numbers[after] != numbers[after - 1]
        words[len(set(numbers[before + 1 : after]))] += 1
    assert max(words) == 10
    of_each = [len(set(row[1:-1].tolist())) for row in word_ids]
    assert sum(n * count for n, count in words.items()) == sum(round(0.15 * n) for n in of_each)


def test_all_arrangements_are_equally_likely():
    ids = texts(2000, 7)  # five words, two of them hidden: together, or as two spans of one
    places = Counter(tuple((row != -100).nonzero().flatten().tolist()) for row in mask(ids, mask_prob=0.4)[1])
    together = [places[(t, t + 1)] for t in range(1, 5)]
    apart = [places[pair] for pair in ((1, 3), (1, 4), (1, 5), (2, 4), (2, 5), (3, 5))]
    assert sum(together) + sum(apart) == 2000
    for counts in (together, apart):
        p = 1 / len(counts)
        assert all(abs(n - sum(counts) * p) < 4 * math.sqrt(sum(counts) * p * (1 - p)) for n in counts)
    one = 0.2 / (1 - 0.8**10)  # the probability of a first span of one word
    assert abs(sum(apart) - 2000 * one) < 4 * math.sqrt(2000 * one * (1 - one))


def test_what_cannot_be_masked_is_refused():
    ids = texts(2, 13)
    empty = mask(torch.tensor([[CLS, SEP, PAD]]))
    assert (empty.targets == -100).all()
    pair = ids.clone()
    pair[1, 6] = SEP
    for wrong in (pair, ids[:, 1:], ids[:, :-1]):
        with pytest.raises(ValueError, match=r"needs one text per row, between special tokens: \[CLS\] text"):
            mask(wrong)
    with pytest.raises(
        ValueError, match=r"10 spans in 11 words leave too few visible words .*: lower mask_prob"
    ):
        mask(ids, mask_prob=0.9, max_words=1)
    with pytest.raises(ValueError, match="max_words must be at least 1, not 0"):
        mask(ids, max_words=0)
    with pytest.raises(ValueError, match=r"mask_prob must be in \(0, 1\], not 15"):
        mask(ids, mask_prob=15)
    with pytest.raises(ValueError, match="the number of its word"):
        mask(ids, word_ids=ids[:, 1:])
