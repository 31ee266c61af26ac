"""The exercises of each lab, by number."""

from pioneers.checks.exercise import Exercise
from pioneers.checks.labs import bert, capstone, gpt, positions_block, self_attention, translation, vit

_LABS = (self_attention, positions_block, translation, gpt, bert, vit, capstone)
_EXERCISES = {exercise.key: exercise for lab in _LABS for exercise in lab.EXERCISES}


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
