"""A kernel that a build forks is like any other, and nothing of it is left behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="warm kernels need Linux")

LOOK = """
import os, sys, threading
here = dict(os.environ)
for name in ("JUPYTER_PATH", "PIONEERS_SPARED_SECONDS", "JPY_PARENT_PID", "PYTEST_CURRENT_TEST"):
    here.pop(name, None)
print(sorted(here.items()), os.getcwd(), sys.path, __name__, os.getsid(0) == os.getpid())
import torch, matplotlib
print(torch.get_num_threads(), matplotlib.get_backend(), "transformers" in sys.modules)
"""
USE = """
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.show()
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.AdamW([weight], lr=0.5)
weight.square().sum().backward()
optimizer.step()
print(weight.tolist())
"""
CHANCE = """
import numpy, random
print(torch.rand(1).item(), numpy.random.rand(), random.random())
"""
BUILD = """
import subprocess, sys, time
sys.path.insert(0, {ext!r})
import warm
warm.warm_kernels({folder!r})
command = [sys.executable, "-IS", warm.__file__, {folder!r}, "-f", {folder!r} + "/connection.json"]
print([subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid for _ in range(2)])
sys.stdout.flush()
time.sleep(300)
"""


def seen(folder):
    """What a notebook prints and shows, and three random numbers."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in (LOOK, USE, CHANCE)])
    done = NotebookClient(
        notebook, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    outputs = [out for cell in done.cells for out in cell.outputs]
    printed = "".join(out.text for out in outputs if "text" in out).splitlines()
    return printed[:-1], [sorted(out["data"]) for out in outputs if "data" in out], printed[-1].split()


@pytest.fixture
def warm(root, monkeypatch):
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    import warm

    yield warm
    sys.modules.pop("warm")


def test_a_fork_sees_and_does_what_a_kernel_does(warm, tmp_path, monkeypatch):
    *anew, chance = seen(tmp_path)
    for name in ("JUPYTER_PATH", warm.SPARED):
        monkeypatch.setenv(name, "")  # as it was, after the test
    warm.warm_kernels(str(tmp_path / "kernels"))
    assert warm.spared() > 0
    for forks in (1, 2):
        *forked, other = seen(tmp_path)
        assert forked == anew
        chance += other
        assert len(list((tmp_path / "kernels").glob("[0-9]*"))) == forks, "it was no fork"
    assert len({*chance}) == 9


def gone(pid):
    """Whether a process has ended, within a minute."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_fork_ends_with_its_attendant_and_with_the_build(warm, root, tmp_path, monkeypatch):
    folder = str(tmp_path / "kernels")
    program = BUILD.format(ext=str(root / "book" / "_ext"), folder=folder)
    build = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    attendants = [int(pid) for pid in build.stdout.readline().strip("[]\n").split(",")]
    monkeypatch.setenv("JUPYTER_PATH", folder)
    until = time.monotonic() + 60
    while any(warm.kernel_of(pid) == pid for pid in attendants) and time.monotonic() < until:
        time.sleep(0.05)
    first, second = map(warm.kernel_of, attendants)
    assert first not in attendants
    os.kill(attendants[0], 9)
    assert gone(first)
    assert Path(f"/proc/{second}").exists()
    build.kill()
    assert gone(second)
    assert gone(attendants[1])
