"""Exercise 3.2: cutting a new word with the merges that were learned, in their order.

A word is a tuple of letter ids below ``num_letters``; merge ``i`` makes the piece ``num_letters + i``.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.translation.symptoms import NO_TENSOR

Word = tuple[int, ...]
Merges = tuple[tuple[int, int], ...]


def join(word: Word, pair: tuple[int, int], new: int) -> Word:
    """Every occurrence of the pair, from the left, becomes one piece."""
    joined: list[int] = []
    places = iter(range(len(word)))
    for i in places:
        if word[i : i + 2] == pair:
            joined.append(new)
            next(places)
        else:
            joined.append(word[i])
    return tuple(joined)


def _cutting(
    joined: Callable[[Word, tuple[int, int], int], Word] = join,
    number: Callable[[int, int], int] = lambda i, num_letters: num_letters + i,
    backwards: bool = False,
) -> Callable[[Word, Merges, int], Tensor]:
    """Merge by merge, with another way to join, to number the pieces, or to order the merges."""

    def encode(word: Word, merges: Merges, num_letters: int) -> Tensor:
        order = list(enumerate(merges))
        for i, pair in reversed(order) if backwards else order:
            word = joined(word, pair, number(i, num_letters))
        return torch.tensor(word)

    return encode


encode = _cutting()

# low lower newest widest: es est lo low ew new newest dest idest widest er lower
LOW = (
    (1, 7),
    (10, 8),
    (3, 5),
    (12, 9),
    (1, 9),
    (4, 14),
    (15, 11),
    (0, 11),
    (2, 17),
    (9, 18),
    (1, 6),
    (13, 20),
)


def _probes() -> list[Probe]:
    def probe(name: str, word: Word, merges: Merges, num_letters: int) -> Probe:
        return Probe(name, {"word": word, "merges": merges, "num_letters": num_letters})

    return [
        probe("lowest, with the first seven merges of the lecture", (3, 5, 9, 1, 7, 8), LOW[:7], 10),
        probe("newest, a word of the training text", (4, 1, 9, 1, 7, 8), LOW, 10),
        probe("worst: nothing to join", (9, 5, 6, 7, 8), LOW[:7], 10),
        probe("lowlow: the same pieces twice", (3, 5, 9, 3, 5, 9), LOW, 10),
        probe(
            "two merges want the same letter, the earlier one stands first", (0, 1, 2), ((0, 1), (1, 2)), 3
        ),
        probe("two merges want the same letter, the later one stands first", (0, 1, 2), ((1, 2), (0, 1)), 3),
        probe(
            "a longer piece that the order does not reach", (0, 1, 2, 3), ((1, 2), (0, 1), (2, 3), (5, 6)), 4
        ),
        probe("a longer piece that the order does reach", (0, 1, 2), ((1, 2), (0, 1), (0, 3)), 3),
        probe("five times the same letter", (2, 2, 2, 2, 2), ((2, 2), (3, 3)), 3),
        probe("no merges", (4, 0), (), 5),
        probe("a single letter", (1,), ((1, 1),), 2),
    ]


def _in_two_parts(run: Run) -> tuple[Tensor, Tensor]:
    def cut(word: Word, merges: Merges, num_letters: int) -> Tensor:
        return run(Probe("law", {"word": word, "merges": merges, "num_letters": num_letters})).tensor

    word = (4, 1, 9, 1, 7, 8, 3, 5, 9, 1, 6)
    half = tuple(int(piece) for piece in cut(word, LOW[:5], 10))
    return cut(half, LOW[5:], 15), cut(word, LOW, 10)


def _only_first(word: Word, pair: tuple[int, int], new: int) -> Word:
    for i in range(len(word) - 1):
        if word[i : i + 2] == pair:
            return (*word[:i], new, *word[i + 2 :])
    return word


def _overlapping(word: Word, pair: tuple[int, int], new: int) -> Word:
    joined: list[int] = []
    i = 0
    while i < len(word):
        if word[i : i + 2] == pair:
            joined.append(new)
            i += 1 if word[i + 1 : i + 3] == pair else 2
        else:
            joined.append(word[i])
            i += 1
    return tuple(joined)


def _from_the_right(word: Word, pair: tuple[int, int], new: int) -> Word:
    return join(word[::-1], pair[::-1], new)[::-1]


def _from_left_to_right(word: Word, merges: Merges, num_letters: int) -> Tensor:
    """Join the leftmost pair that has a merge, again and again."""
    place = {pair: num_letters + i for i, pair in enumerate(merges)}
    i = 0
    while i < len(word) - 1:
        if word[i : i + 2] in place:
            word, i = (*word[:i], place[word[i], word[i + 1]], *word[i + 2 :]), 0
        else:
            i += 1
    return torch.tensor(word)


def _longest_first(word: Word, merges: Merges, num_letters: int) -> Tensor:
    """The longest piece of the vocabulary that fits, as in WordPiece."""
    letters: dict[int, Word] = {}
    for i, pair in enumerate(merges):
        letters[num_letters + i] = sum((letters.get(piece, (piece,)) for piece in pair), ())
    pieces = sorted(letters, key=lambda piece: -len(letters[piece]))
    cut: list[int] = []
    while word:
        fits = (piece for piece in pieces if word[: len(letters[piece])] == letters[piece])
        piece = next(fits, word[0])
        cut.append(piece)
        word = word[len(letters.get(piece, (piece,))) :]
    return torch.tensor(cut)


def _letters_only(word: Word, merges: Merges, num_letters: int) -> Tensor:
    """One pass over the letters: what was joined is not joined again."""
    place = {pair: num_letters + i for i, pair in enumerate(merges)}
    cut: list[int] = []
    while word:
        if word[:2] in place:
            cut, word = [*cut, place[word[0], word[1]]], word[2:]
        else:
            cut, word = [*cut, word[0]], word[1:]
    return torch.tensor(cut)


MISNUMBERED = (
    "the wrong number for a new piece",
    "The letters take the ids below num_letters; the first merge makes num_letters itself.",
)
MISTAKES = (
    NO_TENSOR,
    Mistake(*MISNUMBERED, _cutting(number=lambda i, num_letters: num_letters + i + 1)),
    Mistake(*MISNUMBERED, _cutting(number=lambda i, num_letters: i)),
    Mistake(
        "the last merge first",
        "The training text was cut by the first merge, then by the second: new words go the same way.",
        _cutting(backwards=True),
    ),
    Mistake(
        "from left to right instead of in the order learned",
        "The rank of a merge decides, not its place: an earlier merge may claim a letter further right.",
        _from_left_to_right,
    ),
    Mistake(
        "the longest piece first",
        "That is WordPiece: it reaches pieces that the merges, in their order, never make of this word.",
        _longest_first,
        section="sec-wordpiece",
    ),
    Mistake(
        "only the first occurrence is joined",
        "A merge joins its pair everywhere in the word.",
        _cutting(_only_first),
    ),
    Mistake(
        "one letter in two pieces",
        "After a pair is joined, go on behind it: neither of its two letters is free any more.",
        _cutting(_overlapping),
    ),
    Mistake(
        "joined from the right",
        "Where occurrences overlap the left one is joined: a a a becomes aa a.",
        _cutting(_from_the_right),
    ),
    Mistake(
        "what was joined is not joined again",
        "A merge may take pieces that earlier merges made: that is how es and t become est.",
        _letters_only,
    ),
)

EXERCISES = (
    Exercise(
        key="3.2",
        name="encode",
        parameters=("word", "merges", "num_letters"),
        points=9,
        section="sec-bpe-code",
        equation="",
        reference=encode,
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "the first merges, then the others, is all of them",
                "A merge works on what the merges before it have left.",
                _in_two_parts,
            ),
        ),
    ),
)
