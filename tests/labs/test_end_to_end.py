"""A class of students through nbgrader itself: release, autograde, gradebook, feedback, to the point."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from pioneers.checks import find

from .conftest import LABS, Lab, release

# Students with wrong answers; wrong answers to an exercise, so that each student has right ones too; students
# with other right ones. All answers of all labs are in test_kill_matrix. Lab 1 alone goes this way: labs
# differ in content, which that test covers, and the build of the book has nbgrader accept each.
SLOTS, EACH, OTHERS = 3, 2, 1
LOST = "right00"  # a student who has lost a check cell
# Of two kernels that start at once, one may choose the other's port: here they talk through files.
KERNELS = """
import os, tempfile
c.KernelManager.transport = "ipc"
c.KernelManager.ip = os.path.join(tempfile.gettempdir(), f"kernel-{os.getpid()}")
"""


def class_of(lab) -> dict[str, dict[str, str]]:
    """Students and their answers; where there is none, the student gave the reference's."""
    students = {f"wrong{i:02}": {} for i in range(SLOTS)} | {f"right{i:02}": {} for i in range(OTHERS)}
    for number, key in enumerate(lab.keys):
        for i, answer in enumerate(lab.bank.wrong[key][:EACH]):
            students[f"wrong{(i + EACH * number) % SLOTS:02}"][key] = answer.source
        for i, answer in enumerate(lab.bank.right[key][:OTHERS]):
            students[f"right{i:02}"][key] = answer.source
    return students


def nbgrader(course: Path, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # two processes share the cores
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen) -> None:
    said, _ = process.communicate(timeout=550)
    assert process.returncode == 0, said[max(0, said.find("Traceback")) :][:3000]


@pytest.fixture(scope="module")
def lab():
    return Lab(LABS[0])


@pytest.fixture(scope="module")
def graded(lab, tmp_path_factory):
    """The course after autograding in two processes, each with students of its own, and feedback."""
    course = tmp_path_factory.mktemp("course")
    config = (release.LABS / "nbgrader_config.py").read_text()
    (course / "nbgrader_config.py").write_text(config + KERNELS)
    release.make_course(course, lab.notebook, lab.name)
    released = nbformat.read(course / "release" / lab.name / f"{lab.name}.ipynb", as_version=4)
    students = {name: lab.submission(released, answers) for name, answers in class_of(lab).items()}
    students["blank"] = released
    lost = students[LOST]
    lost.cells.remove(lab.check_cell(find(lab.keys[0]), lost))
    for i, (name, notebook) in enumerate(students.items()):
        path = course / "submitted" / f"{'ab'[i % 2]}-{name}" / lab.name / f"{lab.name}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    for command in ("autograde", "generate_feedback"):
        halves = [f"--CourseDirectory.student_id={half}-*" for half in "ab"]
        for process in [nbgrader(course, command, lab.name, half) for half in halves]:
            finish(process)
    return course


def scores_of(course: Path, lab) -> dict[str, dict[str, float]]:
    """Automatic scores by student and cell."""
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        return {
            submission.student.id.split("-")[1]: {
                grade.name: grade.auto_score for notebook in submission.notebooks for grade in notebook.grades
            }
            for submission in book.assignment_submissions(lab.name)
        }


def feedback_of(course: Path, lab, student: str) -> str:
    (page,) = course.glob(f"feedback/*-{student}/{lab.name}/{lab.name}.html")
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", page.read_text())))


@pytest.mark.timeout(600)
def test_marks_are_lost_exactly_where_answers_are_wrong(lab, graded) -> None:
    """A check that is missing is put back: an answer that is right earns its points all the same."""
    scores = scores_of(graded, lab)
    expected = {
        student: {
            f"check_{find(key).name}": 0
            if student.startswith("wrong") and key in answers
            else find(key).points
            for key in lab.keys
        }
        for student, answers in class_of(lab).items()
    }
    expected["blank"] = {f"check_{find(key).name}": 0 for key in lab.keys}
    got = {who: {cell: marks[cell] for cell in expected[who]} for who, marks in scores.items()}
    assert got == expected


@pytest.mark.timeout(600)
def test_blank_manual_answers_get_zero_and_written_ones_wait_for_the_teacher(lab, graded) -> None:
    blank = scores_of(graded, lab)["blank"]
    assert blank["experiment_figure"] == blank["experiment_reading"] == 0
    assert sum(mark or 0 for mark in blank.values()) == 0


@pytest.mark.timeout(600)
def test_feedback_carries_the_diagnosis_of_every_lost_point(lab, graded) -> None:
    for student, answers in class_of(lab).items():
        page = feedback_of(graded, lab, student)
        for key in lab.keys:
            names = [wrong.diagnosis for wrong in lab.bank.wrong[key] if wrong.source == answers.get(key)]
            for name in names:
                assert f"This looks like: {name}." in page, (student, key, name)
        if not student.startswith("wrong"):
            assert "This looks like" not in page


@pytest.mark.timeout(600)
def test_feedback_shows_the_mark_scheme_of_the_written_question(lab, graded) -> None:
    assert "MARK SCHEME" in feedback_of(graded, lab, LOST)
