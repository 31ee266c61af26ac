"""Mistakes that show in a probe made for them."""

from collections.abc import Callable

from pioneers.checks.exercise import Symptom


def stops_at(name: str, *stages: str) -> Callable[[Symptom], bool]:
    """Whether judging stopped at the probe called ``name``, in one of these stages."""
    return lambda symptom: symptom.stage in stages and symptom.case.probe.name == name
