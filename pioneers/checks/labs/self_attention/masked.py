"""Exercise 1.5: attention under a mask, and queries with nothing to attend to. True = may attend."""

import math

import torch
from torch import Tensor

from pioneers import layers
from pioneers.checks.diagnosing import has_nan_gradient
from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run


def _masked_probes() -> list[Probe]:
    normal = normals(51)

    def probe(
        name: str, mask: Tensor, lead: tuple[int, ...], T: int, S: int, strided: bool = False, **how
    ) -> Probe:
        q, k, v = normal(*lead, T, 7, **how), normal(*lead, S, 7, **how), normal(*lead, S, 3, **how)
        return Probe(name, {"q": q, "k": k, "v": v, "mask": mask}, strided)

    scattered = torch.tensor([[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 1, 0, 1, 0]]) > 0
    empty = scattered & torch.tensor([[1], [0], [1]]).bool()
    loud = probe("a hidden key with by far the largest score", scattered, (2,), 3, 5)
    keys = loud.args["k"].clone()
    keys[:, 1] = 200 * loud.args["q"][:, 0]
    return [
        probe("a mask that is no triangle", scattered, (2,), 3, 5),
        probe(
            "one mask per sequence, shared by the heads",
            torch.stack((scattered, ~scattered))[:, None],
            (2, 3),
            3,
            5,
        ),
        loud.having(loud.name, k=keys),
        probe("a query with nothing to attend to", empty, (2,), 3, 5),
        probe("everything visible", torch.ones(3, 5).bool(), (1,), 3, 5),
        probe(
            "half precision, and a query with nothing to attend to", empty, (2,), 3, 5, dtype=torch.float16
        ),
        probe("double precision", scattered, (2,), 3, 5, dtype=torch.float64),
        probe("numbers with gaps in memory", scattered, (2,), 3, 5, strided=True),
    ]


def _future_changed(run: Run) -> tuple[Tensor, Tensor]:
    normal = normals(52)
    args = {
        "q": normal(1, 7, 5),
        "k": normal(1, 7, 5),
        "v": normal(1, 7, 3),
        "mask": layers.causal_mask(7, 7),
    }
    future = (torch.arange(7) >= 4)[:, None]
    changed = {name: args[name] + 10 * normal(1, 7, args[name].shape[-1]) * future for name in ("k", "v")}
    probe = Probe("law", args)
    return run(probe).tensor[:, :4], run(probe.having("law", **changed)).tensor[:, :4]


def _padding_changed(run: Run) -> tuple[Tensor, Tensor]:
    normal = normals(53)
    mask = layers.padding_mask(torch.tensor([3, 5]), 5).squeeze(1)
    args = {"q": normal(2, 5, 7), "k": normal(2, 5, 7), "v": normal(2, 5, 3), "mask": mask}
    padding = ~mask.mT
    changed = {name: args[name] + 50 * padding for name in ("k", "v")}
    probe = Probe("law", args)
    return run(probe).tensor, run(probe.having("law", **changed)).tensor


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])


def _renormalised(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    weights = _scores(q, k).softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True) @ v


def _filled(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor, number: float) -> Tensor:
    return _scores(q, k).masked_fill(hidden, number).softmax(-1) @ v


MASKED_MISTAKES = (
    Mistake(
        "masked after the softmax",
        "The hidden keys have already taken their share, so the weights that remain no longer sum to one.",
        lambda q, k, v, mask: (_scores(q, k).softmax(-1) * mask) @ v,
    ),
    Mistake(
        "masked after the softmax, then renormalised",
        "If a hidden key had the largest score, everything visible underflows and the division is 0/0.",
        _renormalised,
    ),
    Mistake(
        "score zero instead of -inf",
        "A score of 0 is a score like any other: exp(0) = 1. Hidden keys need -inf before the softmax.",
        lambda q, k, v, mask: (_scores(q, k) * mask).softmax(-1) @ v,
    ),
    Mistake(
        "the mask is inverted",
        "True means may attend: fill where the mask is False.",
        lambda q, k, v, mask: layers.attention_weights(q, k, mask=~mask) @ v,
    ),
    Mistake(
        "the mask is inverted",
        "True means may attend: fill where the mask is False.",
        lambda q, k, v, mask: _filled(q, k, v, mask, -math.inf),
    ),
    Mistake(
        "a row of nothing but -inf",
        "A query with nothing to attend to gives exp(-inf)/0 = NaN; its output must be zeros.",
        lambda q, k, v, mask: _filled(q, k, v, ~mask, -math.inf),
        section="sec-padding",
    ),
    Mistake(
        "a large negative number for every dtype",
        "-1e9 does not exist in half precision, and in an empty row it averages all that is hidden.",
        lambda q, k, v, mask: _filled(q, k, v, ~mask, -1e9),
        section="sec-padding",
    ),
    Mistake(
        "a large negative number in an empty row",
        "Where all scores are the same large negative number, the softmax averages all that is hidden.",
        lambda q, k, v, mask: _filled(q, k, v, ~mask, torch.finfo(q.dtype).min),
        section="sec-padding",
    ),
    Mistake(
        "the mask is added",
        "Adding a boolean mask adds 0 or 1 to the scores: hidden keys lose a factor e, not everything.",
        lambda q, k, v, mask: (_scores(q, k) + mask).softmax(-1) @ v,
    ),
    Mistake(
        "zero times infinity",
        "0 · (-inf) is NaN, so a product cannot switch -inf on and off: use masked_fill or torch.where.",
        lambda q, k, v, mask: (_scores(q, k) + (~mask).to(q.dtype) * -math.inf).softmax(-1) @ v,
    ),
    Mistake(
        "not scaled",
        "The scores are still divided by √d_k when a mask is used.",
        lambda q, k, v, mask: layers.attention_weights(q, k, mask=mask, scale=1.0) @ v,
        section="sec-scaling",
        equation="eq-scaled",
    ),
    Mistake(
        "NaN repaired at the end",
        "nan_to_num hides the NaN in the result, but the backward pass still meets it.",
        shows=has_nan_gradient,
        section="sec-padding",
    ),
)


EXERCISES = (
    Exercise(
        key="1.5",
        name="masked_attention",
        parameters=("q", "k", "v", "mask"),
        points=14,
        section="sec-causal",
        equation="eq-mask",
        reference=lambda q, k, v, mask: layers.attention_weights(q, k, mask=mask) @ v,
        probes=_masked_probes,
        mistakes=MASKED_MISTAKES,
        properties=(
            Property(
                "the past does not depend on the future",
                "A causal mask cuts every path back.",
                _future_changed,
            ),
            Property(
                "padding leaves real tokens alone",
                "What stands in hidden positions must not matter.",
                _padding_changed,
                section="sec-padding",
            ),
        ),
    ),
)
