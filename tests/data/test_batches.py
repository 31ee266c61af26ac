import pytest
import torch

from pioneers.data import RandomPairs, RandomRows

PAIRS = [([5], [6, 7, 8]), ([9, 10, 11], [12]), ([13, 14], [])]


def test_rows_stay_together():
    images, labels = torch.arange(11 * 3).view(11, 3), torch.arange(11)
    source = RandomRows(images, labels, batch_size=7, seed=2)
    some_images, some_labels = source(5)
    assert some_labels.shape == (7,)
    assert torch.equal(some_images, images[some_labels])


def test_rows_depend_on_seed_and_step_alone():
    rows = torch.arange(101)
    first = RandomRows(rows, batch_size=13)
    assert torch.equal(first(3)[0], RandomRows(rows, batch_size=13)(3)[0])
    assert not torch.equal(first(3)[0], first(4)[0])
    assert not torch.equal(first(3)[0], RandomRows(rows, batch_size=13, seed=1)(3)[0])
    drawn = torch.cat([first(step)[0] for step in range(200)])
    assert set(drawn.tolist()) == set(range(101))


@pytest.mark.parametrize(("tensors", "lengths"), [((5, 7), r"\[5, 7\]"), ((0, 0), r"\[0\]"), ((), r"\[\]")])
def test_rows_must_be_there_and_equally_many(tensors, lengths):
    with pytest.raises(ValueError, match=f"need equally many rows, at least one; they have {lengths}"):
        RandomRows(*(torch.zeros(n) for n in tensors), batch_size=3)


def test_pairs_are_padded_to_their_longest():
    source = RandomPairs(PAIRS, batch_size=17, start_id=1, stop_id=2, pad_id=3)
    batch = source(0)
    assert batch.source_ids.shape == (17, 3)
    assert batch.input_ids.shape == batch.targets.shape == (17, 4)
    expected = {
        ((5, 3, 3), 1, (1, 6, 7, 8), (6, 7, 8, 2)),
        ((9, 10, 11), 3, (1, 12, 3, 3), (12, 2, -100, -100)),
        ((13, 14, 3), 2, (1, 3, 3, 3), (2, -100, -100, -100)),
    }
    columns = (batch.source_ids, batch.lengths, batch.input_ids, batch.targets)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    assert {(tuple(s), n, tuple(i), tuple(t)) for s, n, i, t in rows} == expected
    assert torch.equal(source(0).targets, batch.targets)
    assert not torch.equal(source(1).lengths, batch.lengths)
