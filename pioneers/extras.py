"""Packages that only an extra of ``pioneers`` installs: imported when they are needed, and not before."""

import importlib
from typing import Any


def import_extra(module: str, extra: str) -> Any:
    """Import ``module``, which the extra named ``extra`` installs.

    Raises:
        ModuleNotFoundError: it is not installed; the message gives the command that installs the extra.

    Example:
        >>> import_extra("num2words", "data").num2words(42)
        'forty-two'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error.name or module} is not installed; install the extra that brings it: "
            f"pip install 'pioneers[{extra}]'",
            name=error.name,
        ) from error
