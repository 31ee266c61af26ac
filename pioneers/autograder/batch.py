"""Grade a class in several processes; resume after an interruption; no submission stops the others."""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import torch

from pioneers.autograder import warm
from pioneers.autograder.jail import Limits
from pioneers.autograder.single import (
    Result,
    collect,
    digest,
    earlier,
    folder_of,
    give_up,
    grade,
    result_path,
)
from pioneers.autograder.skeleton import Skeleton
from pioneers.checks.variant import Variant, variant_of
from pioneers.progress import progress

DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
ATTEMPTS = 2  # for a submission during which the grader's own process died
_WORKER_STATE: list[Any] = []  # of a process of the pool: the cohort and the skeleton


@dataclass(frozen=True)
class Cohort:
    """A class to grade: its submissions for one lab.

    Args:
        course: the folder of the course.
        lab: the name of the lab.
        limits: what each submission may use.
        trusted: whether to run the submissions without a jail.
        exercise: the only exercise to check again in submissions that were graded before; empty for all.
        warm: whether to fork their jails from a warm process; each starts Python anew where that fails.
        variants: the name of the course, to check with numbers of each student's own; empty for the same.
        secret: what their hidden probes are drawn from besides.
    """

    course: Path
    lab: str
    limits: Limits
    trusted: bool = False
    exercise: str = ""
    warm: bool = True
    variants: str = ""
    secret: str = ""

    def variant(self, student: str) -> Variant:
        """Return the variant of a ``student``."""
        return variant_of(self.variants, student, self.secret)

    def students(self) -> list[str]:
        """Return the names of all students who handed in the lab, sorted."""
        folders = (self.course / "submitted").glob("*")
        names = sorted(folder.name for folder in folders if folder.name[0] != ".")
        return [name for name in names if _exists(folder_of(self.course, name, self.lab))]


def grade_cohort(
    cohort: Cohort, *, processes: int, again: bool = False, scheduler: str = ""
) -> Iterator[Result]:
    """Grade all submissions; yield each result when it is ready, those of an earlier run first.

    Args:
        cohort: the class to grade.
        processes: the number of submissions graded at once.
        again: whether to grade unchanged submissions again.
        scheduler: the address of a Dask scheduler whose workers grade in place of processes here.
    """
    skeleton = Skeleton.load(cohort.course, cohort.lab)
    students, done = cohort.students(), []
    for student in students if not again else ():
        result = earlier(cohort.course, student, cohort.lab)
        handed = collect(cohort.course, student, cohort.lab)
        if result and result["digest"] == digest(skeleton, handed, cohort.variant(student)):
            done.append(result)
    yield from done
    left = [student for student in students if student not in {result["student"] for result in done}]
    if scheduler:
        from pioneers.autograder.cluster import spread  # needs an extra of its own

        graded = spread(cohort, skeleton, left, scheduler)
    else:
        graded = _here(cohort, skeleton, left, processes)
    with progress(students, initial=len(done), unit="submission", desc=cohort.lab) as bar, closing(graded):
        for result in graded:
            bar.update()
            yield result


def _here(
    cohort: Cohort, skeleton: Skeleton, students: list[str], processes: int
) -> Generator[Result, None, None]:
    """Grade ``students`` on this machine, and give up one during whose grading two processes died."""
    left, attempts = list(students), dict.fromkeys(students, 0)
    while left:
        for result in _round(cohort, left, processes):
            left.remove(result["student"])
            yield result
        for student in [student for student in left if _started(cohort, student).exists()]:
            attempts[student] += 1
            if attempts[student] == ATTEMPTS:
                left.remove(student)
                fault = "its process ended"
                yield give_up(skeleton, cohort.course, student, fault, cohort.variant(student))


def _round(cohort: Cohort, students: list[str], processes: int) -> Iterator[Result]:
    """Grade ``students`` until all are done or a process dies; a file then marks who was being graded."""
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
        except (KeyboardInterrupt, GeneratorExit):  # what is being graded will be graded again
            _kill(multiprocessing.active_children())
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _kill(processes: Sequence[BaseProcess]) -> None:
    """Kill processes of the pool and their jails, of which one may just be starting."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            worker = psutil.Process(process.pid)
            worker.suspend()  # so that it starts nothing more
            for jailed in worker.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    jailed.kill()
            worker.kill()


def _prepare(cohort: Cohort, grader: int) -> None:
    """Set up a process of the pool: it dies with the grader, reads the lab once, and keeps a warm process."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != grader:  # the grader died before the call above
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the grader handles Ctrl-C and ends this process
    torch.set_num_threads(1)
    skeleton = Skeleton.load(cohort.course, cohort.lab)
    if cohort.warm and not cohort.trusted:
        warm.begin(cohort.limits, skeleton.modules())
    _WORKER_STATE.extend((cohort, skeleton))


def _grade(student: str) -> Result:
    cohort, skeleton = _WORKER_STATE
    started = _started(cohort, student)
    started.touch()
    variant = cohort.variant(student)
    try:
        how: dict[str, Any] = {"trusted": cohort.trusted, "exercise": cohort.exercise, "variant": variant}
        result = grade(skeleton, cohort.course, student, cohort.limits, **how)
    except Exception as error:  # a bug in the grader must not cost other students their marks
        result = give_up(skeleton, cohort.course, student, f"{type(error).__name__}: {error}", variant)
    started.unlink()
    return result


def _started(cohort: Cohort, student: str) -> Path:
    return result_path(cohort.course, student, cohort.lab).with_suffix(".started")


def _exists(path: Path) -> bool:
    return path.is_dir() or path.is_symlink()
