import math
from collections import Counter

import pytest
import torch

from pioneers.objectives import masked_lm_loss, permutation_lm

PAD, CLS, SEP, B, T, V = 0, 1, 2, 5, 13, 17
SPECIAL = (PAD, CLS, SEP)


def seeded():
    return torch.Generator().manual_seed(0)


def texts():
    ids = torch.randint(3, V, (B, T), generator=torch.Generator().manual_seed(1))
    ids[:, 0], ids[:, -1] = CLS, SEP
    ids[2, 5:] = torch.tensor([SEP, *[PAD] * 7])
    return ids


def test_masks_and_targets_are_those_of_the_order_position_by_position():
    ids = texts()
    text = permutation_lm(ids, special_ids=SPECIAL, one_in=3, generator=seeded())
    for b in range(B):
        order = text.order[b].tolist()
        assert sorted(order) == list(range(T))
        ordinary = [t for t in order if ids[b, t] > 2]
        assert order[-len(ordinary) :] == ordinary  # what is special comes first
        assert text.targets[b].nonzero().numel()
        wanted = ordinary[-round(len(ordinary) / 3) :]
        for step, t in enumerate(order):
            earlier = order[:step]
            assert set(text.query_mask[b, t].nonzero().flatten().tolist()) == set(earlier)
            assert set(text.content_mask[b, t].nonzero().flatten().tolist()) == {*earlier, t}
            assert text.targets[b, t] == (ids[b, t] if t in wanted else -100)


def test_the_loss_is_the_likelihood_of_the_order_token_by_token():
    """A toy model adds the vectors of what it sees; the oracle reads in the order and predicts what comes."""
    torch.manual_seed(0)
    ids = texts()
    vectors, places = torch.randn(V, 7), torch.randn(T, 7)
    text = permutation_lm(ids, special_ids=SPECIAL, one_in=2, generator=seeded())
    states = text.query_mask.float() @ vectors[ids] + places  # (B, T, 7)
    loss = masked_lm_loss(states @ vectors.T, text.targets)
    terms = []
    for b in range(B):
        seen, count = torch.zeros(7), int((ids[b] > 2).sum())
        for step, t in enumerate(text.order[b].tolist()):
            if step >= T - round(count / 2):
                terms.append(-((seen + places[t]) @ vectors.T).log_softmax(0)[ids[b, t]])
            seen = seen + vectors[ids[b, t]]
    torch.testing.assert_close(loss, torch.stack(terms).mean())


def test_every_order_is_equally_likely_and_one_in_six_is_predicted():
    text = permutation_lm(
        torch.tensor([[5, 6, 7, CLS]]).repeat(6000, 1), special_ids=SPECIAL, generator=seeded()
    )
    orders = Counter(tuple(order) for order in text.order.tolist())
    assert len(orders) == 6
    assert all(order[0] == 3 for order in orders)
    assert all(abs(count - 1000) < 4 * math.sqrt(6000 / 6 * 5 / 6) for count in orders.values())
    assert ((text.targets != -100).sum(1) == 1).all()  # never none
    long = permutation_lm(torch.full((3, 600), 5), generator=seeded())
    assert ((long.targets != -100).sum(1) == 100).all()


def test_nothing_ordinary_is_nothing_to_predict():
    text = permutation_lm(torch.full((2, 3), PAD), special_ids=SPECIAL)
    assert (text.targets == -100).all()
    every = permutation_lm(torch.tensor([[5, 6, 7]]), one_in=1)
    assert every.targets.tolist() == [[5, 6, 7]]
    with pytest.raises(ValueError, match="one_in must be at least 1, which predicts every token, not 0"):
        permutation_lm(texts(), one_in=0)
