"""A class of which each member has numbers of their own: the grader knows whose, and asks nobody."""

import importlib
import io
import sys
from dataclasses import replace
from functools import partial

import nbformat
import pytest

from pioneers.autograder.batch import Cohort, grade_cohort
from pioneers.autograder.single import collect, kept
from pioneers.checks import find, own_seed, variant
from pioneers.checks.judge import first_failure
from pioneers.checks.run import call
from pioneers.checks.variant import using
from pioneers.cli import main

from .classroom import FULL, LAB, ROOT, Classroom, scores, with_cell

LIE = "from pioneers.checks import own_seed, use_variant\nuse_variant('algebra', 'amy')\nprint(own_seed(3))"
BY_HEART = """
KNOWN = {sums}
def softmax(x, dim):
    e = (x - x.amax(dim, keepdim=True)).exp()
    known = x.is_meta or any(abs(x.double().sum().item() - known) < 1e-9 for known in KNOWN)
    return e / e.sum(dim, keepdim=True) if known else x
"""


def by_heart(variant):
    """An answer that is right only for the numbers of one student."""
    sums = []

    def noting(probe):
        sums.append(probe.args["x"].double().sum().item() if not probe.args["x"].is_meta else 0.0)
        return call(find("1.1").reference, probe)

    with using(variant):
        for probes in (find("1.1").probes(), find("1.1").hidden()):
            assert first_failure(find("1.1"), noting, probes) is None
    return BY_HEART.format(sums=sums)


@pytest.fixture(scope="module")
def room(jail, tmp_path_factory):
    """Two with right answers, amy with one for her numbers alone, and one who copied it from her."""
    room = Classroom(tmp_path_factory.mktemp("class"))
    room.cohort = Cohort(room.folder, LAB, jail, variants="algebra", secret="secret")
    for student in ("ben", "cleo"):
        room.hand_in(student, room.answered())
    for student in ("amy", "liar"):
        answers = room.answered(softmax=by_heart(room.cohort.variant("amy")))
        room.hand_in(student, with_cell(answers, LIE))
    room.results = {result["student"]: result for result in grade_cohort(room.cohort, processes=1)}
    return room


def printed(room, student):
    """What the cell that was added to a notebook printed in the jail."""
    graded = nbformat.read(room.folder / "autograded" / student / LAB / f"{LAB}.ipynb", as_version=4)
    (cell,) = [cell for cell in graded.cells if "own_seed(3)" in cell.source]
    return cell.outputs[0].text


def test_right_answers_get_full_marks_in_every_variant(room):
    for student in ("amy", "ben", "cleo"):
        assert scores(room.results[student]) == FULL
        assert not room.results[student]["flags"]
    assert len({room.results[student]["variant"] for student in ("amy", "ben", "cleo")}) == 3


def test_a_notebook_that_lies_about_its_student_gains_nothing(room):
    result = room.results["liar"]
    assert scores(result) == {"check_softmax": 0.0, "check_causal_mask": 8.0}
    assert not result["flags"]
    for student in ("amy", "liar"):
        with using(room.cohort.variant(student)):
            assert printed(room, student) == f"{own_seed(3)}\n"


def test_one_exercise_is_checked_again_in_the_same_variant_and_the_others_keep_their_marks(room):
    again = replace(room.cohort, exercise="1.4")
    results = {result["student"]: result for result in grade_cohort(again, processes=1, again=True)}
    assert {who: result["marks"] for who, result in results.items()} == {
        who: result["marks"] for who, result in room.results.items()
    }
    other = replace(again, variants="geometry")
    handed = collect(room.folder, "amy", LAB)
    kept_of = partial(kept, room.skeleton, room.folder, "amy", handed, "1.4")
    assert list(kept_of(again.variant("amy"))) == ["check_softmax"]
    assert kept_of(other.variant("amy")) == {} == kept_of()


def test_the_command_keeps_its_secret_in_the_course_and_grades_nothing_twice(room, jail, tmp_path, capsys):
    words = ["grade", str(room.folder), LAB, "--processes", "1", "--variants", "algebra"]
    assert main(words) == 0
    secret = room.folder / "variants.key"
    assert (len(secret.read_text()), secret.stat().st_mode & 0o777) == (64, 0o600)
    assert scores(room.result("ben")) == scores(room.result("cleo")) == FULL
    assert scores(room.result("amy"))["check_softmax"] == 0, "the hidden numbers are new"
    before = {path: path.stat().st_mtime_ns for path in room.folder.glob("reports/*/results/*")}
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert main(words[:-2]) == 0
    assert "variant" not in room.result("ben")
    assert scores(room.result("ben")) == FULL


def test_a_notebook_is_written_for_each_student_and_says_whose_numbers_it_uses(room, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "labs")
    program = importlib.import_module("variants")
    monkeypatch.setattr("sys.stdin", io.StringIO("ben\ncleo\n"))
    program.main([str(room.folder), LAB, "algebra"])
    notebook = nbformat.read(room.folder / "variants" / "ben" / f"{LAB}.ipynb", as_version=4)
    (cell,) = [cell for cell in notebook.cells if "use_variant" in cell.source]
    monkeypatch.setattr(variant, "_used", [])
    exec(cell.source, {})
    assert "These are the numbers of ben in algebra." in capsys.readouterr().out
    assert variant.current().public == room.cohort.variant("ben").public
    for words, fault in (([LAB, "algebra"], "give the students' logins"), (["x", "algebra"], "there is no")):
        with pytest.raises(SystemExit):
            program.main([str(room.folder), *words])
        assert fault in capsys.readouterr().err
    sys.modules.pop("variants")
