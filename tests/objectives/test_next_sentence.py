import math

import pytest

from pioneers.objectives import next_sentence


def test_half_of_the_pairs_are_true_successors():
    documents = [[(d, s) for s in range(101)] for d in range(40)]
    pairs = next_sentence(documents, seed=3)
    assert len(pairs) == 40 * 100
    true = sum(pair.is_next for pair in pairs)
    assert abs(true - 2000) < 4 * math.sqrt(4000 * 0.25)
    for first, second, is_next in pairs:
        follows = second == (first[0], first[1] + 1)
        assert follows if is_next else second[0] != first[0]
    assert pairs == next_sentence(documents, seed=3)


def test_empty_documents_are_passed_over_and_one_is_not_enough():
    pairs = next_sentence([[[1], [2]], [], [[3]]] * 5)
    assert all(len(pair.second) == 1 for pair in pairs)
    with pytest.raises(ValueError, match="at least two documents"):
        next_sentence([[[1], [2]], []])
