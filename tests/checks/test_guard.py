"""Answers that let the library do the work are refused, however they are written; honest ones are not."""

import functools

import pytest
import torch
import torch.nn.functional as F

import pioneers.layers
from pioneers import layers
from pioneers.checks import examine, find


def late_import(q, k, v):
    from pioneers.layers import attention

    return attention(q, k, v)


def swallowed(q, k, v):
    try:
        return F.scaled_dot_product_attention(q, k, v)
    except Exception:
        return torch.zeros(*q.shape[:-1], v.shape[-1])


def through_a_module(q, k, v):
    layer = torch.nn.MultiheadAttention(q.shape[-1], 1, batch_first=True, kdim=k.shape[-1], vdim=v.shape[-1])
    return layer(q, k, v)[0]


class Callable:
    def __call__(self, q, k, v):
        return layers.attention_weights(q, k) @ v


ALIAS = F.scaled_dot_product_attention
REFUSED = {
    "a direct call": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    "an alias": lambda q, k, v: ALIAS(q, k, v),
    "an operator by its other name": lambda q, k, v: torch.ops.aten.scaled_dot_product_attention(q, k, v),
    "found by string": lambda q, k, v: getattr(F, "scaled_dot_" + "product_attention")(q, k, v),
    "pioneers": lambda q, k, v: pioneers.layers.attention(q, k, v),
    "pioneers in part": Callable(),
    "a late import": late_import,
    "an exception swallowed": swallowed,
    "a module": through_a_module,
}


@pytest.mark.parametrize("how", REFUSED)
def test_library_attention_is_refused(how) -> None:
    failure = examine(find("1.3"), REFUSED[how])
    assert failure.stage == "allowed calls"
    assert failure.diagnosis.name == "the library does the work"


def test_a_partial_of_the_library_is_refused() -> None:
    partial = functools.partial(layers.causal_mask, device=None)
    failure = examine(find("1.4"), lambda num_queries, num_keys: partial(num_queries, num_keys))
    assert failure.stage == "allowed calls"
    assert "`causal_mask` of pioneers" in failure.what[-1]


@pytest.mark.parametrize(
    "softmax",
    [
        lambda x, dim: x.softmax(dim),
        lambda x, dim: torch.softmax(x, dim),
        lambda x, dim: F.softmax(x, dim=dim),
        lambda x, dim: torch.special.softmax(x, dim),
        lambda x, dim: torch._softmax(x, dim, False),
        lambda x, dim: torch.nn.Softmax(dim)(x),
        lambda x, dim: x.log_softmax(dim).exp(),
        lambda x, dim: (x - x.logsumexp(dim, keepdim=True)).exp(),
        lambda x, dim: F.softmin(-x, dim=dim),
    ],
)
def test_a_softmax_may_not_be_called_where_it_is_to_be_written(softmax) -> None:
    assert examine(find("1.1"), softmax).stage == "allowed calls"


def test_a_softmax_may_be_called_elsewhere() -> None:
    assert examine(find("1.2"), lambda query, keys, values: F.softmax(keys @ query, dim=0) @ values) is None


def test_a_function_of_the_students_own_may_have_any_name() -> None:
    def scaled_dot_product_attention(q, k, v):
        return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v

    assert examine(find("1.3"), lambda q, k, v: scaled_dot_product_attention(q, k, v)) is None
