"""Draw a probe again where rounding or a tie alone might cost a right answer its points.

The numbers that everybody gets are tested with every right answer we have; those of a variant never were.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from pioneers.checks.answers import Right
from pioneers.checks.edits import define
from pioneers.checks.exercise import Case, Exercise, Probe, is_real
from pioneers.checks.judge import case_of, expected
from pioneers.checks.run import call
from pioneers.checks.tolerance import close
from pioneers.checks.variant import current, redrawn, using

DRAWS = 10  # at most; the last one counts in any case
SHARE = {torch.float16: 0.7, torch.bfloat16: 0.7}  # of what is allowed, for the reference
OTHERWISE = 0.1
LARGE = 300
HAIR, OF_DOUBLE = 1e-12, 2e-16  # of a number, by which it is moved


def first_steady(exercise: Exercise, rights: list[Right], make: Callable[[], Probe]) -> Probe:
    """Return the first probe that ``make`` makes; in a variant, the first that is steady."""
    probe, last = make(), ""
    number = 0
    while current().public and number < DRAWS and last != (last := repr(probe)):
        if is_steady(exercise, probe, rights):
            break
        number += 1
        with using(redrawn(number)):
            probe = make()
    return probe


def is_steady(exercise: Exercise, probe: Probe, rights: Sequence[Right] = ()) -> bool:
    """Return whether rounding and ties leave the result of the reference where it is.

    It is computed in the type of the probe, and exactly from inputs that are moved by a hair. Where numbers
    are large, a small one beside them has few right digits: there the other right answers are tried too.
    """
    exact, share = expected(exercise, probe), SHARE.get(probe.dtype or torch.float32, OTHERWISE)
    tried = [call(exercise.reference, probe)]
    tried += [expected(exercise, _moved(probe, way)) for way in (1, -1)] if probe.dtype else []
    if not all(agrees(case_of(exercise, probe, outcome, exact), share) for outcome in tried):
        return False
    numbers = [x for x in (exact.tensor, *exact.grads.values()) if x is not None and x.numel()]
    large = any(bool(x.double().abs().max() > LARGE) for x in numbers)
    others = _functions(exercise.key, *(right.source for right in rights)) if large else ()
    return all(agrees(case_of(exercise, probe, call(answer, probe), exact), 0.7) for answer in others)


@cache
def _functions(key: str, *sources: str) -> list[Callable[..., Any]]:
    return [define(key, source) for source in sources]


def agrees(case: Case, share: float) -> bool:
    """Return whether two outcomes differ by at most this share of what is allowed."""
    got, want, dtype = case.outcome, case.expected, case.probe.dtype
    if got.value is None or got.value.shape != want.tensor.shape:
        return False
    grads = [(got.grads.get(name), grad) for name, grad in want.grads.items()]
    both = [(x, y) for x, y in grads if x is not None and y is not None]
    return close(got.value, want.tensor, dtype, share) and all(
        close(*pair, dtype, 10 * share) for pair in both
    )


def _moved(probe: Probe, way: int) -> Probe:
    """Return the probe in double precision with all its fractions moved, each by another hair."""
    size = way * (OF_DOUBLE if probe.dtype == torch.float64 else HAIR)

    def moved(x: Any) -> Any:
        if not is_real(x):
            return x
        hairs = torch.arange(x.numel(), dtype=torch.float64).add(1).cos().reshape(x.shape)
        return x.double() * (1 + size * hairs)

    return replace(probe, args={name: moved(x) for name, x in probe.args.items()})
