import pytest
import torch

from pioneers.layers import causal_mask, padding_mask


def test_causal_mask_lets_each_query_see_itself_and_the_past():
    mask = causal_mask(5)
    for t in range(5):
        for s in range(5):
            assert mask[t, s] == (s <= t)


@pytest.mark.parametrize(("queries", "keys"), [(2, 7), (7, 3), (1, 5)])
def test_causal_mask_takes_the_queries_for_the_last_positions(queries, keys):
    mask = causal_mask(queries, keys)
    for t in range(queries):
        for s in range(keys):
            assert mask[t, s] == (s <= t + keys - queries)


def test_padding_mask_hides_what_lies_behind_each_length():
    mask = padding_mask(torch.tensor([0, 2, 3]), max_len=5)
    assert mask.shape == (3, 1, 1, 5)
    assert mask.sum(-1).flatten().tolist() == [0, 2, 3]
    assert mask[1, 0, 0].tolist() == [True, True, False, False, False]


def test_padding_mask_refuses_impossible_lengths():
    with pytest.raises(ValueError, match=r"between 0 and max_len=4, got \[5\]"):
        padding_mask(torch.tensor([5]), max_len=4)
