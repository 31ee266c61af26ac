"""Training data: texts, pairs and images, by name or from files, each with a hash."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pioneers.data import (
    ImageSet,
    digits,
    language_reference,
    mnist,
    text_file,
    tiny_shakespeare,
    translation_pairs,
)
from pioneers.data.formats import read_table

TEXTS = {"shakespeare": tiny_shakespeare, "language-reference": language_reference}
PAIRS = ("dates", "numbers")
IMAGES: dict[str, Callable[[], tuple[ImageSet, ImageSet]]] = {
    "digits": digits,
    "mnist": lambda: (mnist("train"), mnist("test")),
}
TRAIN_PAIRS, TEST_PAIRS = 20_000, 1_000

Pairs = list[tuple[str, str]]


class Dataset(NamedTuple):
    """Data and its sha256."""

    data: Any
    sha256: str


def read_text(name: str) -> Dataset:
    """Read a text by name or from a UTF-8 file."""
    text = TEXTS[name]() if name in TEXTS else text_file(_existing(name, TEXTS))
    return _dataset(text, text.encode())


def read_pairs(name: str, target: str) -> Dataset:
    """Make or read training and validation pairs: for a language, or from a tab-separated file.

    Raises:
        ValueError: a line does not have two sides, or there are too few lines.
    """
    if name in PAIRS:
        counts = {"train": TRAIN_PAIRS, "test": TEST_PAIRS}
        train, test = (translation_pairs(name, target=target, count=n, split=s) for s, n in counts.items())
    else:
        rows = read_table(_existing(name, PAIRS), columns=2)
        for line, sides in enumerate(rows, start=1):
            if not all(side.strip() for side in sides):
                raise ValueError(f"{name}, line {line}: one side is empty; give it a source and a target")
        if len(rows) < 2:
            raise ValueError(f"{name} contains one pair; at least two are needed, one of them for validation")
        cut = min(len(rows) - 1, round(len(rows) * 0.9))
        pairs = [(source, target) for source, target in rows]
        train, test = pairs[:cut], pairs[cut:]
    return _dataset((train, test), repr((train, test)).encode())


def read_images(name: str) -> Dataset:
    """Read training and validation images."""
    train, test = IMAGES[name]()
    return _dataset((train, test), b"".join(part.numpy().tobytes() for part in (*train, *test)))


def _existing(name: str, known: Any) -> Path:
    if not Path(name).exists():
        raise FileNotFoundError(f"there is no file {name!r}; name one, or one of: {', '.join(known)}")
    return Path(name)


def _dataset(data: Any, raw: bytes) -> Dataset:
    return Dataset(data, hashlib.sha256(raw).hexdigest())
