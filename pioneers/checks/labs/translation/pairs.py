"""Exercise 3.1: which pair byte-pair encoding joins next.

Words are tuples of piece ids, ``times`` says how often each occurs. Of pairs that are equally frequent the
one whose pieces come first wins: the smaller left id, then the smaller right id.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.translation.symptoms import NO_TENSOR

Words = tuple[tuple[int, ...], ...]
Times = tuple[int, ...]
Pair = tuple[int, int]


def count(words: Words, times: Times) -> Counter[Pair]:
    """How often two pieces are neighbours."""
    counts: Counter[Pair] = Counter()
    for word, n in zip(words, times, strict=True):
        for pair in pairwise(word):
            counts[pair] += n
    return counts


def _first(pair: Pair) -> tuple[int, ...]:
    return pair


def _choose(
    counted: Callable[[Words, Times], Mapping[Any, float]] = count,
    before: Callable[[Pair], tuple[int, ...]] | None = _first,
) -> Callable[[Words, Times], Tensor]:
    """The pair with the largest count; of equals the smallest by ``before``, or the first counted."""

    def best_pair(words: Words, times: Times) -> Tensor:
        counts = counted(words, times)
        best = min(counts, key=lambda pair: (-counts[pair], before(pair) if before else ()))
        return torch.tensor(best)

    return best_pair


best_pair = _choose()

LOW = ((3, 5, 9), (3, 5, 9, 1, 6), (4, 1, 9, 1, 7, 8), (9, 2, 0, 1, 7, 8))  # low lower newest widest; d is 0


def _probes() -> list[Probe]:
    def probe(name: str, words: Words, times: Times) -> Probe:
        return Probe(name, {"words": words, "times": times})

    return [
        probe("low, lower, newest and widest, letters in the order of the alphabet", LOW, (5, 2, 6, 3)),
        probe("the same after two merges", (*LOW[:2], (4, 1, 9, 11), (9, 2, 0, 11)), (5, 2, 6, 3)),
        probe("equals, and the first one met is not the first in the vocabulary", ((5, 3), (2, 7)), (4, 4)),
        probe("equals with the same left piece", ((2, 9), (2, 4), (3, 1)), (3, 3, 3)),
        probe("a long word once, a short word often", ((1, 2, 1, 2, 1, 2), (8, 6)), (1, 7)),
        probe("a pair three times in one word", ((4, 4, 4, 4), (2, 6)), (2, 5)),
        probe("a pair in both orders", ((3, 8), (8, 3), (5, 1)), (3, 3, 4)),
        probe("words of a single piece", ((6,), (2,), (6,), (2,), (1, 5)), (9, 9, 9, 9, 1)),
        probe("a rare pair that always stands together", ((11, 13), (1, 2), (1, 3), (4, 2)), (2, 5, 4, 4)),
    ]


def _same_order(run: Run) -> tuple[Tensor, Tensor]:
    words, times = ((7, 2), (2, 7), (5, 5)), (4, 4, 4)
    there = run(Probe("law", {"words": words, "times": times})).tensor
    return run(Probe("law", {"words": words[::-1], "times": times})).tensor, there


def _twice(run: Run) -> tuple[Tensor, Tensor]:
    once = run(Probe("law", {"words": ((2, 3), (1, 4)), "times": (5, 4)})).tensor
    return run(Probe("law", {"words": ((2, 3), (1, 4), (2, 3)), "times": (3, 4, 2)})).tensor, once


def _across(words: Words, times: Times) -> Counter[Pair]:
    text = [piece for word, n in zip(words, times, strict=True) for _ in range(n) for piece in word]
    return Counter(pairwise(text))


def _in_any_order(words: Words, times: Times) -> Counter[Pair]:
    counts: Counter[Pair] = Counter()
    for (a, b), n in count(words, times).items():
        counts[min(a, b), max(a, b)] += n
    return counts


def _once_a_word(words: Words, times: Times) -> Counter[Pair]:
    counts: Counter[Pair] = Counter()
    for word, n in zip(words, times, strict=True):
        counts.update(dict.fromkeys(pairwise(word), n))
    return counts


def _pieces(words: Words, times: Times) -> Counter[int]:
    counts: Counter[int] = Counter()
    for word, n in zip(words, times, strict=True):
        for piece in word:
            counts[piece] += n
    return counts


def _ratio(words: Words, times: Times) -> dict[Pair, float]:
    n = _pieces(words, times)
    return {(a, b): ab / (n[a] * n[b]) for (a, b), ab in count(words, times).items()}


def _two_pieces(words: Words, times: Times) -> Tensor:
    n = _pieces(words, times)
    return torch.tensor(sorted(n, key=lambda piece: (-n[piece], piece))[:2])


UNWEIGHTED = (
    "times is ignored",
    "A pair in a word that occurs six times occurs six times: count the text, not the list of words.",
)
TIE = (
    "another rule for ties",
    "Of equals the pair with the smaller left id wins, then the one with the smaller right id.",
)
MISTAKES = (
    NO_TENSOR,
    Mistake(*UNWEIGHTED, _choose(lambda words, times: count(words, (1,) * len(words)))),
    Mistake(
        *UNWEIGHTED,
        _choose(lambda words, times: count(words, (1,) * len(words)), before=None),
    ),
    Mistake(*TIE, _choose(before=None)),
    Mistake(*TIE, _choose(before=lambda pair: (-pair[0], -pair[1]))),
    Mistake(*TIE, _choose(before=lambda pair: pair[::-1])),
    Mistake(
        "pairs across words",
        "Pairs are counted within words only, so that a word is cut alike whatever stands beside it.",
        _choose(_across),
    ),
    Mistake(
        "pairs across words",
        "Pairs are counted within words only, so that a word is cut alike whatever stands beside it.",
        _choose(_across, before=None),
    ),
    Mistake(
        "a pair counted once per word",
        "A word may hold a pair several times, and each of them counts.",
        _choose(_once_a_word),
    ),
    Mistake(
        "the order within a pair is lost",
        "e s and s e are two pairs: left and right make different pieces.",
        _choose(_in_any_order),
    ),
    Mistake(
        "the criterion of WordPiece",
        "Byte-pair encoding joins the most frequent pair; n_ab / (n_a n_b) is the ratio of WordPiece.",
        _choose(_ratio),
        section="sec-wordpiece-criterion",
        equation="eq-wordpiece-score",
    ),
    Mistake(
        "the two most frequent pieces",
        "Two pieces that are frequent need not be neighbours: count the pairs themselves.",
        _two_pieces,
    ),
)

EXERCISES = (
    Exercise(
        key="3.1",
        name="best_pair",
        parameters=("words", "times"),
        points=8,
        section="sec-bpe-by-hand",
        equation="",
        reference=best_pair,
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "the order of the words does not matter",
                "Counts are sums, and the rule for ties looks at ids alone.",
                _same_order,
            ),
            Property(
                "a word listed twice counts as often as both entries say",
                "Three times and twice are five times.",
                _twice,
            ),
        ),
    ),
)
