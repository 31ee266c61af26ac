import random
from collections import Counter
from itertools import pairwise

from pioneers.tokenizers.pairs import PairCounts


def test_counts_stay_those_of_counting_anew():
    rng = random.Random(0)
    words = [[rng.randrange(5) for _ in range(rng.randrange(1, 13))] for _ in range(29)]
    frequencies = [rng.randrange(1, 7) for _ in words]
    counts = PairCounts(words, frequencies)
    for new_id in range(5, 24):
        pair = rng.choice(sorted(counts.pairs))
        counts.join(pair, new_id)
        pieces, pairs = Counter(), Counter()
        for word, frequency in zip(counts.words, frequencies, strict=True):
            for piece in word:
                pieces[piece] += frequency
            for neighbours in pairwise(word):
                pairs[neighbours] += frequency
        assert pair not in pairs
        assert counts.pairs == pairs
        assert +counts.pieces == pieces


def test_the_callers_words_are_left_alone():
    words = [[1, 2, 3]]
    PairCounts(words, [1]).join((1, 2), 9)
    assert words == [[1, 2, 3]]
