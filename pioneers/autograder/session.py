"""A running notebook of a student: cells in order, calls in between, and a new process after every crash."""

import base64
import binascii
import time
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from pioneers.autograder.jail import Limits
from pioneers.autograder.submission import PICTURES, Flag
from pioneers.autograder.worker import Worker, WorkerLost
from pioneers.checks.exercise import Exercise, Outcome, Probe

MAX_TEXT = 100_000  # characters of one output
MAX_OUTPUTS = 100  # of one cell
MAX_PICTURE = 4 << 20
ADOPT = "__import__('pioneers.checks.variant', fromlist=['adopt']).adopt({})"


class Session:
    """Runs cells and calls answers in a jail, and recovers when the process is lost.

    After a loss, the cells that ran before run again in a new process, without the cell that ended it.

    Args:
        limits: the limits of the jail and of time.
        trusted: whether to run without a jail.
        public: the public seed of the student's variant.
    """

    def __init__(self, limits: Limits, *, trusted: bool = False, public: int = 0) -> None:
        self.limits, self.trusted = limits, trusted
        self.worker: Worker | None = None
        self.sources = [ADOPT.format(public)] if public else []  # of the cells that run without harm
        self.ran = 0  # how many of them the process has run
        self.position: int | None = None  # after how many of them answers are called; None: after all
        self.flags: list[Flag] = []
        self.ends = time.monotonic() + limits.total
        self.peak = 0

    def cell(self, source: str, name: str) -> list[NotebookNode]:
        """Run a cell and return its cleaned outputs; a flag calls it ``name`` if it ends the process."""
        try:
            outputs = self._process().cell(source, self._seconds(self.limits.cell))
        except WorkerLost as cause:
            self._drop()
            self._flag(f"The cell {name} ended the process: {cause}.")
            return [_lost(str(cause))]
        self.sources.append(source)
        self.ran += 1
        return [clean for output in outputs[:MAX_OUTPUTS] if (clean := _clean(output))]

    def parameters(self, name: str) -> list[str] | str | None:
        """Return the parameters of the function called ``name``; None if there is none.

        Raises:
            WorkerLost: the process ended.
        """
        try:
            return self._process().parameters(name, self._seconds(self.limits.call))
        except WorkerLost:
            self._drop()
            raise

    def call(self, exercise: Exercise, probe: Probe) -> Outcome:
        """Return the outcome of calling the answer to an ``exercise`` with a ``probe``.

        Raises:
            WorkerLost: the process ended.
        """
        try:
            seconds = self._seconds(self.limits.call)
            return self._process().call(exercise.name, probe, exercise.refuse, seconds)
        except WorkerLost as cause:
            self._drop()
            self._flag(f"Calling {exercise.name} ended the process: {cause}.")
            raise

    def close(self) -> None:
        """End the process."""
        self._drop()

    def _flag(self, text: str) -> None:
        if Flag("process ended", text) not in self.flags:
            self.flags.append(Flag("process ended", text))

    def _drop(self) -> None:
        if self.worker:
            self.worker.close()
            self.peak = max(self.peak, self.worker.watch.peak)
        self.worker, self.ran = None, 0

    def _process(self) -> Worker:
        """Return a process that has run the cells up to :attr:`position`, a new one if necessary."""
        position = len(self.sources) if self.position is None else self.position
        while self.worker is None or self.ran != position:
            if self.worker is None or self.ran > position:
                self._drop()
                self._seconds(1)
                self.worker = Worker(self.limits, trusted=self.trusted)
            else:
                try:
                    self.worker.cell(self.sources[self.ran], self._seconds(self.limits.cell))
                    self.ran += 1
                except WorkerLost:  # it ran before; it will not be asked again
                    self.sources[self.ran] = ""
                    self._drop()
        return self.worker

    def _seconds(self, most: float) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise WorkerLost(f"the notebook used up its limit of {self.limits.total:.0f} seconds")
        return min(most, left)


class Calls:
    """Calls one answer for the judge; an answer that has ended the process is not called again.

    Args:
        session: the session that runs the answer.
        exercise: the exercise that it answers.
    """

    def __init__(self, session: Session, exercise: Exercise) -> None:
        self.session, self.exercise = session, exercise
        self.lost: Outcome | None = None

    def __call__(self, probe: Probe) -> Outcome:
        """Call the answer with a ``probe`` and return the outcome."""
        if self.lost is None:
            try:
                return self.session.call(self.exercise, probe)
            except WorkerLost as cause:
                self.lost = Outcome(error=f"no result: {cause}")
        return self.lost


def _lost(cause: str) -> NotebookNode:
    return new_output("error", ename="ProcessEnded", evalue=cause, traceback=[f"ProcessEnded: {cause}"])


def _clean(output: Any) -> NotebookNode | None:
    """Return an output that is safe to show to the teacher: text and pictures, no scripts."""
    kind = output.get("output_type") if isinstance(output, dict) else ""
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return new_output("stream", name=name, text=_text(output.get("text")))
    if kind == "error":
        trace = output.get("traceback")
        lines = [_text(line) for line in trace[:20]] if isinstance(trace, list) else []
        ename, evalue = _text(output.get("ename"))[:100], _text(output.get("evalue"))[:2000]
        return new_output("error", ename=ename, evalue=evalue, traceback=lines)
    if kind == "display_data" and isinstance(output.get("data"), dict):
        data = {name: content for name in PICTURES if (content := _picture(output["data"].get(name)))}
        text = _text(output["data"].get("text/plain"))
        return new_output("display_data", data=data | ({"text/plain": text} if text else {}))
    return None


def _text(content: Any) -> str:
    text = content[:MAX_TEXT] if isinstance(content, str) else ""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")


def _picture(content: Any) -> str:
    if not isinstance(content, str) or len(content) > MAX_PICTURE:
        return ""
    try:
        return base64.b64encode(base64.b64decode(content)).decode()
    except (binascii.Error, ValueError):
        return ""
