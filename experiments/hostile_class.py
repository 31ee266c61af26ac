"""Attack plain nbgrader and ``pioneers grade`` with hostile submissions.

    make experiments NAME=hostile_class

Every attack of ``tests/autograder/hostile.py`` is handed in to both, with a right submission to be graded
after it. Plain nbgrader runs behind a fence that only saves the machine: it may change the course, a copy of
the package and a copy of a library, and is ended when it takes too much.
"""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from nbgrader.api import Gradebook

from experiments.common import FINISHED, ROOT, run
from pioneers.autograder.batch import Cohort, grade_cohort
from pioneers.autograder.jail import Limits
from pioneers.autograder.publish import publish
from pioneers.autograder.record import gradebook_view, record
from pioneers.autograder.watch import Watch
from pioneers.checks.guard import PACKAGE
from tests.autograder.classroom import FULL, LAB, Classroom
from tests.autograder.hostile import ATTACKS, Attack

LIBRARY = Path(torch.__file__)
SECRET = "s3cret-of-the-teacher"
LIVE = '<script>alert("stolen")'
SECONDS = {"cell": 5, "command": 180}
FENCE = Limits(memory=6 << 30, processes=200)
HOSTILE, HONEST = "attacker", "right"  # graded in this order; attacks know the second by its name


@functools.cache
def prepared() -> tuple[Classroom, Path]:
    """A course with a lab that nobody has handed in, in a process's own folder."""
    folder = FINISHED / "hostile" / f"course-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    room = Classroom(folder)
    shutil.copy(ROOT / "labs" / "nbgrader_config.py", folder)
    return room, folder.with_name(f"{folder.name}-attacked")


def hand_in(attack: Attack) -> tuple[Classroom, Path]:
    """A course of two, the attacker and an honest student."""
    room, course = prepared()
    shutil.rmtree(course, ignore_errors=True)
    shutil.copytree(room.folder, course)
    room.folder, original = course, room.folder
    room.hand_in(HONEST, room.answered())
    attack.hand_in(room, HOSTILE)
    room.folder = original
    return room, course


def deserved(attack: Attack) -> dict[str, float]:
    """Return the score the answers deserve, whichever grader decides."""
    worth = {"check_softmax": 0.0 if attack.answer else 10.0, "check_causal_mask": 8.0}
    return {check: worth[check] if points is None else points for check, points in attack.earns.items()}


def fenced(course: Path, copies: dict[Path, Path], *words: str) -> str:
    """Run an nbgrader command behind the fence; says how it ended, in no words if as it should."""
    binds = [word for path, copy in copies.items() for word in ("--bind", str(copy), str(path))]
    command = [
        "bwrap", "--unshare-all", "--uid", "1000", "--gid", "1000", "--die-with-parent", "--new-session",
        "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
        *("--tmpfs", "/tmp", "--tmpfs", str(Path.home())),
        *(word for path in (sys.base_prefix, sys.prefix, str(ROOT)) for word in ("--ro-bind", path, path)),
        *("--bind", str(course), str(course), *binds, "--chdir", str(course)),
        *("--", sys.executable, "-m", "nbgrader", *words, LAB),
        f"--ExecutePreprocessor.timeout={SECONDS['cell']}",
    ]  # fmt: skip
    with (course / "said.txt").open("ab") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
        watch = Watch(process, FENCE)
        watch.start()
        try:
            code = process.wait(SECONDS["command"])
        except subprocess.TimeoutExpired:
            watch.end("never ended")
            code = process.wait()
        watch.over.set()
    return watch.cause or (f"ended with code {code}" if code else "")


def marks_of(course: Path) -> dict[str, dict[str, float | None]]:
    """Automatic marks by student; empty if the gradebook cannot be read."""
    try:
        with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
            return {
                submission.student.id: {
                    grade.name: grade.auto_score
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                    if grade.name in FULL
                }
                for submission in book.assignment_submissions(LAB)
            }
    except Exception:  # whatever the attack has made of the file
        return {}


def contents(*paths: Path) -> dict[Path, str]:
    """A digest of each file, of those in folders too; without compiled Python."""
    within = (file for path in paths for file in (path, *path.rglob("*")) if file.is_file())
    files = [file for file in within if "__pycache__" not in file.parts]
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def changed(before: dict[Path, str], after: dict[Path, str]) -> int:
    """Count the files that are new, missing or changed."""
    return sum(before.get(path) != after.get(path) for path in before.keys() | after.keys())


def shown(course: Path, room: Classroom) -> list[str]:
    """List what the attacker's feedback reveals."""
    pages = list((course / "feedback" / HOSTILE).rglob("*.html"))
    text = "".join(page.read_text() for page in pages)
    hidden = [name for check in FULL for name in re.findall(r'Probe\("(.*?)"', room.skeleton.judging(check))]
    found = {
        "secret": SECRET in text,
        "live script": LIVE in text,
        "hidden tests": any(name in text for name in hidden),
    }
    return [name for name, there in found.items() if there]


def one_case(*, seed: int, attack: str, seconds: dict[str, float]) -> dict[str, Any]:
    """Collect what both graders awarded, changed and showed."""
    os.environ["TEACHER_SECRET"] = SECRET  # before both graders
    chosen = ATTACKS[attack]
    due = deserved(chosen)
    return {
        name: {"deserved": list(due.values()), **grade(*hand_in(chosen))}
        for name, grade in (("nbgrader", by_nbgrader), ("pioneers", by_pioneers))
    }


def by_nbgrader(room: Classroom, course: Path) -> dict[str, Any]:
    """Plain autograding and feedback."""
    kept = course.with_name(f"{course.name}-copies")
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    copies = {PACKAGE: kept / "pioneers", LIBRARY: kept / "library.py"}
    shutil.copytree(PACKAGE, copies[PACKAGE], ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(LIBRARY, copies[LIBRARY])
    watched = (kept, course / "source", course / "submitted")
    before = contents(*watched)
    ended = [fenced(course, copies, command) for command in ("autograde", "generate_feedback")]
    return found(room, course, marks_of(course)) | {
        "changed": changed(before, contents(*watched)),
        "ended": next((cause for cause in ended if cause), ""),
    }


def by_pioneers(room: Classroom, course: Path) -> dict[str, Any]:
    """``pioneers grade``."""
    watched = (PACKAGE, LIBRARY, course / "source", course / "submitted")
    before = contents(*watched)
    limits = Limits(cell=SECONDS["cell"], call=8, total=120, memory=2 << 30)
    results = list(grade_cohort(Cohort(course, LAB, limits), processes=1))
    record(course, LAB, results)
    publish(course, LAB, results, gradebook_view(course, LAB))
    marks = {
        result["student"]: {m["grade_id"]: m["score"] for m in result["marks"] if m["grade_id"] in FULL}
        for result in results
    }
    return found(room, course, marks) | {"changed": changed(before, contents(*watched)), "ended": ""}


def found(room: Classroom, course: Path, marks: dict[str, dict[str, float | None]]) -> dict[str, Any]:
    """Marks and leaks, as both graders are asked for them."""
    return {
        "points": [marks.get(HOSTILE, {}).get(check) for check in FULL],
        "honest": marks.get(HONEST, {}) == FULL,
        "shown": shown(course, room),
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    cases = {name: {"attack": name} for name in ATTACKS}
    run("hostile_class", cases, one_case, config={"seconds": SECONDS}, seeds=(0,))


if __name__ == "__main__":
    main()
