"""Exercise 3.6: the learning rate of the paper. Updates are whole numbers from 1 on, the result float32."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.translation.symptoms import NO_TENSOR, NOT_FLOAT32
from pioneers.optim import inverse_sqrt


def learning_rate(updates: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """The reference of 3.6: the peak times the factor of ``pioneers.optim``."""
    peak = (d_model * warmup_steps) ** -0.5
    return torch.tensor([peak * inverse_sqrt(s - 1, warmup_steps=warmup_steps) for s in updates.tolist()])


def _written(
    rise: Callable[[Tensor, int], Tensor] = lambda s, w: s * w**-1.5,
    fall: Callable[[Tensor, int], Tensor] = lambda s, w: s**-0.5,
    scale: Callable[[int], float] = lambda D: D**-0.5,
    choose: Callable[[Tensor, Tensor], Tensor] = torch.minimum,
    first: int = 1,
) -> Callable[[Tensor, int, int], Tensor]:
    """The formula, with another rise, fall, factor or choice, or with updates counted from 0."""

    def answer(updates: Tensor, d_model: int, warmup_steps: int) -> Tensor:
        s = updates.double() + 1 - first
        return (scale(d_model) * choose(rise(s, warmup_steps), fall(s, warmup_steps))).float()

    return answer


def _probes() -> list[Probe]:
    def probe(name: str, updates: list[int], d_model: int, warmup_steps: int) -> Probe:
        args = {"updates": torch.tensor(updates), "d_model": d_model, "warmup_steps": warmup_steps}
        return Probe(name, args)

    return [
        probe("the base model, on both sides of its peak", [1, 400, 3999, 4000, 4001, 100_000], 512, 4000),
        probe("in no order, an update twice", [13, 2, 13, 29, 1], 7, 11),
        probe("a single update", [5], 3, 17),
        probe("a warm-up of one update", [1, 2, 3], 11, 1),
    ]


def _peak(run: Run) -> tuple[Tensor, Tensor]:
    rates = run(Probe("law", {"updates": torch.arange(1, 60), "d_model": 5, "warmup_steps": 23})).tensor
    return rates.argmax(), torch.tensor(22)


def _one_tail(run: Run) -> tuple[Tensor, Tensor]:
    probe = Probe("law", {"updates": torch.arange(41, 53), "d_model": 5, "warmup_steps": 23})
    return run(probe).tensor, run(probe.having("law", warmup_steps=7)).tensor


SLOPE = (
    "the wrong slope",
    "The line must meet the curve at s = w, where s · w^(-3/2) is w^(-1/2).",
)
MISTAKES = (
    NO_TENSOR,
    NOT_FLOAT32,
    Mistake(
        "the larger of the two",
        "The smaller of the two: the line before the peak, the curve after it.",
        _written(choose=torch.maximum),
    ),
    Mistake(
        "no warm-up",
        "This is the decay alone, largest at the first update, when gradients mean least.",
        _written(choose=lambda rise, fall: fall),
    ),
    Mistake(
        "no decay",
        "Behind the peak at s = w the rate falls like the inverse square root of s.",
        _written(fall=lambda s, w: torch.full_like(s, w**-0.5)),
    ),
    Mistake(
        "no decay",
        "The line rises for ever: behind the peak at s = w the rate falls like the inverse square root of s.",
        _written(choose=lambda rise, fall: rise),
    ),
    Mistake(
        "updates counted from 0",
        "The updates given here are 1, 2, 3, … already, as in the paper: nothing is to be added.",
        _written(first=0),
    ),
    Mistake(
        "multiplied by the root of the width",
        "A wider model takes shorter steps: the factor is D^(-1/2).",
        _written(scale=lambda D: D**0.5),
    ),
    Mistake(
        "the width is ignored",
        "The factor D^(-1/2) is missing: a wider model takes shorter steps.",
        _written(scale=lambda D: 1.0),
    ),
    Mistake(
        "the peak is 1",
        "This is the factor on a peak of one's own choice; the paper's own peak is (D w)^(-1/2).",
        _written(scale=lambda D: 1.0, rise=lambda s, w: s / w, fall=lambda s, w: (w / s) ** 0.5),
        equation="eq-noam-peak",
    ),
    Mistake(*SLOPE, _written(rise=lambda s, w: s / w)),
    Mistake(*SLOPE, _written(rise=lambda s, w: s * w**-0.5)),
)

EXERCISES = (
    Exercise(
        key="3.6",
        name="learning_rate",
        parameters=("updates", "d_model", "warmup_steps"),
        points=6,
        section="sec-warmup",
        equation="eq-noam",
        reference=learning_rate,
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "the peak is at s = w", "There the line meets the curve.", _peak, equation="eq-noam-peak"
            ),
            Property(
                "behind the peak the warm-up is forgotten",
                "The decay does not depend on w: all curves end as one.",
                _one_tail,
            ),
        ),
    ),
)
