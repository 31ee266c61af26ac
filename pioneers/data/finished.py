"""Embedded tasks that ask one thing, is this sentence finished?, in the four shapes of Radford et al."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from pioneers.data.docstrings import documents
from pioneers.data.public import LabelledPair, LabelledText
from pioneers.data.tasks import Choice

STOPS = ".,:;"


class CutSentence(NamedTuple):
    """A finished sentence, and another one that was cut off after as many words. Neither has a full stop.

    Attributes:
        whole: the finished one.
        cut: the other.
    """

    whole: str
    cut: str


def cut_sentences(split: str, number: int) -> list[CutSentence]:
    """Sentences of 5 to 12 words from :func:`documents`, each beside a longer one cut to its length.

    Neither the full stop nor the length gives away which of the two is finished.

    Args:
        split: ``"train"`` or ``"test"``.
        number: how many; there are about 5,000 in ``"train"`` and 1,200 in ``"test"``.

    Raises:
        ValueError: there is no such split, or there are not so many.

    Example:
        >>> whole, cut = cut_sentences("test", 10)[0]
        >>> len(whole.split()) == len(cut.split())
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
        pairs.append(CutSentence(*(" ".join(part).rstrip(STOPS) for part in (words, cut))))
    return pairs


def finished_sentences(pairs: Sequence[CutSentence]) -> list[LabelledText]:
    """One sentence of each of the ``pairs``: 1 = it is finished. The shape of classification."""
    return [LabelledText(pair.whole if i % 2 else pair.cut, i % 2) for i, pair in enumerate(pairs)]


def finished_first(pairs: Sequence[CutSentence]) -> list[LabelledPair]:
    """Both of each of the ``pairs``: 1 = the first is the finished one. The shape of entailment."""
    return [LabelledPair(*(pair if i % 2 else pair[::-1]), i % 2) for i, pair in enumerate(pairs)]


def finished_either(pairs: Sequence[CutSentence]) -> list[LabelledPair]:
    """Sentences of every two ``pairs``: 1 = one of them is finished. The shape of similarity."""
    rows = []
    for i, (one, other) in enumerate(zip(pairs[::2], pairs[1::2], strict=False)):
        texts = (one.whole if i % 2 else one.cut, other.cut)
        rows.append(LabelledPair(*(texts if i % 4 < 2 else texts[::-1]), i % 2))
    return rows


def finished_choices(pairs: Sequence[CutSentence]) -> list[Choice]:
    """Sentences of every four ``pairs``, one of them finished: which? The shape of multiple choice."""
    rows = []
    for i, four in enumerate(zip(*(pairs[k::4] for k in range(4)), strict=False)):
        choices = [pair.cut for pair in four]
        choices[i % 4] = four[i % 4].whole
        rows.append(Choice("Finished?", tuple(choices), i % 4))
    return rows
