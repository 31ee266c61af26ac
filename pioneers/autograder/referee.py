"""Mark a submission: run its cells in the jail, call its answers, and judge the results outside.

The judge is the one that the student's own check cells use. Points come from checks that ran and passed, and
from nothing else: no output of the student's process is ever read as a mark.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from nbformat import NotebookNode
from nbformat.v4 import new_output

from pioneers.autograder.rebuild import EXTRA, Rebuilt
from pioneers.autograder.screen import forbidden_names
from pioneers.autograder.session import Calls, Session
from pioneers.autograder.skeleton import Skeleton, about, is_answer, is_check, is_manual, points
from pioneers.autograder.submission import Flag
from pioneers.autograder.worker import WorkerLost
from pioneers.checks import Failure, Probe, advice, explain, find
from pioneers.checks.exercise import Exercise
from pioneers.checks.judge import first_failure
from pioneers.checks.report import headline

SETUP = "setup"  # the cell of a lab whose imports its check cells use
Asked = list[tuple[str, Sequence[Probe] | None]]


@dataclass(frozen=True)
class Mark:
    """The mark of a cell.

    Args:
        grade_id: nbgrader's name for the cell.
        points: the points it is worth.
        score: the points it earned; None where a teacher decides.
        exercise: the number and name of the exercise.
        cause: why points were lost, for the student to read; it reveals nothing hidden.
        stage: the stage at which the check stopped.
        mistake: the name of the mistake, if it was recognised.
    """

    grade_id: str
    points: float
    score: float | None
    exercise: str = ""
    cause: str = ""
    stage: str = ""
    mistake: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the mark as a dictionary for JSON."""
        return asdict(self)


def referee(
    skeleton: Skeleton, rebuilt: Rebuilt, session: Session, kept: Mapping[str, Mark] | None = None
) -> list[Mark]:
    """Run a rebuilt notebook from top to bottom, mark it, and put the outputs into its cells.

    The hidden probes come last: after the student's process has seen one, none of its output goes back to
    the student.

    Args:
        skeleton: the lab, with its hidden tests.
        rebuilt: the submission.
        session: the session that runs the cells.
        kept: marks of check cells, by ``grade_id``, that are not to be checked again.
    """
    marks: dict[str, Mark] = {}
    kept = kept or {}
    waiting: list[tuple[NotebookNode, Asked, int]] = []  # cell, its hidden checks, and its position
    for number, cell in enumerate(rebuilt.notebook.cells, 1):
        grade_id = about(cell).get("grade_id", "")
        if grade_id in kept:
            marks[grade_id] = kept[grade_id]
        elif is_check(cell) and cell.cell_type == "code":
            checks = asked(skeleton, grade_id)
            hidden = [check for check in checks if check[1] is not None]
            marks[grade_id] = check_cell(cell, [check for check in checks if check[1] is None], session)
            if hidden and marks[grade_id].stage in ("", "unchecked"):
                waiting.append((cell, hidden, len(session.sources)))
        elif cell.cell_type == "code":
            cell.outputs = session.cell(cell.source, grade_id or f"number {number}")
        if is_manual(cell):
            blank = grade_id in rebuilt.blank
            cause = "Nothing was written here." if blank else ""
            marks[grade_id] = Mark(grade_id, points(cell), 0.0 if blank else None, cause=cause)
    for cell, hidden, position in waiting:
        marks[about(cell).grade_id] = _check_hidden(cell, hidden, session, position)
    for cell in rebuilt.notebook.cells:
        if is_check(cell) and cell.cell_type == "code":
            cell.outputs = [_verdict(marks[about(cell).grade_id])]
    rebuilt.flags += session.flags
    return _withhold(rebuilt, list(marks.values()))


def _withhold(rebuilt: Rebuilt, marks: list[Mark]) -> list[Mark]:
    """Leave the points to a teacher if the code could tamper with the process that calls it."""
    own = [
        cell for cell in rebuilt.notebook.cells if is_answer(cell) or EXTRA in cell.metadata.get("tags", ())
    ]
    sources = [cell.source for cell in own if cell.cell_type == "code"]
    found = sorted({name for source in sources for name in forbidden_names(source)})
    if not found:
        return marks
    names = ", ".join(found[:8])
    rebuilt.flags.append(Flag("reaches further", f"The code uses {names}; a teacher decides on the points."))
    cause = f"Your code uses {names}, which no answer needs; your teacher decides on the points."
    return [
        replace(mark, score=None, cause=cause, stage="withheld") if mark.score else mark for mark in marks
    ]


def _check_hidden(cell: NotebookNode, hidden: Asked, session: Session, position: int) -> Mark:
    """Check the hidden probes on the final definitions or, if that fails, on those at the check cell."""
    if session.position is None:
        mark = check_cell(cell, hidden, session)
        if mark.score:
            return mark
    session.position = position
    return check_cell(cell, hidden, session)


def refused(skeleton: Skeleton, cause: str) -> list[Mark]:
    """Return the marks of a submission that could not be read, with the ``cause``."""
    graded = [cell for cell in skeleton.released.cells if is_check(cell) or is_manual(cell)]
    return [Mark(about(cell).grade_id, points(cell), 0.0, cause=cause, stage="unreadable") for cell in graded]


def asked(skeleton: Skeleton, grade_id: str) -> Asked:
    """Return the checks that a check cell makes: exercises and probes, None for the public probes."""
    checks: Asked = []

    def note(key: str, answer: Any = None, *, probes: Sequence[Probe] | None = None) -> None:
        checks.append((key, probes))

    space: dict[str, Any] = {"torch": torch, "math": math, "Tensor": torch.Tensor, "Probe": Probe}
    exec(skeleton.judging(SETUP), space)
    space["check"] = note
    exec(skeleton.judging(grade_id), space)
    return checks


def check_cell(cell: NotebookNode, checks: Asked, session: Session) -> Mark:
    """Make the checks of a check cell; the first failure costs its points."""
    grade_id, worth = about(cell).grade_id, points(cell)
    name = headline(find(checks[0][0])) if checks else grade_id
    for key, probes in checks:
        exercise = find(key)
        try:
            failure = _examine(exercise, session, probes)
        except Exception as error:  # no submission may stop the grading of the class
            flag = Flag("judge stopped", f"{name}: {type(error).__name__}: {error}")
            session.flags += [flag] if flag not in session.flags else []
            failure = Failure(
                "compared",
                ("Your result could not be compared with the expected one; your teacher will look at it.",),
            )
        if failure:
            mistake = failure.diagnosis.name if failure.diagnosis else ""
            cause = explain(exercise, failure) if probes is None else _discreetly(exercise, failure)
            return Mark(grade_id, worth, 0.0, name, cause, failure.stage, mistake)
    if not checks:
        return Mark(
            grade_id, worth, 0.0, name, "This cell checks nothing; your teacher decides.", "unchecked"
        )
    return Mark(grade_id, worth, worth, name)


def _examine(exercise: Exercise, session: Session, probes: Sequence[Probe] | None) -> Failure | None:
    """Do as :func:`pioneers.checks.examine` does, for an answer in another process."""
    try:
        parameters = session.parameters(exercise.name)
    except WorkerLost as cause:
        return Failure("runs", (f"Your notebook stopped before this could be checked: {cause}.",))
    if parameters is None:
        return Failure("exists", (f"There is no function called `{exercise.name}` when the check runs.",))
    if parameters not in ("unknown", list(exercise.parameters)):
        got = f"Got:      {exercise.name}({', '.join(parameters)})"
        return Failure("signature", (f"Expected: {headline(exercise)}", got))
    return first_failure(exercise, Calls(session, exercise), exercise.probes() if probes is None else probes)


def _discreetly(exercise: Exercise, failure: Failure) -> str:
    """Describe a failure on a hidden probe: its stage and what to reread, but no inputs or numbers."""
    lines = [
        f"{headline(exercise)} passes the checks in the notebook, but not all of the hidden ones.",
        f"Stopped at: {failure.stage}.",
    ]
    return "\n".join([*lines, *advice(failure)])


def _verdict(mark: Mark) -> NotebookNode:
    """Return the output of a check cell, with the same text that the student gets."""
    if mark.score:
        said = f"{mark.exercise}: all checks passed ({mark.points:g} points)\n"
        return new_output("stream", name="stdout", text=said)
    return new_output("error", ename="CheckFailed", evalue=mark.exercise, traceback=mark.cause.splitlines())
