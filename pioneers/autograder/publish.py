"""What comes of the marks: a page for each student, a page about the class, and tables for an LMS.

Pages hold text and nothing that runs. Feedback is made of marks, causes and comments alone: neither a hidden
test nor anything that a student's process printed is ever in it.
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

from pioneers.autograder.record import GradebookView
from pioneers.autograder.single import Result, folder_of, write
from pioneers.autograder.submission import EXCHANGE, SubmissionRefused, contents

PAGES = Path(__file__).parent / "pages"
SILENT = ("judge stopped", "grader failed")  # flags that are for the teacher alone
BINS = 10


def publish(course: Path, lab: str, results: Sequence[Result], view: GradebookView) -> Path:
    """Write all pages and tables; returns the page about the class.

    Args:
        course: folder of the course.
        lab: that was graded.
        results: of each submission.
        view: what the gradebook holds, with the marks made by hand.
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
    """The page of a student.

    Args:
        result: of the submission.
        cells: what the gradebook holds about it.
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
    """The page about the class: how points are spread, which mistakes are common, what to look at.

    Args:
        lab: that was graded.
        results: of each submission.
        view: what the gradebook holds.
    """
    totals = [sum(c["score"] for c in view[result["student"]].values()) for result in results]
    points = sum(mark["points"] for mark in results[0]["marks"]) if results else 0
    marks = [mark for result in results for mark in result["marks"]]
    mistakes = Counter((mark["exercise"], mark["mistake"]) for mark in marks if mark["mistake"])
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
        mistakes=sorted(mistakes.items(), key=lambda item: (-item[1], item[0])),
        flags=[(result["student"], flag) for result in results for flag in result["flags"]],
    )


def canvas(lab: str, view: GradebookView) -> str:
    """The marks in ``view`` as Canvas imports them: one column, named after the ``lab``."""
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", lab]
    possible = ["    Points Possible", "", "", "", "", _points(view)]
    rows = [[_text(name), "", "", _text(name), "", _score(cells)] for name, cells in view.items()]
    return _table([head, possible, *rows])


def moodle(lab: str, view: GradebookView) -> str:
    """The marks in ``view`` as Moodle imports them for the ``lab``, matched by user name."""
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
    """How many have how many points: bins of a tenth, and full marks by themselves."""
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
    """A name that no spreadsheet takes for a formula."""
    return f"'{name}" if name[:1] in "=+-@\t\r" else name


def _table(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _page(name: str, **values: Any) -> str:
    environment = Environment(loader=FileSystemLoader(PAGES), autoescape=True, trim_blocks=True)
    style = (PAGES / "style.css").read_text()
    return environment.get_template(name).render(style=style, **values)
