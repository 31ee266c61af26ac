"""The results of the longer experiments, which ship with the package."""

import json
from importlib.resources import files
from typing import Any


def experiment(name: str) -> dict[str, Any]:
    """Load what ``make experiments NAME=...`` found: an entry ``rows`` with one row per case and seed.

    The entries ``command``, ``config``, ``cases`` and ``versions`` say how to reproduce the rows. The file
    is ``pioneers/results/NAME.json``.

    Args:
        name: of the file in ``experiments``, without ``.py``.

    Raises:
        ValueError: there are no results of that name.

    Example:
        >>> experiment("recipe")["command"]
        'make experiments NAME=recipe'
    """
    folder = files("pioneers") / "results"
    known = sorted(file.name.removesuffix(".json") for file in folder.iterdir())
    if name not in known:
        raise ValueError(f"there are no results of {name!r}; there are: {', '.join(known)}")
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found
