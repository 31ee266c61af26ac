"""ByT5's bytes."""

import pickle

import pytest

from pioneers.tokenizers import ByteTokenizer

TOKENIZER = ByteTokenizer()


def test_a_byte_is_its_value_plus_three():
    assert [TOKENIZER.encode(chr(i)) for i in range(128)] == [[i + 3] for i in range(128)]
    assert TOKENIZER.encode("é") == [0xC3 + 3, 0xA9 + 3]
    assert TOKENIZER.vocab_size == 259
    assert TOKENIZER.special_ids == {"<pad>": 0, "</s>": 1, "<unk>": 2}


@pytest.mark.parametrize("text", ["", "</s> is text", "猫 Ünï\n\t\0", "\udcff"])
def test_every_text_comes_back(text):
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode_bytes(ids).decode("utf-8", errors="surrogateescape") == text
    assert min(ids, default=3) >= 3


def test_half_a_character_and_special_tokens_are_shown():
    assert TOKENIZER.decode(TOKENIZER.encode("aé")[:-1]) == "a�"
    assert TOKENIZER.decode([100, 1, 0]) == "a</s><pad>"
    with pytest.raises(ValueError, match="token id 259 is not in the vocabulary of 259 tokens"):
        TOKENIZER.decode([259])
    assert pickle.loads(pickle.dumps(TOKENIZER)).vocab == TOKENIZER.vocab
