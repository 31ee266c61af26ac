"""Finished or cut off: the length gives nothing away, and the labels are right by construction."""

from collections import Counter

import pytest

from pioneers.data import (
    cut_sentences,
    documents,
    finished_choices,
    finished_either,
    finished_first,
    finished_sentences,
)


@pytest.fixture(scope="module")
def pairs():
    return cut_sentences("test", 1000)


def test_both_of_a_pair_have_as_many_words_and_no_full_stop(pairs):
    for pair in pairs:
        assert 5 <= len(pair.whole.split()) == len(pair.cut.split()) <= 12
        assert not pair.whole.endswith(".")
        assert not pair.cut.endswith(".")


def test_the_whole_ones_are_sentences_of_held_out_documents_and_the_cut_ones_only_begin_so(pairs):
    sentences = {s.rstrip(".,:;") for d in documents("test") for s in d.sentences}
    assert {pair.whole for pair in pairs} <= sentences
    also_whole = sum(pair.cut in sentences for pair in pairs)
    assert also_whole < 0.02 * len(pairs)  # here and there a sentence goes on after what is one by itself
    assert all(any(s.startswith(pair.cut) for s in sentences) for pair in pairs[:50])


def test_the_labels_say_which_is_finished(pairs):
    whole = {pair.whole for pair in pairs}
    cut = {pair.cut for pair in pairs} - whole
    for text, label in finished_sentences(pairs):
        assert text in (whole if label else cut | whole)
    for first, second, label in finished_first(pairs):
        assert (first if label else second) in whole
    for first, second, label in finished_either(pairs):
        assert (first in whole or second in whole) >= bool(label)
        assert label or first in cut or second in cut
    for _, choices, label in finished_choices(pairs):
        assert choices[label] in whole


@pytest.mark.parametrize("shape", [finished_sentences, finished_first, finished_either, finished_choices])
def test_every_answer_is_as_frequent_as_the_others(shape, pairs):
    counts = Counter(row[-1] for row in shape(pairs))
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len(counts) == (4 if shape is finished_choices else 2)


def test_the_finished_one_of_two_stands_first_and_second_alike(pairs):
    places = Counter(
        pairs[i * 2].whole == first for i, (first, _, label) in enumerate(finished_either(pairs)) if label
    )
    assert min(places.values()) > 0.4 * sum(places.values())


def test_too_many_are_refused():
    with pytest.raises(ValueError, match=r"there are \d+ short sentences in 'test', not 100000"):
        cut_sentences("test", 100_000)
