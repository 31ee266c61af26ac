"""Make the students' versions of the labs: ``labs/student/NN_topic.ipynb`` from ``labs/NN_topic/lab.md``.

    python labs/release.py

A student's version has neither solutions nor hidden tests. The reference,
``_build/reference/NN_topic.ipynb``, is the lab with its solutions, run from top to bottom by ``book/run.py``.
What has not changed since is left alone.

A line ``{exercise} 5.7`` of ``lab.md`` stands for the cells of that exercise, which is written in a file
of its own beside it; its card goes below the heading. ``{points}`` stands for the table of all points.
"""

import ast
import hashlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config, PyFileConfigLoader

from pioneers.checks.building import Draft
from pioneers.checks.loading import drafts
from pioneers.checks.rules import rules
from pioneers.checks.sections import SECTIONS
from pioneers.keys import Sources

LABS = Path(__file__).resolve().parent
ROOT = LABS.parent
STUDENT = LABS / "student"
REFERENCE = ROOT / "_build" / "reference"
STAMP = "pioneers_source"  # metadata key: what a notebook was made from
EXERCISE = re.compile(r"^```\{exercise\} (\S+)\n```$", re.MULTILINE)
POINTS = "```{points}\n```"
CELL = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def main() -> None:
    """Bring the students' versions up to date."""
    for source in sources():
        name = source.parent.name
        bring_up_to_date(STUDENT / f"{name}.ipynb", student_key(source), student_version, read(source), name)


def sources() -> list[Path]:
    """Return the text file of every lab."""
    return sorted(LABS.glob("*/lab.md"))


def exercises(source: Path) -> list[Path]:
    """Return the files of the exercises beside a lab's text."""
    return sorted(source.parent.glob("*.py"))


def student_key(source: Path) -> str:
    """Return the key of a student's version: of the lab and of the tools that make it."""
    tools = [
        *sorted((ROOT / "pioneers" / "checks").glob("*.py")),
        LABS / "release.py",
        LABS / "nbgrader_config.py",
    ]
    return digest(source, *exercises(source), *tools)


def reference_key(source: Path, package: Sources) -> str:
    """Return the key of a lab's reference: of its text, its exercises, and what they import."""
    cells = [cell.source for cell in jupytext.read(source).cells if cell.cell_type == "code"]
    return package.key(*cells, beside=[source, LABS / "release.py", *exercises(source)])


def stale_references(names: Collection[str] = ()) -> list[tuple[Path, str]]:
    """Labs whose reference is not up to date, as text and key; among ``names``, if there are any."""
    package, stale = Sources(ROOT), []
    for source in sources():
        name = source.parent.name
        if name in names or not names:
            key = reference_key(source, package)
            if not is_made_from(REFERENCE / f"{name}.ipynb", key):
                stale.append((source, key))
    return stale


def make_reference(source: Path, key: str) -> None:
    """Run the reference of a lab."""
    name = source.parent.name
    bring_up_to_date(REFERENCE / f"{name}.ipynb", key, run, read(source), name)


def is_made_from(target: Path, stamp: str) -> bool:
    """Return whether a notebook exists and was made from the same sources."""
    return target.exists() and nbformat.read(target, as_version=4).metadata.get(STAMP) == stamp


def bring_up_to_date(target: Path, stamp: str, make, lab: NotebookNode, name: str) -> None:
    """Make ``target`` unless it was made from the very same sources; never leave half a file."""
    if is_made_from(target, stamp):
        return
    print(f"making {target.relative_to(ROOT)}", flush=True)
    notebook = make(lab, name)
    notebook.metadata[STAMP] = stamp
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_suffix(".part")
    nbformat.write(notebook, half)
    half.replace(target)


def read(source: Path) -> NotebookNode:
    """The lab as a notebook that always names its kernel, with cell ids that stay the same."""
    lab = jupytext.read(source)
    lab.metadata["kernelspec"] = KERNEL
    lab.cells = expand(lab.cells, {draft.key: draft for draft in drafts(source.parent)})
    for number, cell in enumerate(lab.cells):
        cell["id"] = cell.metadata.get("nbgrader", {}).get("grade_id", f"cell-{number}")
    return lab


def expand(cells: list[NotebookNode], made: dict[str, Draft]) -> list[NotebookNode]:
    """The cells of a lab, with those of its exercises and the table of points in their places.

    Raises:
        ValueError: ``lab.md`` names an exercise that is not there, or does not name one that is.
    """
    whole, named = [], []
    for cell in cells:
        pieces = EXERCISE.split(cell.source) if cell.cell_type == "markdown" else [""]
        if len(pieces) == 1:
            whole.append(cell)
            continue
        for text, key in zip(pieces[::2], pieces[1::2], strict=False):
            named.append(key)
            whole += exercise_cells(text.strip(), made[key]) if key in made else []
        whole += [new_markdown_cell(pieces[-1].strip())] if pieces[-1].strip() else []
    if sorted(named) != sorted(made):
        raise ValueError(f"lab.md names the exercises {sorted(named)}; written are {sorted(made)}")
    for cell in whole:
        if POINTS in cell.source:
            cell.source = cell.source.replace(POINTS, points_table(whole, made))
    return whole


def exercise_cells(text: str, draft: Draft) -> list[NotebookNode]:
    """Return the cells of an exercise: its text with the card, the cell for the answer, and the check."""
    before, _, asked = f"\n{text}".rpartition("\n## ")
    heading, _, rest = asked.partition("\n")
    answer = {**CELL, "grade_id": draft.name, "solution": True}
    grade = {**CELL, "grade_id": f"check_{draft.name}", "grade": True, "locked": True, "points": draft.points}
    hidden = f'from pioneers.checks import find\n\ncheck("{draft.key}", probes=find("{draft.key}").hidden())'
    check = f'check("{draft.key}")\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS'
    return [
        new_markdown_cell(f"{before}\n## {heading}\n\n{card(draft)}\n{rest}".strip()),
        new_code_cell(solution(draft), metadata={"nbgrader": answer}),
        new_code_cell(check, metadata={"nbgrader": grade}),
    ]


def card(draft: Draft) -> str:
    """Points, minutes, difficulty, what to reread, and the rules on types, gradients and devices.

    Titles of one page are named one after the other.
    """
    reread, page = "", None
    for anchor in draft.reread:
        lecture, _, title = SECTIONS[anchor].partition(", ")
        (found,) = (p for p in (ROOT / "lectures").glob("*.md") if f"({anchor})=" in p.read_text())
        link = f"[{lecture}](../../lectures/{found.name}), {title}"
        reread += f", {title}" if found == page else f", and {link}" if page else link
        page = found
    stars = "●" * draft.difficulty + "○" * (3 - draft.difficulty)
    row = f"| {draft.points} | {draft.minutes} | {stars} | {reread} |"
    table = f"| points | minutes | difficulty | reread |\n|:--:|:--:|:--:|:--|\n{row}"
    return f"{table}\n\n**Rules.** {rules(draft.finished())}"


def solution(draft: Draft) -> str:
    """The reference with nbgrader's marks around what the student writes."""
    function = ast.parse(draft.answer).body[-1]
    lines = draft.answer.splitlines()
    start = function.body[0].end_lineno  # of the docstring
    marked = ["    ### BEGIN SOLUTION", *lines[start:], "    ### END SOLUTION"]
    return "\n".join([*lines[:start], *marked])


def points_table(cells: list[NotebookNode], made: dict[str, Draft]) -> str:
    """The points of each exercise, and of what a teacher marks, summed by the first word of its name."""
    points = {key: draft.points for key, draft in made.items()}
    for cell in cells:
        about = cell.metadata.get("nbgrader", {})
        name = about.get("grade_id", "").split("_")[0]
        if "points" in about and name != "check":
            points[name] = points.get(name, 0) + about["points"]
    names, worth = (" | ".join(map(str, row)) for row in (points, points.values()))
    return f"| {names} |\n|{':--:|' * len(points)}\n| {worth} |"


def digest(*files: Path) -> str:
    """A fingerprint of the contents of ``files``."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def config(course: Path) -> Config:
    """The settings of ``nbgrader_config.py`` for a course in the folder ``course``."""
    settings = PyFileConfigLoader("nbgrader_config.py", path=str(LABS)).load_config()
    settings.CourseDirectory.root = str(course)
    return settings


def make_course(course: Path, lab: NotebookNode, name: str) -> NbGraderAPI:
    """Put the lab into a new nbgrader course and generate its student version there.

    Raises:
        RuntimeError: nbgrader refuses the lab.
    """
    source = course / "source" / name / f"{name}.ipynb"
    source.parent.mkdir(parents=True)
    nbformat.write(lab, source)
    commands = str(Path(sys.executable).parent)
    if commands not in os.environ["PATH"].split(os.pathsep):  # nbgrader calls alembic by its bare name
        os.environ["PATH"] = os.pathsep.join((commands, os.environ["PATH"]))
    api = NbGraderAPI(config=config(course))
    result = api.generate_assignment(name)
    if not result["success"]:
        raise RuntimeError(f"nbgrader cannot make the student version of {name}:\n{result.get('log', '')}")
    return api


def student_version(lab: NotebookNode, name: str) -> NotebookNode:
    """The lab without solutions, hidden tests and mark scheme."""
    with tempfile.TemporaryDirectory() as folder:
        make_course(Path(folder), lab, name)
        student = nbformat.read(Path(folder) / "release" / name / f"{name}.ipynb", as_version=4)
    student.metadata["mystnb"] = {"execution_mode": "off"}  # the book shows it as it is
    return student


def run(lab: NotebookNode, name: str) -> NotebookNode:
    """The lab with its solutions, run in a folder of its own, and how many seconds it took."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = NotebookClient(
            lab,
            timeout=120,
            kernel_name="python3",
            extra_arguments=["--IPKernelApp.log_level=ERROR"],  # no note on TCP for a kernel of our own
            resources={"metadata": {"path": folder}},
        ).execute()
    spared = float(os.environ.get("PIONEERS_SPARED_SECONDS", 0))  # a build's kernels have their imports done
    done.metadata["seconds"] = time.perf_counter() - start + spared
    return done


if __name__ == "__main__":
    main()
