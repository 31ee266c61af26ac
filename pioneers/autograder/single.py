"""Grade one submission, from its folder to its marks. Each file is written completely or not at all."""

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from pioneers.autograder.desk import harmless
from pioneers.autograder.jail import AUTOGRADER, Limits
from pioneers.autograder.rebuild import rebuild
from pioneers.autograder.referee import Mark, referee, refused
from pioneers.autograder.session import Session
from pioneers.autograder.skeleton import Skeleton
from pioneers.autograder.submission import Flag, SubmissionRefused, contents, find_notebook, read
from pioneers.checks.guard import PACKAGE
from pioneers.checks.loading import exercise_files, lab_folders
from pioneers.checks.variant import COMMON, Variant, using
from pioneers.keys import Sources

CHECK = re.compile(r'\bcheck\("([\d.]+)"')
Result = dict[str, Any]


@dataclass(frozen=True)
class HandedIn:
    """What a student has handed in, before anybody looks into it.

    Args:
        content: the bytes of the notebook; empty if there is none.
        flags: notes on the folder.
        refused: why there is no notebook; empty if there is one.
    """

    content: bytes
    flags: list[Flag]
    refused: str = ""

    def fingerprint(self) -> str:
        """Return a hash of all of it."""
        return hashlib.sha256(repr(self.flags).encode() + self.refused.encode() + self.content).hexdigest()


def collect(course: Path, student: str, lab: str) -> HandedIn:
    """Return what a ``student`` has handed in for a ``lab`` of the ``course``."""
    flags: list[Flag] = []
    try:
        path, flags = find_notebook(folder_of(course, student, lab), lab)
        return HandedIn(contents(path), flags)
    except SubmissionRefused as cause:
        return HandedIn(b"", flags, str(cause))


def grade(
    skeleton: Skeleton,
    course: Path,
    student: str,
    limits: Limits,
    *,
    trusted: bool = False,
    exercise: str = "",
    variant: Variant = COMMON,
) -> Result:
    """Grade the submission of a ``student``, and write the result and the graded notebook to the course.

    Args:
        skeleton: the lab.
        course: the folder of the course.
        student: the name of the student's folder.
        limits: the limits of the jail.
        trusted: whether to run without a jail.
        exercise: the only one to check again, such as ``1.4``; the others keep the marks of an earlier run,
            if there is one of the same submission.
        variant: the student's.
    """
    handed = collect(course, student, skeleton.lab)
    marks = kept(skeleton, course, student, handed, exercise, variant)
    judged, notebook = judge(skeleton, handed, limits, trusted=trusted, kept=marks, variant=variant)
    result = signed(judged, skeleton, student, handed, variant)
    leave(course, result, notebook)
    return result


def judge(
    skeleton: Skeleton,
    handed: HandedIn,
    limits: Limits,
    *,
    trusted: bool,
    kept: Mapping[str, Mark],
    variant: Variant = COMMON,
) -> tuple[Result, NotebookNode]:
    """Judge a submission, and return the result and the graded notebook; nothing is read or written.

    Args:
        skeleton: the lab.
        handed: what was handed in.
        limits: the limits of the jail.
        trusted: whether to run without a jail.
        kept: marks of an earlier run that stand, by ``grade_id``.
        variant: the student's.
    """
    begun, peak, flags = time.monotonic(), 0, handed.flags
    try:
        if handed.refused:
            raise SubmissionRefused(handed.refused)
        rebuilt = rebuild(skeleton, read(handed.content))
        session = Session(limits, trusted=trusted, public=variant.public)
        try:
            with using(variant):
                marks = referee(skeleton, rebuilt, session, kept)
        finally:
            session.close()
        notebook, peak, flags = rebuilt.notebook, session.peak, flags + rebuilt.flags
    except SubmissionRefused as cause:
        marks, notebook = refused(skeleton, str(cause)), unread(skeleton, str(cause))
        flags = [*flags, Flag("refused", str(cause))]
    return as_result(marks, flags) | {"seconds": time.monotonic() - begun, "peak": peak}, notebook


def signed(
    judged: Result, skeleton: Skeleton, student: str, handed: HandedIn, variant: Variant = COMMON
) -> Result:
    """Return a result with the name of its ``student``, the lab, and what it was made from."""
    made_from = {"digest": digest(skeleton, handed, variant), "handed_in": handed.fingerprint()}
    made_from |= {"variant": f"{variant.public:x}"} if variant.public else {}
    return {"student": student, "lab": skeleton.lab, **judged, **made_from}


def give_up(skeleton: Skeleton, course: Path, student: str, fault: str, variant: Variant = COMMON) -> Result:
    """Return and write the result of a ``student`` if the grader itself fails, because of a ``fault``."""
    cause = "The grader failed on this submission; your teacher will mark it."
    marks = [replace(mark, score=None) for mark in refused(skeleton, cause)]
    judged = as_result(marks, [Flag("grader failed", f"{cause} {fault}")]) | {"seconds": 0.0, "peak": 0}
    result = signed(judged, skeleton, student, collect(course, student, skeleton.lab), variant)
    leave(course, result, unread(skeleton, cause))
    return result


def unread(skeleton: Skeleton, cause: str) -> NotebookNode:
    """Return a notebook to show in place of an unreadable one: the lab, and the ``cause``."""
    notebook = deepcopy(skeleton.released)
    notebook.cells.insert(0, new_markdown_cell(cause))
    return notebook


def as_result(marks: list[Mark], flags: list[Flag]) -> Result:
    """Return marks and flags in the form that JSON keeps."""
    return {
        "marks": [mark.as_dict() for mark in marks],
        "flags": [flag._asdict() for flag in dict.fromkeys(flags)],
    }


def folder_of(course: Path, student: str, lab: str) -> Path:
    """Return the folder of a student's submission."""
    return course / "submitted" / student / lab


def result_path(course: Path, student: str, lab: str) -> Path:
    """Return the path of a student's result."""
    return course / "reports" / lab / "results" / f"{student}.json"


def digest(skeleton: Skeleton, handed: HandedIn, variant: Variant = COMMON) -> str:
    """Return a fingerprint of all that decides a mark: the submission, the lab, the checks, the variant."""
    whole = hashlib.sha256(sources(skeleton).encode())
    whole.update(nbformat.writes(skeleton.source).encode())
    whole.update(handed.fingerprint().encode())
    whole.update(b"" if variant == COMMON else repr(variant).encode())
    return whole.hexdigest()


def sources(skeleton: Skeleton) -> str:
    """Return a fingerprint of the grader, of the checks that a lab uses, and of their Python and torch."""
    return _checks(frozenset(exercises(skeleton)))


def exercises(skeleton: Skeleton) -> list[str]:
    """Return the numbers of the exercises that a lab checks, in its order."""
    code = "\n".join(cell.source for cell in skeleton.source.cells if cell.cell_type == "code")
    return list(dict.fromkeys(CHECK.findall(code)))


def kept(
    skeleton: Skeleton, course: Path, student: str, handed: HandedIn, exercise: str, variant: Variant = COMMON
) -> dict[str, Mark]:
    """Return the earlier marks of check cells that stand if only one ``exercise`` is checked again.

    None do if there is no such exercise, if something else was handed in since, or in another variant.
    """
    found = earlier(course, student, skeleton.lab) if exercise else None
    if found is None or found.get("handed_in") != handed.fingerprint():
        return {}
    if int(found.get("variant", "0"), 16) != variant.public:
        return {}
    marks = (Mark(**mark) for mark in found["marks"] if mark["exercise"])
    return {mark.grade_id: mark for mark in marks if not mark.exercise.startswith(f"{exercise} ")}


@cache
def _checks(exercises: frozenset[str]) -> str:
    """Return the key of the sources: the grader, the checks and the exercises of this lab alone."""
    labs = [lab_folders()[number] for number in sorted({key.split(".")[0] for key in exercises})]
    own = [file for lab in labs for file in exercise_files(lab)]
    beside = [*AUTOGRADER.rglob("jailed/*.py"), *own]
    return Sources(PACKAGE.parent).key(f"import {__name__}", beside=beside)


def earlier(course: Path, student: str, lab: str) -> Result | None:
    """Return the result of an earlier run, or None if there is no complete one."""
    try:
        result: Result = json.loads(result_path(course, student, lab).read_text())
    except (OSError, ValueError):
        return None
    return result


def leave(course: Path, result: Result, notebook: NotebookNode) -> None:
    """Write the graded notebook and then the result, so that a result always has its notebook."""
    student, lab = result["student"], result["lab"]
    graded = course / "autograded" / student / lab / f"{lab}.ipynb"
    write(graded, nbformat.writes(harmless(notebook)))
    write(result_path(course, student, lab), json.dumps(result, indent=1))


def write(path: Path, text: str) -> None:
    """Write a file atomically: it has either its old contents or its new ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.part")
    half.write_text(text, encoding="utf-8")
    os.replace(half, path)
