import pytest
import torch

from pioneers.layers import causal_mask, document_mask, padding_mask, window_mask


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


@pytest.mark.parametrize("window", [1, 3, 99])
@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (2, 7), (1, 4)])
def test_window_mask_sees_the_newest_positions_only(window, queries, keys):
    mask = window_mask(queries, keys, window=window)
    for t in range(queries):
        position = t + keys - queries
        for s in range(keys):
            assert mask[t, s] == (position - window < s <= position)


def test_window_must_hold_the_query_itself():
    with pytest.raises(ValueError, match="window must be at least 1"):
        window_mask(3, window=0)


def test_documents_packed_into_one_row_do_not_see_each_other():
    mask = document_mask(torch.tensor([[0, 0, 1], [2, 3, 2]]))
    assert mask.shape == (2, 1, 3, 3)
    assert mask[0, 0].int().tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert mask[1, 0].int().tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
