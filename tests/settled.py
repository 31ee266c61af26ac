"""A plugin for ``make test``: slow tests that have passed on these very files are not run again.

A module of tests under the paths in ``PIONEERS_SETTLE`` that passed, with nothing skipped, leaves a stamp in
``_build/passed``: a hash of every file that git does not ignore, and of the built book. While the stamp fits,
the module is deselected, and ``_build/passed/incomplete`` says so to whoever judges the coverage.
"""

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path.cwd()
FOLDER = ROOT / "_build" / "passed"
INCOMPLETE = FOLDER / "incomplete"
OUTCOMES: dict[Path, set[str]] = {}  # of the modules that this run has seen


@cache
def state() -> str:
    """The hash of all that a test may depend on; empty where git cannot say which files these are."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        return ""
    book = (ROOT / "_build" / "html").rglob("*")
    files = {*map(ROOT.joinpath, filter(None, listed.stdout.split("\0"))), *book}
    whole = hashlib.sha256(sys.version.encode())
    for path in sorted(path for path in files if path.is_file()):
        whole.update(f"\0{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def stamp_of(nodeid: str) -> Path | None:
    """Where the module of a test leaves its stamp; None for a module that always runs."""
    module = nodeid.split("::")[0]
    slow = any(Path(module).is_relative_to(path) for path in os.environ["PIONEERS_SETTLE"].split())
    return FOLDER / module.replace("/", ".") if slow else None


def pytest_collection_modifyitems(config, items):
    settled = []
    for item in list(items):
        stamp = stamp_of(item.nodeid)
        if stamp and stamp.exists() and stamp.read_text() == state() != "":
            settled.append(item)
            items.remove(item)
    if settled:
        INCOMPLETE.touch()
        config.hook.pytest_deselected(items=settled)


def pytest_runtest_logreport(report):
    stamp = stamp_of(report.nodeid)
    if stamp:
        OUTCOMES.setdefault(stamp, set()).add(report.outcome)


def pytest_sessionfinish(session, exitstatus):
    ended = exitstatus in (0, 1)  # every test has run, whatever became of it
    if hasattr(session.config, "workerinput") or not ended or not state():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for stamp, outcomes in OUTCOMES.items():
        if outcomes == {"passed"}:
            stamp.write_text(state())
        else:
            stamp.unlink(missing_ok=True)
