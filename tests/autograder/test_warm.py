"""A fork of the warm process is a jail like any other, starts at once, and leaves the next one nothing."""

import json
import statistics
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pioneers.autograder import self_test, warm
from pioneers.autograder.jail import HOME, NoJail, bubblewrap
from pioneers.autograder.jailed import forks
from pioneers.autograder.warm import Warm
from pioneers.autograder.worker import Worker, WorkerLost
from pioneers.cli import main

from .classroom import FULL, LAB, Classroom, scores

FORKS = forks.__file__
AT_THE_END = ["--remount-ro", "/", "--chdir", HOME, "--"]
LOOK = """
import json, os, pathlib, random, resource, signal, socket, sys
import numpy, torch
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
folders = ("/", "/dev", "/tmp", "/home", "/dev/shm", ".cache/matplotlib")
open_now = os.listdir("/proc/self/fd")
of_memory = ("Vm", "Rss", "Hugetlb", "voluntary", "nonvoluntary", "Mems", "Cpus", "NStgid", "Huge")
mounts = {line.split()[4]: line.split()[5] for line in open("/proc/self/mountinfo")}
print(json.dumps({
    "status": {name: text for name, text in status.items() if not name.startswith(of_memory)},
    "mounts": {place: how for place, how in mounts.items() if os.path.isdir(place)},
    "rooms": {place: os.statvfs(place).f_blocks for place in ("/tmp", "/dev/shm", os.getcwd())},
    "environment": dict(os.environ),
    "files": sorted(os.readlink(f"/proc/self/fd/{n}").split(":")[0] for n in open_now[:-1]),
    "limits": {n: resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n.startswith("RLIMIT")},
    "folders": {place: sorted(os.listdir(place)) for place in folders},
    "network": [socket.if_nameindex(), pathlib.Path("/proc/net/if_inet6").read_text()],
    "signals": {str(s): str(signal.getsignal(s)) for s in signal.valid_signals()},
    "place": [os.uname().nodename, os.getcwd(), sys.path, os.getpriority(0, 0), os.umask(0)],
}))
print(torch.rand(1).item(), numpy.random.rand(), random.random())
"""


@pytest.fixture(scope="module")
def process(jail):
    process = Warm(jail, ["matplotlib.pyplot"])
    yield process
    process.close()


def seen(worker):
    """What a cell sees of the jail, and three random numbers."""
    text, chance = worker.cell(LOOK, 60)[0]["text"].splitlines()
    worker.close()
    return json.loads(text), chance.split()


def test_a_fork_sees_and_may_do_what_a_process_does_that_started_anew(jail, process):
    anew, forked = seen(Worker(jail))[0], seen(Worker(jail, process=process.fork(jail)))[0]
    assert anew == forked
    assert forked["status"]["CapBnd"].strip("0\n") == ""
    assert len(forked["mounts"]) > 10


def test_no_two_forks_draw_the_same_random_numbers(jail, process):
    first, second = (seen(Worker(jail, process=process.fork(jail)))[1] for _ in range(2))
    assert len({*first, *second}) == 6


def test_a_fork_is_ready_long_before_a_new_process(jail, process):
    seconds = []
    for fork in (process.fork, process.fork, process.fork, lambda limits: None):
        begun = time.perf_counter()
        Worker(jail, process=fork(jail)).close()
        seconds.append(time.perf_counter() - begun)
    assert statistics.median(seconds[:3]) < seconds[3] / 4


def test_a_fork_is_held_to_its_limits(jail, process):
    little = replace(jail, memory=1 << 30)  # more than a fork holds, or the watch may end it first
    worker = Worker(little, process=process.fork(little))
    error = worker.cell("import torch; torch.ones(10**9)", 10)[-1]
    worker.close()
    assert error["output_type"] == "error"
    assert error["ename"] in ("MemoryError", "RuntimeError")


def test_nothing_escapes_from_a_fork(jail):
    assert self_test.attempts_of_forks(jail) == []


@pytest.fixture
def alter(monkeypatch, tmp_path):
    """Let warm processes run other code than ours, or in another jail."""

    def alter(old, new, *words):
        source = Path(forks.__file__).read_text()
        assert old in source
        other = tmp_path / "forks.py"
        other.write_text(source.replace(old, new))

        def weak(command, limits, *, forks):
            whole = bubblewrap(command, limits, forks=forks)
            end = len(whole) - len(command) - len(AT_THE_END)
            return [*whole[:end], "--ro-bind", str(other), FORKS, *words, *whole[end:]]

        monkeypatch.setattr(warm, "bubblewrap", weak)

    return alter


HOLES = {
    "one /tmp for all": ('"/tmp": size, ', "", "leave something for the next submission"),
    "one memory to share": ("0x7E020000", "0x76020000", "leave something for the next submission"),
    "rights that remain": ("        _give_up_rights()\n", "", "keep rights of the system"),
    "the worker's own files": ("os.closerange(3,", "os.closerange(99,", "hold a file of the worker"),
    "the worker's processes": (
        '    _mount("proc"',
        '    0 and _mount("proc"',
        "see the processes of this machine",
    ),
}


@pytest.mark.parametrize("name", HOLES)
def test_the_self_test_finds_a_hole_in_a_fork(jail, alter, name):
    old, new, escape = HOLES[name]
    alter(old, new)
    assert escape in self_test.attempts_of_forks(jail)


def test_the_self_test_finds_what_goes_on_running(jail, monkeypatch):
    monkeypatch.setattr(Worker, "close", lambda worker: worker.watch.over.set())
    assert self_test.attempts_of_forks(jail) == ["keep a process alive"]


def test_no_fork_of_a_process_with_threads(jail, alter):
    alter('listdir("/proc/self/task")) > 1', 'listdir("/proc/self/task")) > 0')
    with pytest.raises(
        NoJail, match="no fork of a warm process: RuntimeError: an import has started a thread"
    ):
        self_test.attempts_of_forks(jail)


def test_where_the_kernel_forbids_forks_each_submission_starts_anew_and_a_line_says_so(
    jail, alter, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("pioneers.cli.grade.try_jails", self_test.try_jails)  # this time, they fail
    alter("", "", "--unshare-user", "--disable-userns")
    room = Classroom(tmp_path / "course")
    room.hand_in("right", room.answered())
    assert main(["grade", str(room.folder), LAB, "--processes", "1"]) == 0
    said = capsys.readouterr().err.splitlines()
    (line,) = [line for line in said if "anew" in line]
    assert line.startswith("pioneers: each submission starts Python anew, which takes longer: no fork of")
    assert scores(room.result("right")) == FULL


def test_a_worker_does_without_a_warm_process_that_was_killed(jail):
    warm.begin(jail)
    forked = Worker(jail)
    warm._OWN[0].process.kill()
    with pytest.raises(WorkerLost, match="the process ended"):
        forked.cell("import time; time.sleep(9)", 9)
    anew = Worker(jail)
    assert anew.cell("print(1)", 9)[0]["text"] == "1\n"
    assert not warm._OWN
    for worker in (forked, anew):
        worker.close()
