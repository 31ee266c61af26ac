import math
from itertools import pairwise

import pytest

from pioneers.objectives import next_sentence, sentence_order


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


def test_a_hundred_thousand_pairs_are_half_and_half_whatever_the_documents():
    lengths = [2, 3, 50, 1, 400] * 220
    documents = [[(d, s) for s in range(length)] for d, length in enumerate(lengths)]
    pairs = next_sentence(documents, seed=1)
    assert len(pairs) == sum(length - 1 for length in lengths) > 99_000
    follows = [pair.is_next for pair in pairs]
    assert abs(sum(follows) - len(pairs) / 2) < 4 * math.sqrt(len(pairs) / 4)
    changes = sum(a != b for a, b in pairwise(follows))  # the draws are independent of each other
    assert abs(changes - len(pairs) / 2) < 4 * math.sqrt(len(pairs) / 4)
    foreign = [pair.second[0] for pair in pairs if not pair.is_next]
    expected = len(foreign) / len(documents)
    assert abs(foreign.count(7) - expected) < 5 * math.sqrt(expected)  # each document, not each sentence


def test_empty_documents_are_passed_over_and_one_is_not_enough():
    pairs = next_sentence([[[1], [2]], [], [[3]]] * 5)
    assert all(len(pair.second) == 1 for pair in pairs)
    with pytest.raises(ValueError, match="at least two documents"):
        next_sentence([[[1], [2]], []])


def test_half_of_the_neighbours_are_swapped():
    documents = [[(d, s) for s in range(101)] for d in range(40)] + [[(40, 0)], []]
    pairs = sentence_order(documents, seed=3)
    assert len(pairs) == 40 * 100
    assert abs(sum(pair.is_next for pair in pairs) - 2000) < 4 * math.sqrt(4000 * 0.25)
    for first, second, in_order in pairs:
        assert second == (first[0], first[1] + (1 if in_order else -1))
    neighbours = [{first, second} for first, second, _ in pairs]
    assert neighbours == [{a, b} for document in documents for a, b in pairwise(document)]
    assert pairs == sentence_order(documents, seed=3) != sentence_order(documents, seed=4)
