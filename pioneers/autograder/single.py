"""One submission from its folder to its marks. What it leaves is written in one step, or not at all."""

import hashlib
import json
import os
import re
import time
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import nh3
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from pioneers.autograder.jail import AUTOGRADER, Limits
from pioneers.autograder.rebuild import rebuild
from pioneers.autograder.referee import Mark, referee, refused
from pioneers.autograder.session import Session
from pioneers.autograder.skeleton import Skeleton
from pioneers.autograder.submission import Flag, SubmissionRefused, contents, find_notebook, read
from pioneers.checks.guard import PACKAGE
from pioneers.checks.loading import exercise_files, lab_folders
from pioneers.keys import Sources

CHECK = re.compile(r'\bcheck\("([\d.]+)"')
Result = dict[str, Any]
TAGS = {"b", "blockquote", "br", "code", "details", "em", "i", "li", "ol", "p", "pre", "strong", "sub",
        "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"}  # fmt: skip
NO_TAG = re.compile(rf"<(?!/?({'|'.join(TAGS)})[\s/>])", re.IGNORECASE)  # nh3 would drop it with what follows


def grade(skeleton: Skeleton, course: Path, student: str, limits: Limits, *, trusted: bool = False) -> Result:
    """Grade what a ``student`` handed in; the result is also left in the course, as is the graded notebook.

    Args:
        skeleton: the lab.
        course: folder of the course.
        student: name of the student's folder.
        limits: of the jail.
        trusted: without a jail.
    """
    begun, peak = time.monotonic(), 0
    flags: list[Flag] = []
    try:
        path, flags = find_notebook(folder_of(course, student, skeleton.lab), skeleton.lab)
        rebuilt = rebuild(skeleton, read(contents(path)))
        session = Session(limits, trusted=trusted)
        try:
            marks = referee(skeleton, rebuilt, session)
        finally:
            session.close()
        notebook, peak, flags = rebuilt.notebook, session.peak, flags + rebuilt.flags
    except SubmissionRefused as cause:
        marks, notebook = refused(skeleton, str(cause)), unread(skeleton, str(cause))
        flags = [*flags, Flag("refused", str(cause))]
    result = as_result(student, skeleton, marks, flags)
    result |= {"digest": digest(course, student, skeleton), "seconds": time.monotonic() - begun, "peak": peak}
    leave(course, result, notebook)
    return result


def give_up(skeleton: Skeleton, course: Path, student: str, fault: str) -> Result:
    """The result of a ``student`` whose submission the grader cannot grade, for a ``fault`` of its own."""
    cause = "The grader failed on this submission; your teacher will mark it."
    marks = [replace(mark, score=None) for mark in refused(skeleton, cause)]
    result = as_result(student, skeleton, marks, [Flag("grader failed", f"{cause} {fault}")])
    result |= {"digest": digest(course, student, skeleton), "seconds": 0.0, "peak": 0}
    leave(course, result, unread(skeleton, cause))
    return result


def unread(skeleton: Skeleton, cause: str) -> NotebookNode:
    """A notebook for the formgrader where there is none to show: the lab, and the ``cause``."""
    notebook = deepcopy(skeleton.released)
    notebook.cells.insert(0, new_markdown_cell(cause))
    return notebook


def as_result(student: str, skeleton: Skeleton, marks: list[Mark], flags: list[Flag]) -> Result:
    """The marks and flags of a student as JSON keeps them."""
    plain = [flag._asdict() for flag in dict.fromkeys(flags)]
    return {
        "student": student,
        "lab": skeleton.lab,
        "marks": [mark.as_dict() for mark in marks],
        "flags": plain,
    }


def folder_of(course: Path, student: str, lab: str) -> Path:
    """Where a student's work lies."""
    return course / "submitted" / student / lab


def result_path(course: Path, student: str, lab: str) -> Path:
    """Where a student's result lies."""
    return course / "reports" / lab / "results" / f"{student}.json"


def digest(course: Path, student: str, skeleton: Skeleton) -> str:
    """A fingerprint of all that decides a mark: the submission, the lab and the checks."""
    code = "\n".join(cell.source for cell in skeleton.source.cells if cell.cell_type == "code")
    whole = hashlib.sha256(_checks(frozenset(CHECK.findall(code))).encode())
    whole.update(nbformat.writes(skeleton.source).encode())
    try:
        path, flags = find_notebook(folder_of(course, student, skeleton.lab), skeleton.lab)
        whole.update(repr(flags).encode() + path.name.encode() + contents(path))
    except SubmissionRefused as cause:
        whole.update(str(cause).encode())
    return whole.hexdigest()


@cache
def _checks(exercises: frozenset[str]) -> str:
    """The key of the grader, of the checks and of the exercises of one lab, but not of other labs."""
    labs = [lab_folders()[number] for number in sorted({key.split(".")[0] for key in exercises})]
    own = [file for lab in labs for file in exercise_files(lab)]
    beside = [*AUTOGRADER.rglob("jailed/*.py"), *own]
    return Sources(PACKAGE.parent).key(f"import {__name__}", beside=beside)


def earlier(course: Path, student: str, lab: str) -> Result | None:
    """The result of an earlier run, if there is a whole one."""
    try:
        result: Result = json.loads(result_path(course, student, lab).read_text())
    except (OSError, ValueError):
        return None
    return result


def leave(course: Path, result: Result, notebook: NotebookNode) -> None:
    """Write the graded notebook, then the result: who finds the result finds both."""
    student, lab = result["student"], result["lab"]
    graded = course / "autograded" / student / lab / f"{lab}.ipynb"
    write(graded, nbformat.writes(harmless(notebook)))
    write(result_path(course, student, lab), json.dumps(result, indent=1))


def write(path: Path, text: str) -> None:
    """Write a file in one step: it has its old contents or its new ones, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.part")
    half.write_text(text, encoding="utf-8")
    os.replace(half, path)


def harmless(notebook: NotebookNode) -> NotebookNode:
    """Take from the text cells what a browser would run: the formgrader shows them as they are."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and "<" in cell.source:
            text = NO_TAG.sub("&lt;", cell.source)
            cell.source = nh3.clean(text, tags=TAGS, attributes={}, url_schemes=set())
    return notebook
