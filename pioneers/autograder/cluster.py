"""Grade a class on a Dask cluster: each submission goes out as bytes, and its result comes back as bytes.

No object that a student has any say in is pickled: a notebook travels as the bytes of its file, and a result
as the bytes of its JSON. Workers need no file system in common with this machine. Only this process writes to
the course, so a submission has one result, however many workers died over it.
"""

import json
import logging
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cache, lru_cache
from typing import Any
from uuid import uuid4

import nbformat
import torch

from pioneers.autograder import warm
from pioneers.autograder.batch import Cohort
from pioneers.autograder.jail import Limits, NoJail
from pioneers.autograder.referee import Mark
from pioneers.autograder.self_test import try_jails
from pioneers.autograder.single import (
    HandedIn,
    Result,
    collect,
    give_up,
    judge,
    kept,
    leave,
    signed,
    sources,
)
from pioneers.autograder.skeleton import Skeleton
from pioneers.autograder.submission import Flag
from pioneers.checks.variant import Variant
from pioneers.extras import import_extra

dask, distributed = import_extra("dask", "cluster"), import_extra("distributed", "cluster")
AHEAD = 2  # submissions on their way, for each worker: one is graded, one waits
LOOK = 2.0  # seconds until the workers are counted again
PATIENCE = 60.0  # seconds without any worker
INSTALL = "install the same version in the same way on every machine"
QUIET = {"distributed.admin.large-graph-warning-threshold": "1GiB"}  # a notebook may have many pictures
# A jail dies with the thread that started it; this one lives as long as its process. It grades one at a time.
_GRADER = ThreadPoolExecutor(1)


class Refusal(Exception):
    """This worker cannot grade; the message says why."""


def spread(
    cohort: Cohort, skeleton: Skeleton, students: list[str], scheduler: str
) -> Generator[Result, None, None]:
    """Grade ``students`` on the workers of a Dask cluster; yield each result when it has been written.

    A worker that cannot grade is retired from the cluster, and its submissions go to the others.

    Args:
        cohort: the class.
        skeleton: its lab.
        students: the names of the students to grade.
        scheduler: the address of the scheduler; the certificates for ``tls://`` are in Dask's configuration.

    Raises:
        RuntimeError: there is no scheduler or no worker that can grade, or the connection is lost.
    """
    waiting, out = students[::-1], dict[Any, tuple[str, HandedIn]]()
    with _connection(scheduler) as client:
        crew = _Crew(client)
        while waiting or out:
            room = AHEAD * crew.count()
            while waiting and len(out) < room:
                student = waiting.pop()
                handed = collect(cohort.course, student, cohort.lab)
                out[_send(client, cohort, skeleton, student, handed)] = student, handed
            answers = [(*out.pop(future), _answer(future)) for future in _finished(list(out))]
            for student, handed, answer in answers:
                if "refusal" in answer:
                    waiting.append(student)
                    crew.retire(**answer)
                else:
                    yield _record(cohort, skeleton, student, handed, answer)


class _Crew:
    """The workers of a cluster, and what those said that refused to grade."""

    def __init__(self, client: Any) -> None:
        self.client, self.refusals, self.seen = client, dict[str, str](), time.monotonic()

    def count(self) -> int:
        """Return how many have not refused, once there is one. The last worker cannot always be retired."""
        while not (count := len(self.client.nthreads().keys() - self.refusals.keys())):
            if self.refusals:
                raise RuntimeError(f"no worker of the cluster can grade: {[*self.refusals.values()][-1]}")
            if time.monotonic() - self.seen > PATIENCE:
                raise RuntimeError(
                    f"the cluster has had no worker for {PATIENCE:.0f} seconds; start workers, and give the "
                    "same command again, which goes on where this one ended"
                )
            time.sleep(LOOK)
        self.seen = time.monotonic()
        return count

    def retire(self, worker: str, refusal: str) -> None:
        """Take a worker out of the cluster, and say why."""
        if worker not in self.refusals:
            print(f"pioneers: worker {worker} refuses, and leaves the cluster: {refusal}", file=sys.stderr)
        self.refusals[worker] = refusal
        self.client.retire_workers([worker])


@contextmanager
def _connection(scheduler: str) -> Iterator[Any]:
    """Connect to a scheduler."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # one line says what is wrong
    with dask.config.set(QUIET):
        try:
            client = distributed.Client(scheduler)
        except Exception as error:  # Dask raises many kinds
            raise RuntimeError(f"no connection to a Dask scheduler at {scheduler!r}: {error}") from None
        with client:
            try:
                yield client
            except (CancelledError, OSError):
                raise RuntimeError(
                    f"the connection to {scheduler} was lost; the same command goes on where this one ended"
                ) from None


def _send(client: Any, cohort: Cohort, skeleton: Skeleton, student: str, handed: HandedIn) -> Any:
    """Send a submission to whichever worker is free next, and return the future of its result."""
    variant = cohort.variant(student)
    order = {
        "lab": skeleton.lab,
        "variant": variant,
        "limits": asdict(cohort.limits),
        "trusted": cohort.trusted,
        "sources": sources(skeleton),
        "flags": handed.flags,
        "refused": handed.refused,
        "kept": [
            mark.as_dict()
            for mark in kept(skeleton, cohort.course, student, handed, cohort.exercise, variant).values()
        ],
    }
    parts = [json.dumps(order), *map(nbformat.writes, (skeleton.released, skeleton.source))]
    return client.submit(answer_of, *(part.encode() for part in parts), handed.content, key=uuid4().hex)


def _finished(futures: list[Any]) -> list[Any]:
    """Return the futures that have finished, after a while."""
    with suppress(TimeoutError):
        distributed.wait(futures, timeout=LOOK, return_when="FIRST_COMPLETED")
    return [future for future in futures if future.done()]


def _answer(future: Any) -> dict[str, Any]:
    """Return what a worker answered; a ``fault`` if each that tried died."""
    try:
        answer: dict[str, Any] = json.loads(future.result())
    except distributed.scheduler.KilledWorker as error:
        return {"fault": f"{error.allowed_failures + 1} workers ended while they had it"}
    except (CancelledError, OSError):
        raise
    except Exception as error:
        raise RuntimeError(f"the cluster cannot run the grader: {error}; {INSTALL}") from None
    return answer


def _record(
    cohort: Cohort, skeleton: Skeleton, student: str, handed: HandedIn, answer: Mapping[str, Any]
) -> Result:
    """Write what came back for a ``student`` to the course, and return the result."""
    if "fault" in answer:
        return give_up(skeleton, cohort.course, student, answer["fault"], cohort.variant(student))
    result = signed(answer["judged"], skeleton, student, handed, cohort.variant(student))
    leave(cohort.course, result, nbformat.reads(answer["notebook"], as_version=4))
    return result


def answer_of(order: bytes, released: bytes, source: bytes, content: bytes) -> bytes:
    """Judge a submission on a worker of the cluster; return the answer as JSON.

    Args:
        order: how to judge it, as JSON.
        released: the lab's notebook as students got it.
        source: the lab's notebook with hidden tests.
        content: the notebook that was handed in.
    """
    try:
        answer = _GRADER.submit(_judge, json.loads(order), released, source, content).result()
    except Refusal as reason:
        answer = {"refusal": str(reason), "worker": distributed.get_worker().address}
    except Exception as error:  # a bug in the grader must not cost other students their marks
        answer = {"fault": f"{type(error).__name__}: {error}"}
    return json.dumps(answer).encode()


def _judge(order: dict[str, Any], released: bytes, source: bytes, content: bytes) -> dict[str, Any]:
    limits, trusted = Limits(**order["limits"]), order["trusted"]
    skeleton = _skeleton(order["lab"], released, source)
    if sources(skeleton) != order["sources"]:
        raise Refusal(f"its pioneers, Python or torch differs from that of the command; {INSTALL}")
    if not trusted:
        _ready(limits, tuple(skeleton.modules()))
    handed = HandedIn(content, [Flag._make(flag) for flag in order["flags"]], order["refused"])
    marks = {mark["grade_id"]: Mark(**mark) for mark in order["kept"]}
    variant = Variant(*order["variant"])
    judged, notebook = judge(skeleton, handed, limits, trusted=trusted, kept=marks, variant=variant)
    return {"judged": judged, "notebook": nbformat.writes(notebook)}


@lru_cache(maxsize=1)
def _skeleton(lab: str, released: bytes, source: bytes) -> Skeleton:
    torch.set_num_threads(1)
    return Skeleton(lab, *(nbformat.reads(part.decode(), as_version=4) for part in (released, source)))


@lru_cache(maxsize=1)
def _ready(limits: Limits, modules: tuple[str, ...]) -> None:
    """Try this process's jails, and start the warm process if they hold.

    Raises:
        Refusal: they do not.
    """
    refusal, cold = _tried(limits)
    if refusal:
        raise Refusal(refusal)
    if not cold:
        warm.begin(limits, modules)


@cache
def _tried(limits: Limits) -> tuple[str, str]:
    try:
        return "", try_jails(limits)
    except NoJail as reason:
        return str(reason), ""
