"""Find the mistake behind a symptom."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Law, Mistake, Outcome, Run, Symptom, is_real
from pioneers.checks.run import call
from pioneers.checks.tolerance import TOLERANCE, close

FEW = 8  # so many roundings may by chance all go the same way
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
    """Return the first mistake that explains the symptom, of the exercise's and then of the common ones."""
    for mistake in (*exercise.mistakes, *COMMON):
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


def returns_nothing(symptom: Symptom) -> bool:
    """Return whether the function ends without a return statement."""
    return symptom.case.outcome.kind == "NoneType"


def is_no_tensor(symptom: Symptom) -> bool:
    """Return whether something came back that is not a tensor."""
    return symptom.stage == "returns a tensor" and not returns_nothing(symptom)


def is_another_float(symptom: Symptom) -> bool:
    """Return whether inputs without a floating-point type gave numbers of another one than float32."""
    if symptom.stage != "dtype" or symptom.case.probe.dtype is not None:
        return False
    return is_real(symptom.case.outcome.value) and symptom.case.expected.tensor.dtype == torch.float32


def is_transposed(symptom: Symptom) -> bool:
    """Return whether the axes have the right sizes in another order."""
    if symptom.stage != "shape":
        return False
    got, want = symptom.case.outcome.tensor.shape, symptom.case.expected.tensor.shape
    return sorted(got) == sorted(want)


def is_mask_of_numbers(symptom: Symptom) -> bool:
    """Return whether a mask holds numbers where booleans are asked for."""
    return symptom.stage == "dtype" and symptom.case.expected.tensor.dtype == torch.bool


def loses_precision(symptom: Symptom) -> bool:
    """Return whether the values are right in single precision only, though the inputs are in double."""
    if symptom.stage != "value" or symptom.case.probe.dtype != torch.float64:
        return False
    return close(symptom.case.outcome.tensor, symptom.case.expected.tensor, torch.float32)


def adds_epsilon(symptom: Symptom) -> bool:
    """Return whether all results in double precision are a very little too near to zero."""
    if not loses_precision(symptom):
        return False
    got, want = symptom.case.outcome.tensor, symptom.case.expected.tensor
    return want.numel() > FEW and bool((got.abs() < want.abs()).all())


def cuts_gradient(symptom: Symptom) -> bool:
    """Return whether no gradient reaches an input that the result depends on."""
    outcome = symptom.case.outcome
    if symptom.stage != "gradient" or None not in outcome.grads.values():
        return False
    return not outcome.backward or "numpy()" in outcome.backward


def breaks_backward(symptom: Symptom) -> bool:
    """Return whether a step in place destroyed numbers that the backward pass needs."""
    return symptom.stage == "gradient" and "inplace operation" in symptom.case.outcome.backward


def has_nan_gradient(symptom: Symptom) -> bool:
    """Return whether the results are finite but a gradient has NaN."""
    grads = symptom.case.outcome.grads.values()
    return symptom.stage == "gradient" and any(g is not None and g.isnan().any() for g in grads)


def fails_on_gaps(symptom: Symptom) -> bool:
    """Return whether ``view`` fails on a tensor that is not contiguous."""
    return symptom.stage == "runs" and "view size is not compatible" in symptom.case.outcome.error


COMMON = (
    Mistake(
        "the library does the work",
        "The exercise asks for the very steps that this call hides. Its text says what you may use.",
        shows=lambda symptom: symptom.stage == "allowed calls",
    ),
    Mistake(
        "nothing returned",
        "The function ends without a return statement, so Python returns None.",
        shows=returns_nothing,
    ),
    Mistake(
        "a result that is no tensor",
        "The right numbers in a list or a tuple are not yet a tensor: torch.tensor(...) makes one of them.",
        shows=is_no_tensor,
    ),
    Mistake(
        "another type than float32",
        "The inputs are whole numbers and the result is asked for in float32: convert it at the end.",
        shows=is_another_float,
    ),
    Mistake(
        "axes in another order",
        "The axes have the right sizes in another order: a transpose is missing, or there is one too many.",
        shows=is_transposed,
    ),
    Mistake(
        "a mask of numbers",
        "A mask here is boolean, True = may attend: numbers cannot be negated with ~ or combined with &.",
        shows=is_mask_of_numbers,
    ),
    Mistake(
        "another precision comes out",
        "The result must have the dtype of the inputs, so that the next layer can take it as it is.",
        shows=lambda symptom: symptom.stage == "dtype",
    ),
    Mistake(
        "a small number added to the denominator",
        "All results are a little too small: an epsilon that the formula lacks stands in the denominator.",
        shows=adds_epsilon,
    ),
    Mistake(
        "a detour through single precision",
        "The result is right to about seven digits only: somewhere the numbers pass through float32.",
        shows=loses_precision,
    ),
    Mistake(
        "view on a tensor with gaps",
        "view needs the numbers in one block of memory; after a transpose they are not: use reshape.",
        shows=fails_on_gaps,
    ),
    Mistake(
        "the input is overwritten",
        "A step in place (x -= ..., masked_fill_, x[...] = ...) changes the caller's tensor too.",
        shows=lambda symptom: symptom.stage == "inputs unchanged",
    ),
    Mistake(
        "the gradient is cut",
        "detach, .data, .item(), .numpy() and torch.tensor(...) copy numbers out of the graph.",
        shows=cuts_gradient,
    ),
    Mistake(
        "a step in place before the backward pass",
        "A step in place (x += ..., x[...] = ..., masked_fill_) overwrites numbers that the gradient needs.",
        shows=breaks_backward,
    ),
    Mistake(
        "NaN in the gradient",
        "A NaN made on the way and replaced at the end still comes back in the backward pass: never make it.",
        shows=has_nan_gradient,
    ),
    Mistake(
        "a tensor left on the CPU",
        "A tensor made inside the function must be made where the inputs are: pass device=x.device.",
        shows=lambda symptom: symptom.stage == "device",
    ),
)
