"""Does B follow A in the text, or does it come from elsewhere, or before A?"""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import NamedTuple

Sentence = Sequence[int]


class SentencePair(NamedTuple):
    """A pair of sentences.

    Attributes:
        first: token ids.
        second: token ids.
        is_next: True if the second really follows the first. The label for BERT's logits, where class 0 is
            "follows", is ``int(not is_next)``.
    """

    first: Sentence
    second: Sentence
    is_next: bool


def next_sentence(documents: Sequence[Sequence[Sentence]], *, seed: int = 0) -> list[SentencePair]:
    """Make a pair for each sentence that has a successor: half true successors, half from other documents.

    Devlin et al. 2019, section 3.1, task 2.

    Args:
        documents: each a list of sentences, each a list of token ids.
        seed: of the sampling.

    Raises:
        ValueError: there are fewer than two documents, so no sentence can be sampled from another.

    Example:
        >>> pairs = next_sentence([[[1, 2], [3], [4, 5]], [[6], [7, 8]]])
        >>> [pair.first for pair in pairs]
        [[1, 2], [3], [6]]
    """
    if sum(1 for document in documents if document) < 2:
        raise ValueError("next_sentence needs at least two documents, to sample a sentence from another one")
    random = Random(seed)
    pairs = []
    for index, document in enumerate(documents):
        for first, following in pairwise(document):
            if random.random() < 0.5:
                pairs.append(SentencePair(first, following, True))
                continue
            other = index
            while other == index or not documents[other]:
                other = random.randrange(len(documents))
            pairs.append(SentencePair(first, random.choice(documents[other]), False))
    return pairs


def sentence_order(documents: Sequence[Sequence[Sentence]], *, seed: int = 0) -> list[SentencePair]:
    """Make a pair for each sentence that has a successor: half in their order, half swapped.

    Both sentences are about the same topic, so that topic alone says nothing about the label, unlike in
    :func:`next_sentence`. ``is_next`` is False for the swapped. Lan et al. 2020, section 3.1.

    Args:
        documents: each a list of sentences, or of longer segments, each a list of token ids.
        seed: of the sampling.

    Example:
        >>> sentence_order([[[1, 2], [3], [4, 5]]], seed=1)[0]
        SentencePair(first=[1, 2], second=[3], is_next=True)
    """
    random = Random(seed)
    pairs = []
    for document in documents:
        for first, following in pairwise(document):
            in_order = random.random() < 0.5
            a, b = (first, following) if in_order else (following, first)
            pairs.append(SentencePair(a, b, in_order))
    return pairs
