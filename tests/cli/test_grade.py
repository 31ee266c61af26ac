"""``pioneers grade`` where it cannot grade: help and imports work on every system, the rest says why not."""

import os
import subprocess
import sys

import pytest

from pioneers.cli import grade, main

# What Python has on Linux alone is taken away after the libraries are there that look where they run.
ELSEWHERE = """
import importlib, os, pkgutil, sys, distributed, matplotlib, nbgrader.api, psutil, torch, pioneers
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "O_NOFOLLOW", "O_NONBLOCK", "sched_getaffinity", "killpg"):
    delattr(os, name)
names = [module.name for module in pkgutil.walk_packages(pioneers.__path__, "pioneers.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""


def test_every_module_is_imported_without_what_only_linux_has():
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.mark.parametrize("count", [3, None])
def test_cores_are_counted_where_the_system_does_not_tell_which(count, monkeypatch, capsys):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert grade.cores() == (count or 1)
    with pytest.raises(SystemExit) as end:
        main(["grade", "--help"])
    assert end.value.code == 0
    assert f"(default: {count or 1})" in capsys.readouterr().out


@pytest.mark.parametrize("trust", [[], ["--trust-this-class"]])
def test_on_another_system_a_sentence_says_what_is_needed(trust, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert main(["grade", str(tmp_path), "lab", *trust]) == 1
    assert capsys.readouterr().err == (
        "pioneers: error: grading in a jail needs Linux: use a server, a virtual machine, or WSL on Windows\n"
    )
