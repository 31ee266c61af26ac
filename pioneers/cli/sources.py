"""Training data: texts, pairs and images, by name or from files, each with a hash."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pioneers.data import (
    ImageSet,
    cifar10,
    digits,
    fashion_mnist,
    image_folder,
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
    "fashion-mnist": lambda: (fashion_mnist("train"), fashion_mnist("test")),
    "cifar10": lambda: (cifar10("train"), cifar10("test")),
}
TRAIN_PAIRS, TEST_PAIRS = 20_000, 1_000

Pairs = list[tuple[str, str]]


class Pictures(NamedTuple):
    """Labelled images for training and validation, and the names of the classes where they are known."""

    train: ImageSet
    test: ImageSet
    classes: tuple[str, ...] = ()


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


def read_images(name: str, size: int) -> Dataset:
    """Read training and validation images, by name or from a folder with a subfolder for each class.

    Of a folder one image in ten is held out, at least one.

    Args:
        name: one of ``IMAGES``, or a folder.
        size: height and width in pixels to which the images of a folder are scaled.

    Raises:
        ValueError: there is one class, or one image.
    """
    pictures = Pictures(*IMAGES[name]()) if name in IMAGES else _from_folder(name, size)
    raw = b"".join(part.numpy().tobytes() for part in (*pictures.train, *pictures.test))
    return _dataset(pictures, raw)


def _from_folder(name: str, size: int) -> Pictures:
    found = image_folder(_existing(name, IMAGES, "folder"), size=size)
    count = len(found.images.labels)
    if len(found.classes) < 2 or count < 2:
        raise ValueError(f"{name} needs images of at least two classes, in one subfolder for each")
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
    held_out = max(1, count // 10)
    held, learned = order[:held_out], order[held_out:]
    train, test = (ImageSet(*(part[rows] for part in found.images)) for rows in (learned, held))
    return Pictures(train, test, found.classes)


def _existing(name: str, known: Any, kind: str = "file") -> Path:
    if not Path(name).exists():
        raise FileNotFoundError(f"there is no {kind} {name!r}; name one, or one of: {', '.join(known)}")
    return Path(name)


def _dataset(data: Any, raw: bytes) -> Dataset:
    return Dataset(data, hashlib.sha256(raw).hexdigest())
