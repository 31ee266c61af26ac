"""Find the mistake behind a symptom."""

from dataclasses import dataclass
from itertools import chain

from torch import Tensor

from pioneers.checks.common import COMMON
from pioneers.checks.exercise import Exercise, Law, Mistake, Outcome, Run, Symptom, is_real
from pioneers.checks.general import GENERAL
from pioneers.checks.run import call
from pioneers.checks.tolerance import TOLERANCE, close

TOLD_BY_RESULTS = ("runs", "shape", "dtype", "finite", "value", "gradient", "law")


@dataclass(frozen=True)
class Diagnosis:
    """The mistake behind a failure.

    Args:
        name: the name of the mistake.
        why: the reason why it is one.
        section: the anchor of the lecture section to reread.
        equation: the label of the equation to reread.
        origin: the number of the earlier exercise that the mistake comes from, if it is not this one's.
    """

    name: str
    why: str
    section: str
    equation: str
    origin: str = ""


def diagnose(exercise: Exercise, symptom: Symptom) -> Diagnosis | None:
    """Return the first mistake that explains the symptom, the more specific first."""
    for mistake in chain(exercise.mistakes, exercise.slips, COMMON, exercise.near(), GENERAL):
        if mistake.shows(symptom) if mistake.shows else _is_twin(mistake, symptom):
            section, equation = mistake.section or exercise.section, mistake.equation or exercise.equation
            return Diagnosis(mistake.name, mistake.why, section, equation, mistake.origin)
    return None


def _is_twin(mistake: Mistake, symptom: Symptom) -> bool:
    """Return whether the answer gave the results of a function with this mistake on every probe."""
    twin = mistake.twin
    if twin is None or symptom.stage not in TOLD_BY_RESULTS:
        return False
    if symptom.law:
        return _breaks_alike(symptom.law, symptom.sides, lambda probe: call(twin, probe))
    both = ((case.outcome, call(twin, case.probe)) for case in symptom.cases)
    alike = {"gradient": _same_gradients, "dtype": _same_dtype}.get(symptom.stage, lambda *pair: True)
    return all(_same(*pair) and alike(*pair) for pair in both)


def _breaks_alike(law: Law, sides: tuple[Tensor, ...], run: Run) -> bool:
    """Return whether the two ``sides`` of a law are those of the function behind ``run``."""
    try:
        theirs = law.sides(run)
    except (ValueError, RuntimeError):  # a function with a mistake may fail where the answer does not
        return False
    return bool(sides) and all(
        a.shape == b.shape and close(a, b, a.dtype) for a, b in zip(sides, theirs, strict=True)
    )


def _same_gradients(got: Outcome, twin: Outcome) -> bool:
    pairs = [(got.grads.get(name), grad) for name, grad in twin.grads.items()]
    return all(a is b if a is None or b is None else close(a, b, a.dtype, slack=10) for a, b in pairs)


def _same_dtype(got: Outcome, twin: Outcome) -> bool:
    return got.value is None or got.tensor.dtype == twin.tensor.dtype


def _same(got: Outcome, twin: Outcome) -> bool:
    if got.value is None or twin.value is None:
        return bool(got.error) and got.error == twin.error
    if got.value.dtype != twin.value.dtype and not (is_real(got.value) and is_real(twin.value)):
        return False
    coarsest = max((x.dtype for x in (got.value, twin.value)), key=lambda dtype: TOLERANCE.get(dtype, 0))
    return got.value.shape == twin.value.shape and close(got.value, twin.value, coarsest)
