"""A class of 200: ``pioneers grade`` beside plain ``nbgrader autograde``, which takes one at a time.

    make experiments NAME=class_of_200

The class of ``labs/sample_class.py``. Its hostile submissions come in last, and to ``pioneers grade`` alone:
plain nbgrader would run them without a jail. Then the class is graded twice more, with jails that each start
Python anew and with eight times as many submissions at once as there are cores; and so is a class of 1,000.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil  # type: ignore[import-untyped]
import torch

from experiments.common import FINISHED, ROOT, run
from pioneers.autograder.jail import Limits
from pioneers.autograder.skeleton import Skeleton
from pioneers.autograder.warm import Warm
from pioneers.autograder.watch import resident
from pioneers.autograder.worker import Worker

THOUSAND = 1000
FORKS = 300
ANEW = """
import sys
from pathlib import Path
from pioneers.autograder.batch import Cohort, grade_cohort
from pioneers.autograder.jail import Limits
cohort = Cohort(Path(sys.argv[1]), sys.argv[2], Limits(), warm=False)
list(grade_cohort(cohort, processes=int(sys.argv[3]), again=True))
"""


def held(process: psutil.Process) -> int:
    """Bytes of memory that a process holds; what forks share is divided among them."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return resident(process)


def measured(*command: str, cwd: Path) -> tuple[float, float]:
    """Seconds that a command takes, and the most GiB that its processes held together."""
    begun, peak = time.perf_counter(), 0
    with (cwd / "said.txt").open("ab") as said:
        process = psutil.Popen(command, cwd=cwd, stdout=said, stderr=said)
        while process.poll() is None:
            peak = max(peak, sum(map(held, [process, *process.children(recursive=True)])))
            time.sleep(1)
    return time.perf_counter() - begun, peak / 2**30


def write_class(course: Path, lab: str, size: int) -> int:
    """Write a class with its hostile submissions put aside, and return how many others there are."""
    write = [sys.executable, str(ROOT / "labs" / "sample_class.py"), str(course), lab, str(size)]
    subprocess.run(write, check=True, stdout=subprocess.DEVNULL)
    (course / "aside").mkdir()
    for folder in (course / "submitted").glob("hostile_*"):
        folder.rename(course / "aside" / folder.name)
    return len(list((course / "submitted").iterdir()))


def results(course: Path, lab: str) -> list[dict[str, Any]]:
    """The result of every submission."""
    return [
        json.loads(path.read_text()) for path in sorted((course / "reports" / lab / "results").glob("*.json"))
    ]


def marks(course: Path, lab: str) -> dict[str, Any]:
    """Every mark of every student, with its cause."""
    return {result["student"]: result["marks"] for result in results(course, lab)}


def ready(course: Path, lab: str) -> dict[str, float]:
    """Milliseconds until a fork is ready to run a cell."""
    warm, seconds = Warm(Limits(), Skeleton.load(course, lab).modules()), []
    Worker(Limits(), process=warm.fork(Limits())).close()  # the first waits for the imports
    for _ in range(FORKS):
        begun = time.perf_counter()
        worker = Worker(Limits(), process=warm.fork(Limits()))
        seconds.append(1000 * (time.perf_counter() - begun))
        worker.close()
    warm.close()
    return {"ready_median": median(seconds), "ready_99": quantiles(seconds, n=100)[98]}


def one_case(*, seed: int, lab: str, size: int) -> dict[str, Any]:
    """Seconds for each submission, GiB, and what every result has."""
    course, plain, many = (FINISHED / "class_of_200" / name for name in ("pioneers", "nbgrader", "many"))
    shutil.rmtree(course.parent, ignore_errors=True)
    harmless = write_class(course, lab, size)
    shutil.copytree(course, plain)
    command = str(Path(sys.executable).with_name("pioneers"))
    grade, cores = (command, "grade", str(course), lab), os.cpu_count() or 1
    ours, memory = measured(*grade, cwd=course)
    theirs, _ = measured(sys.executable, "-m", "nbgrader", "autograde", lab, cwd=plain)
    first = marks(course, lab)
    anew, _ = measured(sys.executable, "-c", ANEW, str(course), lab, str(cores), cwd=course)
    same = marks(course, lab) == first
    crowd, _ = measured(*grade, "--again", "--processes", str(8 * cores), cwd=course)
    same_in_a_crowd = marks(course, lab) == first
    for folder in (course / "aside").iterdir():
        folder.rename(course / "submitted" / folder.name)
    hostile, hostile_memory = measured(*grade, cwd=course)
    thousand = write_class(many, lab, THOUSAND)
    thousand_seconds, _ = measured(command, "grade", str(many), lab, cwd=many)
    every = results(course, lab)
    lost = [mark for result in every for mark in result["marks"] if mark["score"] == 0]
    return {
        "submissions": harmless,
        "pioneers": ours / harmless,
        "nbgrader": theirs / harmless,
        "ratio": ours / theirs,
        "anew": anew / harmless,
        "same_marks": same,
        "crowd": 8 * cores,
        "crowd_seconds": crowd / harmless,
        "same_in_a_crowd": same_in_a_crowd,
        "gib": max(memory, hostile_memory),
        "gib_harmless": memory,
        "hostile": size - harmless,
        "hostile_seconds": hostile,
        "thousand": thousand,
        "thousand_minutes": thousand_seconds / 60,
        **ready(course, lab),
        "results": len(every),
        "without_cause": sum(not mark["cause"] for mark in lost),
        "flags": sum(len(result["flags"]) for result in every),
        "processors": cores,
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(os.cpu_count() or 1)  # one case at a time: it has the machine to itself
    run("class_of_200", {"lab 1": {"lab": "01_self_attention", "size": 200}}, one_case, config={}, seeds=(0,))


if __name__ == "__main__":
    main()
