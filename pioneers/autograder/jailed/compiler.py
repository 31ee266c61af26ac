"""Keep torch from importing its compiler for a task that needs none of it: shapes on the meta device.

The first operation there asks ``torch._dynamo`` to leave it uncompiled, and importing that takes as long as
importing torch itself. A stand-in answers this one request; anything else asked of it imports the compiler.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

NAME = "torch._dynamo"
TORCH = "2.13.0"  # whose private module is replaced; tests/autograder/test_jail.py holds it


class _Later(ModuleType):
    """Takes the place of the compiler until it is needed."""

    def disable(self, fn: Callable[..., Any], recursive: bool = True, *, wrapping: bool = True) -> Any:
        """Return the function as it is: nothing compiles it."""
        return fn

    def __getattr__(self, name: str) -> Any:
        if sys.modules[NAME] is self:
            del sys.modules[NAME], torch._dynamo
            import torch._dynamo as real

            return getattr(real, name)
        return getattr(sys.modules[NAME], name)


def postpone() -> None:
    """Put the stand-in in the place of the compiler, if that has not been imported yet."""
    if NAME not in sys.modules:
        sys.modules[NAME] = torch._dynamo = _Later(NAME)
