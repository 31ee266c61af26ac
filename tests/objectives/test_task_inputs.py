"""The layouts of Radford et al. 2018, figure 1, written out."""

import pytest
import torch

from pioneers.objectives import (
    TaskInputs,
    TaskTokens,
    classification_inputs,
    entailment_inputs,
    multiple_choice_inputs,
    similarity_inputs,
)

START, DELIM, EXTRACT = 91, 92, 93
TOKENS = TaskTokens(start=START, delimiter=DELIM, extract=EXTRACT)
A, B, C = [11, 12], [21, 22, 23], [31]


def assert_are(inputs, rows, extract):
    assert isinstance(inputs, TaskInputs)
    assert inputs.input_ids.tolist() == rows
    assert inputs.extract.tolist() == extract


def test_classification_is_start_text_extract():
    inputs = classification_inputs([A, B, []], TOKENS, max_seq_len=13)
    rows = [[START, 11, 12, EXTRACT, 0], [START, 21, 22, 23, EXTRACT], [START, EXTRACT, 0, 0, 0]]
    assert_are(inputs, rows, [3, 4, 1])


def test_entailment_is_start_premise_delimiter_hypothesis_extract():
    inputs = entailment_inputs([A, C], [B, A], TOKENS, max_seq_len=13)
    rows = [[START, 11, 12, DELIM, 21, 22, 23, EXTRACT], [START, 31, DELIM, 11, 12, EXTRACT, 0, 0]]
    assert_are(inputs, rows, [7, 5])


def test_similarity_is_both_orders():
    inputs = similarity_inputs([A, C], [C, A], TOKENS, max_seq_len=13)
    one, other = [START, 11, 12, DELIM, 31, EXTRACT], [START, 31, DELIM, 11, 12, EXTRACT]
    assert_are(inputs, [[one, other], [other, one]], [[5, 5], [5, 5]])


def test_multiple_choice_is_one_sequence_a_choice():
    inputs = multiple_choice_inputs([A, C], [[B, C, A], [A, A, C]], TOKENS, max_seq_len=13)
    first = [
        [START, 11, 12, DELIM, 21, 22, 23, EXTRACT],
        [START, 11, 12, DELIM, 31, EXTRACT, 0, 0],
        [START, 11, 12, DELIM, 11, 12, EXTRACT, 0],
    ]
    second = [[START, 31, DELIM, 11, 12, EXTRACT, 0, 0]] * 2 + [[START, 31, DELIM, 31, EXTRACT, 0, 0, 0]]
    assert_are(inputs, [first, second], [[7, 5, 6], [5, 5, 4]])


@pytest.mark.parametrize(
    ("max_seq_len", "expected"),
    [
        (9, [START, 1, 2, 3, 4, DELIM, 5, 6, EXTRACT]),
        (8, [START, 1, 2, 3, DELIM, 5, 6, EXTRACT]),
        (7, [START, 1, 2, DELIM, 5, 6, EXTRACT]),
        (5, [START, 1, DELIM, 5, EXTRACT]),
        (3, [START, DELIM, EXTRACT]),
    ],
)
def test_the_longer_text_is_cut_and_the_special_tokens_stay(max_seq_len, expected):
    pair = [[1, 2, 3, 4]], [[5, 6]]
    assert entailment_inputs(*pair, TOKENS, max_seq_len=max_seq_len).input_ids.tolist() == [expected]
    mirrored = similarity_inputs(*pair, TOKENS, max_seq_len=max_seq_len)
    other = expected.index(DELIM)
    assert mirrored.input_ids[0, 1].tolist() == [
        START, *expected[other + 1 : -1], DELIM, *expected[1:other], EXTRACT,
    ]  # fmt: skip
    assert mirrored.extract.tolist() == [[max_seq_len - 1] * 2]


def test_one_text_is_cut_at_its_end():
    assert_are(classification_inputs([B], TOKENS, max_seq_len=4), [[START, 21, 22, EXTRACT]], [3])


def test_texts_stay_as_they_were():
    text = [1, 2, 3, 4, 5]
    similarity_inputs([text], [text], TOKENS, max_seq_len=7)
    assert text == [1, 2, 3, 4, 5]


def test_language_model_targets_are_the_next_tokens_up_to_the_extract_token():
    inputs = multiple_choice_inputs([A], [[B, C]], TOKENS, max_seq_len=13)
    none = -100
    assert inputs.lm_targets().tolist() == [
        [11, 12, DELIM, 21, 22, 23, EXTRACT, none],
        [11, 12, DELIM, 31, EXTRACT, none, none, none],
    ]
    assert inputs.input_ids[0, 0, 0] == START
    plain = TaskInputs(torch.tensor([[5, 6, 7]]), torch.tensor([2]))
    assert plain.lm_targets().tolist() == [[6, 7, none]]


def test_what_cannot_be_joined_is_an_error():
    with pytest.raises(ValueError, match="max_seq_len=1 has no room for the 2 special tokens"):
        classification_inputs([A], TOKENS, max_seq_len=1)
    with pytest.raises(ValueError, match="max_seq_len=2 has no room for the 3 special tokens"):
        entailment_inputs([A], [B], TOKENS, max_seq_len=2)
    with pytest.raises(ValueError, match="two parts of the examples differ in number: 2 and 1"):
        similarity_inputs([A, B], [C], TOKENS, max_seq_len=9)
    with pytest.raises(ValueError, match=r"needs the same number of choices, got \[1, 2\]"):
        multiple_choice_inputs([A, B], [[A, B], [C]], TOKENS, max_seq_len=9)
    with pytest.raises(ValueError, match="a task needs at least one text"):
        multiple_choice_inputs([], [], TOKENS, max_seq_len=9)
