"""A stand-in for ``pioneers.checks`` in the jail: the names that labs import, without the exercises."""

from typing import Any

from pioneers.checks.exercise import Probe

__all__ = ["Probe", "check"]


def check(key: str, answer: Any = None, *, probes: Any = None) -> None:
    """Say that the real check of exercise ``key`` is made elsewhere.

    Args:
        key: the number of the exercise.
        answer: ignored.
        probes: ignored.
    """
    print(f"{key}: checked by the grader")
