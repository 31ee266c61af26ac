"""Write the marks: a page for each student, a page about the class, and tables for an LMS.

Pages hold text only, no scripts. Feedback is made of marks, causes and comments alone: it contains no hidden
test and nothing that a student's process printed.
"""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean, median
from typing import Any

from jinja2 import Environment, FileSystemLoader

from pioneers.autograder.mistakes import known_mistakes
from pioneers.autograder.record import GradebookView
from pioneers.autograder.single import Result, folder_of, write
from pioneers.autograder.submission import EXCHANGE, SubmissionRefused, contents

PAGES = Path(__file__).parent / "pages"
SILENT = ("judge stopped", "grader failed")  # kinds of flags that only the teacher sees
BINS = 10


def publish(course: Path, lab: str, results: Sequence[Result], view: GradebookView) -> Path:
    """Write all pages and tables, and return the path of the page about the class.

    Args:
        course: the folder of the course.
        lab: the lab that was graded.
        results: the result of each submission.
        view: the contents of the gradebook, with the marks made by hand.
    """
    reports = course / "reports" / lab
    for result in results:
        student, page = result["student"], feedback(result, view[result["student"]])
        write(course / "feedback" / student / lab / f"{lab}.html", page)
        for name in EXCHANGE:  # nbgrader's release_feedback looks for them beside the page
            with suppress(SubmissionRefused, UnicodeDecodeError):
                text = contents(folder_of(course, student, lab) / name).decode()
                write(course / "feedback" / student / lab / name, text)
    write(reports / "class.html", class_page(lab, results, view))
    graded = {result["student"]: view[result["student"]] for result in results}
    write(reports / "canvas.csv", canvas(lab, graded))
    write(reports / "moodle.csv", moodle(lab, graded))
    return reports / "class.html"


def feedback(result: Result, cells: dict[str, dict[str, Any]]) -> str:
    """Return the page of a student.

    Args:
        result: the result of the submission.
        cells: the student's cells in the gradebook.
    """
    rows = []
    for mark in result["marks"]:
        cell = cells[mark["grade_id"]]
        shown = {"name": mark["exercise"] or mark["grade_id"].replace("_", " ")}
        rows.append(mark | cell | shown | {"waits": cell["waits"] and not cell["by_hand"]})
    return _page(
        "feedback.html",
        lab=result["lab"],
        student=result["student"],
        rows=rows,
        score=sum(row["score"] for row in rows),
        points=sum(row["points"] for row in rows),
        waiting=sum(row["waits"] for row in rows),
        flags=[flag for flag in result["flags"] if flag["kind"] not in SILENT],
    )


def class_page(lab: str, results: Sequence[Result], view: GradebookView) -> str:
    """Return the page about the class: points, exercises, common mistakes with a typical answer, and flags.

    Args:
        lab: the lab that was graded.
        results: the result of each submission.
        view: the contents of the gradebook.
    """
    totals = [sum(c["score"] for c in view[result["student"]].values()) for result in results]
    points = sum(mark["points"] for mark in results[0]["marks"]) if results else 0
    marks = [mark for result in results for mark in result["marks"]]
    made = Counter((mark["exercise"], mark["mistake"]) for mark in marks if mark["mistake"])
    known = known_mistakes([mark["exercise"] for mark in marks])
    histogram = _histogram(totals, points)
    return _page(
        "class.html",
        lab=lab,
        totals=totals,
        points=points,
        median=median(totals or [0]),
        mean=mean(totals or [0]),
        waiting=sum(c["waits"] for result in results for c in view[result["student"]].values()),
        histogram=histogram,
        most=max(count for _, count in histogram) or 1,
        exercises=_exercises(results, view),
        mistakes=[
            (exercise, name, count, next((a.change for a in known[exercise] if a.mistake == name), ""))
            for (exercise, name), count in sorted(made.items(), key=lambda item: (-item[1], item[0]))
        ],
        known=known,
        flags=[(result["student"], flag) for result in results for flag in result["flags"]],
    )


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


def _exercises(results: Sequence[Result], view: GradebookView) -> list[dict[str, Any]]:
    rows = []
    for mark in results[0]["marks"] if results else ():
        cells = [view[result["student"]][mark["grade_id"]] for result in results]
        settled = [cell for cell in cells if not (cell["waits"] and not cell["by_hand"])]
        full = sum(cell["score"] >= mark["points"] for cell in settled)
        none = sum(cell["score"] == 0 for cell in settled)
        rows.append(
            {
                "name": mark["exercise"] or mark["grade_id"].replace("_", " "),
                "points": mark["points"],
                "full": full,
                "part": len(settled) - full - none,
                "none": none,
                "waits": len(cells) - len(settled),
                "mean": mean([cell["score"] for cell in settled] or [0]),
            }
        )
    return rows


def _histogram(totals: Sequence[float], points: float) -> list[tuple[str, int]]:
    """Count the totals in ten bins of equal width; full marks are counted separately."""
    width = max(points, 1) / BINS
    counts = Counter(min(int(total / width), BINS) for total in totals)
    edges = [f"{n * width:g} to below {(n + 1) * width:g}" for n in range(BINS)] + [f"{points:g}"]
    return [(label, counts[n]) for n, label in enumerate(edges)]


def _points(view: GradebookView) -> str:
    first: dict[str, dict[str, Any]] = next(iter(view.values()), {})
    return f"{sum(cell['points'] for cell in first.values()):g}"


def _score(cells: dict[str, dict[str, Any]]) -> str:
    return f"{sum(cell['score'] for cell in cells.values()):g}"


def _text(name: str) -> str:
    """Return a ``name`` in a form that no spreadsheet takes for a formula."""
    return f"'{name}" if name[:1] in "=+-@\t\r" else name


def _table(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _page(name: str, **values: Any) -> str:
    environment = Environment(loader=FileSystemLoader(PAGES), autoescape=True, trim_blocks=True)
    style = (PAGES / "style.css").read_text()
    return environment.get_template(name).render(style=style, **values)
