"""Time, memory and exponents: known amounts of each come out."""

import time

import pytest
import torch
from torch import nn

from pioneers.analysis.cost import fit_exponent, peak_bytes, processor_time
from pioneers.layers import attention_weights


def test_what_was_there_before_does_not_count_and_what_is_freed_neither():
    x = torch.zeros(1000)

    def in_turn():
        for _ in range(5):
            y = x + 1
            del y

    assert peak_bytes(in_turn) == 4000
    assert peak_bytes(lambda: [x + 1 for _ in range(5)]) == 20_000


def test_views_and_changes_in_place_need_nothing():
    x = torch.zeros(7, 11)
    assert peak_bytes(lambda: x.T.flatten()) == 4 * 77  # a copy
    assert peak_bytes(lambda: x.view(77)[3:].add_(1)) == 0


def test_a_backward_pass_counts():
    layer, x = nn.Linear(3, 5, bias=False), torch.zeros(7, 3)
    assert peak_bytes(lambda: layer(x)) == 4 * 7 * 5
    wide = nn.Linear(101, 5, bias=False)
    x = torch.zeros(7, 101)
    assert peak_bytes(lambda: wide(x)) < 4 * 101 * 5 <= peak_bytes(lambda: wide(x).sum().backward())


def test_explicit_attention_holds_its_table():
    q, k = torch.zeros(2, 1, 3, 101, 5)
    table = 4 * 3 * 101 * 101
    assert 2 * table <= peak_bytes(lambda: attention_weights(q, k)) < 2.1 * table


def test_the_time_is_the_processors():
    assert processor_time(lambda: time.sleep(0.02), repeats=3) < 0.015


def test_the_median_ignores_one_slow_call(monkeypatch):
    clock = iter([0, 1, 10, 12, 20, 120])  # calls of 1, 2 and 100 seconds
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    calls = []
    assert processor_time(lambda: calls.append(0), repeats=3) == 2
    assert len(calls) == 4


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 2.5])
def test_an_exponent_comes_back(exponent):
    sizes = [3, 7, 11, 64]
    assert fit_exponent(sizes, [5 * n**exponent for n in sizes]) == pytest.approx(exponent, abs=1e-9)


@pytest.mark.parametrize(("sizes", "costs"), [([1], [2]), ([2, 2], [1, 3]), ([1, 2], [1])])
def test_too_few_points_are_refused(sizes, costs):
    with pytest.raises(ValueError, match="two sizes at least"):
        fit_exponent(sizes, costs)


@pytest.mark.parametrize(("sizes", "costs"), [([0, 2], [1, 1]), ([1, 2], [1, -1])])
def test_logarithms_need_positive_numbers(sizes, costs):
    with pytest.raises(ValueError, match="positive"):
        fit_exponent(sizes, costs)
