"""Exercises 1.1 and 1.2: softmax, and one soft lookup.

Axes: S keys, K width of query and keys, V width of values. Sizes are distinct primes.
"""

import math

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import FUSED, Exercise, Mistake, Probe, Property, Run
from pioneers.layers import attention_weights


def _softmax_probes() -> list[Probe]:
    normal = normals(11)
    scales = torch.tensor([[-900.0], [0.0], [900.0]])
    return [
        Probe("dim is not the last axis", {"x": normal(3, 5, 7), "dim": 1}),
        Probe("a negative dim, four axes", {"x": normal(2, 3, 5, 7), "dim": -3}),
        Probe("scores around 1000", {"x": 1000 + 20 * normal(5, 7), "dim": 1}),
        Probe("rows on very different scales", {"x": scales + normal(3, 7), "dim": -1}),
        Probe("double precision", {"x": normal(5, 3, dtype=torch.float64), "dim": 0}),
        Probe("bfloat16", {"x": normal(3, 7, dtype=torch.bfloat16), "dim": 0}),
        Probe("a single number", {"x": normal(1), "dim": 0}),
        Probe("numbers with gaps in memory", {"x": normal(3, 5), "dim": 0}, strided=True),
    ]


def _sums_to_one(run: Run) -> tuple[Tensor, Tensor]:
    x = 30 * normals(12)(5, 3, 7)
    total = run(Probe("law", {"x": x, "dim": 1})).tensor.sum(1)
    return total, torch.ones_like(total)


def _ignores_shift(run: Run) -> tuple[Tensor, Tensor]:
    x = normals(13)(3, 5)
    probe = Probe("law", {"x": x, "dim": 0})
    return run(probe).tensor, run(probe.having("law", x=x + 2)).tensor


def _global_max(x: Tensor, dim: int) -> Tensor:
    e = (x - x.max()).exp()
    return e / e.sum(dim, keepdim=True)


def _no_keepdim(x: Tensor, dim: int) -> Tensor:
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim)


def _max_no_keepdim(x: Tensor, dim: int) -> Tensor:
    e = (x - x.max(dim).values).exp()
    return e / e.sum(dim)


def _one_sum(x: Tensor, dim: int) -> Tensor:
    e = (x - x.max()).exp()
    return e / e.sum()


def _squared(x: Tensor, dim: int) -> Tensor:
    return x / x.sum(dim, keepdim=True)


LOST_AXIS = (
    "the reduced axis is lost",
    "Without keepdim=True the maximum or the sum has one axis fewer, and broadcasting pairs the wrong ones.",
)
SOFTMAX_MISTAKES = (
    Mistake(
        "no maximum subtracted",
        "exp overflows above 88 in float32; subtract the largest score first, which changes nothing else.",
        lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True),
    ),
    Mistake(
        "dim is ignored", "The sum runs over the last axis whatever dim says.", lambda x, dim: x.softmax(-1)
    ),
    Mistake(
        "one maximum for the whole tensor",
        "A row far below the overall maximum underflows to zeros, and 0/0 is NaN: take the one along dim.",
        _global_max,
    ),
    Mistake(
        "one sum for the whole tensor",
        "Each slice along dim must sum to one by itself, not all together.",
        _one_sum,
    ),
    Mistake(*LOST_AXIS, _no_keepdim),
    Mistake(*LOST_AXIS, _max_no_keepdim),
    Mistake(
        "divided without exp",
        "Dividing by the sum alone leaves negative weights; exp makes them positive first.",
        _squared,
    ),
    Mistake(
        "the logarithm of the softmax", "These are log-probabilities.", lambda x, dim: x.log_softmax(dim)
    ),
)


def _look_up_probes() -> list[Probe]:
    normal = normals(21)

    def probe(name: str, K: int, S: int, V: int, factor: float = 1.0, strided: bool = False, **how) -> Probe:
        args = {
            "query": factor * normal(K, **how),
            "keys": normal(S, K, **how),
            "values": normal(S, V, **how),
        }
        return Probe(name, args, strided)

    return [
        probe("7 keys of width 5, values of width 3", 5, 7, 3),
        probe("width of keys and values equal", 3, 5, 3),
        probe("a single key", 3, 1, 5),
        probe("very large scores", 5, 7, 2, factor=200),
        probe("double precision", 5, 3, 2, dtype=torch.float64),
        probe("bfloat16", 3, 5, 2, dtype=torch.bfloat16),
        probe("numbers with gaps in memory", 3, 5, 2, strided=True),
    ]


def _order_of_entries(run: Run) -> tuple[Tensor, Tensor]:
    normal = normals(22)
    query, keys, values = normal(5), normal(7, 5), normal(7, 3)
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    shuffled = {"query": query, "keys": keys[order], "values": values[order]}
    plain = {"query": query, "keys": keys, "values": values}
    return run(Probe("law", plain)).tensor, run(Probe("law", shuffled)).tensor


LOOK_UP_MISTAKES = (
    Mistake(
        "scores used as weights",
        "Raw scores can be negative and do not sum to one; the softmax turns them into shares.",
        lambda query, keys, values: (keys @ query) @ values,
        equation="eq-softmax",
    ),
    Mistake(
        "hard lookup",
        "Only the best key is used: that is a dictionary, and no gradient reaches the keys.",
        lambda query, keys, values: values[(keys @ query).argmax()],
    ),
    Mistake(
        "keys mixed instead of values",
        "The weights come from the keys, but what they mix is the values.",
        lambda query, keys, values: (keys @ query).softmax(0) @ keys,
    ),
    Mistake(
        "plain average",
        "Every value gets the same weight: the query has no say.",
        lambda query, keys, values: values.mean(0),
    ),
    Mistake(
        "scores divided by their sum",
        "Dividing by the sum leaves negative weights, and a sum near zero blows up: use the softmax.",
        lambda query, keys, values: (keys @ query) / (keys @ query).sum() @ values,
        equation="eq-softmax",
    ),
    Mistake(
        "distance instead of dot product",
        "The score here is the dot product of query and key, which also grows with their lengths.",
        lambda query, keys, values: (-(keys - query).norm(dim=-1)).softmax(0) @ values,
        equation="eq-score",
    ),
    Mistake(
        "scaled too early",
        "This first lookup uses the bare dot product; the division by √d_k comes in exercise 1.3.",
        lambda query, keys, values: (keys @ query / math.sqrt(query.shape[0])).softmax(0) @ values,
        equation="eq-score",
    ),
    Mistake(
        "weights not applied",
        "These are the weights themselves; the answer is the values mixed with them.",
        lambda query, keys, values: (keys @ query).softmax(0),
    ),
)


EXERCISES = (
    Exercise(
        key="1.1",
        name="softmax",
        parameters=("x", "dim"),
        points=10,
        section="sec-lookup",
        equation="eq-softmax",
        reference=lambda x, dim: x.softmax(dim),
        probes=_softmax_probes,
        mistakes=SOFTMAX_MISTAKES,
        properties=(
            Property("each slice along dim sums to one", "A softmax shares out exactly 1.", _sums_to_one),
            Property("adding a constant changes nothing", "exp(c) cancels in the fraction.", _ignores_shift),
        ),
        refuse=FUSED | {"softmax", "log_softmax", "softmin", "logsumexp", "logaddexp", "safe_softmax"},
    ),
    Exercise(
        key="1.2",
        name="look_up",
        parameters=("query", "keys", "values"),
        points=8,
        section="sec-lookup",
        equation="eq-mixture",
        reference=lambda query, keys, values: (attention_weights(query[None], keys, scale=1.0) @ values)[0],
        probes=_look_up_probes,
        mistakes=LOOK_UP_MISTAKES,
        properties=(
            Property(
                "the order of the entries does not matter",
                "A lookup is a sum over entries.",
                _order_of_entries,
            ),
        ),
    ),
)
