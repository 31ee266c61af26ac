import math
from collections import Counter

import pytest
import torch

from pioneers.objectives import delete_tokens, infill_text, mask_tokens, permute_sentences, rotate_document

MASK, LENGTH = -1, 100_000


def seeded(number=0):
    return torch.Generator().manual_seed(number)


def within_error(count, trials, p):
    return abs(count - trials * p) < 4 * math.sqrt(trials * p * (1 - p))


def test_masking_and_deletion_take_the_same_share_and_leave_the_rest():
    ids = torch.arange(LENGTH)
    masked = mask_tokens(ids, mask_id=MASK, mask_prob=0.3, generator=seeded())
    gone = masked == MASK
    assert torch.equal(masked[~gone], ids[~gone])
    assert within_error(int(gone.sum()), LENGTH, 0.3)
    assert torch.equal(delete_tokens(ids, mask_prob=0.3, generator=seeded()), ids[~gone])


def test_infilling_is_poisson_and_a_span_of_length_zero_inserts_a_mask():
    ids = torch.arange(LENGTH)
    filled = infill_text(ids, mask_id=MASK, generator=seeded())
    kept = filled[filled != MASK]
    assert len(kept) == 0.7 * LENGTH
    assert (kept.diff() > 0).all()
    masks = int((filled == MASK).sum())
    assert abs(masks - 10_000) < 4 * math.sqrt(10_000 / 3)  # as many draws as add up to 30,000
    alone = (filled[1:-1] == MASK) & (filled[:-2] != MASK) & (filled[2:] != MASK)
    lengths = Counter((filled[2:] - filled[:-2] - 1)[alone].tolist())  # tokens missing at lonely masks
    assert within_error(alone.sum().item(), masks, (7 / 8) ** 2)  # in random order, 7 of 8 are tokens
    for length in range(9):
        p = math.exp(-3) * 3**length / math.factorial(length)
        assert within_error(lengths[length], alone.sum().item(), p)


def test_infilling_at_the_edges():
    ids = torch.tensor([5, 6, 7])
    assert infill_text(ids, mask_id=MASK, mask_prob=0.1).tolist() == [5, 6, 7]
    assert infill_text(ids[:0], mask_id=MASK).tolist() == []
    orders = Counter()
    generator = seeded()
    for _ in range(3000):
        found = infill_text(ids, mask_id=MASK, mask_prob=1 / 3, mean_span_length=50.0, generator=generator)
        orders[tuple(found.tolist())] += 1
    assert set(orders) == {(MASK, 6, 7), (5, MASK, 7), (5, 6, MASK)}
    assert all(within_error(count, 3000, 1 / 3) for count in orders.values())


def test_sentences_stay_whole_and_come_in_every_order():
    ids = torch.tensor([5, 6, 1, 7, 1, 8, 9])  # the last sentence lacks its full stop
    generator, orders = seeded(), Counter()
    for _ in range(6000):
        orders[tuple(permute_sentences(ids, ids == 1, generator=generator).tolist())] += 1
    a, b, c = (5, 6, 1), (7, 1), (8, 9)
    assert set(orders) == {a + b + c, a + c + b, b + a + c, b + c + a, c + a + b, c + b + a}
    assert all(within_error(count, 6000, 1 / 6) for count in orders.values())
    assert sorted(permute_sentences(ids[:5], ids[:5] == 1).tolist()) == [1, 1, 5, 6, 7]


def test_a_document_begins_anywhere():
    ids, generator = torch.tensor([5, 6, 7, 8, 9]), seeded()
    turns = Counter(tuple(rotate_document(ids, generator=generator).tolist()) for _ in range(5000))
    assert set(turns) == {(5, 6, 7, 8, 9), (6, 7, 8, 9, 5), (7, 8, 9, 5, 6), (8, 9, 5, 6, 7), (9, 5, 6, 7, 8)}
    assert all(within_error(count, 5000, 1 / 5) for count in turns.values())


def test_wrong_numbers_are_refused():
    ids = torch.arange(3)
    for noise in (
        lambda p: mask_tokens(ids, mask_id=MASK, mask_prob=p),
        lambda p: delete_tokens(ids, mask_prob=p),
        lambda p: infill_text(ids, mask_id=MASK, mask_prob=p),
    ):
        with pytest.raises(ValueError, match=r"mask_prob must be in \(0, 1\], not 15"):
            noise(15)
    with pytest.raises(ValueError, match="mean_span_length must be positive, not 0"):
        infill_text(ids, mask_id=MASK, mean_span_length=0)
    with pytest.raises(ValueError, match=r"ids are \(3,\), ends \(2,\)"):
        permute_sentences(ids, torch.tensor([True, False]))
    with pytest.raises(ValueError, match="an empty text"):
        rotate_document(ids[:0])
