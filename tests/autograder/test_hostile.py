"""Submissions that mean harm: each gets exactly what it has earned, and harms nothing."""

import hashlib
import subprocess
from pathlib import Path

import pytest
import torch

from pioneers.analysis import experiment
from pioneers.autograder.batch import Cohort, grade_cohort
from pioneers.autograder.jail import Limits
from pioneers.autograder.publish import publish
from pioneers.autograder.record import gradebook_view, record
from pioneers.checks import find, judge, numbers

from .classroom import FULL, LAB, Classroom, kinds, scores
from .hostile import ATTACKS

STUDENTS = {name: f"h{number:02}" for number, name in enumerate(ATTACKS)}


def fingerprint(*folders):
    """All files in the folders, and what they hold."""
    whole = [path for folder in folders for path in (folder, *sorted(folder.rglob("*")))]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in whole if path.is_file()}


@pytest.fixture(scope="module")
def room(jail, tmp_path_factory):
    """The class after grading, with a right submission among the hostile ones."""
    room = Classroom(tmp_path_factory.mktemp("hostile"))
    room.hand_in("right", room.answered())
    for name, attack in ATTACKS.items():
        attack.hand_in(room, STUDENTS[name])
    kept = [room.folder / "submitted", room.folder / "source", Path(torch.__file__), Path(judge.__file__)]
    before, book = fingerprint(*kept), (room.folder / "gradebook.db").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEACHER_SECRET", "s3cret-of-the-teacher")
        limits = Limits(cell=5, call=8, total=120, memory=2 << 30)
        # Most of them only wait until they are stopped, so there may be more at once than cores.
        results = list(grade_cohort(Cohort(room.folder, LAB, limits), processes=4))
    assert fingerprint(*kept) == before
    assert (room.folder / "gradebook.db").read_bytes() == book
    record(room.folder, LAB, results)
    publish(room.folder, LAB, results, gradebook_view(room.folder, LAB))
    return room


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_earns_what_it_has_earned(room, name):
    result = room.result(STUDENTS[name])
    assert scores(result) == ATTACKS[name].earns, [mark["cause"] for mark in result["marks"]]
    assert ATTACKS[name].flag in {"", *kinds(result)}
    assert all(mark["cause"] for mark in result["marks"] if mark["score"] == 0)


def test_the_bank_is_large(room):
    assert len(ATTACKS) >= 60
    assert scores(room.result("right")) == FULL
    assert not room.result("right")["flags"]


def test_the_published_table_has_every_attack_and_no_harm_by_this_grader():
    rows = {row["case"]: row["pioneers"] for row in experiment("hostile_class")["rows"]}
    assert list(rows) == list(ATTACKS)
    for name, row in rows.items():
        assert row["points"] == list(ATTACKS[name].earns.values())
        assert (row["honest"], row["shown"], row["changed"], row["ended"]) == (True, [], 0, "")


def test_nothing_of_it_goes_on_running(room):
    assert room.result("right")
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert "sleep 4322" not in listing


def test_pages_carry_no_script_no_secret_and_no_hidden_probe(room):
    pages = [*room.folder.glob("feedback/*/*/*.html"), room.folder / "reports" / LAB / "class.html"]
    assert len(pages) == len(ATTACKS) + 2
    text = "".join(page.read_text() for page in pages)
    assert "<script" not in text
    assert "s3cret-of-the-teacher" not in text
    exercises = [exercise for exercise in map(find, numbers()) if f"check_{exercise.name}" in FULL]
    hidden = [probe.name for exercise in exercises for probe in exercise.hidden()]
    assert len(exercises) == len(FULL) and len(hidden) >= 6
    assert not [name for name in hidden if name in text]


def test_the_teachers_notebooks_carry_nothing_that_runs(room):
    graded = list(room.folder.glob("autograded/*/*/*.ipynb"))
    assert len(graded) == len(ATTACKS) + 1
    for path in graded:
        assert "text/html" not in path.read_text()
        assert path.stat().st_size < 5 << 20
