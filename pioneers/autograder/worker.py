"""The grader's side of a jailed process: it sends requests, and checks the time and content of answers."""

import json
import os
import secrets
import select
import subprocess
import sys
import time
from typing import Any

from pioneers.autograder.jail import Limits, start
from pioneers.autograder.jailed.wire import BadMessage, outcome_from_message, pack, unpack
from pioneers.autograder.warm import Forked, fork
from pioneers.autograder.watch import Watch
from pioneers.checks.exercise import Outcome, Probe

START = 60.0  # seconds until the process must be ready: it imports torch


class WorkerLost(Exception):
    """The student's process ended or was ended; the message tells the student why."""


class Worker:
    """A process in a jail that runs a student's cells and calls the answers.

    Args:
        limits: the resources it may use.
        trusted: whether to run without a jail.
        process: a jail to run in; by default a fork of the warm process, or else a new one.

    Raises:
        WorkerLost: the process does not start; the message holds what it printed.
    """

    def __init__(self, limits: Limits, *, trusted: bool = False, process: Forked | None = None) -> None:
        command = [sys.executable, "-m", "pioneers.autograder.jailed.serve", json.dumps(limits.of_process())]
        forked = None if trusted else process or fork(limits)
        self.process = forked or start(command, limits, trusted=trusted)
        self.limits = limits
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            os.set_blocking(_number(pipe), False)
        self.watch = Watch(self.process, limits)
        self.watch.start()
        self.deadline = time.monotonic() + START
        self.seconds = START
        if self._answer() != "ready":
            raise self._lost("the process did not start")

    def cell(self, source: str, seconds: float) -> list[Any]:
        """Run a cell and return its outputs, unchecked.

        Args:
            source: the source of the cell.
            seconds: the time it may take.

        Raises:
            WorkerLost: the process ended.
        """
        outputs = self._ask({"do": "cell", "source": source}, seconds)
        return outputs if isinstance(outputs, list) else []

    def parameters(self, name: str, seconds: float) -> list[str] | str | None:
        """Return the parameters of the function called ``name``, within ``seconds``; None if there is none.

        Raises:
            WorkerLost: the process ended.
        """
        answer = self._ask({"do": "parameters", "name": name}, seconds)
        if isinstance(answer, list):
            return [str(parameter)[:80] for parameter in answer[:32]]
        return "unknown" if isinstance(answer, str) else None

    def call(self, name: str, probe: Probe, refuse: frozenset[str], seconds: float) -> Outcome:
        """Call the function called ``name``.

        Args:
            name: the name of the function.
            probe: its arguments; the name of the probe is not sent.
            refuse: the torch functions it may not call.
            seconds: the time it may take.

        Raises:
            WorkerLost: the process ended.
        """
        order = {"do": "call", "name": name, "args": dict(probe.args), "strided": probe.strided}
        answer = self._ask(order | {"refuse": sorted(refuse)}, seconds)
        try:
            return outcome_from_message(answer, probe)
        except BadMessage as error:
            raise self._lost("the process sent an invalid result") from error

    def close(self) -> None:
        """End the process and everything it started."""
        self.watch.over.set()
        self.watch.end()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def _ask(self, order: dict[str, Any], seconds: float) -> Any:
        self.seconds, self.deadline = seconds, time.monotonic() + seconds
        nonce = secrets.token_hex(8)  # an answer to another order is no answer
        rest = memoryview(pack(order | {"nonce": nonce}))
        while rest:
            self._wait(self.process.stdin, write=True)
            try:
                rest = rest[os.write(_number(self.process.stdin), rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._lost("the process ended") from None
        answer = self._answer()
        if not isinstance(answer, dict) or answer.get("nonce") != nonce:
            raise self._lost("the process sent an invalid answer")
        return answer.get("answer")

    def _answer(self) -> Any:
        try:
            return unpack(self._exactly)
        except BadMessage as error:
            raise self._lost("the process sent an invalid answer") from error

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            self._wait(self.process.stdout)
            piece = os.read(_number(self.process.stdout), min(count - len(data), 1 << 20))
            if not piece:
                raise self._lost("the process ended")
            data += piece
        return bytes(data)

    def _wait(self, pipe: Any, *, write: bool = False) -> None:
        left = self.deadline - time.monotonic()
        ways = ([], [pipe]) if write else ([pipe], [])
        if left <= 0 or not any(select.select(*ways, [], left)):
            raise self._lost(f"no answer within {self.seconds:.0f} seconds")

    def _lost(self, cause: str) -> WorkerLost:
        self.watch.end()
        said = ""
        try:
            self.process.wait(5)
            said = os.read(_number(self.process.stderr), 4096).decode(errors="replace").strip()
        except (BlockingIOError, subprocess.TimeoutExpired):
            pass
        lines = said.splitlines()[-1:] if "start" in cause or self.seconds == START else []
        return WorkerLost(": ".join([self.watch.cause or cause, *lines]))


def _number(pipe: Any) -> int:
    number: int = pipe.fileno()
    return number
