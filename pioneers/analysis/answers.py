"""How good answers to questions are."""

import re
import string
from collections import Counter
from collections.abc import Sequence

PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(given: Sequence[str], right: Sequence[str]) -> float:
    """The share of ``given`` answers that equal the ``right`` ones, case, articles and punctuation aside.

    Rajpurkar et al. 2016, section 6.1.

    Raises:
        ValueError: there are not as many of one as of the other, or none.

    Example:
        >>> exact_match(["The red house.", "now"], ["red house", "then"])
        0.5
    """
    return _mean([float(_words(a) == _words(b)) for a, b in _pairs(given, right)])


def overlap_f1(given: Sequence[str], right: Sequence[str]) -> float:
    """The mean F1 of the words of ``given`` and ``right`` answers, which gives something for half of one.

    Case, articles and punctuation aside: Rajpurkar et al. 2016, section 6.1.

    Raises:
        ValueError: there are not as many of one as of the other, or none.

    Example:
        >>> overlap_f1(["an old red house", "now"], ["red house", "then"])
        0.4
    """
    scores = []
    for a, b in _pairs(given, right):
        found, asked = _words(a), _words(b)
        shared = sum((Counter(found) & Counter(asked)).values())
        scores.append(2 * shared / (len(found) + len(asked)) if shared else float(found == asked))
    return _mean(scores)


def _pairs(given: Sequence[str], right: Sequence[str]) -> list[tuple[str, str]]:
    if not given or len(given) != len(right):
        raise ValueError(f"each of the {len(right)} right answers needs one given answer, not {len(given)}")
    return list(zip(given, right, strict=True))


def _words(text: str) -> list[str]:
    words = text.lower().translate(PUNCTUATION)
    return re.sub(r"\b(a|an|the)\b", " ", words).split()


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores)
