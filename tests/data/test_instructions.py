"""Instructions to describe functions, and what they look like as tokens."""

import pytest

from pioneers.data import Instruction, documents, encode_instructions, instructions
from pioneers.tokenizers import ByteLevelBPE


@pytest.fixture(scope="module")
def found():
    return {split: instructions(split) for split in ("train", "test")}


def test_there_are_enough_and_none_is_in_both_splits(found):
    assert len(found["train"]) > 1500
    assert len(found["test"]) > 300
    for part in ("prompt", "answer"):
        train, test = ({getattr(one, part) for one in found[split]} for split in ("train", "test"))
        assert len(train) == len(found["train"])
        assert train.isdisjoint(test)


def test_an_answer_is_a_sentence_about_a_public_name(found):
    for one in found["train"] + found["test"]:
        start, name = one.prompt.split()
        assert start == "Describe"
        assert name.endswith(":")
        assert not name.rsplit(".", 1)[1].startswith("_")
        assert one.answer.endswith(".")
        assert one.answer[0].isupper()
        assert len(one.answer.split()) >= 3
        assert len(one.answer) <= 100


def test_a_model_of_the_training_documents_has_not_read_the_test_answers(found):
    read = {sentence for document in documents("train") for sentence in document.sentences}
    assert not read & {one.answer for one in found["test"]}


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="instructions has no split 'dev'; it has: train, test"):
        instructions("dev")


def test_rows_hold_prompt_answer_and_padding():
    pairs = [Instruction("Say a:", "a."), Instruction("Say:", "no"), Instruction("Say it:", "")]
    found = encode_instructions(pairs, ByteLevelBPE([]))
    texts = [ByteLevelBPE([]).decode(row) for row in found.tokens.tolist()]
    assert texts == ["\nSay a:\na.\n", "\nSay:\nno\n\n\n", "\nSay it:\n\n\n"]
    assert found.prompt_lengths.tolist() == [8, 6, 9]
    assert found.lengths.tolist() == [11, 9, 9]


def test_long_answers_are_cut_and_long_prompts_refused():
    pairs = [Instruction("Say:", "yes indeed")]
    found = encode_instructions(pairs, ByteLevelBPE([]), max_length=9)
    assert ByteLevelBPE([]).decode(found.tokens[0].tolist()) == "\nSay:\nyes"
    assert found.lengths.tolist() == [9]
    with pytest.raises(ValueError, match="a prompt of 6 tokens does not fit: max_length is 5"):
        encode_instructions(pairs, ByteLevelBPE([]), max_length=5)
