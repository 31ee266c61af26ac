"""The exercises of each lab, by number."""

from pioneers.checks.exercise import Exercise
from pioneers.checks.labs import capstone, gpt, self_attention, translation, vit
from pioneers.checks.loading import drafts, lab_folders

_UNCONVERTED = (self_attention, translation, gpt, vit, capstone)
_FOUND = [exercise for lab in _UNCONVERTED for exercise in lab.EXERCISES]
_FOUND += [draft.finished() for folder in lab_folders().values() for draft in drafts(folder)]
_EXERCISES = {exercise.key: exercise for exercise in sorted(_FOUND, key=lambda exercise: exercise.key)}


def numbers() -> list[str]:
    """The numbers of all exercises, in order."""
    return list(_EXERCISES)


def find(key: str) -> Exercise:
    """The exercise with the number ``key``, such as ``"1.3"``.

    Raises:
        ValueError: there is none.
    """
    if key not in _EXERCISES:
        raise ValueError(f"there is no exercise {key!r}; the numbers are {', '.join(_EXERCISES)}")
    return _EXERCISES[key]
