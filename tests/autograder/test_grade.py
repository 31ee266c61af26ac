"""A class through ``pioneers grade``: every mark deserved, every loss explained, and killed at any moment."""

import csv
import html
import json
import os
import random
import signal
import subprocess
import sys
import time

import nbformat
import pytest

from pioneers.analysis import experiment
from pioneers.autograder import batch, self_test
from pioneers.autograder.batch import Cohort, grade_cohort
from pioneers.autograder.desk import harmless
from pioneers.autograder.jail import Limits, NoJail
from pioneers.autograder.mistakes import difference, known_mistakes
from pioneers.autograder.record import gradebook_view, open_gradebook
from pioneers.autograder.screen import forbidden_names
from pioneers.autograder.single import earlier, grade
from pioneers.checks import find
from pioneers.checks.answers import load_answers
from pioneers.checks.report import headline
from pioneers.cli import main

from .classroom import FULL, LAB, ROOT, Classroom, kinds, scores

BANK = load_answers(ROOT / "labs" / "01_self_attention")
KEYS = {"1.1": "softmax", "1.4": "causal_mask"}


def wrong_answers():
    """Students and their wrong answers; each makes one mistake in each exercise, as far as there are some."""
    longest = max(len(BANK.wrong[key]) for key in KEYS)
    return [{key: BANK.wrong[key][i] for key in KEYS if i < len(BANK.wrong[key])} for i in range(longest)]


@pytest.fixture(scope="module")
def room(jail, tmp_path_factory):
    """A class, graded by the command."""
    room = Classroom(tmp_path_factory.mktemp("class"))
    for i, mistakes in enumerate(wrong_answers()):
        answers = {KEYS[key]: wrong.source for key, wrong in mistakes.items()}
        room.hand_in(f"wrong{i}", room.answered(**answers))
    for i in range(2):
        answers = {name: BANK.right[key][i].source for key, name in KEYS.items()}
        room.hand_in(
            f"right{i}", room.answered(**answers, experiment_reading="<script>alert(1)</script> level")
        )
    room.hand_in("blank", room.skeleton.released)
    room.hand_in("broken", "{")
    room.hand_in("=1+1", room.answered())
    (room.folder / "submitted" / "right0" / LAB / "timestamp.txt").write_text("2026-03-01 12:00:00 UTC")
    (room.folder / "submitted" / "right0" / LAB / "submission_secret.txt").write_text("made by the exchange")
    (room.folder / "submitted" / "right1" / LAB / "timestamp.txt").write_text("when I felt like it")
    assert main(["grade", str(room.folder), LAB, "--processes", "2"]) == 0
    return room


def page(room, student):
    return (room.folder / "feedback" / student / LAB / f"{LAB}.html").read_text()


def marks(room):
    """All that the gradebook holds about points."""
    return {
        who: {name: cell["score"] for name, cell in cells.items()}
        for who, cells in gradebook_view(room.folder, LAB).items()
    }


def test_wrong_answers_lose_their_points_with_their_own_diagnosis_and_no_others(room):
    for i, mistakes in enumerate(wrong_answers()):
        result = room.result(f"wrong{i}")
        named = {mark["grade_id"]: mark["mistake"] for mark in result["marks"] if mark["mistake"]}
        assert named == {f"check_{KEYS[key]}": wrong.diagnosis for key, wrong in mistakes.items()}
        lost = {f"check_{KEYS[key]}": 0.0 for key in mistakes}
        assert scores(result) == FULL | lost
        for wrong in mistakes.values():
            assert f"This looks like: {wrong.diagnosis}." in page(room, f"wrong{i}")


def test_right_answers_get_full_marks_and_no_flags(room):
    for student in ("right0", "right1", "=1+1"):
        assert scores(room.result(student)) == FULL
        assert not room.result(student)["flags"]
        assert "waits" in page(room, student)


def test_blank_and_broken_get_nothing_and_a_cause(room):
    for student in ("blank", "broken"):
        result = room.result(student)
        assert sum(mark["score"] or 0 for mark in result["marks"]) == 0
        assert all(mark["cause"] for mark in result["marks"] if mark["score"] == 0)
    assert kinds(room.result("broken")) == {"refused"}
    assert "not a notebook" in page(room, "broken")


def test_the_gradebook_says_the_same_as_the_results(room):
    held = gradebook_view(room.folder, LAB)
    assert set(held) == set(Cohort(room.folder, LAB, Limits()).students())
    for student, cells in held.items():
        for mark in room.result(student)["marks"]:
            assert cells[mark["grade_id"]]["score"] == (mark["score"] or 0)
            assert cells[mark["grade_id"]]["waits"] == (mark["score"] is None)
    with open_gradebook(room.folder) as book:
        assert str(book.find_submission(LAB, "right0").timestamp) == "2026-03-01 12:00:00"
        assert book.find_submission(LAB, "right1").timestamp is None


def test_the_exchange_takes_the_feedback(room, tmp_path):
    options = [f"--Exchange.root={tmp_path}", "--CourseDirectory.student_id=right0", "--course=pioneers"]
    run = subprocess.run(
        [sys.executable, "-m", "nbgrader", "release_feedback", LAB, *options],
        cwd=room.folder, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    (released,) = (tmp_path / "pioneers" / "feedback").glob("*.html")
    assert released.read_text() == page(room, "right0")


def test_marks_made_by_hand_survive_and_grading_again_changes_nothing(room, capsys):
    with open_gradebook(room.folder) as book:
        grade = book.find_grade("experiment_reading", LAB, LAB, "right0")
        grade.manual_score, grade.needs_manual_grade = 3.0, False
        book.find_comment("experiment_reading", LAB, LAB, "right0").manual_comment = "Well <seen>."
        book.db.commit()
    before = marks(room)
    seconds = room.result("right0")["seconds"]
    assert main(["grade", str(room.folder), LAB, "--processes", "2"]) == 0
    assert room.result("right0")["seconds"] == seconds  # not graded again
    assert marks(room) == before
    assert before["right0"]["experiment_reading"] == 3.0
    assert not gradebook_view(room.folder, LAB)["right0"]["experiment_reading"]["waits"]
    assert "Well &lt;seen&gt;." in page(room, "right0")
    assert "reports" in capsys.readouterr().out


def test_a_table_for_each_system(room):
    reports = room.folder / "reports" / LAB
    head, possible, *rows = csv.reader((reports / "canvas.csv").open())
    assert (head[0], head[-1], possible[-1]) == ("Student", LAB, "28")
    totals = {row[0]: float(row[-1]) for row in rows}
    assert (totals["blank"], totals["wrong0"], totals["right1"]) == (0, 0, 18)
    assert "'=1+1" in totals
    moodle = dict(csv.reader((reports / "moodle.csv").open()))
    assert (moodle["username"], moodle["right1"]) == (LAB, "18")
    blackboard = dict(csv.reader((reports / "blackboard.csv").open()))
    assert (blackboard["Username"], blackboard["right1"]) == (f"{LAB} [Total Pts: 28 Score]", "18")
    (items,) = [row for row in csv.DictReader((reports / "items.csv").open()) if row["name"][:3] == "1.1"]
    students = [path.stem for path in (reports / "results").glob("*.json")]
    assert int(items["full"]) == sum(scores(room.result(who))["check_softmax"] == 10 for who in students)


def changes():
    """The wrong answers to both exercises, as the teacher sees them."""
    known = known_mistakes([headline(find(key)) for key in KEYS])
    return [answer for answers in known.values() for answer in answers]


def test_the_class_page_counts_mistakes_shows_a_typical_answer_to_each_and_flags(room):
    text = html.unescape((room.folder / "reports" / LAB / "class.html").read_text())
    common, _, known = text.partition("<h2>Wrong answers that the checks recognise</h2>")
    for mistakes in wrong_answers():
        for wrong in mistakes.values():
            typical = next(answer.change for answer in changes() if answer.mistake == wrong.diagnosis)
            details = f"<details><summary>a typical answer</summary><pre>{typical}</pre></details>"
            assert f"<td>{wrong.diagnosis}{details}" in common
    assert not [answer for answer in changes() if f"<pre>{answer.change}</pre>" not in known]
    assert "<td>broken</td><td>refused</td>" in text


def test_a_wrong_answer_is_shown_as_a_change_of_the_right_one():
    right = 'def f(x: Tensor, n: int = 2) -> Tensor:\n    """Double it."""\n    y = x\n    return n * y\n'
    assert difference(right, right.replace("n * y", "n + y")).splitlines() == [
        "  def f(x, n=2):",
        "      y = x",
        "-     return n * y",
        "+     return n + y",
    ]
    other = "def g(x):\n    return x\n\ndef f(x, n=2):\n    return g(x)\n"
    assert difference(right, other).splitlines()[0] == "+ def g(x):"
    assert "  def f(x, n=2):" in difference(right, other)


def test_no_page_for_students_carries_a_hidden_probe_a_solution_or_a_script(room):
    text = "".join(path.read_text() for path in room.folder.glob("feedback/*/*/*.html"))
    names = [probe.name for probe in find("1.1").hidden()]
    assert len(names) >= 3
    assert "hidden()" in room.skeleton.judging("check_softmax")
    assert ".hidden()" not in text
    assert not [name for name in names if name in text]
    assert not [answer for answer in changes() if answer.change in html.unescape(text)]
    assert "<script" not in text
    graded = nbformat.read(room.folder / "autograded" / "right0" / LAB / f"{LAB}.ipynb", as_version=4)
    assert "<script" not in nbformat.writes(harmless(graded))


def orphans():
    """Processes of a killed grader that did not die with it."""
    listing = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True).stdout
    lines = [line.split(None, 1) for line in listing.splitlines()]
    return {words for ppid, words in lines if ppid == "1" and "spawn_main" in words and sys.prefix in words}


@pytest.mark.timeout(300)
def test_killed_at_random_moments_it_ends_with_the_same_marks(room, jail, tmp_path, seed):
    other = Classroom(tmp_path / "killed")
    for student in ("blank", "broken", "right0", "wrong0", "wrong1"):
        source = room.folder / "submitted" / student / LAB / f"{LAB}.ipynb"
        other.hand_in(student, source.read_bytes())
    words = [sys.executable, "-m", "pioneers", "grade", str(other.folder), LAB, "--processes", "2"]
    moments, before = random.Random(seed), orphans()
    for _ in range(3):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begun, results = time.monotonic(), other.folder / "reports" / LAB / "results"
        while process.poll() is None and time.monotonic() - begun < 8 and not list(results.glob("*.started")):
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 2))
        process.kill()
        process.wait()
    assert subprocess.run(words, capture_output=True).returncode == 0
    assert not orphans() - before
    undisturbed = {who: points for who, points in marks(room).items() if who in marks(other)}
    undisturbed["right0"]["experiment_reading"] = 0.0  # marked by hand in the other course
    assert marks(other) == undisturbed
    with open_gradebook(other.folder) as book:
        assert book.db.connection().exec_driver_sql("pragma integrity_check").scalar() == "ok"
    assert not list(other.folder.rglob("*.part"))


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_at_once_and_says_how_far_it_got(room, jail, tmp_path):
    other, before = Classroom(tmp_path / "interrupted"), orphans()
    endless = other.answered(softmax="import time\n\ndef softmax(x, dim):\n    time.sleep(60)")
    for student in ("first", "second"):
        other.hand_in(student, endless)
    words = [sys.executable, "-m", "pioneers", "grade", str(other.folder), LAB, "--processes", "1"]
    # A shell that starts the tests in the background has them ignore Ctrl-C, and so would the grader.
    process = subprocess.Popen(
        ["env", "--default-signal=INT", *words], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    results = other.folder / "reports" / LAB / "results"
    while process.poll() is None and not list(results.glob("first.started")):
        time.sleep(0.02)
    time.sleep(1)
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    said = process.communicate()[1]
    assert time.monotonic() - begun < 3
    assert process.returncode == 130
    assert "0 of 2 submissions are graded; the same command goes on" in said
    assert "Traceback" not in said
    assert not orphans() - before


def test_a_grader_process_that_dies_costs_nobody_else_anything(room, jail, tmp_path, monkeypatch):
    other = Classroom(tmp_path / "dies")
    for student in ("broken", "fatal"):
        other.hand_in(student, "{")
    cohort = Cohort(other.folder, LAB, jail)

    def dies_with_fatal(cohort, students, processes):
        batch._started(cohort, "fatal").parent.mkdir(parents=True, exist_ok=True)
        batch._started(cohort, "fatal").touch()
        yield from (grade(other.skeleton, other.folder, s, jail) for s in list(students) if s != "fatal")

    monkeypatch.setattr(batch, "_round", dies_with_fatal)
    results = {result["student"]: result for result in grade_cohort(cohort, processes=1)}
    assert kinds(results["fatal"]) == {"grader failed"}
    assert kinds(results["broken"]) == {"refused"}
    assert earlier(other.folder, "fatal", LAB) == results["fatal"]
    assert {mark["score"] for mark in results["fatal"]["marks"]} == {None}


def test_a_fault_of_the_grader_itself_is_flagged_and_left_to_the_teacher(room, tmp_path, monkeypatch):
    other = Classroom(tmp_path / "fault")
    other.hand_in("unlucky", other.answered())
    monkeypatch.setattr(batch, "grade", lambda *args, **kwargs: {}["nothing"])
    monkeypatch.setattr(batch, "_WORKER_STATE", [Cohort(other.folder, LAB, Limits()), other.skeleton])
    batch._started(batch._WORKER_STATE[0], "").parent.mkdir(parents=True)
    result = batch._grade("unlucky")
    assert "KeyError" in result["flags"][0]["text"]
    assert scores(result) == dict.fromkeys(FULL)


def test_without_a_jail_the_command_refuses_unless_the_class_is_trusted(room, monkeypatch, capsys):
    def no_jail(limits):
        raise NoJail("user namespaces are forbidden")

    monkeypatch.setattr(self_test, "escape_attempts", no_jail)
    assert main(["grade", str(room.folder), LAB]) == 1
    assert "user namespaces are forbidden" in capsys.readouterr().err
    assert main(["grade", str(room.folder), LAB, "--trust-this-class"]) == 0
    assert "this class is trusted with everything you can read and change" in capsys.readouterr().err
    monkeypatch.setattr(self_test, "escape_attempts", lambda limits: ["reach the network of this machine"])
    assert main(["grade", str(room.folder), LAB]) == 1
    assert "a student could reach the network" in capsys.readouterr().err


def test_what_is_missing_is_named(room, tmp_path, capsys):
    assert main(["grade", str(tmp_path), LAB]) == 1
    assert "has no gradebook.db; run there: nbgrader generate_assignment small" in capsys.readouterr().err
    assert main(["grade", str(room.folder), "other"]) == 1
    assert "other is not in the gradebook; run in" in capsys.readouterr().err
    empty = Classroom(tmp_path / "empty")
    assert main(["grade", str(empty.folder), LAB]) == 1
    assert "nobody has handed in small" in capsys.readouterr().err


HONEST = [
    "!pip install torch\nimport torch\n%matplotlib inline",
    "%%time\nmodel.eval()\nlist(model.modules())\nimport re\nre.compile('a')",
    "from pioneers.checks import check\nfrom IPython.display import display\ngetattr(x, 'shape')",
    "from torch.nn import functional as F\nimport numpy as np\nx.grad.fn",
    "this is no Python",
]
FORBIDDEN = {
    "import pioneers.checks.guard": "pioneers.checks.guard",
    "from pioneers.checks import run": "pioneers.checks.run",
    "from pioneers import autograder": "pioneers.autograder",
    "import pioneers.autograder.jailed.serve": "pioneers.autograder.jailed.serve",
    "import pioneers\npioneers.autograder.referee": "pioneers.autograder",
    "import pioneers_labs": "pioneers_labs",
    "open('pioneers_labs/05_bert/label.py')": "pioneers_labs",
    "import pioneers.checks as checks\nchecks.guard": "checks.guard",
    "__import__('pioneers.checks.guard')": "__import__",
    "exec('x')": "exec",
    "getattr(torch, 'sca' + 'led')": "getattr",
    "import not_installed_anywhere": "not_installed_anywhere",
    "from sys import modules": "sys.modules",
    "%run thing.py": "%run thing.py",
    "class T:\n    def __torch_function__(self): pass": "__torch_function__",
}


@pytest.mark.parametrize("source", HONEST)
def test_honest_code_has_no_forbidden_names(source):
    assert forbidden_names(source) == []


@pytest.mark.parametrize("source", FORBIDDEN)
def test_forbidden_names_are_found(source):
    assert FORBIDDEN[source] in forbidden_names(source)


def test_the_published_class_of_200_has_a_cause_for_every_lost_point_and_a_seventh_of_nbgraders_time():
    (row,) = experiment("class_of_200")["rows"]
    assert row["submissions"] + row["hostile"] == row["results"] == 200
    assert row["without_cause"] == 0
    assert row["ratio"] == pytest.approx(row["pioneers"] / row["nbgrader"], rel=1e-3)
    assert row["ratio"] <= 0.15
    assert row["same_marks"] and row["same_in_a_crowd"]
    assert row["crowd"] == 8 * row["processors"]
    assert row["ready_median"] <= 20
    assert row["ready_99"] <= 100
    assert row["thousand_minutes"] <= 10
    assert row["gib"] <= 3 * row["processors"] + 1  # the limit of each submission, and the grader itself


@pytest.mark.timeout(300)
def test_one_exercise_is_checked_again_and_the_changes_are_listed(room, jail, tmp_path, monkeypatch, capsys):
    other = Classroom(tmp_path / "corrected")
    for student in ("right0", "wrong0"):
        source = room.folder / "submitted" / student / LAB / f"{LAB}.ipynb"
        other.hand_in(student, source.read_bytes())
    words = ["grade", str(other.folder), LAB, "--processes", "1"]
    assert main([*words, "--exercise", "1.2"]) == 1
    assert "has no exercise '1.2'; its exercises are 1.1, 1.4" in capsys.readouterr().err
    assert main(words) == 0
    assert "changed" not in capsys.readouterr().out
    for student, checked in (("right0", "check_softmax"), ("wrong0", "check_causal_mask")):
        path = other.folder / "reports" / LAB / "results" / f"{student}.json"
        result = json.loads(path.read_text())
        for mark in result["marks"]:  # as if these marks came from a faulty check
            if mark["grade_id"] == checked:
                mark["score"] = 1.0
        path.write_text(json.dumps(result | {"digest": "of the faulty check"}))
    assert main([*words, "--exercise", "1.1"]) == 0
    said = capsys.readouterr().out
    table = other.folder / "reports" / LAB / "changes.csv"
    assert said.splitlines()[-1] == f"marks that changed: 1, listed in {table}"
    ((student, exercise, before, after),) = list(csv.reader(table.open()))[1:]
    assert (student, exercise[:4], before, after) == ("right0", "1.1 ", "1", "10")
    assert scores(other.result("wrong0"))["check_causal_mask"] == 1.0  # it was kept


@pytest.mark.timeout(300)
def test_a_class_goes_through_the_exchange_and_back(jail, tmp_path, monkeypatch):
    """Release, fetch, submit, collect, grade, release of the feedback, and its way to the student."""
    course, home = Classroom(tmp_path / "course"), tmp_path / "home"
    home.mkdir()
    options = [f"--Exchange.root={tmp_path / 'exchange'}", f"--Exchange.cache={tmp_path / 'cache'}"]

    def nbgrader(folder, *words):
        command = [sys.executable, "-m", "nbgrader", *words, "--course=pioneers", *options]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr

    (tmp_path / "exchange").mkdir(mode=0o777)
    (tmp_path / "exchange").chmod(0o777)
    nbgrader(course.folder, "release_assignment", LAB)
    nbgrader(home, "fetch_assignment", LAB)
    work = home / LAB / f"{LAB}.ipynb"
    fetched = nbformat.read(work, as_version=4)
    for cell, answered in zip(fetched.cells, course.answered().cells, strict=True):
        cell.source = answered.source
    nbformat.write(fetched, work)
    nbgrader(home, "submit", LAB)
    nbgrader(course.folder, "collect", LAB)
    assert main(["grade", str(course.folder), LAB, "--processes", "1"]) == 0
    (student,) = [path.name for path in (course.folder / "submitted").iterdir()]
    assert scores(course.result(student)) == FULL
    nbgrader(course.folder, "release_feedback", LAB)
    nbgrader(home, "fetch_feedback", LAB)
    (page,) = (home / LAB / "feedback").rglob("*.html")
    assert page.read_text() == (course.folder / "feedback" / student / LAB / f"{LAB}.html").read_text()
