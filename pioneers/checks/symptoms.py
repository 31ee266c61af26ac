"""Predicates on symptoms by which exercises of several labs recognise a mistake."""

from collections.abc import Callable

import torch

from pioneers.checks.exercise import Case, Symptom
from pioneers.checks.tolerance import close


def wrong_only_where(chosen: Callable[[Case], bool]) -> Callable[[Symptom], bool]:
    """Make a predicate: values are wrong in a ``chosen`` case, and right in every other.

    Args:
        chosen: whether the mistake may show in this case.
    """

    def shows(symptom: Symptom) -> bool:
        if symptom.stage not in ("finite", "value") or not chosen(symptom.case):
            return False
        return all(is_right(case) for case in symptom.cases if not chosen(case))

    return shows


def wrong_on(name: str) -> Callable[[Symptom], bool]:
    """Make a predicate: values are wrong for the probe called ``name``, else in half precision at most.

    Args:
        name: the name of the probe.
    """
    only = wrong_only_where(lambda case: case.probe.name == name or _is_half(case))
    return lambda symptom: (
        only(symptom) and not all(is_right(case) for case in symptom.cases if case.probe.name == name)
    )


def wrong_only_in_half_precision(symptom: Symptom) -> bool:
    """Return whether values are wrong in half precision, and right in any other.

    Args:
        symptom: the point at which judging stopped.
    """
    return wrong_only_where(_is_half)(symptom)


def bends_the_gradient(symptom: Symptom) -> bool:
    """Return whether a gradient reaches every input, but a wrong one.

    Args:
        symptom: the point at which judging stopped.
    """
    grads = symptom.case.outcome.grads.values()
    return symptom.stage == "gradient" and all(g is not None and not g.isnan().any() for g in grads)


def breaks(law: str) -> Callable[[Symptom], bool]:
    """Make a predicate: judging stopped at this ``law``."""
    return lambda symptom: symptom.law is not None and symptom.law.name == law


def _is_half(case: Case) -> bool:
    return case.probe.dtype in (torch.float16, torch.bfloat16)


def is_right(case: Case) -> bool:
    """Return whether the values of a case are right.

    Args:
        case: one whose call returned a tensor.
    """
    return close(case.outcome.tensor, case.expected.tensor, case.probe.dtype)
