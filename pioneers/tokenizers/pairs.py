"""Pair counts for trainers that merge pairs: words in pieces, and how often two pieces are adjacent."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

Pair = tuple[int, int]


class PairCounts:
    """Words as lists of piece ids, with counts of pieces and pairs that are updated as pairs are joined.

    Args:
        words: the pieces of each distinct word.
        frequencies: how often each word occurs.

    Example:
        >>> counts = PairCounts([[1, 2, 3], [2, 3]], frequencies=[1, 4])
        >>> counts.pairs[2, 3], counts.pieces[2]
        (5, 5)
        >>> counts.join((2, 3), new_id=9)
        >>> counts.words, dict(counts.pairs)
        ([[1, 9], [9]], {(1, 9): 1})
    """

    def __init__(self, words: Sequence[Sequence[int]], frequencies: Sequence[int]) -> None:
        self.words = [list(word) for word in words]
        self.frequencies = frequencies
        self.changed: set[Pair] = set()  # since MostFrequent last looked
        self.pieces: Counter[int] = Counter()
        self.pairs: Counter[Pair] = Counter()
        self._where: defaultdict[Pair, set[int]] = defaultdict(set)
        for i, word in enumerate(self.words):
            for piece in word:
                self.pieces[piece] += frequencies[i]
            self._add_pairs(i)

    def join(self, pair: Pair, new_id: int) -> None:
        """Replace every ``pair`` by the piece ``new_id``; only words that contain it are visited."""
        for i in self._where.pop(pair):
            length = len(self.words[i])
            self._remove_pairs(i)
            self.words[i] = merge(self.words[i], pair, new_id)
            self._add_pairs(i)
            joined = (length - len(self.words[i])) * self.frequencies[i]
            self.pieces[new_id] += joined
            for piece in pair:
                self.pieces[piece] -= joined

    def best(self, score: Callable[[int, int, int], float]) -> Pair:
        """Return the pair with the highest ``score(count(ab), count(a), count(b))``, or the smaller ids."""
        pairs, pieces = self.pairs, self.pieces
        return max(pairs, key=lambda p: (score(pairs[p], pieces[p[0]], pieces[p[1]]), -p[0], -p[1]))

    def _add_pairs(self, i: int) -> None:
        for pair in pairwise(self.words[i]):
            self.pairs[pair] += self.frequencies[i]
            self.changed.add(pair)
            self._where[pair].add(i)

    def _remove_pairs(self, i: int) -> None:
        for pair in pairwise(self.words[i]):
            self.pairs[pair] -= self.frequencies[i]
            self.changed.add(pair)
            if not self.pairs[pair]:
                del self.pairs[pair]


class MostFrequent:
    """Finds the most frequent pair without comparing all of them; ties go to the smaller ids.

    Args:
        counts: may change between two calls.

    Example:
        >>> MostFrequent(PairCounts([[1, 2, 3], [2, 3]], frequencies=[1, 4]))()
        (2, 3)
    """

    def __init__(self, counts: PairCounts) -> None:
        self.counts = counts
        self._heap: list[tuple[int, Pair]] = []  # an entry is valid if its count still is the pair's

    def __call__(self) -> Pair:
        """Return the pair; there must be one."""
        for pair in self.counts.changed & self.counts.pairs.keys():
            heapq.heappush(self._heap, (-self.counts.pairs[pair], pair))
        self.counts.changed.clear()
        while -self._heap[0][0] != self.counts.pairs.get(self._heap[0][1]):
            heapq.heappop(self._heap)
        return self._heap[0][1]


def merge(ids: Sequence[int], pair: Pair, new_id: int) -> list[int]:
    """Replace every occurrence of ``pair`` in ``ids``, from the left, by ``new_id``.

    Example:
        >>> merge([1, 1, 1, 2], (1, 1), 9)
        [9, 1, 2]
    """
    out: list[int] = []
    i = 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out
