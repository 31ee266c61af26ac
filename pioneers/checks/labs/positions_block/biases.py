"""Exercises 2.4 and 2.5: ALiBi, and T5's buckets.

The inputs of 2.4 are whole numbers and its result float32; both sides of 2.5 are whole numbers.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pioneers import layers
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom
from pioneers.checks.labs.positions_block.sinusoids import NOT_FLOAT32


def _alibi_probes() -> list[Probe]:
    return [
        Probe(name, {"num_heads": H, "num_queries": T, "num_keys": S})
        for name, H, T, S in (
            ("2 heads, 5 tokens", 2, 5, 5),
            ("8 heads", 8, 3, 3),
            ("3 new queries after 4 earlier keys", 4, 3, 7),
            ("one new query", 2, 1, 5),
            ("a single head", 1, 3, 5),
        )
    ]


def _same_distance_same_bias(run: Run) -> tuple[Tensor, Tensor]:
    bias = run(Probe("law", {"num_heads": 4, "num_queries": 5, "num_keys": 11})).tensor
    return bias[:, 1:, 1:], bias[:, :-1, :-1]


def _relative(num_queries: int, num_keys: int) -> Tensor:
    """Key position minus query position (T, S); the queries are the last."""
    return torch.arange(num_keys) - torch.arange(num_keys - num_queries, num_keys)[:, None]


def _penalty(
    slopes: Callable[[Tensor, int], Tensor] = lambda h, H: 2.0 ** (-8 * h / H),
    distance: Callable[[int, int], Tensor] = lambda T, S: _relative(T, S).abs(),
) -> Callable[[int, int, int], Tensor]:
    """ALiBi with other slopes or distances."""

    def alibi(num_heads: int, num_queries: int, num_keys: int) -> Tensor:
        mu = slopes(torch.arange(1, num_heads + 1), num_heads)
        return -mu[:, None, None] * distance(num_queries, num_keys)

    return alibi


ALIBI_MISTAKES = (
    NOT_FLOAT32,
    Mistake(
        "far keys rewarded",
        "The bias is a penalty: minus the slope times the distance.",
        lambda H, T, S: -layers.alibi_bias(H, T, S),
    ),
    Mistake(
        "keys behind the query rewarded",
        "The distance is |m - n|: without the bars keys behind the query get a positive bias.",
        _penalty(distance=lambda T, S: -_relative(T, S)),
    ),
    Mistake(
        "keys behind the query rewarded",
        "The distance is |m - n|: without the bars keys on one side of the query get a positive bias.",
        _penalty(distance=_relative),
    ),
    Mistake(
        "keys behind the query cost nothing",
        "The distance counts on both sides; hiding what lies behind the query is the mask's work.",
        _penalty(distance=lambda T, S: (-_relative(T, S)).clamp(min=0)),
    ),
    Mistake(
        "aligned top left",
        "Fewer queries than keys means the last tokens: query 0 stands at num_keys - num_queries.",
        _penalty(distance=lambda T, S: (torch.arange(S) - torch.arange(T)[:, None]).abs()),
    ),
    Mistake(
        "slopes that do not know the number of heads",
        "The slope of head h is 2^(-8h/H): the last one is 2^-8 for any H.",
        _penalty(slopes=lambda h, H: 2.0**-h),
    ),
    Mistake(
        "heads counted from zero",
        "h runs from 1 to H, so the first slope is 2^(-8/H) and the last 2^-8.",
        _penalty(slopes=lambda h, H: 2.0 ** (-8 * (h - 1) / H)),
    ),
    Mistake(
        "slopes in reverse order",
        "The first head is the steepest.",
        lambda H, T, S: layers.alibi_bias(H, T, S).flip(0),
    ),
    Mistake(
        "one slope for all heads",
        "Each head has its own slope: some look near, some far.",
        _penalty(slopes=lambda h, H: torch.full((H,), 2.0**-8)),
        equation="eq-reach",
    ),
)


def _bucket_probes() -> list[Probe]:
    def probe(name: str, relative: list[Any], num_buckets: int, max_distance: int) -> Probe:
        args = {"relative": torch.tensor(relative), "num_buckets": num_buckets, "max_distance": max_distance}
        return Probe(name, args)

    return [
        probe("the buckets worked by hand in the lecture", [-d for d in range(25)], 8, 32),
        probe("in no order, some keys behind the query", [-31, 3, 0, -7, -12, 1, -5], 8, 32),
        probe("a table of two queries and three keys", [[-1, 0, 1], [-2, -1, 0]], 4, 11),
        probe("T5's own sizes, far beyond the largest distance", [-9, -15, -23, -70, -127, -500], 32, 128),
        probe("ten buckets", [-4, -6, -11, -19, -43, -90], 10, 71),
    ]


def _any_table(run: Run) -> tuple[Tensor, Tensor]:
    relative = _relative(5, 11)
    sizes = {"num_buckets": 6, "max_distance": 13}
    whole = run(Probe("law", {"relative": relative, **sizes})).tensor
    rows = [run(Probe("law", {"relative": row, **sizes})).tensor for row in relative]
    return whole, torch.stack(rows)


def _sort(
    share: Callable[[Tensor, float, float], Tensor],
    *,
    near: bool = True,
    whole: Callable[[Tensor], Tensor] = torch.floor,
    last: bool = True,
) -> Callable[[Tensor, int, int], Tensor]:
    """Buckets with another rule for far distances, from d, e and d_max to a share of the far buckets."""

    def sort(relative: Tensor, num_buckets: int, max_distance: int) -> Tensor:
        distance, exact = (-relative).clamp(min=0), num_buckets // 2
        scaled = (num_buckets - exact) * share(distance.clamp(min=1).double(), exact, max_distance)
        far = exact + whole(scaled).long()
        far = far.clamp(max=num_buckets - 1) if last else far
        return torch.where(distance < exact, distance, far) if near else far.where(distance > 0, 0)

    return sort


def _log_share(d: Tensor, e: float, d_max: float) -> Tensor:
    return (d / e).log() / math.log(d_max / e)


bucket = _sort(_log_share)


def _is_fraction(symptom: Symptom) -> bool:
    return symptom.stage == "dtype" and symptom.case.outcome.tensor.is_floating_point()


EVERYWHERE = (
    "the logarithm for near distances too",
    "Distances below e = num_buckets / 2 have a bucket each; only farther ones share.",
)
BUCKET_MISTAKES = (
    Mistake(
        "a bucket that is no whole number",
        "A bucket is the row of a table: round down and convert to int64.",
        shows=_is_fraction,
    ),
    Mistake(
        "before and behind mixed up",
        "relative is n - m: earlier keys are negative there, and they are the ones to sort.",
        lambda relative, num_buckets, max_distance: bucket(-relative, num_buckets, max_distance),
    ),
    Mistake(
        "keys behind the query sorted too",
        "A decoder never sees them: they share bucket 0, and all buckets serve the keys before the query.",
        lambda relative, num_buckets, max_distance: bucket(-relative.abs(), num_buckets, max_distance),
    ),
    Mistake(
        "no last bucket",
        "From some distance on the formula gives num_buckets and more: the last bucket takes them all.",
        _sort(_log_share, last=False),
    ),
    Mistake(*EVERYWHERE, _sort(_log_share, near=False)),
    Mistake(*EVERYWHERE, _sort(_log_share, near=False, whole=torch.trunc)),
    Mistake(
        "rounded, not rounded down",
        "The brackets in the equation are a floor: a bucket begins where the share reaches it.",
        _sort(_log_share, whole=torch.round),
    ),
    Mistake(
        "a straight line instead of a logarithm",
        "Far buckets grow wider and wider; equal widths waste them on distances that need no telling apart.",
        _sort(lambda d, e, d_max: (d - e) / (d_max - e)),
    ),
    Mistake(
        "a bucket for each distance, then the last",
        "That is clipping, as in Shaw's vectors: half of the buckets are meant for ranges of distances.",
        lambda relative, num_buckets, max_distance: (-relative).clamp(0, num_buckets - 1),
    ),
    Mistake(
        "the logarithm does not begin at e",
        "The far buckets begin at e: it is ln(d/e) over ln(d_max/e).",
        _sort(lambda d, e, d_max: d.log() / math.log(d_max)),
    ),
)

EXERCISES = (
    Exercise(
        key="2.4",
        name="alibi_bias",
        parameters=("num_heads", "num_queries", "num_keys"),
        points=9,
        section="sec-alibi",
        equation="eq-alibi",
        reference=layers.alibi_bias,
        probes=_alibi_probes,
        mistakes=ALIBI_MISTAKES,
        properties=(
            Property(
                "pairs at the same distance have the same bias",
                "The bias is constant along diagonals.",
                _same_distance_same_bias,
                section="sec-relative",
                equation="eq-bias",
            ),
        ),
    ),
    Exercise(
        key="2.5",
        name="distance_bucket",
        parameters=("relative", "num_buckets", "max_distance"),
        points=10,
        section="sec-t5",
        equation="eq-buckets",
        reference=bucket,
        probes=_bucket_probes,
        mistakes=BUCKET_MISTAKES,
        properties=(
            Property("each distance is sorted by itself", "A table has no say in its entries.", _any_table),
        ),
    ),
)
