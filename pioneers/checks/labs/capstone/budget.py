"""Exercise 7.1: how many steps each arm may train for within one budget of operations. Whole numbers."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom

FORWARD_AND_BACKWARD, OPERATIONS = 3, 2


def _per_step(multiply_adds: Tensor, batch_sizes: Tensor) -> Tensor:
    return FORWARD_AND_BACKWARD * OPERATIONS * multiply_adds * batch_sizes


def _steps(
    per_step: Callable[[Tensor, Tensor], Tensor] = _per_step,
    divide: Callable[[int, Tensor], Tensor] = lambda budget, cost: budget // cost,
) -> Callable[[int, Tensor, Tensor], Tensor]:
    """Steps by another cost or another division; the defaults give the reference."""
    return lambda budget, multiply_adds, batch_sizes: divide(budget, per_step(multiply_adds, batch_sizes))


def _times(factor: int) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda multiply_adds, batch_sizes: factor * multiply_adds * batch_sizes


def _probes() -> list[Probe]:
    def probe(name: str, budget: int, multiply_adds: list[int], batch_sizes: list[int]) -> Probe:
        sizes = {"multiply_adds": torch.tensor(multiply_adds), "batch_sizes": torch.tensor(batch_sizes)}
        return Probe(name, {"budget": budget, **sizes})

    return [
        probe("three arms", 10_000, [7, 11, 13], [5, 3, 2]),
        probe("one arm", 1_000, [17], [3]),
        probe("a budget that is used up to the last operation", 6 * 7 * 11 * 13, [7, 77], [11, 13]),
        probe("an arm too dear for a single step", 100, [3, 19], [5, 1]),
        probe("a large budget, ViT-B and ViT-L", 10**18 - 1, [17_563_828_224, 61_554_712_576], [4096, 512]),
        probe("more operations than a float counts", 6 * 10**17 - 1, [1], [1]),
    ]


def _is_fraction(symptom: Symptom) -> bool:
    return symptom.stage == "dtype" and symptom.case.outcome.tensor.is_floating_point()


def _is_rounded(symptom: Symptom) -> bool:
    """Right to the sixteen digits of a float, and not beyond."""
    pairs = ((case.outcome.tensor.double(), case.expected.tensor.double()) for case in symptom.cases)
    return symptom.stage == "value" and all(torch.allclose(*pair, rtol=1e-6, atol=0) for pair in pairs)


def _twice_the_budget(run: Run) -> tuple[Tensor, Tensor]:
    """Twice the batch for half the operations is the same number of steps."""
    probe = _probes()[0]
    twice = probe.having("law", budget=20_000, batch_sizes=2 * probe.args["batch_sizes"])
    return run(twice).tensor, run(probe).tensor


def _rounded_up(budget: int, cost: Tensor) -> Tensor:
    return -(-budget // cost)


def _one_number_for_all(budget: int, cost: Tensor) -> Tensor:
    return (budget // cost).min().expand_as(cost)


def _shared(budget: int, cost: Tensor) -> Tensor:
    return budget // (len(cost) * cost)


MISTAKES = (
    Mistake(
        "steps that are no whole number",
        "Nobody makes a part of a step: divide with //, and the result is int64.",
        shows=_is_fraction,
    ),
    Mistake(
        "whole numbers taken through floats",
        "A float has sixteen digits at most: // on whole numbers loses none.",
        shows=_is_rounded,
    ),
    Mistake(
        "the forward pass only",
        "Training also goes backward, which costs about two more forward passes: three in all.",
        _steps(_times(2)),
    ),
    Mistake(
        "the backward pass counted once",
        "It multiplies twice for each product: by the weights, and by the inputs.",
        _steps(_times(4)),
    ),
    Mistake(
        "multiply-adds taken for operations",
        "A multiply-add is two operations, a product and a sum; the budget counts operations.",
        _steps(_times(3)),
        section="sec-vit-patch-size",
    ),
    Mistake(
        "one image in each step",
        "A step reads a whole batch, and an arm with larger batches may make fewer steps.",
        _steps(lambda multiply_adds, batch_sizes: 6 * multiply_adds),
    ),
    Mistake(
        "the same images, not the same operations",
        "Equal images favour the arm whose model is larger: the price of an image is multiply_adds.",
        _steps(lambda multiply_adds, batch_sizes: 6 * multiply_adds.max() * batch_sizes),
    ),
    Mistake(
        "more than the budget",
        "The last step must still be paid for: round down, also from 9.9.",
        _steps(divide=_rounded_up),
    ),
    Mistake(
        "more than the budget",
        "The last step must still be paid for: round down, also from 9.9.",
        _steps(divide=lambda budget, cost: (budget + cost // 2) // cost),
    ),
    Mistake(
        "the same number of steps for every arm",
        "Steps of different arms cost differently: the dear ones may make fewer of them.",
        _steps(divide=_one_number_for_all),
    ),
    Mistake(
        "the budget divided among the arms",
        "Each arm has the whole budget for itself.",
        _steps(divide=_shared),
    ),
)

EXERCISES = (
    Exercise(
        key="7.1",
        name="equal_steps",
        parameters=("budget", "multiply_adds", "batch_sizes"),
        points=6,
        section="sec-vit-data",
        equation="",
        reference=_steps(),
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "twice the budget pays for twice the batch",
                "A step of twice the batch costs twice as much.",
                _twice_the_budget,
            ),
        ),
    ),
)
