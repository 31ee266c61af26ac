"""The classification tasks of the experiments, public ones and embedded ones."""

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.text.more_tasks import next_sentence_pairs
from pioneers.data import (
    LabelledText,
    TruncatedPair,
    docstring_packages,
    documents,
    mrpc,
    sst2,
    truncated_choice,
    truncated_classification,
    truncated_entailment,
    truncated_pairs,
)
from pioneers.data.tasks import PACKAGES, REFERENCE

Row = tuple[Any, ...]
ONE_TEXT = ("sst2", "finished", "packages")
NUM_MODULES = 31  # with at least forty docstrings each


@functools.cache
def modules() -> list[str]:
    """The packages and modules with the most docstrings to train with."""
    counts = Counter(document.package for document in documents("train") if document.package != REFERENCE)
    return [name for name, _ in counts.most_common(NUM_MODULES)]


def docstring_modules(split: str) -> list[LabelledText]:
    """Docstrings, and which of 31 packages and modules each stands in."""
    return [
        LabelledText(" ".join(document.sentences), modules().index(document.package))
        for document in documents(split)
        if document.package in modules()
    ]


class Task(NamedTuple):
    """A task with labels.

    Attributes:
        kind: ``"text"``, ``"pair"`` (the order matters), ``"similarity"`` (it does not) or ``"choice"``.
        num_classes: number of labels; of choices, where the kind is ``"choice"``.
        state: what the answer is read from, ``"mean"`` of the last states or that of the ``"last"`` token.
        rows: split → examples ``(text, ..., label)``; the splits are ``"train"`` and ``"test"``.
    """

    kind: str
    num_classes: int
    state: str
    rows: Callable[[str], Sequence[Row]]


TASKS = {
    "sst2": Task("text", 2, "mean", sst2),
    "mrpc": Task("similarity", 2, "mean", mrpc),
    "packages": Task("text", len(PACKAGES), "mean", docstring_packages),
    "modules": Task("text", NUM_MODULES, "mean", docstring_modules),
    "following": Task("pair", 2, "mean", next_sentence_pairs),
    "finished": Task("text", 2, "last", lambda split: truncated_classification(cuts(split))),
    "finished first": Task("pair", 2, "last", lambda split: truncated_entailment(cuts(split))),
    "finished choice": Task(
        "choice",
        4,
        "last",
        lambda split: [(c.context, *c.choices, c.label) for c in truncated_choice(cuts(split))],
    ),
}


def cuts(split: str) -> list[TruncatedPair]:
    """As many as there are, or nearly."""
    return truncated_pairs(split, 5000 if split == "train" else 1200)


@functools.cache
def examples(task: str, split: str) -> tuple[Row, ...]:
    """The examples of a task in random order."""
    rows = TASKS[task].rows("test" if split == "test" else "train")
    return tuple(tuple(row) for row in part(rows, split))


def part(rows: Sequence[Row], split: str) -> list[Row]:
    """The rows of a split in random order; ``"validation"`` is a tenth of those published for training."""
    order = np.random.default_rng(0).permutation(len(rows))
    tenth = len(rows) // 10
    chosen = {"test": order, "train": order[tenth:], "validation": order[:tenth]}[split]
    return [rows[i] for i in chosen]


def labels_of(rows: Sequence[Row]) -> Tensor:
    """``(B,)``."""
    return torch.tensor([row[-1] for row in rows])


def labelled(task: str, num_labels: int | None, seed: int) -> list[Row]:
    """The labelled examples that a seed gets to see."""
    return drawn(examples(task, "train"), num_labels, seed)


def drawn(rows: Sequence[Row], num_labels: int | None, seed: int) -> list[Row]:
    """As many of the rows, all if None; which, the seed decides."""
    order = np.random.default_rng((1, seed)).permutation(len(rows))[:num_labels]
    return [rows[i] for i in order]
