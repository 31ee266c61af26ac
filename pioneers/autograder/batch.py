"""A whole class, over several processes. Interrupted, it goes on where it was; no submission stops it."""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pioneers.autograder.jail import Limits
from pioneers.autograder.single import Result, digest, earlier, folder_of, give_up, grade, result_path
from pioneers.autograder.skeleton import Skeleton
from pioneers.progress import progress

DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
ATTEMPTS = 2  # that a submission gets if the grader's own process ends while it is graded
_WORKER_STATE: list[Any] = []  # of a process of the pool: the cohort and the skeleton


@dataclass(frozen=True)
class Cohort:
    """What to grade, and how.

    Args:
        course: folder of the course.
        lab: name of the lab.
        limits: of each submission.
        trusted: without a jail.
    """

    course: Path
    lab: str
    limits: Limits
    trusted: bool = False

    def students(self) -> list[str]:
        """Everybody who handed in this lab."""
        folders = (self.course / "submitted").glob("*")
        names = sorted(folder.name for folder in folders if folder.name[0] != ".")
        return [name for name in names if _exists(folder_of(self.course, name, self.lab))]


def grade_cohort(cohort: Cohort, *, processes: int, again: bool = False) -> Iterator[Result]:
    """Grade everybody who handed in; results come as they are ready, those of an earlier run first.

    Args:
        cohort: the class.
        processes: how many submissions at once.
        again: also those that were graded before and have not changed.
    """
    skeleton = Skeleton.load(cohort.course, cohort.lab)
    students, done = cohort.students(), []
    for student in students if not again else ():
        result = earlier(cohort.course, student, cohort.lab)
        if result and result["digest"] == digest(cohort.course, student, skeleton):
            done.append(result)
    yield from done
    left = [student for student in students if student not in {result["student"] for result in done}]
    bar = progress(students, initial=len(done), unit="submission", desc=cohort.lab)
    attempts = dict.fromkeys(left, 0)
    with bar:
        while left:
            for result in _round(cohort, left, processes):
                left.remove(result["student"])
                bar.update()
                yield result
            for student in [student for student in left if _started(cohort, student).exists()]:
                attempts[student] += 1
                if attempts[student] == ATTEMPTS:
                    left.remove(student)
                    bar.update()
                    yield give_up(skeleton, cohort.course, student, "its process ended")


def _round(cohort: Cohort, students: list[str], processes: int) -> Iterator[Result]:
    """Grade until all is done or a process of ours ends; then who was being graded has left a mark."""
    for student in students:
        _started(cohort, student).unlink(missing_ok=True)
    _started(cohort, "").parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _prepare, (cohort, os.getpid())) as pool:
        futures: list[Future[Result]] = [pool.submit(_grade, student) for student in students]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            return
        finally:
            pool.shutdown(cancel_futures=True)


def _prepare(cohort: Cohort, grader: int) -> None:
    """In a new process: die with the grader, read the lab once."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != grader:  # it died before we asked
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader; it ends us
    torch.set_num_threads(1)
    _WORKER_STATE.extend((cohort, Skeleton.load(cohort.course, cohort.lab)))


def _grade(student: str) -> Result:
    cohort, skeleton = _WORKER_STATE
    started = _started(cohort, student)
    started.touch()
    try:
        result = grade(skeleton, cohort.course, student, cohort.limits, trusted=cohort.trusted)
    except Exception as error:  # a fault of ours must not cost the others their marks
        result = give_up(skeleton, cohort.course, student, f"{type(error).__name__}: {error}")
    started.unlink()
    return result


def _started(cohort: Cohort, student: str) -> Path:
    return result_path(cohort.course, student, cohort.lab).with_suffix(".started")


def _exists(path: Path) -> bool:
    return path.is_dir() or path.is_symlink()
