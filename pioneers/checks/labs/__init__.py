"""The exercises of each lab, by number."""

from collections.abc import Collection
from functools import cache

from pioneers.checks.exercise import Exercise
from pioneers.checks.labs import capstone, self_attention
from pioneers.checks.loading import drafts, lab_folders

_UNCONVERTED = (capstone, self_attention)


@cache
def _exercises() -> dict[str, Exercise]:
    found = [exercise for lab in _UNCONVERTED for exercise in lab.EXERCISES]
    found += [draft.finished() for folder in lab_folders().values() for draft in drafts(folder)]
    return {exercise.key: exercise for exercise in sorted(found, key=lambda exercise: exercise.key)}


def numbers() -> list[str]:
    """Return the numbers of all exercises, in order."""
    return list(_exercises())


def others(keys: Collection[str]) -> set[str]:
    """Return the modules of the labs to which none of the exercises with these numbers belong."""
    return {lab.__name__ for lab in _UNCONVERTED if not {e.key for e in lab.EXERCISES} & set(keys)}


def find(key: str) -> Exercise:
    """Return the exercise with the number ``key``, such as ``"1.3"``.

    Raises:
        ValueError: there is none.
    """
    exercises = _exercises()
    if key not in exercises:
        raise ValueError(f"there is no exercise {key!r}; the numbers are {', '.join(exercises)}")
    return exercises[key]
