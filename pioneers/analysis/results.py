"""The results of the longer experiments, which come with the package."""

import json
from importlib.resources import files
from typing import Any


def experiment(name: str) -> dict[str, Any]:
    """What ``make experiments NAME=...`` has found: an entry ``rows`` with one row per case and seed.

    Beside the rows stand what makes them again: ``command``, ``config``, ``cases`` and ``versions``. The file
    is ``pioneers/results/NAME.json``.

    Args:
        name: of the experiment: the file's name in ``experiments``, without ``.py``.

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
