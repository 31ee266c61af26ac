"""How a run ends before its time: by SIGTERM, or because another of its processes has ended."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn


class Terminated(KeyboardInterrupt):
    """SIGTERM was received, which is handled like Ctrl-C."""

    asked = False  # whether it was received, be the exception lost in a library or not


class PeerEnded(RuntimeError):
    """Another process of the run has ended, and this one cannot go on."""


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM raise :class:`Terminated`, once.

    An error after that counts as it too: the other processes of the run, told the same, may have ended first.
    """

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # those who send it twice wait no longer for it
        Terminated.asked = True
        raise Terminated("terminated")

    before = signal.signal(signal.SIGTERM, stop)
    Terminated.asked = False
    try:
        yield
    except RuntimeError as error:
        if Terminated.asked:
            raise Terminated("terminated") from error
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
