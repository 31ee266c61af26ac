"""Find the folders of the labs and read their exercises."""

from dataclasses import replace
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from pioneers.checks.building import Draft
from pioneers.checks.exercise import Exercise
from pioneers.checks.inheriting import inherited
from pioneers.checks.slips import near, slips
from pioneers.checks.variant import COMMON, using


def labs_folder() -> Path:
    """Return the folder of the labs: ``pioneers_labs`` beside an installed package, or ``labs``."""
    beside = Path(__file__).parents[2]
    installed = beside / "pioneers_labs"
    return installed if installed.is_dir() else beside / "labs"


def lab_folders() -> dict[str, Path]:
    """Return the folder of each lab by its number: ``{"5": .../05_bert}``."""
    return {str(int(folder.name[:2])): folder for folder in sorted(labs_folder().glob("[0-9][0-9]_*"))}


def exercise_files(folder: Path) -> list[Path]:
    """Return the files of the exercises in the ``folder`` of a lab, one for each."""
    return sorted(folder.glob("*.py"))


@cache
def drafts(folder: Path) -> tuple[Draft, ...]:
    """Read the exercises in the ``folder`` of a lab, one file each, in the order of their numbers."""
    return tuple(sorted(map(_draft, exercise_files(folder)), key=lambda draft: int(draft.key.split(".")[1])))


def _draft(file: Path) -> Draft:
    spec = spec_from_file_location(f"pioneers_labs.{file.parent.name}.{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = module_from_spec(spec)
    with using(COMMON):  # it is read once, for all variants
        spec.loader.exec_module(module)
    draft: Draft = module.ex
    return draft


def numbered(key: str) -> Draft | None:
    """Return the exercise with the number ``key`` as it is written; None if there is none."""
    folder = lab_folders().get(key.split(".")[0])
    return next((draft for draft in drafts(folder) if draft.key == key), None) if folder else None


def numbers() -> list[str]:
    """Return the numbers of all exercises, in order."""
    return [draft.key for folder in lab_folders().values() for draft in drafts(folder)]


@cache
def find(key: str) -> Exercise:
    """Return the exercise with the number ``key``, such as ``"1.3"``.

    Only its own lab is read, and the labs of the exercises that it builds on.

    Raises:
        ValueError: there is none.
    """
    draft = numbered(key)
    if draft is None:
        raise ValueError(f"there is no exercise {key!r}; the numbers are {', '.join(numbers())}")
    earlier = {step: made for steps, _ in draft.links for step in steps if (made := numbered(step))}
    return replace(
        draft.finished(),
        mistakes=(*draft.mistakes, *inherited(draft, earlier)),
        slips=tuple(slips(draft)),
        near=partial(near, draft),
    )
