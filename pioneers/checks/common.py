"""Mistakes that may be made in any exercise, known by their symptoms."""

import torch

from pioneers.checks.errors import ERRORS, raises
from pioneers.checks.exercise import Mistake, Symptom, is_real
from pioneers.checks.tolerance import close

FEW = 8  # so many roundings may by chance all go the same way


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


def has_another_number_of_axes(symptom: Symptom) -> bool:
    """Return whether the result has more or fewer axes than it should."""
    got, want = symptom.case.outcome.value, symptom.case.expected.value
    return symptom.stage == "shape" and got is not None and want is not None and got.dim() != want.dim()


def is_shuffled(symptom: Symptom) -> bool:
    """Return whether the right numbers are in other places."""
    if symptom.stage != "value":
        return False
    got, want = symptom.case.outcome.tensor.flatten(), symptom.case.expected.tensor.flatten()
    several = len(want.unique()) > 2
    return several and close(got.sort().values, want.sort().values, symptom.case.probe.dtype)


def has_the_wrong_sign(symptom: Symptom) -> bool:
    """Return whether all numbers have the opposite sign."""
    if symptom.stage != "value" or not is_real(symptom.case.expected.value):
        return False
    return close(-symptom.case.outcome.tensor, symptom.case.expected.tensor, symptom.case.probe.dtype)


def is_off_by_a_factor(symptom: Symptom) -> bool:
    """Return whether all of several numbers are wrong by one and the same factor."""
    if symptom.stage != "value" or not is_real(symptom.case.expected.value):
        return False
    got, want = symptom.case.outcome.tensor.double(), symptom.case.expected.tensor.double()
    largest = want.abs().argmax()
    factor = got.flatten()[largest] / want.flatten()[largest]
    several = want.numel() > 2 and bool(factor)
    return several and close((got / factor).to(want.dtype), want, symptom.case.probe.dtype, slack=10)


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
        "All results are a little too small: the denominator has an epsilon that is not in the formula.",
        shows=adds_epsilon,
    ),
    Mistake(
        "a detour through single precision",
        "The result is right to about seven digits only: somewhere the numbers pass through float32.",
        shows=loses_precision,
    ),
    Mistake(
        "the input is overwritten",
        "A step in place (x -= ..., masked_fill_, x[...] = ...) changes the caller's tensor too.",
        shows=lambda symptom: symptom.stage == "inputs unchanged" or raises("in-place operation")(symptom),
    ),
    Mistake(
        "the gradient is cut",
        "detach, .data, .item(), .numpy() and torch.tensor(...) copy numbers out of the graph.",
        shows=lambda symptom: cuts_gradient(symptom) or raises("numpy() on Tensor")(symptom),
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
    Mistake(
        "an axis too many or too few",
        "Write the shape behind each step: an axis was not summed over, or was summed over too early.",
        shows=has_another_number_of_axes,
    ),
    Mistake(
        "the sign is wrong",
        "All numbers are right but for their sign.",
        shows=has_the_wrong_sign,
    ),
    Mistake(
        "off by one factor",
        "All numbers are wrong by the same factor: a division is missing or made twice, or a sum is a mean.",
        shows=is_off_by_a_factor,
    ),
    Mistake(
        "the right numbers in the wrong places",
        "The numbers themselves are right: axes, rows or places are exchanged somewhere on the way.",
        shows=is_shuffled,
    ),
    *ERRORS,
)
