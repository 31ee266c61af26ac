"""Exact match and the F1 of words, against SQuAD's rules by hand."""

import pytest

from pioneers.analysis import exact_match, overlap_f1


@pytest.mark.parametrize(
    ("given", "right", "exact", "f1"),
    [
        ("The Red House!", "red house", 1, 1),
        ("an apple", "apples", 0, 0),
        ("red red house", "red house", 0, 4 / 5),  # a word counts as often as both have it
        ("theatre", "the atre", 0, 0),
        ("", "", 1, 1),
        ("", "now", 0, 0),
        ("the", "a", 1, 1),
        ("house red", "red house", 0, 1),
    ],
)
def test_an_answer(given, right, exact, f1):
    assert exact_match([given], [right]) == exact
    assert overlap_f1([given], [right]) == pytest.approx(f1)


@pytest.mark.parametrize("measure", [exact_match, overlap_f1])
def test_every_question_needs_its_answer(measure):
    with pytest.raises(ValueError, match="each of the 2 right answers needs one given answer, not 1"):
        measure(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="not 0"):
        measure([], [])
