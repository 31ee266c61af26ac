"""The jail holds, its self-test can tell a jail from none, and what breaks its limits is ended."""

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version

import psutil
import pytest

from pioneers.autograder import jail as jails
from pioneers.autograder import self_test
from pioneers.autograder.jail import NoJail, bubblewrap, start
from pioneers.autograder.jailed import compiler
from pioneers.autograder.warm import Warm
from pioneers.autograder.watch import ended
from pioneers.autograder.worker import Worker, WorkerLost


@pytest.fixture(scope="module")
def process(jail):
    """A warm process."""
    process = Warm(jail)
    yield process
    process.close()


@pytest.fixture(params=["anew", "forked"])
def worker(jail, process, request):
    worker = Worker(jail, process=process.fork(jail) if request.param == "forked" else None)
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def tame(jail):
    """A worker for cells that do it no harm."""
    worker = Worker(jail)
    yield worker
    worker.close()


def text_of(outputs):
    return "".join(output.get("text", "") for output in outputs)


def test_nothing_escapes_from_a_sound_jail(jail):
    assert self_test.escape_attempts(jail) == []


@pytest.mark.parametrize(
    ("weaken", "escape"),
    [
        (lambda words: [*words, "--ro-bind", "/tmp", "/tmp"], "read a file of the teacher"),
        (lambda words: [*words[:2], "--share-net", *words[2:]], "reach the network of this machine"),
        (
            lambda words: [w.replace("--ro-bind", "--bind") if w == "--ro-bind" else w for w in words],
            "write into the package",
        ),
        (lambda words: [w for w in words if w != "--remount-ro"], "bubblewrap cannot"),
    ],
    ids=["files", "network", "writable", "senseless"],
)
def test_the_self_test_finds_an_escape(jail, monkeypatch, weaken, escape):
    if "package" in escape:  # a folder of its own, so that this test harms nothing
        monkeypatch.setattr(jails, "_package", lambda: ["--tmpfs", str(jails.CHECKS)])
    whole = bubblewrap(["true"], jail)[:-2]
    monkeypatch.setattr(jails, "bubblewrap", lambda command, limits: [*weaken(whole), "--", *command])
    monkeypatch.setattr(self_test, "_fork_bomb_is_stopped", lambda limits: True)
    try:
        assert escape in self_test.escape_attempts(jail)
    except NoJail as reason:
        assert escape in str(reason)


def test_a_fork_bomb_escapes_when_nobody_watches(jail, monkeypatch):
    watched = self_test._fork_bomb_is_stopped

    def impatient(limits):
        with monkeypatch.context() as patch:
            patch.setattr(self_test, "SECONDS", 1)
            return watched(limits)

    monkeypatch.setattr(self_test, "FORK_BOMB", "import time; time.sleep(30)")
    monkeypatch.setattr(self_test, "_fork_bomb_is_stopped", impatient)
    assert self_test.escape_attempts(jail) == ["start processes without end"]


def test_without_bubblewrap_the_reason_is_named(monkeypatch, jail):
    monkeypatch.setattr(jails.shutil, "which", lambda name: None)
    with pytest.raises(NoJail, match="bubblewrap is not installed"):
        start([sys.executable], jail)


def test_the_private_module_that_is_put_off_is_that_of_the_version_that_was_tried():
    assert version("torch").split("+")[0] == compiler.TORCH


def test_shapes_do_without_the_compiler_and_whoever_asks_for_it_gets_it(worker):
    shape = "import sys, torch\nprint(torch.empty(3, device='meta').exp().shape)\n"
    shape += "print('torch._dynamo.utils' in sys.modules)"
    assert text_of(worker.cell(shape, 10)) == "torch.Size([3])\nFalse\n"
    compiled = "print(torch.compile(lambda x: 2 * x + 1, backend='eager')(torch.ones(2)))"
    assert text_of(worker.cell(compiled, 30)) == "tensor([3., 3.])\n"
    assert text_of(worker.cell(shape, 10)) == "torch.Size([3])\nTrue\n"


def test_a_process_that_nobody_has_buried_has_ended():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        watched = psutil.Process(process.pid)
        assert not ended(watched)
        process.stdin.close()
        while watched.status() != psutil.STATUS_ZOMBIE:
            pass
        assert ended(watched)
    assert ended(watched)


def test_the_stand_in_is_all_there_is_of_the_checks(tame):
    seen = "import os, pioneers.checks as g; print(sorted(os.listdir(os.path.dirname(g.__file__))))"
    files = ["__init__.py", "exercise.py", "guard.py", "run.py", "variant.py"]
    assert text_of(tame.cell(seen, 10)).strip() == str(files)
    seen = "import pioneers.autograder as a; print(sorted(os.listdir(os.path.dirname(a.__file__))))"
    assert text_of(tame.cell(seen, 10)).strip() == "['__init__.py', 'jailed']"
    assert "1.1: checked by the grader" in text_of(tame.cell('g.check("1.1")', 10))


def test_cells_run_and_show_what_they_show(tame):
    assert text_of(tame.cell("import torch\nprint(torch.ones(3).sum().item())", 10)) == "3.0\n"
    (shown,) = tame.cell("1 + 1", 10)
    assert shown["data"]["text/plain"] == "2"
    (error,) = tame.cell("x = 1\n1 / 0", 10)
    assert (error["output_type"], error["ename"]) == ("error", "ZeroDivisionError")
    assert "line 2: 1 / 0" in error["traceback"][0]
    (figure,) = tame.cell("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", 20)
    assert figure["data"]["image/png"].startswith("iVBOR")


def test_a_flood_of_output_is_cut(tame):
    assert len(text_of(tame.cell("print('x' * 10**7)", 20))) == 100_000
    assert text_of(tame.cell("print('still here')", 10)) == "still here\n"


LOST = {
    "os._exit": ("import os; os._exit(0)", "the process ended"),
    "a loop without end": ("while True: pass", "no answer within 2 seconds"),
    "an ignored interrupt": (
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "while True:\n    try: time.sleep(1)\n    except BaseException: pass",
        "no answer within 2 seconds",
    ),
    "many processes": (
        "import os, time\nwhile True: os.fork() or time.sleep(30)",
        "used more than|started more than 64 processes",
    ),
    "memory of many": (
        "import os, time\nfor _ in range(8): pid = os.fork()\n"
        "x = bytearray(10 << 20)\nx[::4096] = b'x' * len(x[::4096])\ntime.sleep(30)",
        "more than",
    ),
    "a forged answer": (
        "import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'x' * 100)\n    except OSError: pass",
        "sent an invalid answer",
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_a_process_that_goes_too_far_is_ended_and_says_why(worker, case):
    source, cause = LOST[case]
    with pytest.raises(WorkerLost, match=cause):
        worker.cell(source, 2 if "2 seconds" in cause else 30)
    worker.close()
    worker.process.wait(0)


def test_memory_of_one_process_ends_in_an_error_that_the_cell_shows(tame):
    (error,) = tame.cell("x = bytearray(8 << 30)", 10)
    assert error["ename"] == "MemoryError"


def test_a_process_may_not_fill_the_disk(tame):
    outputs = tame.cell("open('big', 'wb').write(bytes(100 << 20))", 20)
    assert outputs[-1]["ename"] == "OSError"


def test_everything_dies_with_its_worker(worker):
    worker.cell("import subprocess\nfor _ in range(3): subprocess.Popen(['sleep', '4321'])", 10)
    worker.close()
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert "sleep 4321" not in listing


def test_a_worker_that_cannot_start_says_why(jail):
    with pytest.raises(WorkerLost, match=r"did not start|ended|memory"):
        Worker(replace(jail, memory=200 << 20))


def test_killing_every_process_it_sees_leaves_the_rest_alone(tame):
    assert (
        text_of(
            tame.cell(
                "import os, subprocess as s; s.Popen(['sleep', '9']); os.kill(-1, 9); print('alone')", 10
            )
        )
        == "alone\n"
    )
