import math

import pytest
import torch

from pioneers.objectives import skip_gram, skip_gram_loss, subsample

L, V, K = 41, 13, 3


def seeded():
    return torch.Generator().manual_seed(0)


def within_error(count, trials, p):
    return abs(count - trials * p) < 4 * math.sqrt(trials * p * (1 - p)) + 1e-6


def test_the_loss_is_that_of_the_paper_pair_by_pair():
    torch.manual_seed(0)
    tokens, contexts = torch.randn(V, 5, dtype=torch.float64), torch.randn(V, 5, dtype=torch.float64)
    text = torch.randint(V, (L,))
    centers, others = skip_gram(text, text.bincount(minlength=V), num_negatives=K)
    terms = []
    for center, (true, *negatives) in zip(centers.tolist(), others.tolist(), strict=True):
        scores = [(tokens[center] @ contexts[c]).item() for c in (true, *negatives)]
        terms.append(math.log(1 + math.exp(-scores[0])) + sum(math.log(1 + math.exp(s)) for s in scores[1:]))
    scores = torch.einsum("md,mkd->mk", tokens[centers], contexts[others])
    assert skip_gram_loss(scores).item() == pytest.approx(sum(terms) / len(terms), rel=1e-12)


@pytest.mark.parametrize("window", [1, 2, 5])
def test_pairs_are_neighbours_and_nearer_ones_come_more_often(window):
    length = 3001
    text = torch.arange(length)
    centers, contexts = skip_gram(text, torch.ones(length), window=window, generator=seeded())
    distances = contexts[:, 0] - centers
    pairs = list(zip(centers.tolist(), contexts[:, 0].tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert (distances != 0).all()
    assert distances.abs().max() == window
    for offset in [o for o in range(-window, window + 1) if o]:
        possible = length - abs(offset)
        p = (window + 1 - abs(offset)) / window  # the share of reaches that are long enough
        assert within_error(int((distances == offset).sum()), possible, p)


def test_negatives_follow_the_counts_to_the_power_of_three_quarters():
    counts = torch.tensor([0, 1, 10, 100, 1000])
    _, contexts = skip_gram(torch.ones(20_000, dtype=torch.long), counts, num_negatives=7, generator=seeded())
    negatives = contexts[:, 1:]
    total = sum(n**0.75 for n in counts.tolist())
    for token, n in enumerate(counts.tolist()):
        assert within_error(int((negatives == token).sum()), negatives.numel(), n**0.75 / total)
    assert (negatives[:, 0] != negatives[:, 1]).any()
    assert (contexts[:, 0] == 1).all()


def test_frequent_tokens_are_left_out_and_rare_ones_are_not():
    text = torch.tensor([0] * 80_000 + [1] * 19_900 + [2] * 100)[torch.randperm(100_000, generator=seeded())]
    kept = subsample(text, text.bincount(minlength=5), threshold=0.01, generator=seeded())
    for token, count, p in ((0, 80_000, math.sqrt(0.01 / 0.8)), (1, 19_900, math.sqrt(0.01 / 0.199))):
        assert within_error(int((kept == token).sum()), count, p)
    assert (kept == 2).sum() == 100


def test_wrong_numbers_are_refused():
    text = torch.tensor([0, 1])
    for wrong in ({"window": 0}, {"num_negatives": 0}):
        with pytest.raises(ValueError, match="window and num_negatives must be at least 1"):
            skip_gram(text, text.bincount(), **wrong)
    with pytest.raises(ValueError, match="threshold must be positive, not 0"):
        subsample(text, text.bincount(), threshold=0)
