"""A class of 200: ``pioneers grade`` beside plain ``nbgrader autograde``, which takes one at a time.

    make experiments NAME=class_of_200

The class of ``labs/sample_class.py``. Its hostile submissions come in last, and to ``pioneers grade`` alone:
plain nbgrader would run them without a jail.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import torch

from experiments.common import FINISHED, ROOT, run
from pioneers.autograder.watch import resident


def measured(*command: str, cwd: Path) -> tuple[float, float]:
    """Seconds that a command takes, and the most GiB that its processes held together."""
    begun, peak = time.perf_counter(), 0
    with (cwd / "said.txt").open("ab") as said:
        process = psutil.Popen(command, cwd=cwd, stdout=said, stderr=said)
        while process.poll() is None:
            peak = max(peak, sum(map(resident, [process, *process.children(recursive=True)])))
            time.sleep(0.5)
    return time.perf_counter() - begun, peak / 2**30


def one_case(*, seed: int, lab: str, size: int) -> dict[str, Any]:
    """Seconds for each submission, GiB, and what every result has."""
    course, plain = (FINISHED / "class_of_200" / name for name in ("pioneers", "nbgrader"))
    shutil.rmtree(course.parent, ignore_errors=True)
    write = [sys.executable, str(ROOT / "labs" / "sample_class.py"), str(course), lab, str(size)]
    subprocess.run(write, check=True, stdout=subprocess.DEVNULL)
    aside = course / "aside"
    aside.mkdir()
    for folder in (course / "submitted").glob("hostile_*"):
        folder.rename(aside / folder.name)
    shutil.copytree(course, plain)
    harmless = len(list((course / "submitted").iterdir()))
    grade = (str(Path(sys.executable).with_name("pioneers")), "grade", str(course), lab)
    ours, memory = measured(*grade, cwd=course)
    theirs, _ = measured(sys.executable, "-m", "nbgrader", "autograde", lab, cwd=plain)
    for folder in aside.iterdir():
        folder.rename(course / "submitted" / folder.name)
    hostile, hostile_memory = measured(*grade, cwd=course)
    results = [json.loads(path.read_text()) for path in (course / "reports" / lab / "results").glob("*.json")]
    marks = [mark for result in results for mark in result["marks"]]
    return {
        "submissions": harmless,
        "pioneers": ours / harmless,
        "nbgrader": theirs / harmless,
        "ratio": ours / theirs,
        "gib": max(memory, hostile_memory),
        "hostile": size - harmless,
        "hostile_seconds": hostile,
        "results": len(results),
        "without_cause": sum(mark["score"] == 0 and not mark["cause"] for mark in marks),
        "flags": sum(len(result["flags"]) for result in results),
        "processors": os.cpu_count(),
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(os.cpu_count() or 1)  # one case at a time: it has the machine to itself
    run("class_of_200", {"lab 1": {"lab": "01_self_attention", "size": 200}}, one_case, config={}, seeds=(0,))


if __name__ == "__main__":
    main()
