"""Exercise 4.4: temperature and top-k, from logits (..., V) to the distribution that is drawn from."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom
from pioneers.checks.symptoms import wrong_only_where

TIES = "ties at the limit"


def limit(z: Tensor, k: int) -> Tensor:
    """The k-th largest logit of each row, (..., 1)."""
    return z.topk(min(k, z.shape[-1])).values[..., -1:]


def _with(
    keep: Callable[[Tensor, int], Tensor] = lambda z, k: z >= limit(z, k),
    rest: Callable[[Tensor, Tensor], Tensor] = lambda z, kept: z.masked_fill(~kept, -torch.inf).softmax(-1),
    heat: Callable[[Tensor, float], Tensor] = lambda z, temperature: z / temperature,
) -> Callable[..., Tensor]:
    """Top-k from what is kept, what is made of it, and what temperature does first."""

    def distribution(logits: Tensor, k: int, temperature: float = 1.0) -> Tensor:
        z = heat(logits, temperature)
        return rest(z, keep(z, k))

    return distribution


top_k = _with()


def _top_k_probes() -> list[Probe]:
    normal = normals(441)

    def probe(name: str, *shape: int, k: int, factor=2.0, strided=False, **more) -> Probe:
        dtype = more.pop("dtype", torch.float32)
        return Probe(name, {"logits": factor * normal(*shape, dtype=dtype), "k": k, **more}, strided)

    tied = torch.tensor([[2.0, 0.0, 2.0, 3.0, 2.0, 1.0, -1.0], [1.0, 5.0, 4.0, 4.0, 0.0, 4.0, -2.0]])
    negative = probe("all logits far below zero", 2, 7, k=3)
    return [
        probe("three of seven", 3, 7, k=3),
        probe("a low temperature", 2, 3, 11, k=5, temperature=0.5),
        probe("a high temperature", 2, 5, k=2, temperature=3.0),
        probe("one distribution, no batch", 13, k=4, temperature=0.7),
        Probe(TIES, {"logits": tied, "k": 3}),
        negative.having(negative.name, logits=negative.args["logits"] - 30),
        probe("k = 1", 3, 5, k=1, temperature=2.0),
        probe("k larger than the vocabulary", 2, 5, k=11, temperature=1.5),
        probe("double precision", 3, 7, k=2, dtype=torch.float64),
        probe("numbers with gaps in memory", 2, 3, 5, k=3, strided=True),
    ]


def _sums_to_one(run: Run) -> tuple[Tensor, Tensor]:
    total = run(_top_k_probes()[1].having("law", k=4, temperature=0.9)).tensor.sum(-1)
    return total, torch.ones_like(total)


def _odds(run: Run) -> tuple[Tensor, Tensor]:
    probe = Probe("law", {"logits": torch.tensor([3.0, -1.0, 2.0, 0.5, 1.0]), "k": 3})
    plain, cool = (run(probe.having("law", temperature=t)).tensor for t in (1.0, 0.5))
    return cool[0] * plain[2] ** 2, cool[2] * plain[0] ** 2


def _exactly_k(z: Tensor, k: int) -> Tensor:
    best = z.topk(min(k, z.shape[-1])).indices
    return torch.zeros_like(z, dtype=torch.bool).scatter(-1, best, True)


def _flat(z: Tensor, k: int) -> Tensor:
    return z >= z.flatten().topk(min(k, z.shape[-1])).values[-1]


def _least_likely(z: Tensor, k: int) -> Tensor:
    return z <= -limit(-z, k)


def _too_few_tokens(symptom: Symptom) -> bool:
    args = symptom.case.probe.args
    return symptom.stage == "runs" and args["k"] > args["logits"].shape[-1]


def _cooled_late(logits: Tensor, k: int, temperature: float = 1.0) -> Tensor:
    return top_k(logits, k) / temperature


def _only_k(logits: Tensor, k: int, temperature: float = 1.0) -> Tensor:
    return (logits / temperature).topk(min(k, logits.shape[-1])).values.softmax(-1)


MISTAKES = (
    Mistake(
        "k larger than the vocabulary stops it",
        "There are only V tokens to keep: use min(k, V).",
        shows=_too_few_tokens,
    ),
    Mistake(
        "only k numbers come back",
        "The result has a place for each of the V tokens, in the order of the vocabulary: 0 if excluded.",
        _only_k,
    ),
    Mistake(
        "multiplied by the temperature",
        "The logits are divided by τ: a low temperature makes differences larger.",
        _with(heat=lambda z, temperature: z * temperature),
    ),
    Mistake(
        "the temperature is ignored",
        "Divide the logits by τ before the softmax.",
        _with(heat=lambda z, temperature: z),
    ),
    Mistake(
        "temperature after the softmax",
        "Probabilities divided by τ no longer sum to one, and their ratios are the old ones.",
        _cooled_late,
    ),
    Mistake(
        "not renormalised",
        "What remains must sum to one: set the others to -inf before the softmax, not to 0 after it.",
        _with(rest=lambda z, kept: z.softmax(-1) * kept),
    ),
    Mistake(
        "a logit of zero excludes nothing",
        "A logit of 0 is a logit like any other: exp(0) = 1. An excluded token needs -inf.",
        _with(rest=lambda z, kept: (z * kept).softmax(-1)),
    ),
    Mistake(
        "logits in place of probabilities",
        "What is asked for is the distribution that the next token is drawn from: a softmax comes last.",
        _with(rest=lambda z, kept: z.masked_fill(~kept, -torch.inf)),
    ),
    Mistake(
        "the k-th token is lost",
        "The k-th most likely token is one of k: compare with >=, not with >.",
        _with(lambda z, k: z > limit(z, k)),
    ),
    Mistake(
        "one token too many",
        "Counted from 0 the k-th place is k - 1.",
        _with(lambda z, k: z >= limit(z, k + 1)),
    ),
    Mistake(
        "the least likely are kept",
        "Sort downwards: top-k keeps the *most* likely tokens.",
        _with(_least_likely),
    ),
    Mistake(
        "one limit for the whole batch",
        "Each row has its own k-th largest logit: work along the last axis.",
        _with(_flat),
    ),
    Mistake(
        "a tie is cut at random",
        "Tokens that are as likely as the k-th stay too: compare with its logit instead of with places.",
        shows=wrong_only_where(lambda case: case.probe.name == TIES),
    ),
)

EXERCISES = (
    Exercise(
        key="4.4",
        name="top_k_distribution",
        parameters=("logits", "k", "temperature=1.0"),
        points=9,
        section="sec-sampling",
        equation="eq-cross-entropy",
        reference=top_k,
        probes=_top_k_probes,
        mistakes=MISTAKES,
        properties=(
            Property("the probabilities sum to one", "Something must be drawn.", _sums_to_one),
            Property("half the temperature squares the odds", "The odds become their 1/τ-th power.", _odds),
        ),
    ),
)
