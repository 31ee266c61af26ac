"""The two simple translators of captions: the dictionary is that of model 1, the nearest is the nearest."""

import itertools
from collections import defaultdict

import pytest

from experiments import captions_baselines
from experiments.captions_baselines import Nearest, dictionary, one_case, split

PAIRS = [
    ("the house", "das Haus"),
    ("the book", "das Buch"),
    ("a book", "ein Buch"),
    ("the old house", "das alte Haus"),
]
WORDS = [(source.split(), target.split()) for source, target in PAIRS]


def by_loops(pairs, iterations):
    """Model 1 as it is written on paper."""
    pairs = [(["", *source], target) for source, target in pairs]
    t = {(x, y): 1.0 for xs, ys in pairs for x, y in itertools.product(xs, ys)}
    for _ in range(iterations):
        count = defaultdict(float)
        for xs, ys in pairs:
            for x, y in itertools.product(xs, ys):
                count[x, y] += t[x, y] / sum(t[other, y] for other in xs)
        total = defaultdict(float)
        for (x, _), n in count.items():
            total[x] += n
        t = {(x, y): n / total[x] for (x, y), n in count.items()}
    return t


@pytest.mark.parametrize("iterations", [3, 10])
def test_the_dictionary_is_that_of_model_1(iterations):
    t, found = by_loops(WORDS, iterations), dictionary(WORDS, iterations)
    for x, best in found.items():
        chances = [p for (word, _), p in t.items() if word == x]
        assert t[x, best] == pytest.approx(max(chances))


def test_the_dictionary_is_right():
    found = dictionary(WORDS, 20)
    assert found["house"] == "Haus" and found["book"] == "Buch" and found["the"] == "das"


def test_the_nearest_source_shares_the_rare_words():
    nearest = Nearest([["A", "dog", "runs"], ["a", "man", "sits"], ["a", "dog", "sits"]])
    assert nearest(["the", "dog", "sits"]) == 2
    assert nearest(["Man"]) == 1


@pytest.mark.parametrize("method", ["words", "nearest"])
def test_what_was_learned_is_translated_without_a_mistake(monkeypatch, method):
    longer = [(f"{a} of {b}", f"{c} von {d}") for (a, c), (b, d) in itertools.combinations(PAIRS, 2)]
    monkeypatch.setattr(captions_baselines, "multi30k", lambda _: longer)
    row = one_case(seed=0, method=method, iterations=20)
    assert row["bleu"] == pytest.approx(100) and row["length"] == 1


def test_signs_are_words_of_their_own():
    assert split("Two men, outside.") == ["Two", "men", ",", "outside", "."]
