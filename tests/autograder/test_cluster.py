"""A class on a Dask cluster with TLS: workers die, one has no jail, and marks are as on one machine."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import dask
import distributed
import psutil
import pytest

from pioneers.analysis import experiment
from pioneers.autograder import cluster
from pioneers.autograder.batch import Cohort, grade_cohort
from pioneers.cli import main

from .classroom import LAB, Classroom, kinds

WRONG = "def softmax(x, dim):\n    return x.exp() / x.exp().sum({}, keepdim=True)"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Dask's configuration of TLS, with one certificate for everybody."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    order = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=course"]
    subprocess.run([*order, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    own = {"key": key, "cert": certificate}
    tls = {"ca-file": certificate, "scheduler": own, "worker": own, "client": own}
    (folder / "dask.yaml").write_text(json.dumps({"distributed": {"comm": {"tls": tls}}}))
    with dask.config.set(
        {"distributed.comm.tls": dask.config.merge(dask.config.get("distributed.comm.tls"), tls)}
    ):
        yield {"DASK_CONFIG": str(folder)}


def start(folder, kind, *words, **environment):
    """Start a scheduler or a worker."""
    with (folder / "said.txt").open("ab") as said:
        command = [sys.executable, "-m", "dask", kind, *words, "--no-dashboard"]
        return subprocess.Popen(command, stdout=said, stderr=said, env=os.environ | environment)


@pytest.fixture(scope="module")
def workers(jail, certificates, tmp_path_factory):
    """The address of a scheduler, and four workers; a fifth has no jail."""
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    own = ("--host", "tls://127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    scheduler = start(folder, "scheduler", *own, **certificates)
    own = ("--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
    workers = [start(folder, "worker", *own, **certificates) for _ in range(4)]
    lame = start(folder, "worker", *own, **certificates, PATH="")
    while not (file.exists() and file.read_text()):
        assert scheduler.poll() is None, (folder / "said.txt").read_text()
        time.sleep(0.1)
    address = json.loads(file.read_text())["address"]
    with distributed.Client(address) as client:
        client.wait_for_workers(5, timeout=60)
    yield address, workers, lame
    for process in [*workers, lame, scheduler]:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A course in which twelve have handed in: right, wrong, blank, renamed, hostile or broken."""
    room = Classroom(tmp_path_factory.mktemp("class"))
    for i in range(6):
        room.hand_in(f"wrong{i}", room.answered(softmax=WRONG.format(i - 3)))
    for i in range(2):
        room.hand_in(f"right{i}", room.answered(experiment_reading=f"reading {i}"))
    room.hand_in("blank", room.skeleton.released)
    room.hand_in("renamed", room.answered(), name="mine")
    room.hand_in("hostile", room.answered(softmax="import os\nos._exit(0)"))
    room.hand_in("broken", b"\xff{")
    return room


def graded(course):
    """Marks and flags of each student, and the notebooks that the formgrader shows."""
    files = [json.loads(path.read_text()) for path in course.glob("reports/*/results/*.json")]
    notebooks = {
        path.parts[-3]: json.loads(path.read_text()) for path in course.glob("autograded/*/*/*.ipynb")
    }
    for notebook in notebooks.values():
        for cell in notebook["cells"]:
            del cell["id"]  # of a cell that was added, it is drawn
    return {file["student"]: (file["marks"], file["flags"], notebooks[file["student"]]) for file in files}


@pytest.mark.timeout(300)
def test_workers_that_are_killed_or_refuse_cost_nothing_and_marks_are_those_of_one_machine(
    room, jail, workers, capsys, tmp_path
):
    alone = shutil.copytree(room.folder, tmp_path / "alone")
    here = list(grade_cohort(Cohort(alone, LAB, jail), processes=1))
    address, processes, lame = workers
    assert address.startswith("tls://")
    students, jails = [], []
    for result in grade_cohort(Cohort(room.folder, LAB, jail), processes=1, scheduler=address):
        students.append(result["student"])
        if len(students) == 3:
            for process in processes[:2]:
                jails += psutil.Process(process.pid).children(recursive=True)
                process.send_signal(signal.SIGKILL)
    assert sorted(students) == sorted(result["student"] for result in here)
    assert len(set(students)) == len(students) == 12
    assert graded(room.folder) == graded(alone)
    (refusal,) = [line for line in capsys.readouterr().err.splitlines() if "refuses" in line]
    assert "bubblewrap is not installed" in refusal
    assert lame.wait(10) == 0
    assert not psutil.wait_procs(jails, timeout=5)[1]
    assert all(process.poll() is None for process in processes[2:])


def test_a_run_that_ends_midway_goes_on_and_one_exercise_is_checked_alone(room, workers, capsys):
    results = room.folder / "reports" / LAB / "results"
    for student in ("right0", "right1", "renamed"):
        (results / f"{student}.json").unlink()
    kept = {path: path.stat().st_mtime_ns for path in results.iterdir()}
    words = ["grade", str(room.folder), LAB, "--scheduler", workers[0]]
    assert main(words) == 0
    assert "12 submissions graded" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert kinds(room.result("renamed")) == {"renamed"}
    before = graded(room.folder)
    room.hand_in("right0", room.answered(softmax=WRONG.format(0)))
    assert main([*words, "--exercise", "1.4", "--again"]) == 0
    after = graded(room.folder)
    assert {student for student in after if after[student][0] != before[student][0]} == {"right0"}


def test_what_a_cluster_lacks_is_one_line(room, workers, monkeypatch, capsys):
    words = ["grade", str(room.folder), LAB, "--again", "--scheduler"]
    with dask.config.set({"distributed.comm.tls.ca-file": None}):
        assert main([*words, workers[0]]) == 1
    assert "no connection to a Dask scheduler at 'tls://" in capsys.readouterr().err
    before = graded(room.folder)
    monkeypatch.setattr(cluster, "sources", lambda skeleton: "another version")
    assert main([*words, workers[0]]) == 1
    *refusals, last = capsys.readouterr().err.splitlines()
    assert len(refusals) == 2
    assert last.startswith("pioneers: error: no worker of the cluster can grade: its pioneers, Python or")
    monkeypatch.setattr(cluster, "PATIENCE", 0)
    assert main([*words, workers[0]]) == 1
    assert "has had no worker for 0 seconds" in capsys.readouterr().err
    assert graded(room.folder) == before


def test_the_published_cluster_loses_nothing_when_two_workers_are_killed():
    (row,) = experiment("grade_cluster")["rows"]
    assert row["workers"] == 4
    assert row["same_marks"] and row["same_after_kills"]
    assert row["results"] == row["submissions"] == 200
    assert row["twice"] == 0
