"""Write the marks: a page for each student, a page about the class, and tables for an LMS.

Pages hold text only, no scripts. Feedback is made of marks, causes and comments alone: it contains no hidden
test and nothing that a student's process printed.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean, median
from typing import Any

from jinja2 import Environment, FileSystemLoader

from pioneers.autograder.mistakes import known_mistakes
from pioneers.autograder.record import GradebookView
from pioneers.autograder.similarity import similar_pairs
from pioneers.autograder.single import Result, folder_of, write
from pioneers.autograder.skeleton import Skeleton
from pioneers.autograder.submission import EXCHANGE, Cell, SubmissionRefused, contents, find_notebook, read
from pioneers.autograder.tables import blackboard, canvas, items, items_table, moodle

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
    write(reports / "blackboard.csv", blackboard(lab, graded))
    write(reports / "items.csv", items_table(items(results, view)))
    write(reports / "similar.html", similar_page(course, lab, [result["student"] for result in results]))
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
        exercises=items(results, view),
        mistakes=[
            (exercise, name, count, next((a.change for a in known[exercise] if a.mistake == name), ""))
            for (exercise, name), count in sorted(made.items(), key=lambda item: (-item[1], item[0]))
        ],
        known=known,
        flags=[(result["student"], flag) for result in results for flag in result["flags"]],
    )


def similar_page(course: Path, lab: str, students: Sequence[str]) -> str:
    """Return the page about submissions that are alike; those that cannot be read are left out.

    Args:
        course: the folder of the course.
        lab: the lab that was graded.
        students: who handed in.
    """
    cells: dict[str, list[Cell]] = {}
    for student in students:
        with suppress(SubmissionRefused):
            path, _ = find_notebook(folder_of(course, student, lab), lab)
            cells[student] = read(contents(path))
    given = [
        Cell(cell.cell_type, cell.source, "", 0, {}) for cell in Skeleton.load(course, lab).released.cells
    ]
    return _page("similar.html", lab=lab, pairs=similar_pairs(cells, given))


def _histogram(totals: Sequence[float], points: float) -> list[tuple[str, int]]:
    """Count the totals in ten bins of equal width; full marks are counted separately."""
    width = max(points, 1) / BINS
    counts = Counter(min(int(total / width), BINS) for total in totals)
    edges = [f"{n * width:g} to below {(n + 1) * width:g}" for n in range(BINS)] + [f"{points:g}"]
    return [(label, counts[n]) for n, label in enumerate(edges)]


def _page(name: str, **values: Any) -> str:
    environment = Environment(loader=FileSystemLoader(PAGES), autoescape=True, trim_blocks=True)
    style = (PAGES / "style.css").read_text()
    return environment.get_template(name).render(style=style, **values)
