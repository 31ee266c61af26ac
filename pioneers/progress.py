"""The progress bar: live in a terminal or a notebook, off if ``TQDM_DISABLE`` is set."""

import os
from collections.abc import Iterable
from typing import Any, TypeVar

from tqdm.auto import tqdm

T = TypeVar("T")


def progress(iterable: Iterable[T], **options: Any) -> "tqdm[T]":
    """Wrap an ``iterable`` in tqdm's bar; the ``options`` are tqdm's.

    tqdm's bar for notebooks ignores ``TQDM_DISABLE``, so it is read here. The build of the book sets it,
    because a bar would leave its timings in the page.
    """
    return tqdm(iterable, **{"disable": bool(os.environ.get("TQDM_DISABLE"))} | options)
