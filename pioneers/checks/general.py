"""What can be said of a failure that no mistake explains: the symptom itself."""

from pioneers.checks.common import has_another_number_of_axes
from pioneers.checks.exercise import Case, Mistake, Symptom, is_real
from pioneers.checks.symptoms import is_right


def is_of_another_length(symptom: Symptom) -> bool:
    """Return whether the result has the right number of axes, with other sizes."""
    return symptom.stage == "shape" and not has_another_number_of_axes(symptom)


def is_one_off(symptom: Symptom) -> bool:
    """Return whether whole numbers are wrong by one, all that are wrong in the same direction."""
    if symptom.stage != "value" or is_real(symptom.case.expected.value):
        return False
    gaps = symptom.case.outcome.tensor.long() - symptom.case.expected.tensor.long()
    return gaps.unique().tolist() in ([-1], [-1, 0], [0, 1], [1])


def is_right_in_most_cases(symptom: Symptom) -> bool:
    """Return whether values are right for more than half of the probes."""
    if symptom.stage not in ("runs", "shape", "finite", "value"):
        return False
    right = sum(_has_right_shape(case) and is_right(case) for case in symptom.cases)
    return right > len(symptom.cases) / 2


def _has_right_shape(case: Case) -> bool:
    got, want = case.outcome.value, case.expected.value
    return got is not None and want is not None and got.shape == want.shape


def bends_gradient(symptom: Symptom) -> bool:
    """Return whether a gradient comes back and is another one."""
    return symptom.stage == "gradient" and not symptom.case.outcome.backward


GENERAL = (
    Mistake(
        "one too many or too few",
        "All wrong numbers are off by one: something is counted from 1, or the end is counted or left out.",
        shows=is_one_off,
    ),
    Mistake(
        "right in most cases, not in this one",
        "The other probes come out right: look at what is special about the inputs of this one.",
        shows=is_right_in_most_cases,
    ),
    Mistake(
        "infinity or NaN on the way",
        "exp overflows above 88, log 0 is -inf, and inf - inf, 0 · inf and 0/0 are NaN: print each step.",
        shows=lambda symptom: symptom.stage == "finite",
    ),
    Mistake(
        "an axis of another length",
        "There are as many axes as there should be, but one has another length: print each step's shape.",
        shows=is_of_another_length,
    ),
    Mistake(
        "right values with another gradient",
        "Something that the result depends on is left out of the gradient, by detach, no_grad or rounding.",
        shows=bends_gradient,
    ),
)
