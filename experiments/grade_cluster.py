"""A class of 200 on a Dask cluster of four worker processes: its rate, and what two killed workers cost.

    make experiments NAME=grade_cluster

The class of ``labs/sample_class.py`` without its hostile submissions, graded by ``pioneers grade`` on this
machine, by a new cluster, and by the same cluster once more, of which two workers are killed midway.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from experiments.class_of_200 import marks, write_class
from experiments.common import FINISHED, run
from pioneers.autograder.batch import Cohort, grade_cohort
from pioneers.autograder.jail import Limits

HOSTILE = 6  # of the class, which are put aside


@contextmanager
def cluster(folder: Path, size: int) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """A scheduler's address and its worker processes."""
    file = folder / "scheduler.json"
    words = ["--no-dashboard", "--scheduler-file", str(file)]
    own = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
    with (folder / "said.txt").open("ab") as said:
        start = [sys.executable, "-m", "dask"]
        scheduler = subprocess.Popen(
            [*start, "scheduler", "--host", "127.0.0.1", "--port", "0", *words], stderr=said
        )
        workers = [subprocess.Popen([*start, "worker", *words, *own], stderr=said) for _ in range(size)]
    try:
        while not (file.exists() and file.read_text()):
            time.sleep(0.1)
        yield json.loads(file.read_text())["address"], workers
    finally:
        for process in [*workers, scheduler]:
            process.kill()
            process.wait()


def one_case(*, seed: int, lab: str, size: int, workers: int) -> dict[str, Any]:
    """Submissions graded per minute and core, and what is left of the class when workers are killed."""
    course = FINISHED / "grade_cluster" / "course"
    shutil.rmtree(course.parent, ignore_errors=True)
    submissions = write_class(course, lab, size + HOSTILE)
    cohort = Cohort(course, lab, Limits())
    list(grade_cohort(cohort, processes=os.cpu_count() or 1))
    alone = marks(course, lab)
    with cluster(course.parent, workers) as (address, processes):
        begun = time.perf_counter()
        list(grade_cohort(cohort, processes=1, again=True, scheduler=address))
        minutes = (time.perf_counter() - begun) / 60
        same = marks(course, lab) == alone
        shutil.rmtree(course / "reports")
        students = []
        for result in grade_cohort(cohort, processes=1, again=True, scheduler=address):
            students.append(result["student"])
            if len(students) == submissions // 2:
                for process in processes[:2]:
                    process.send_signal(signal.SIGKILL)
    cores = min(workers, os.cpu_count() or 1)
    return {
        "submissions": submissions,
        "workers": workers,
        "cores": cores,
        "minutes": minutes,
        "per_core_minute": submissions / minutes / cores,
        "same_marks": same,
        "results": len(students),
        "twice": len(students) - len(set(students)),
        "same_after_kills": marks(course, lab) == alone,
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(os.cpu_count() or 1)  # one case at a time: it has the machine to itself
    case = {"lab": "01_self_attention", "size": 200, "workers": 4}
    run("grade_cluster", {"lab 1": case}, one_case, config={}, seeds=(0,))


if __name__ == "__main__":
    main()
