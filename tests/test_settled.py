"""The plugin of ``make test``: what it skips has passed on these very files, whole and unskipped."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PASSES = "def test_a(): pass\ndef test_b(): pass\n"


@pytest.fixture
def project(tmp_path):
    """A repository with one slow module, one fast module, and a function that runs their tests."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").touch()
    (tmp_path / ".gitignore").write_text("_build\n__pycache__\n")
    for name in ("slow", "fast"):
        (tmp_path / "tests" / f"test_{name}.py").write_text(PASSES)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)

    def run(*options):
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PIONEERS_SETTLE": "tests/test_slow.py"}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tests.settled",
            "-p",
            "no:cacheprovider",
            "-q",
            *options,
        ]
        said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout
        return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", said.splitlines()[-1])}

    return tmp_path, run


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["here", "in a worker"])
def test_what_has_passed_is_not_run_again_until_a_file_changes(project, options):
    folder, run = project
    assert run(*options) == {"passed": 4}
    assert not (folder / "_build/passed/incomplete").exists()
    assert run(*options)["passed"] == 2
    assert (folder / "_build/passed/incomplete").exists()
    (folder / "other.txt").write_text("new")
    assert run(*options)["passed"] == 4


@pytest.mark.parametrize(
    "last",
    ["def test_c(): assert False", "import pytest\ndef test_c(): pytest.skip('no')"],
    ids=["failed", "skipped"],
)
def test_what_failed_or_was_skipped_runs_again(project, last):
    folder, run = project
    (folder / "tests" / "test_slow.py").write_text(PASSES + last)
    first = run()
    assert first["passed"] == 4
    assert run() == first


def test_an_interrupted_run_settles_nothing(project):
    folder, run = project
    (folder / "tests" / "test_slow.py").write_text(PASSES + "def test_c(): raise KeyboardInterrupt")
    run()
    assert not list(folder.glob("_build/passed/*slow*"))
