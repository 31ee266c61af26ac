"""Enter marks in nbgrader's gradebook. Marks that a teacher made by hand are never changed."""

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry  # type: ignore[import-untyped]
from nbgrader.utils import parse_utc  # type: ignore[import-untyped]
from sqlalchemy.exc import SAWarning

from pioneers.autograder.single import Result, folder_of, write
from pioneers.autograder.submission import SubmissionRefused, contents

GradebookView = dict[str, dict[str, dict[str, Any]]]
"""Score, points and comment of each cell of each student, and whether it waits or was marked by hand."""


def open_gradebook(course: Path) -> Any:
    """Open the gradebook of a ``course``, for use in a ``with`` statement."""
    return Gradebook(f"sqlite:///{course / 'gradebook.db'}")


def check_gradebook(course: Path, lab: str) -> None:
    """Check that the gradebook of the ``course`` has the ``lab``.

    Raises:
        ValueError: there is no gradebook, or the lab is not in it.
    """
    if not (course / "gradebook.db").is_file():
        raise ValueError(f"{course} has no gradebook.db; run there: nbgrader generate_assignment {lab}")
    with open_gradebook(course) as book:
        try:
            book.find_assignment(lab)
        except MissingEntry:
            raise ValueError(
                f"{lab} is not in the gradebook; run in {course}: nbgrader generate_assignment {lab}"
            ) from None


def record(course: Path, lab: str, results: Iterable[Result]) -> None:
    """Enter the ``results`` of a ``lab`` in the gradebook; entering them again changes nothing."""
    path = course / "reports" / lab / "recorded.json"
    recorded = json.loads(path.read_text()) if path.exists() else {}
    with open_gradebook(course) as book, warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # nbgrader reads rows before they are stored
        for result in results:
            student = result["student"]
            _enter(book, course, result, changed=recorded.get(student) != result["digest"])
            recorded[student] = result["digest"]
    write(path, json.dumps(recorded, indent=1))


def _enter(book: Any, course: Path, result: Result, *, changed: bool) -> None:
    """Enter one result, in one transaction."""
    student, lab = result["student"], result["lab"]
    book.update_or_create_student(student)
    book.update_or_create_submission(lab, student, timestamp=_timestamp(folder_of(course, student, lab)))
    for mark in result["marks"]:
        grade = book.find_grade(mark["grade_id"], lab, lab, student)
        waits = mark["score"] is None and grade.manual_score is None
        by_hand = grade.manual_score is not None
        if changed or grade.auto_score != mark["score"]:
            # A mark made by hand stays, and is shown to the teacher again.
            grade.needs_manual_grade = waits or by_hand
        grade.auto_score = mark["score"]
        try:
            comment = book.find_comment(mark["grade_id"], lab, lab, student)
        except MissingEntry:
            continue
        comment.auto_comment = "No response." if mark["cause"] and not waits else None
    book.db.commit()


def _timestamp(folder: Path) -> Any:
    """Return the time of submission, or None if no readable file says it."""
    try:
        return parse_utc(contents(folder / "timestamp.txt").decode().strip() or None)
    except (SubmissionRefused, ValueError, TypeError, OverflowError):
        return None


def gradebook_view(course: Path, lab: str) -> GradebookView:
    """Return what the gradebook of a ``course`` holds for a ``lab``, by student and cell."""
    with open_gradebook(course) as book:
        return {
            submission.student.id: {
                grade.name: {
                    "score": grade.score,
                    "points": grade.max_score,
                    "waits": grade.needs_manual_grade,
                    "by_hand": grade.manual_score is not None,
                    "comment": _comment(notebook, grade.name),
                }
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            for submission in book.assignment_submissions(lab)
        }


def _comment(notebook: Any, name: str) -> str:
    return next((c.manual_comment or "" for c in notebook.comments if c.name == name), "")
