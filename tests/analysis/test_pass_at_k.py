import itertools

import pytest

from pioneers.analysis import pass_at_k


@pytest.mark.parametrize(("right", "samples", "k"), [(0, 5, 3), (1, 5, 3), (2, 7, 1), (3, 7, 4), (5, 5, 2)])
def test_it_is_the_share_of_all_choices_with_a_right_answer(right, samples, k):
    answers = [True] * right + [False] * (samples - right)
    choices = list(itertools.combinations(answers, k))
    assert pass_at_k(right, samples, k) == pytest.approx(sum(map(any, choices)) / len(choices))


def test_it_is_unbiased_where_the_plain_formula_is_not():
    p, samples, k = 0.3, 4, 2
    draws = list(itertools.product([True, False], repeat=samples))
    chance = [p ** sum(draw) * (1 - p) ** (samples - sum(draw)) for draw in draws]
    mean = sum(c * pass_at_k(sum(draw), samples, k) for c, draw in zip(chance, draws, strict=True))
    plain = sum(c * (1 - (1 - sum(draw) / samples) ** k) for c, draw in zip(chance, draws, strict=True))
    assert mean == pytest.approx(1 - (1 - p) ** k)
    assert plain < mean - 0.01


@pytest.mark.parametrize(("right", "samples", "k"), [(-1, 3, 1), (4, 3, 1), (1, 3, 0), (1, 3, 4)])
def test_impossible_counts_are_refused(right, samples, k):
    with pytest.raises(ValueError, match="between"):
        pass_at_k(right, samples, k)
