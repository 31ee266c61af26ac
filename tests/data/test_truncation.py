"""Finished or cut off: the length gives nothing away, and the labels are right by construction."""

from collections import Counter

import pytest

from pioneers.data import (
    documents,
    truncated_choice,
    truncated_classification,
    truncated_entailment,
    truncated_pairs,
    truncated_similarity,
)


@pytest.fixture(scope="module")
def pairs():
    return truncated_pairs("test", 1000)


def test_both_of_a_pair_have_as_many_words_and_no_full_stop(pairs):
    for pair in pairs:
        assert 5 <= len(pair.complete.split()) == len(pair.truncated.split()) <= 12
        assert not pair.complete.endswith(".")
        assert not pair.truncated.endswith(".")


def test_the_whole_ones_are_sentences_of_held_out_documents_and_the_cut_ones_only_begin_so(pairs):
    sentences = {s.rstrip(".,:;") for d in documents("test") for s in d.sentences}
    assert {pair.complete for pair in pairs} <= sentences
    also_whole = sum(pair.truncated in sentences for pair in pairs)
    assert also_whole < 0.02 * len(pairs)  # here and there a sentence goes on after what is one by itself
    assert all(any(s.startswith(pair.truncated) for s in sentences) for pair in pairs[:50])


def test_the_labels_say_which_is_finished(pairs):
    whole = {pair.complete for pair in pairs}
    cut = {pair.truncated for pair in pairs} - whole
    for text, label in truncated_classification(pairs):
        assert text in (whole if label else cut | whole)
    for first, second, label in truncated_entailment(pairs):
        assert (first if label else second) in whole
    for first, second, label in truncated_similarity(pairs):
        assert (first in whole or second in whole) >= bool(label)
        assert label or first in cut or second in cut
    for _, choices, label in truncated_choice(pairs):
        assert choices[label] in whole


@pytest.mark.parametrize(
    "shape", [truncated_classification, truncated_entailment, truncated_similarity, truncated_choice]
)
def test_every_answer_is_as_frequent_as_the_others(shape, pairs):
    counts = Counter(row[-1] for row in shape(pairs))
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len(counts) == (4 if shape is truncated_choice else 2)


def test_the_finished_one_of_two_stands_first_and_second_alike(pairs):
    places = Counter(
        pairs[i * 2].complete == first
        for i, (first, _, label) in enumerate(truncated_similarity(pairs))
        if label
    )
    assert min(places.values()) > 0.4 * sum(places.values())


def test_too_many_are_refused():
    with pytest.raises(ValueError, match=r"there are \d+ short sentences in 'test', not 100000"):
        truncated_pairs("test", 100_000)
