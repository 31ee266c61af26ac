"""Takes the place of ``pioneers.checks`` in the jail: the names of a lab, without references and probes."""

from typing import Any

from pioneers.checks.exercise import Probe

__all__ = ["Probe", "check"]


def check(key: str, answer: Any = None, *, probes: Any = None) -> None:
    """Say that the real check of exercise ``key`` is made elsewhere.

    Args:
        key: the exercise.
        answer: not looked at here.
        probes: not looked at here.
    """
    print(f"{key}: checked by the grader")
