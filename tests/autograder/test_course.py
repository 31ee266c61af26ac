"""The guide for instructors, line by line: its commands set up a course, and grade it right."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from pioneers.autograder.skeleton import about
from pioneers.checks import find
from pioneers.checks.answers import load_answers

from .classroom import ROOT

GUIDE = (ROOT / "book" / "guide_instructors.md").read_text()
LAB = "01_self_attention"
BANK = load_answers(ROOT / "labs" / LAB)


def commands(anchor):
    """The first block of shell commands in a section of the guide."""
    return re.search(r"^```sh\n(.*?)^```$", GUIDE.split(f"({anchor})=")[1], re.MULTILINE | re.DOTALL)[1]


def shell(home, text):
    """Give commands in the repository, as an instructor whose home is an empty folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"HOME": str(home), "PATH": path}
    return subprocess.run(["bash", "-ec", text], cwd=ROOT, env=env, capture_output=True, text=True)


def cells(notebook):
    return {about(cell).grade_id: cell for cell in notebook.cells if about(cell)}


@pytest.fixture
def course(monkeypatch):
    """The program ``labs/course.py``."""
    monkeypatch.syspath_prepend(ROOT / "labs")
    yield importlib.import_module("course")
    for name in ("course", "release"):
        sys.modules.pop(name)


@pytest.fixture(scope="module")
def home(jail, tmp_path_factory):
    """The home of an instructor whose course has a right, a wrong and a blank submission, all graded."""
    home = tmp_path_factory.mktemp("home")
    done = shell(home, commands("guide-instructors-course"))
    assert done.returncode == 0, done.stderr
    read = {part: home / "course" / part / LAB / f"{LAB}.ipynb" for part in ("source", "release")}
    source, released = (nbformat.read(path, as_version=4) for path in read.values())
    solved = {name: cell.source for name, cell in cells(source).items() if about(cell).solution}
    wrong = {find(key).name: answers[0].source for key, answers in BANK.wrong.items()}
    for student, answers in {"blank": {}, "right": solved, "wrong": solved | wrong}.items():
        for name, text in answers.items():
            cells(released)[name].source = text
        path = home / "course" / "submitted" / student / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(released, path)
    done = shell(home, commands("guide-instructors-grade"))
    assert done.returncode == 0, done.stderr
    return home


@pytest.mark.timeout(300)
def test_the_commands_of_the_guide_give_the_right_points(home):
    totals = dict(line.split(",") for line in (home / f"course/reports/{LAB}/moodle.csv").read_text().split())
    points = sum(find(key).points for key in BANK.wrong)
    assert totals == {"username": LAB, "right": f"{points}", "wrong": "0", "blank": "0"}


def test_the_class_page_names_each_mistake_and_feedback_shows_no_solution(home):
    page = (home / "course" / "reports" / LAB / "class.html").read_text()
    assert "3 submissions" in page
    assert all(f"<td>{answers[0].diagnosis}" in page for answers in BANK.wrong.values())
    feedback = [path.read_text() for path in home.glob("course/feedback/*/*/*.html")]
    assert len(feedback) == 3
    assert "typical answer" in page
    assert "typical answer" not in "".join(feedback)


def test_an_edited_notebook_is_not_overwritten_unless_told_so(home, course, capsys):
    notebook = home / "course" / "source" / LAB / f"{LAB}.ipynb"
    made, words = notebook.read_text(), [str(home / "course"), LAB]
    course.main(words)
    notebook.write_text(made.replace("Exercise 1.1", "Exercise One"))
    with pytest.raises(SystemExit):
        course.main(words)
    assert "differs from the lab" in capsys.readouterr().err
    assert "Exercise One" in notebook.read_text()
    course.main([*words, "--replace"])
    assert notebook.read_text() == made


def test_an_unknown_lab_is_an_error_that_names_the_known_ones(course, tmp_path, capsys):
    with pytest.raises(SystemExit):
        course.main([str(tmp_path), "1"])
    assert "there is no lab 1; the labs are 01_self_attention, " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
