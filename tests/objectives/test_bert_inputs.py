"""The layouts of Devlin et al. 2019, figure 4, written out; tokens are letters, "gh" is two of them."""

import pytest
import torch

from pioneers.objectives import pair_inputs, question_inputs, tagging_inputs, text_inputs
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import SPECIAL_TOKENS

CLS, SEP = "[CLS]", "[SEP]"
TOKENIZER = WordPiece([*SPECIAL_TOKENS, *"abcdeg", "##h", "?"])
NONE = -100


def spelled(inputs):
    """The rows as pieces, without padding, whose ids and segments are checked here."""
    rows = []
    for ids, segments, length in zip(*inputs, strict=True):
        assert (ids[length:] == TOKENIZER.special_ids["[PAD]"]).all()
        assert (segments[length:] == 0).all()
        rows.append(" ".join(TOKENIZER.vocab[i] for i in ids[:length]))
    return rows


def test_one_text_stands_between_cls_and_sep():
    inputs = text_inputs(["a b", "gh c d", ""], TOKENIZER, max_seq_len=13)
    assert spelled(inputs) == ["[CLS] a b [SEP]", "[CLS] g ##h c d [SEP]", "[CLS] [SEP]"]
    assert inputs.lengths.tolist() == [4, 6, 2]
    assert not inputs.segment_ids.any()
    assert inputs.mask.shape == (3, 1, 1, 6)
    assert inputs.mask[:, 0, 0].sum(1).tolist() == [4, 6, 2]


def test_two_texts_are_two_segments():
    inputs = pair_inputs(["a b c", "d"], ["e", "a gh"], TOKENIZER, max_seq_len=13)
    assert spelled(inputs) == ["[CLS] a b c [SEP] e [SEP]", "[CLS] d [SEP] a g ##h [SEP]"]
    assert inputs.segment_ids.tolist() == [[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("max_seq_len", "expected"),
    [
        (9, "[CLS] a b c d [SEP] e a [SEP]"),
        (8, "[CLS] a b c [SEP] e a [SEP]"),
        (7, "[CLS] a b [SEP] e a [SEP]"),
        (5, "[CLS] a [SEP] e [SEP]"),
        (3, "[CLS] [SEP] [SEP]"),
    ],
)
def test_the_longer_text_is_cut_and_the_special_tokens_stay(max_seq_len, expected):
    inputs = pair_inputs(["a b c d"], ["e a"], TOKENIZER, max_seq_len=max_seq_len)
    assert spelled(inputs) == [expected]
    one = text_inputs(["a b c d"], TOKENIZER, max_seq_len=max_seq_len)
    assert spelled(one) == [" ".join([CLS, *"abcd"[: max_seq_len - 2], SEP])]


def test_a_tag_stands_at_the_first_piece_of_its_word():
    sentences = [["a", "gh", "b"], ["gh?", "c"]]
    inputs, tags = tagging_inputs(sentences, [[1, 2, 3], [4, 5]], TOKENIZER, max_seq_len=13)
    assert spelled(inputs) == ["[CLS] a g ##h b [SEP]", "[CLS] g ##h ? c [SEP]"]
    assert tags.tolist() == [[NONE, 1, 2, NONE, 3, NONE], [NONE, 4, NONE, NONE, 5, NONE]]


def test_a_word_without_a_token_has_no_tag():
    inputs, tags = tagging_inputs([["a", "\u200b", "b"]], [[1, 2, 3]], TOKENIZER, max_seq_len=13)
    assert spelled(inputs) == ["[CLS] a b [SEP]"]
    assert tags.tolist() == [[NONE, 1, 3, NONE]]


def test_tags_are_cut_with_their_words():
    inputs, tags = tagging_inputs([["a", "gh", "b"], ["c"]], [[1, 2, 3], [4]], TOKENIZER, max_seq_len=4)
    assert spelled(inputs) == ["[CLS] a g [SEP]", "[CLS] c [SEP]"]
    assert tags.tolist() == [[NONE, 1, 2, NONE], [NONE, 4, NONE, NONE]]


CONTEXT = "A gh, bc.  Gh d"  # "," and "." are unknown here, and so is "bc"


def asked(answer, *, question="e?", max_seq_len=20):
    return question_inputs([question], [CONTEXT], [answer], TOKENIZER, max_seq_len=max_seq_len)


def test_the_question_is_segment_0_and_an_answer_lies_in_segment_1():
    found = asked((11, 15))
    assert spelled(found.inputs) == ["[CLS] e ? [SEP] a g ##h [UNK] [UNK] [UNK] g ##h d [SEP]"]
    assert found.inputs.segment_ids[0].tolist() == [0] * 4 + [1] * 10
    assert (found.starts.item(), found.ends.item()) == (10, 12)
    assert found.allowed[0].tolist() == [True] + [False] * 3 + [True] * 9 + [False]


@pytest.mark.parametrize("answer", ["A", "gh", "bc", "Gh d", "gh, bc.  Gh", CONTEXT])
def test_from_characters_to_tokens_and_back(answer):
    start = CONTEXT.index(answer)
    found = asked((start, start + len(answer)))
    assert found.starts > 3
    spans = torch.stack([found.starts, found.ends], dim=1)
    assert found.answers([CONTEXT], spans) == [answer]


def test_part_of_a_token_points_at_the_whole_of_it():
    found = asked((7, 8))  # the c of bc
    assert found.answers([CONTEXT], torch.stack([found.starts, found.ends], dim=1)) == ["bc"]


@pytest.mark.parametrize(
    ("answer", "max_seq_len"), [(None, 20), ((11, 15), 13), ((4, 15), 13), ((9, 11), 20), ((0, 1), 3)]
)
def test_an_answer_that_is_not_there_is_at_cls(answer, max_seq_len):
    found = asked(answer, question="e" if max_seq_len == 3 else "e?", max_seq_len=max_seq_len)
    assert (found.starts.item(), found.ends.item()) == (0, 0)
    assert found.answers([CONTEXT], torch.zeros(1, 2, dtype=torch.long)) == [""]


def test_a_span_from_outside_of_the_context_is_no_answer():
    found = asked((11, 15))
    for span in ([0, 5], [2, 5], [5, 0], [4, 13]):
        assert found.answers([CONTEXT], torch.tensor([span])) == [""]
    assert found.answers([CONTEXT], torch.tensor([[4, 5]])) == ["A g"]


def test_questions_in_a_batch_do_not_mix():
    contexts = ["a b", "c d e gh"]
    found = question_inputs(["e", "a b?"], contexts, [(2, 3), None], TOKENIZER, max_seq_len=20)
    spans = torch.tensor([[3, 4], [6, 9]])
    assert found.answers(contexts, spans) == ["a b", "d e gh"]
    assert found.allowed.sum(1).tolist() == [3, 6]


def test_what_cannot_be_joined_is_an_error():
    with pytest.raises(ValueError, match="max_seq_len=1 has no room for 2 special tokens"):
        text_inputs(["a"], TOKENIZER, max_seq_len=1)
    with pytest.raises(ValueError, match="max_seq_len=2 has no room for 3 special tokens"):
        pair_inputs(["a"], ["b"], TOKENIZER, max_seq_len=2)
    with pytest.raises(ValueError, match="a task needs at least one text"):
        text_inputs([], TOKENIZER, max_seq_len=9)
    with pytest.raises(ValueError, match="shorter"):
        pair_inputs(["a", "b"], ["c"], TOKENIZER, max_seq_len=9)
    with pytest.raises(ValueError, match="shorter"):
        tagging_inputs([["a", "b"]], [[1]], TOKENIZER, max_seq_len=9)
    with pytest.raises(ValueError, match="shorter"):
        question_inputs(["a"], ["b"], [], TOKENIZER, max_seq_len=9)
