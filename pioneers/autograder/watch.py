"""Measure what all processes of a jail use together, and end a jail that uses too much."""

import subprocess
import threading
import time
from contextlib import suppress

import psutil  # type: ignore[import-untyped]

from pioneers.autograder.jail import Limits, Started
from pioneers.autograder.warm import Forked

EVERY = 0.1  # seconds
GONE = 10  # seconds the kernel may take to clear away what was killed


class Watch(threading.Thread):
    """Watches a process and its descendants until they end; ``cause`` says why the watch ended them.

    The kernel limits each process by itself, so many small ones could use up the machine.

    Args:
        process: the outermost process of the jail, or process 1 in it.
        limits: the resources they may use together.
    """

    def __init__(self, process: Started | Forked, limits: Limits) -> None:
        super().__init__(daemon=True)
        self.process, self.limits, self.cause, self.peak = process, limits, "", 0
        self.over = threading.Event()

    def run(self) -> None:
        """Measure at regular intervals until the watch is over."""
        try:
            outermost = psutil.Process(self.process.pid)
            while not self.over.wait(EVERY):
                self._look(outermost)
        except psutil.NoSuchProcess:
            pass

    def _look(self, outermost: psutil.Process) -> None:
        family = outermost.children(recursive=True)
        memory = sum(resident(process) for process in family)
        self.peak = max(self.peak, memory)
        if memory > self.limits.memory:
            self.end(f"used more than {self.limits.memory / 2**30:.1f} GiB of memory")
        elif len(family) > self.limits.processes:
            self.end(f"started more than {self.limits.processes} processes")

    def end(self, cause: str = "") -> None:
        """End all processes of the jail, and return when they are gone."""
        self.cause = self.cause or cause
        try:
            family = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return
        patience = time.monotonic() + GONE
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GONE)
        while not all(map(ended, family)) and time.monotonic() < patience:
            time.sleep(0.01)


def resident(process: psutil.Process) -> int:
    """Return the bytes of memory that a process holds; 0 if it has ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def ended(process: psutil.Process) -> bool:
    """Return whether a process runs no more; its parent may be slow to notice, or never do."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
