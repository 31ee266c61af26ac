"""Measures of answers to questions."""

import re
import string
from collections import Counter
from collections.abc import Sequence

PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(given: Sequence[str], right: Sequence[str]) -> float:
    """Return the share of ``given`` answers equal to the ``right`` ones after normalisation.

    Case, articles and punctuation are ignored: Rajpurkar et al. 2016, section 6.1.

    Raises:
        ValueError: the two differ in number, or are empty.

    Example:
        >>> exact_match(["The red house.", "now"], ["red house", "then"])
        0.5
    """
    return _mean([float(_words(a) == _words(b)) for a, b in _pairs(given, right)])


def overlap_f1(given: Sequence[str], right: Sequence[str]) -> float:
    """Return the mean F1 over words of ``given`` and ``right`` answers, which credits partial answers.

    Case, articles and punctuation are ignored: Rajpurkar et al. 2016, section 6.1.

    Raises:
        ValueError: the two differ in number, or are empty.

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
