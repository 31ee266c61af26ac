"""Exercise 4.6: attention of the newest tokens over a key/value cache.

Queries and keys are (B, H, T, K), values (B, H, T, L) with L beside K; the cache holds P earlier tokens.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from pioneers import layers
from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

Mask = Callable[[int, int], Tensor]


def _causal(T: int, S: int) -> Tensor:
    return layers.causal_mask(T, S)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Mask = _causal, scale: float | None = None) -> Tensor:
    scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    allowed = mask(q.shape[-2], k.shape[-2]).to(q.device)
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v


def _with(mask: Mask = _causal, scale: float | None = None) -> Callable[..., Tensor]:
    """A cached step with another mask or scale."""

    def step(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
        return _attend(q, torch.cat((past_k, k), -2), torch.cat((past_v, v), -2), mask, scale)

    return step


cached_attention = _with()


def _cached_probes() -> list[Probe]:
    normal = normals(461)

    def probe(name: str, B: int, H: int, P: int, T: int, K: int, L: int, strided=False, **how) -> Probe:
        shapes = {"q": (T, K), "k": (T, K), "v": (T, L), "past_k": (P, K), "past_v": (P, L)}
        return Probe(name, {n: normal(B, H, *shape, **how) for n, shape in shapes.items()}, strided)

    return [
        probe("one new token", 2, 3, 5, 1, 7, 5),
        probe("three new tokens at once", 2, 3, 4, 3, 5, 7),
        probe("more new tokens than old ones", 1, 2, 2, 5, 3, 3),
        probe("an empty cache: the prompt", 2, 1, 0, 5, 3, 7),
        probe("a batch of one, one head", 1, 1, 7, 2, 5, 3),
        probe("double precision", 2, 3, 5, 2, 7, 3, dtype=torch.float64),
        probe("bfloat16", 2, 1, 3, 2, 5, 3, dtype=torch.bfloat16),
        probe("numbers with gaps in memory", 1, 3, 2, 3, 5, 7, strided=True),
    ]


def _pieces(run: Run) -> tuple[Tensor, Tensor]:
    """Eleven tokens at once, and in pieces of 4, 1, 3, 1 and 2."""
    normal = normals(462)
    q, k, v = normal(2, 3, 11, 5), normal(2, 3, 11, 5), normal(2, 3, 11, 7)

    def step(start: int, end: int) -> Tensor:
        args = {name: x[:, :, start:end] for name, x in (("q", q), ("k", k), ("v", v))}
        return run(Probe("law", args | {"past_k": k[:, :, :start], "past_v": v[:, :, :start]})).tensor

    cuts = [0, 4, 5, 8, 9, 11]
    return step(0, 11), torch.cat([step(a, b) for a, b in pairwise(cuts)], dim=2)


def _later_changed(run: Run) -> tuple[Tensor, Tensor]:
    normal = normals(463)
    probe = _cached_probes()[1]
    changed = {name: probe.args[name].clone() for name in ("k", "v")}
    for x in changed.values():
        x[:, :, 2] += 10 * normal(2, 3, x.shape[-1])
    return run(probe).tensor[:, :, :2], run(probe.having("law", **changed)).tensor[:, :, :2]


def _in_front(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    return _attend(q, torch.cat((k, past_k), -2), torch.cat((v, past_v), -2))


def _masked_late(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    k, v = torch.cat((past_k, k), -2), torch.cat((past_v, v), -2)
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    return weights * _causal(q.shape[-2], k.shape[-2]) @ v


def _values_not_kept(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    return _attend(q, torch.cat((past_k, k), -2), v)


MISTAKES = (
    Mistake(
        "the cache comes back too",
        "What is asked for are the outputs alone; whoever calls has the keys and values already.",
        shows=lambda symptom: symptom.case.outcome.kind in ("tuple", "list"),
    ),
    Mistake(
        "only the keys are kept",
        "The weights have a place for each of P + T tokens, and each needs its value: append to both.",
        _values_not_kept,
    ),
    Mistake(
        "aligned top left",
        "The first new token stands at position P, not at 0: it sees the whole cache and itself.",
        _with(lambda T, S: torch.ones(T, S, dtype=torch.bool).tril()),
        section="sec-kv-cache",
    ),
    Mistake(
        "the new tokens see each other",
        "Several new tokens at once still come one after another: a later one is hidden from an earlier.",
        _with(lambda T, S: torch.ones(T, S, dtype=torch.bool)),
        section="sec-causal",
        equation="eq-mask",
    ),
    Mistake(
        "a token does not see itself",
        "The sum runs over s ≤ t: a token's own key and value count too.",
        _with(lambda T, S: torch.ones(T, S, dtype=torch.bool).tril(S - T - 1)),
    ),
    Mistake(
        "the past is forgotten",
        "The new queries ask all keys, those of the cache too.",
        lambda q, k, v, past_k, past_v: _attend(q, k, v),
    ),
    Mistake(
        "the new keys are left out",
        "Append first, then attend: the newest token sees itself.",
        lambda q, k, v, past_k, past_v: _attend(
            q, past_k, past_v, lambda T, S: torch.ones(T, S, dtype=torch.bool)
        ),
    ),
    Mistake(
        "the past behind the present",
        "The cache comes first and the new tokens behind it, or the mask meets the wrong keys.",
        _in_front,
    ),
    Mistake(
        "the newest query only",
        "Each of the T new tokens gets a vector, not the last alone.",
        lambda q, *rest: cached_attention(q, *rest)[:, :, -1:],
    ),
    Mistake(
        "not scaled",
        "The scores are divided by √K with a cache too.",
        _with(scale=1.0),
        section="sec-scaling",
        equation="eq-scaled",
    ),
    Mistake(
        "masked after the softmax",
        "The hidden keys have already taken their share, so the weights that remain no longer sum to one.",
        _masked_late,
        section="sec-causal",
        equation="eq-mask",
    ),
)

EXERCISES = (
    Exercise(
        key="4.6",
        name="cached_attention",
        parameters=("q", "k", "v", "past_k", "past_v"),
        points=14,
        section="sec-kv-cache",
        equation="eq-kv-cache",
        reference=cached_attention,
        probes=_cached_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "token by token or all at once, the result is the same",
                "Appending a token changes nothing in any earlier position.",
                _pieces,
            ),
            Property(
                "the past does not depend on the future",
                "A causal mask cuts every path back.",
                _later_changed,
                section="sec-causal",
                equation="eq-mask",
            ),
        ),
    ),
)
