import math

import pytest
from torch import nn

from pioneers.optim import cosine, decay_groups, inverse_sqrt, linear


def test_cosine_warms_up_linearly_and_ends_at_the_minimum():
    factors = [cosine(s, max_steps=110, warmup_steps=10, min_factor=0.1) for s in range(111)]
    assert factors[:10] == pytest.approx([(s + 1) / 10 for s in range(10)])
    assert factors[10] == pytest.approx(1.0)
    assert factors[60] == pytest.approx(0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi / 2)))
    assert factors[110] == pytest.approx(0.1)
    assert cosine(500, max_steps=110, warmup_steps=10, min_factor=0.1) == pytest.approx(0.1)


def test_inverse_square_root_is_the_papers_formula():
    d_model, warmup = 512, 4000
    peak = (d_model * warmup) ** -0.5
    for s in (1, 57, 4000, 4001, 100_000):
        paper = d_model**-0.5 * min(s**-0.5, s * warmup**-1.5)
        assert peak * inverse_sqrt(s - 1, warmup_steps=warmup) == pytest.approx(paper)


def test_inverse_square_root_needs_a_warm_up():
    with pytest.raises(ValueError, match="warmup_steps must be at least 1, not 0"):
        inverse_sqrt(0, warmup_steps=0)


def test_linear_rises_and_falls_in_straight_lines():
    factors = [linear(s, max_steps=30, warmup_steps=10) for s in range(31)]
    assert factors[:10] == pytest.approx([(s + 1) / 10 for s in range(10)])
    assert factors[10:] == pytest.approx([1 - (s - 10) / 20 for s in range(10, 31)])
    assert linear(99, max_steps=30) == 0


def test_only_matrices_decay():
    model = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.Embedding(7, 5))
    model[0].weight.requires_grad = False
    decayed, rest = decay_groups(model, 0.3)
    assert (decayed["weight_decay"], rest["weight_decay"]) == (0.3, 0.0)
    assert [p.shape for p in decayed["params"]] == [(7, 5)]
    assert sorted(p.shape for p in rest["params"]) == [(5,), (5,), (5,)]
