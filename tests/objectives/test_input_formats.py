"""Tokens are numbers that say where they come from: 1000 * document + 10 * sentence + place."""

import math

import pytest

from pioneers.objectives import doc_sentences, full_sentences, padded_inputs, segment_pairs, sentence_pairs
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import SPECIAL_TOKENS

TOKENIZER = WordPiece([*SPECIAL_TOKENS, "a"])
CLS, SEP = TOKENIZER.special_ids["[CLS]"], TOKENIZER.special_ids["[SEP]"]
FORMATS = [segment_pairs, sentence_pairs, full_sentences, doc_sentences]


def document(number, lengths):
    return [[1000 * number + 10 * s + t for t in range(length)] for s, length in enumerate(lengths, 1)]


def documents(count=60):
    return [document(d, [(3 * d + 5 * s) % 7 + 1 for s in range(d % 13 + 2)]) for d in range(1, count + 1)]


def parts(text):
    """The tokens between the special ones; checks the frame and the segments."""
    ids, segments = text.inputs
    assert (ids[0], ids[-1]) == (CLS, SEP)
    found, part = [], []
    for token in ids[1:]:
        if token == SEP:
            found.append(part)
            part = []
        else:
            part.append(token)
    if text.is_next is None:
        assert not any(segments)
    else:
        first, second = found
        assert segments == [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return found


def whole(sentences, tokens):
    """Whether tokens are whole sentences in a row, of the ones given."""
    starts = [i for i, token in enumerate(tokens) if token % 10 == 0]
    cut = [tokens[i:j] for i, j in zip(starts, [*starts[1:], len(tokens)], strict=True)]
    return bool(cut) and any(sentences[i : i + len(cut)] == cut for i in range(len(sentences)))


@pytest.mark.parametrize("make", FORMATS)
@pytest.mark.parametrize("max_seq_len", [7, 23, 64])
def test_no_sequence_is_too_long_and_each_has_its_frame(make, max_seq_len):
    texts = make(documents(), TOKENIZER, max_seq_len=max_seq_len)
    assert max(len(text.inputs.input_ids) for text in texts) <= max_seq_len
    assert all(all(found) for found in map(parts, texts))  # no part is empty
    batch = padded_inputs([text.inputs for text in texts], TOKENIZER)
    assert batch.input_ids.shape[1] == batch.lengths.max()
    assert batch.input_ids[0, : batch.lengths[0]].tolist() == texts[0].inputs.input_ids


def test_a_segment_pair_is_two_runs_of_sentences_and_half_follow():
    texts = segment_pairs(documents(400), TOKENIZER, max_seq_len=64, seed=1)
    several = 0
    for text in texts:
        first, second = parts(text)
        assert len({token // 1000 for token in first}) == len({token // 1000 for token in second}) == 1
        assert second[0] % 10 == 0
        follows = first[0] // 1000 == second[0] // 1000
        assert text.is_next == follows
        assert not follows or (second[0] // 10 > first[-1] // 10)
        several += len({token // 10 for token in first}) > 1
    assert several > len(texts) / 2
    follow = sum(text.is_next for text in texts)
    assert 0.3 < follow / len(texts) < 0.5  # below a half, as a single sentence has none to follow it
    assert texts == segment_pairs(documents(400), TOKENIZER, max_seq_len=64, seed=1)
    assert texts != segment_pairs(documents(400), TOKENIZER, max_seq_len=64, seed=2)


def test_every_sentence_is_the_first_part_or_the_true_second_part_once():
    texts = segment_pairs(documents(), TOKENIZER, max_seq_len=200)  # nothing is cut
    seen = []
    for text in texts:
        first, second = parts(text)
        seen += first + (second if text.is_next else [])
    assert seen == [token for d in documents() for sentence in d for token in sentence]


def test_where_there_are_two_sentences_a_coin_is_tossed():
    many = [document(d, [2, 3]) for d in range(1, 2001)]
    texts = segment_pairs(many, TOKENIZER, max_seq_len=64)
    firsts = [text for text in texts if parts(text)[0][0] % 1000 == 10]
    assert len(firsts) == 2000
    assert abs(sum(text.is_next for text in firsts) - 1000) < 4 * math.sqrt(500)


def test_a_sentence_pair_is_one_sentence_each():
    texts = sentence_pairs(documents(), TOKENIZER, max_seq_len=64, seed=3)
    assert len(texts) == sum(len(d) - 1 for d in documents())
    for text in texts:
        first, second = parts(text)
        assert len({t // 10 for t in first}) == len({t // 10 for t in second}) == 1
        assert text.is_next == (second[0] // 10 == first[0] // 10 + 1)
    (cut, *_) = sentence_pairs([document(1, [7, 2]), document(2, [2])], TOKENIZER, max_seq_len=8)
    assert list(map(len, parts(cut))) == [3, 2]  # the longer one is cut


def test_full_sentences_are_packed_across_documents_with_a_separator():
    texts = full_sentences(
        [document(1, [3, 2]), document(2, [1, 4]), document(3, [2])], TOKENIZER, max_seq_len=10
    )
    a, b, c = 1010, 2010, 3010
    assert [text.inputs.input_ids for text in texts] == [
        [CLS, a, a + 1, a + 2, 1020, 1021, SEP, b, SEP],
        [CLS, 2020, 2021, 2022, 2023, SEP, c, c + 1, SEP],
    ]
    assert [text.is_next for text in texts] == [None, None]


def test_doc_sentences_end_with_their_document():
    texts = doc_sentences([document(1, [3, 2]), [], document(2, [1, 4, 7])], TOKENIZER, max_seq_len=10)
    sentences = [[token // 10 for token in part] for text in texts for part in parts(text)]
    assert sentences == [[101] * 3 + [102] * 2, [201] + [202] * 4, [203] * 7]


@pytest.mark.parametrize("make", [full_sentences, doc_sentences])
def test_packing_is_greedy_and_loses_nothing(make):
    given = documents()
    texts = [parts(text) for text in make(given, TOKENIZER, max_seq_len=32)]
    tokens = [token for text in texts for part in text for token in part]
    assert tokens == [token for d in given for sentence in d for token in sentence]
    for text in texts:
        assert all(whole(given[part[0] // 1000 - 1], part) for part in text)
        assert len(text) == 1 or make is full_sentences
    lengths = [sum(map(len, text)) + len(text) + 1 for text in texts]
    for length, following in zip(lengths, texts[1:], strict=False):
        document_ends = make is doc_sentences and following[0][0] % 1000 == 10
        next_sentence = len([t for t in following[0] if t // 10 == following[0][0] // 10])
        new = following[0][0] % 1000 == 10  # then a separator would come first
        assert document_ends or length + next_sentence + new > 32


def test_a_sentence_longer_than_a_sequence_is_divided():
    (one,) = full_sentences([document(1, [8])], TOKENIZER, max_seq_len=10)
    assert len(one.inputs.input_ids) == 10
    texts = full_sentences([document(1, [8])], TOKENIZER, max_seq_len=5)
    assert [parts(text) for text in texts] == [[[1010, 1011, 1012]], [[1013, 1014, 1015]], [[1016, 1017]]]


def test_what_cannot_be_filled_is_refused():
    for make in (segment_pairs, sentence_pairs):
        with pytest.raises(ValueError, match="at least two documents"):
            make([document(1, [2, 3]), []], TOKENIZER, max_seq_len=9)
        with pytest.raises(ValueError, match="no room for 3 special tokens and 2 more: use at least 5"):
            make(documents(), TOKENIZER, max_seq_len=4)
    for make in (full_sentences, doc_sentences):
        with pytest.raises(ValueError, match="no room for 2 special tokens and 1 more: use at least 3"):
            make(documents(), TOKENIZER, max_seq_len=2)
