"""Tables for an LMS, for the teacher, and of what a regrade has changed."""

import csv
import io
from collections.abc import Mapping, Sequence
from statistics import StatisticsError, correlation, mean
from typing import Any

from pioneers.autograder.record import GradebookView
from pioneers.autograder.single import Result


def canvas(lab: str, view: GradebookView) -> str:
    """Return the marks in ``view`` as a table for Canvas, with one column named after the ``lab``."""
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", lab]
    possible = ["    Points Possible", "", "", "", "", _points(view)]
    rows = [[_text(name), "", "", _text(name), "", _score(cells)] for name, cells in view.items()]
    return _table([head, possible, *rows])


def moodle(lab: str, view: GradebookView) -> str:
    """Return the marks in ``view`` as a table for Moodle, with columns for the user name and the ``lab``."""
    rows = [[_text(name), _score(cells)] for name, cells in view.items()]
    return _table([["username", lab], *rows])


def blackboard(lab: str, view: GradebookView) -> str:
    """Return the marks in ``view`` as a table for Blackboard, with user names and the ``lab``."""
    rows = [[_text(name), _score(cells)] for name, cells in view.items()]
    return _table([["Username", f"{lab} [Total Pts: {_points(view)} Score]"], *rows])


def items(results: Sequence[Result], view: GradebookView) -> list[dict[str, Any]]:
    """Return an analysis of each graded cell: how hard it was, and how well it tells students apart.

    Args:
        results: the result of each submission.
        view: the contents of the gradebook.

    Returns:
        for each cell its ``name`` and ``points``; how many have ``full`` points, ``part`` of them, ``none``,
        and how many marks ``waits`` for the teacher; of the others the ``share`` of the points that was
        reached, and the ``discrimination``: the correlation of the points with those of all other cells, from
        -1 to 1, or None where all students have the same.
    """
    totals = {result["student"]: _sum(view[result["student"]]) for result in results}
    rows = []
    for mark in results[0]["marks"] if results else ():
        cells = {result["student"]: view[result["student"]][mark["grade_id"]] for result in results}
        settled = {who: cell for who, cell in cells.items() if not (cell["waits"] and not cell["by_hand"])}
        scores = [cell["score"] for cell in settled.values()]
        full = sum(score >= mark["points"] for score in scores)
        none = sum(score == 0 for score in scores)
        rest = [totals[who] - cell["score"] for who, cell in settled.items()]
        rows.append(
            {
                "name": mark["exercise"] or mark["grade_id"].replace("_", " "),
                "points": mark["points"],
                "full": full,
                "part": len(scores) - full - none,
                "none": none,
                "waits": len(cells) - len(scores),
                "share": mean(scores) / mark["points"] if scores and mark["points"] else None,
                "discrimination": _correlation(scores, rest),
            }
        )
    return rows


def items_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows of :func:`items` as a table."""
    names = ["name", "points", "full", "part", "none", "waits", "share", "discrimination"]
    numbers = [
        ["" if row[n] is None else row[n] if n == "name" else f"{row[n]:.4g}" for n in names] for row in rows
    ]
    return _table([names, *numbers])


def changes(before: Mapping[str, Result], after: Sequence[Result]) -> list[list[str]]:
    """List the marks that differ from those of an earlier run: student, exercise, points before and after.

    A mark that waits for the teacher is written as ``waits``. Students without an earlier result are left
    out.
    """
    rows = []
    for result in after:
        old = {mark["grade_id"]: mark for mark in before.get(result["student"], {"marks": []})["marks"]}
        for mark in result["marks"]:
            was = old.get(mark["grade_id"])
            if was is not None and was["score"] != mark["score"]:
                name = mark["exercise"] or mark["grade_id"]
                rows.append([_text(result["student"]), name, _shown(was["score"]), _shown(mark["score"])])
    return rows


def changes_table(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows of :func:`changes` as a table."""
    return _table([["student", "exercise", "before", "after"], *rows])


def _correlation(scores: Sequence[float], rest: Sequence[float]) -> float | None:
    try:
        return correlation(scores, rest)
    except StatisticsError:  # fewer than two students, or all the same
        return None


def _shown(score: float | None) -> str:
    return "waits" if score is None else f"{score:g}"


def _sum(cells: Mapping[str, Mapping[str, Any]]) -> float:
    return sum(cell["score"] for cell in cells.values())


def _points(view: GradebookView) -> str:
    first: dict[str, dict[str, Any]] = next(iter(view.values()), {})
    return f"{sum(cell['points'] for cell in first.values()):g}"


def _score(cells: Mapping[str, Mapping[str, Any]]) -> str:
    return f"{_sum(cells):g}"


def _text(name: str) -> str:
    """Return a ``name`` in a form that no spreadsheet takes for a formula."""
    return f"'{name}" if name[:1] in "=+-@\t\r" else name


def _table(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
