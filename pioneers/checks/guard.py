"""Refuse calls that would be the answer itself: to a fused kernel or to the reference package."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from torch.overrides import TorchFunctionMode

CHECKS = Path(__file__).parent
PACKAGE = CHECKS.parent


class CallRefused(Exception):
    """An answer made a call that is not allowed."""


class Guard(TorchFunctionMode):
    """While active, stops every torch call named in ``refuse`` and every one made from inside ``pioneers``.

    It sees the calls that run, not the source, so an alias, a partial or a late import changes nothing.
    ``refused`` keeps the name of the first such call even if the answer catches the exception.
    """

    def __init__(self, refuse: frozenset[str]) -> None:
        super().__init__()
        self.refuse = refuse
        self.refused = ""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        culprit = f"`{name}`" if _plain(name) in self.refuse else _caller_in_package()
        if culprit:
            self.refused = self.refused or culprit
            raise CallRefused(culprit)
        return func(*args, **(kwargs or {}))


def _plain(name: str) -> str:
    """Return the plain name of a function: special_softmax and _softmax are softmax."""
    return name.removeprefix("special_").strip("_")


def _caller_in_package() -> str:
    """Return the function of ``pioneers`` that the answer called to get here, if any."""
    called = ""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith(str(CHECKS)):
        if frame.f_code.co_filename.startswith(str(PACKAGE)):
            called = f"`{frame.f_code.co_name}` of pioneers"
        frame = frame.f_back
    return called
