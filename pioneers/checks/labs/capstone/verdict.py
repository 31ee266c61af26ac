"""Exercise 7.7: whether an interval bears out what a published difference says.

``low``, ``high`` and ``paper`` are (M,): the ends of our intervals, and the differences in the paper. A
result is 1 (holds), -1 (does not hold) or 0 (cannot be told).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom

Rule = Callable[[Tensor, Tensor, Tensor, float], Tensor]


def _claim(paper: Tensor, margin: float) -> Tensor:
    """1 if the first arm leads by more than the margin, -1 if the second does, 0 if they are level."""
    return (paper > margin).long() - (paper < -margin).long()


def _inside(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    level = (low >= -margin) & (high <= margin)
    return torch.where(claim == 0, level, torch.where(claim > 0, low > margin, high < -margin))


def _outside(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    apart = (low > margin) | (high < -margin)
    return torch.where(claim == 0, apart, torch.where(claim > 0, high <= margin, low >= -margin))


def _verdicts(
    claim: Callable[[Tensor, float], Tensor] = _claim, inside: Rule = _inside, outside: Rule = _outside
) -> Callable[..., Tensor]:
    """Verdicts by other rules; the defaults give the reference."""

    def verdicts(low, high, paper, margin) -> Tensor:
        said = claim(paper, margin)
        return inside(low, high, said, margin).long() - outside(low, high, said, margin).long()

    return verdicts


def _probes() -> list[Probe]:
    def probe(
        name: str, ends: list[tuple[float, float]], paper: list[float], margin=0.5, strided=False
    ) -> Probe:
        low, high = (torch.tensor(end) for end in zip(*ends, strict=True))
        return Probe(
            name, {"low": low, "high": high, "paper": torch.tensor(paper), "margin": margin}, strided
        )

    around = [
        (0.75, 2.0),
        (0.25, 0.75),
        (-0.25, 2.0),
        (0.125, 0.25),
        (-0.25, 0.25),
        (-2.0, 3.0),
        (-3.0, -1.0),
    ]
    edges = [(0.5, 1.0), (0.25, 0.5), (-0.5, 0.5), (-1.0, -0.5), (0.625, 0.75), (-0.5, -0.25)]
    return [
        probe("the paper says: the first leads", around, [1.0] * 7),
        probe("the paper says: the second leads", around, [-1.0] * 7),
        probe("the paper says: level", around, [0.25, -0.25, 0.0, 0.125, -0.125, 0.375, -0.375]),
        probe("intervals that end at the margin, the first leads", edges, [2.0] * 6),
        probe("intervals that end at the margin, the second leads", edges, [-2.0] * 6),
        probe("intervals that end at the margin, level", edges, [0.0, 0.25, -0.25, 0.125, 0.0, 0.375]),
        probe("a difference in the paper as large as the margin", [(-0.25, 0.25), (0.75, 1.0)] * 2,
              [0.5, 0.5, -0.5, -0.5]),
        probe("another margin, one interval", [(0.75, 2.0)], [1.5], margin=1.0),
        probe("a small margin", around, [1.0, -1.0, 0.25, 0.0625, -0.25, 0.0, 0.5], 0.125, strided=True),
    ]  # fmt: skip


def _mirrored(run: Run) -> tuple[Tensor, Tensor]:
    """Both arms exchanged, in the paper and here."""
    probe = _probes()[8]
    low, high, paper = (probe.args[name] for name in ("low", "high", "paper"))
    turned = probe.having("law", low=-high, high=-low, paper=-paper)
    return run(turned).tensor, run(probe).tensor


def _meets_zero(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    """Significance alone: level means that the interval holds zero."""
    level = (low <= 0) & (high >= 0)
    return torch.where(claim == 0, level, torch.where(claim > 0, low > margin, high < -margin))


def _apart_from_zero(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    apart = (low > 0) | (high < 0)
    return torch.where(claim == 0, apart, torch.where(claim > 0, high <= margin, low >= -margin))


def _by_sign_inside(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    level = (low >= -margin) & (high <= margin)
    return torch.where(claim == 0, level, torch.where(claim > 0, low > 0, high < 0))


def _by_sign_outside(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    apart = (low > margin) | (high < -margin)
    return torch.where(claim == 0, apart, torch.where(claim > 0, high < 0, low > 0))


def _not(rule: Rule) -> Rule:
    return lambda low, high, claim, margin: ~rule(low, high, claim, margin)


def _either_way(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    level = (low >= -margin) & (high <= margin)
    return torch.where(claim == 0, level, (low > margin) | (high < -margin))


def _level_against(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    level = (low >= -margin) & (high <= margin)
    return torch.where(claim == 0, (low > margin) | (high < -margin), level)


def _opposite_only(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    apart = (low > margin) | (high < -margin)
    return torch.where(claim == 0, apart, torch.where(claim > 0, high < -margin, low > margin))


def _strictly_inside(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    level = (low > -margin) & (high < margin)
    return torch.where(claim == 0, level, torch.where(claim > 0, low > margin, high < -margin))


def _not_quite_outside(low: Tensor, high: Tensor, claim: Tensor, margin: float) -> Tensor:
    apart = (low > margin) | (high < -margin)
    return torch.where(claim == 0, apart, torch.where(claim > 0, high < margin, low > -margin))


def _middle(low, high, paper, margin) -> Tensor:
    return 2 * (_claim(paper, margin) == _claim((low + high) / 2, margin)).long() - 1


def _sign(paper: Tensor, margin: float) -> Tensor:
    return paper.sign().long()


def _is_boolean(symptom: Symptom) -> bool:
    return symptom.stage == "dtype" and symptom.case.outcome.tensor.dtype == torch.bool


MISTAKES = (
    Mistake(
        "yes or no",
        "There are three answers: 1 holds, -1 does not hold, 0 cannot be told, as int64.",
        shows=_is_boolean,
    ),
    Mistake(
        "whole numbers asked for",
        "The verdicts are 1, 0 and -1 as int64: convert them at the end.",
        shows=lambda symptom: symptom.stage == "dtype",
    ),
    Mistake(
        "no verdict left open",
        "Not proven is not refuted: an interval that reaches into the claim and out of it tells nothing.",
        _verdicts(outside=_not(_inside)),
    ),
    Mistake(
        "no verdict left open",
        "Not refuted is not proven: an interval that reaches into the claim and out of it tells nothing.",
        _verdicts(inside=_not(_outside)),
    ),
    Mistake(
        "the middle of the interval decides",
        "Its width is what the seeds have to say: the whole interval must lie within the claim.",
        _middle,
    ),
    Mistake(
        "no difference seen, so there is none",
        "A wide interval holds zero too. Level is shown by an interval that lies within the margins.",
        _verdicts(inside=_meets_zero),
    ),
    Mistake(
        "no difference seen, so there is none",
        "A wide interval holds zero too. Level is shown by an interval that lies within the margins.",
        _verdicts(inside=_meets_zero, outside=_apart_from_zero),
    ),
    Mistake(
        "any difference is large enough",
        "The claim is a lead of more than the margin: zero is not the border.",
        _verdicts(inside=_by_sign_inside, outside=_by_sign_outside),
    ),
    Mistake(
        "any difference is large enough",
        "The claim is a lead of more than the margin: zero is not the border.",
        _verdicts(inside=_by_sign_inside),
    ),
    Mistake(
        "every difference in the paper is an order",
        "A lead in the paper of no more than the margin says: level.",
        _verdicts(claim=_sign),
    ),
    Mistake(
        "a lead of just the margin",
        "A lead must be larger than the margin; a difference as large as the margin is still level.",
        _verdicts(claim=lambda paper, margin: (paper >= margin).long() - (paper <= -margin).long()),
    ),
    Mistake(
        "the margin itself left out",
        "Level goes from -margin to margin, both included: an end that lies on the margin is within.",
        _verdicts(inside=_strictly_inside, outside=_not_quite_outside),
    ),
    Mistake(
        "a lead the wrong way round",
        "An order that is turned round does not hold, however clear it is.",
        _verdicts(inside=_either_way, outside=_level_against),
    ),
    Mistake(
        "level does not contradict an order",
        "An interval that lies within the margins has no lead in it: the claimed one does not hold.",
        _verdicts(outside=_opposite_only),
    ),
    Mistake(
        "holds and does not hold exchanged",
        "1 is for a claim that holds, -1 for one that does not.",
        _verdicts(inside=_outside, outside=_inside),
    ),
)

EXERCISES = (
    Exercise(
        key="7.7",
        name="verdicts",
        parameters=("low", "high", "paper", "margin"),
        points=8,
        section="sec-variations",
        equation="",
        reference=_verdicts(),
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "with the arms exchanged, here and in the paper, the verdict stays",
                "Which arm is called the first is a matter of writing.",
                _mirrored,
            ),
        ),
    ),
)
