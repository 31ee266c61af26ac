"""Training data: texts, pairs and images, by name or from files, each with a hash."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pioneers.cli.pairs import PAIRS, named_pairs, pairs_in_file
from pioneers.data import (
    Corpus,
    ImageFolder,
    ImageSet,
    cifar10,
    digits,
    fashion_mnist,
    image_arrays,
    image_folder,
    image_table,
    is_table,
    language_reference,
    mnist,
    tiny_shakespeare,
)

TEXTS = {"shakespeare": tiny_shakespeare, "language-reference": language_reference}
IMAGES: dict[str, Callable[[], tuple[ImageSet, ImageSet]]] = {
    "digits": digits,
    "mnist": lambda: (mnist("train"), mnist("test")),
    "fashion-mnist": lambda: (fashion_mnist("train"), fashion_mnist("test")),
    "cifar10": lambda: (cifar10("train"), cifar10("test")),
}


class Pictures(NamedTuple):
    """Labelled images for training and validation, and the names of the classes where they are known."""

    train: ImageSet
    test: ImageSet
    classes: tuple[str, ...] = ()


class Dataset(NamedTuple):
    """Data and its sha256."""

    data: Any
    sha256: str


def read_text(name: str, column: str | None = None) -> Dataset:
    """Find a text by name, or read a UTF-8 file once; of a table, the documents in a ``column``.

    Raises:
        ValueError: the file is broken, or has no columns and one is named.
    """
    if name in TEXTS:
        corpus = Corpus.of(TEXTS[name](), name)
    else:
        corpus = Corpus.read(_existing(name, TEXTS), column=column or "text")
    if column and corpus.documents is None:
        raise ValueError(f"--column goes with a .csv, .tsv or .jsonl file; {name} is a text without columns")
    return Dataset(corpus, corpus.sha256)


def read_pairs(name: str, target: str, columns: str | None = None, *, drop_broken: bool = False) -> Dataset:
    """Make or read training and validation pairs: for a language, or from a file; see :mod:`cli.pairs`."""
    if name in PAIRS:
        found = named_pairs(name, target)
    else:
        found = pairs_in_file(str(_existing(name, PAIRS)), columns, drop_broken=drop_broken)
    return _dataset(found, repr((found.train, found.test)).encode())


def read_images(name: str, size: int) -> Dataset:
    """Read training and validation images, by name, from a folder of classes, an ``.npz`` file or a table.

    Without images for a test, one in ten is held out, at least one.

    Args:
        name: one of ``IMAGES``, a folder or a file.
        size: height and width in pixels to which the images of a folder or table are scaled.

    Raises:
        ValueError: there is one class, or one image.
    """
    pictures = Pictures(*IMAGES[name]()) if name in IMAGES else _own_images(name, size)
    raw = b"".join(part.numpy().tobytes() for part in (*pictures.train, *pictures.test))
    return _dataset(pictures, raw)


def _own_images(name: str, size: int) -> Pictures:
    if name.endswith(".npz"):
        train, test = image_arrays(_existing(name, IMAGES))
        if test is not None:
            return Pictures(train, test)
        found = ImageFolder(train, tuple(map(str, range(int(train.labels.max()) + 1))))
    elif is_table(name):
        found = image_table(_existing(name, IMAGES), size=size)
    else:
        found = image_folder(_existing(name, IMAGES, "folder"), size=size)
    count = len(found.images.labels)
    if len(found.classes) < 2 or count < 2:
        where = "" if Path(name).is_file() else ", in one subfolder for each"
        raise ValueError(f"{name} needs images of at least two classes{where}")
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
