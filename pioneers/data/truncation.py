"""Embedded tasks that ask which sentence was cut off, in the four task formats of Radford et al. (2018)."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from pioneers.data.docstrings import documents
from pioneers.data.public import LabelledPair, LabelledText
from pioneers.data.tasks import Choice

STOPS = ".,:;"


class TruncatedPair(NamedTuple):
    """A complete sentence, and the beginning of another with as many words. Neither has a full stop.

    Attributes:
        complete: the complete sentence.
        truncated: the beginning of the other.
    """

    complete: str
    truncated: str


def truncated_pairs(split: str, number: int) -> list[TruncatedPair]:
    """Pair sentences of 5 to 12 words from :func:`documents` with longer ones cut to the same length.

    Neither a full stop nor the length gives away which of the two is complete.

    Args:
        split: ``"train"`` or ``"test"``.
        number: number of pairs; there are about 5,000 in ``"train"`` and 1,200 in ``"test"``.

    Raises:
        ValueError: there is no such split, or it has too few short sentences.

    Example:
        >>> complete, truncated = truncated_pairs("test", 10)[0]
        >>> len(complete.split()) == len(truncated.split())
        True
    """
    draw = Random(split)
    sentences = [s.split() for document in documents(split) for s in document.sentences if s.endswith(".")]
    short = [words for words in sentences if 5 <= len(words) <= 12 and words[-1].strip(STOPS)]
    if number > len(short):
        raise ValueError(f"there are {len(short)} short sentences in {split!r}, not {number}")
    pairs = []
    for words in draw.sample(short, number):
        cut: list[str] = []
        while not (len(cut) == len(words) and cut[-1].strip(STOPS)):
            longer = draw.choice(sentences)
            cut = longer[: len(words)] if len(longer) > len(words) + 1 else []
        pairs.append(TruncatedPair(*(" ".join(part).rstrip(STOPS) for part in (words, cut))))
    return pairs


def truncated_classification(pairs: Sequence[TruncatedPair]) -> list[LabelledText]:
    """Take one sentence of each of the ``pairs``: 1 = it is complete. Classification of one text."""
    return [LabelledText(pair.complete if i % 2 else pair.truncated, i % 2) for i, pair in enumerate(pairs)]


def truncated_entailment(pairs: Sequence[TruncatedPair]) -> list[LabelledPair]:
    """Take both sentences of each of the ``pairs``: 1 = the first is complete. Ordered, as in entailment."""
    return [LabelledPair(*(pair if i % 2 else pair[::-1]), i % 2) for i, pair in enumerate(pairs)]


def truncated_similarity(pairs: Sequence[TruncatedPair]) -> list[LabelledPair]:
    """Take one sentence from each two of the ``pairs``: 1 = one is complete. Unordered, as in similarity."""
    rows = []
    for i, (one, other) in enumerate(zip(pairs[::2], pairs[1::2], strict=False)):
        texts = (one.complete if i % 2 else one.truncated, other.truncated)
        rows.append(LabelledPair(*(texts if i % 4 < 2 else texts[::-1]), i % 2))
    return rows


def truncated_choice(pairs: Sequence[TruncatedPair]) -> list[Choice]:
    """Take one sentence from each four of the ``pairs``: which is complete? Multiple choice."""
    rows = []
    for i, four in enumerate(zip(*(pairs[k::4] for k in range(4)), strict=False)):
        choices = [pair.truncated for pair in four]
        choices[i % 4] = four[i % 4].complete
        rows.append(Choice("Finished?", tuple(choices), i % 4))
    return rows
