"""The grader's side of the warm process, which forks itself into a new jail for each submission.

Starting Python and importing torch takes a second; a fork of a process that has done both takes milliseconds.
The warm process sits in the jail that any submission gets, so it knows nothing that a student may not see.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from threading import Lock
from typing import IO

from pioneers.autograder.jail import Limits, NoJail, bubblewrap

SECONDS = 60.0  # until the imports are done
_OWN: list["Warm"] = []  # the warm process of this process, if it has one


class Forked:
    """A jail made by a fork; what :class:`subprocess.Popen` is for one that bubblewrap has started.

    Args:
        pidfd: a handle on process 1 of the jail, with which all others end.
        stdin: where its orders are written.
        stdout: where its answers are read.
        stderr: where its complaints are read.
    """

    def __init__(self, pidfd: int, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self.pidfd, self.stdin, self.stdout, self.stderr = pidfd, stdin, stdout, stderr
        with open(f"/proc/self/fdinfo/{pidfd}") as file:
            self.pid = int(dict(line.split(":") for line in file)["Pid"])

    def kill(self) -> None:
        """End all processes of the jail."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Return 0 once all processes have ended.

        Args:
            timeout: the seconds to wait.

        Raises:
            subprocess.TimeoutExpired: they have not ended by then.
        """
        if not select.select([self.pidfd], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        return 0

    def __del__(self) -> None:
        os.close(self.pidfd)


class Warm:
    """A process that has imported what submissions need.

    Args:
        limits: the limits of its jail.
        modules: the modules to import.

    Raises:
        NoJail: there is no bubblewrap on this machine.
    """

    def __init__(self, limits: Limits, modules: Iterable[str] = ()) -> None:
        command = [sys.executable, "-m", "pioneers.autograder.jailed.forks", *modules]
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                bubblewrap(command, limits, forks=True),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={},
                start_new_session=True,
            )
        self.socket.settimeout(SECONDS)
        self.lock = Lock()

    def fork(self, limits: Limits) -> Forked:
        """Return a new jail whose process serves.

        Args:
            limits: the resources it may use.

        Raises:
            NoJail: the kernel forbids it, or the warm process has ended.
        """
        (order, stdin), (stdout, answer), (stderr, complaint) = os.pipe(), os.pipe(), os.pipe()
        inside = [order, answer, complaint]
        outside = [os.fdopen(stdin, "wb", 0), os.fdopen(stdout, "rb", 0), os.fdopen(stderr, "rb", 0)]
        try:
            with self.lock:
                socket.send_fds(self.socket, [json.dumps(limits.of_process()).encode()], inside)
                said, handles, _, _ = socket.recv_fds(self.socket, 4096, 1)
        except OSError as error:
            said, handles = str(error).encode(), []
        finally:
            for number in inside:
                os.close(number)
        if handles:
            return Forked(handles[0], *outside)
        for pipe in outside:
            pipe.close()
        raise NoJail(f"no fork of a warm process: {said.decode(errors='replace') or self._last_words()}")

    def _last_words(self) -> str:
        """End the process and return the last line of what it complained about."""
        self.process.kill()
        said = self.process.stderr.read() if self.process.stderr else b""
        return "".join(said.decode(errors="replace").splitlines()[-1:]) or "it ended"

    def close(self) -> None:
        """End the process and all its forks."""
        self.socket.close()
        self.process.kill()
        self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()


def begin(limits: Limits, modules: Iterable[str] = ()) -> None:
    """Start the warm process of this process, whose forks are its workers from now on; an earlier one ends.

    Args:
        limits: the limits of its jail.
        modules: the modules to import.

    Raises:
        NoJail: there is no bubblewrap on this machine.
    """
    while _OWN:
        _OWN.pop().close()
    _OWN.append(Warm(limits, modules))


def fork(limits: Limits) -> Forked | None:
    """Return a fork of this process's warm process; None if it has none, or if it can fork no more."""
    try:
        return _OWN[0].fork(limits) if _OWN else None
    except NoJail:
        _OWN.pop().close()
        return None
