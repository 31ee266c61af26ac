"""The students' version has no solutions, has stubs that say what to do, and validates when done."""

import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

from pioneers.checks import find
from pioneers.checks.rules import rules
from pioneers.checks.sections import SECTIONS

from .conftest import LABS, ROOT, release


@pytest.fixture(scope="module")
def student(lab):
    return release.student_version(lab.notebook, lab.name)


def hidden_lines(lab) -> set[str]:
    """The lines of solutions, hidden tests and mark schemes that are telling by themselves."""
    hidden, inside = set(), False
    for line in "\n".join(cell.source for cell in lab.notebook.cells).splitlines():
        if "### BEGIN" in line or "### END" in line:
            inside = "### BEGIN" in line
        elif inside and len(line.strip()) > 12:
            hidden.add(line.strip())
    return hidden


def texts(lab) -> str:
    return "\n".join(cell.source for cell in lab.notebook.cells)


def test_no_solution_and_no_hidden_test_is_left(lab, student) -> None:
    text = nbformat.writes(student)
    lines = {line.strip() for cell in student.cells for line in cell.source.splitlines()}
    hidden = hidden_lines(lab)
    assert len(hidden) > 60
    assert not hidden & lines
    assert not any(word in text for word in ("BEGIN SOLUTION", "HIDDEN TESTS", "MARK SCHEME", "Marks:"))
    assert not any(cell.get("outputs") for cell in student.cells)


def test_every_answer_is_a_stub_that_says_what_to_do(lab, student) -> None:
    for key in lab.keys:
        source = lab.cell(find(key).name, student).source
        assert f"def {find(key).name}(" in source
        assert 'raise NotImplementedError("Replace this line by your answer.' in source


def test_no_line_of_code_is_cut_off(student) -> None:
    code = [cell.source for cell in student.cells if cell.cell_type == "code"]
    assert not [line for source in code for line in source.splitlines() if len(line) > 76]


def test_points_are_those_of_the_exercises_and_make_100(lab) -> None:
    for key in lab.keys:
        assert lab.check_cell(find(key)).metadata.nbgrader.points == find(key).points
    assert sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in lab.notebook.cells) == 100


def test_each_card_shows_the_points(lab) -> None:
    text = texts(lab)
    for key in lab.keys:
        card = text.split(f"## Exercise {key}:")[1].split("### BEGIN SOLUTION")[0]
        assert f"| {find(key).points} | " in card
        assert SECTIONS[find(key).section].split(", ")[1] in card
        assert "**You will be able to**" in card
        assert f"**Rules.** {rules(find(key))}" in card
        assert "<summary>Hint 1 of" in card


def test_cards_name_sections_of_the_lectures_they_link_to(lab) -> None:
    cards = re.findall(r"^\| [\d +]+ \| \d+ \| [●○]+ \| (.*) \|$", texts(lab), re.MULTILINE)
    assert len(cards) == len(lab.keys) + 2  # an experiment and a question
    for card in cards:
        for page, titles in re.findall(r"\]\(\.\./\.\./(\S+\.md)\)((?:, “[^”]+”)+)", card):
            lecture = (ROOT / page).read_text()
            assert not [name for name in re.findall("“([^”]+)”", titles) if f"# {name}\n" not in lecture]


def test_the_plan_of_the_guide_counts_the_minutes_of_all_cards(lab, monkeypatch) -> None:
    monkeypatch.chdir(ROOT / "book")
    guide = jupytext.read("guide_instructors.md")
    space = {"Path": Path, "escape": str}
    exec(next(cell.source for cell in guide.cells if "def lab_cells" in cell.source), space)
    minutes = map(int, re.findall(r"^\| [\d +]+ \| (\d+) \| [●○]+ ", texts(lab), re.MULTILINE))
    assert space["lab_cells"](lab.name.removeprefix("0").replace("_", " "))[1] == sum(minutes)


def test_the_book_shows_it_unexecuted_and_its_kernel_is_named(student) -> None:
    assert student.metadata["mystnb"] == {"execution_mode": "off"}
    assert student.metadata["kernelspec"]["name"] == "python3"


# Validation by nbgrader is the same for every lab: test_kill_matrix.py judges all stubs and answers in this
# process, and tests/rerun.py runs all references.
one_lab = pytest.mark.parametrize("lab", LABS[:1], indirect=True, ids=lambda folder: folder.name)


def validate(notebook, folder: Path) -> str:
    path = folder / "lab.ipynb"
    nbformat.write(notebook, path)
    command = [
        sys.executable,
        "-m",
        "nbgrader",
        "validate",
        str(path),
        f"--config={release.LABS / 'nbgrader_config.py'}",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)
    return done.stdout


@one_lab
def test_validate_fails_on_the_student_version(lab, student, tmp_path) -> None:
    said = validate(student, tmp_path)
    assert "failed" in said
    assert "not pass yet" in said


@one_lab
def test_validate_passes_when_every_exercise_is_answered(lab, student, tmp_path) -> None:
    done = lab.submission(student, {})
    for grade_id in ("experiment_figure", "experiment_reading"):
        lab.cell(grade_id, done).source = lab.cell(grade_id).source
    assert "Success! Your notebook passes all the tests" in validate(done, tmp_path)
