import unicodedata

import numpy as np
import pytest

from pioneers.data import language_reference
from pioneers.tokenizers import ByteTokenizer, FastBPE, WordPiece
from pioneers.tokenizers.bulk import BulkEncoder, encode_all, id_dtype, tokenizer_sha256
from pioneers.tokenizers.wordpiece import frequency

TEXT = language_reference()[:120_000]
EDGES = [
    "",
    " ",
    "\n\n  \t x\r\n\x0b\x0c\x1c\x85\u2028 y\u00a0z ",
    "don't 'twas we'll''s I'M",
    "a" * 3_000 + "!" * 500,
    "naïve cafe\u0301 ΟΔΟΣ İstanbul ﬁne 北京 ประเทศไทย नमस्ते 한국어 \u1112\u1161\u11ab",
    "👩‍👩‍👧 🇫🇷 e\u200d\ufeff\u202e\x00\x1b ½ ² Ⅷ ٣",
    "\ud83d surrogate \udcff escaped",
]


@pytest.fixture(scope="module")
def tokenizers():
    bpe = FastBPE.train(TEXT, 700)
    return {
        "bpe": bpe,
        "bytes": FastBPE([]),
        "special": FastBPE(bpe.merges, ["<|endoftext|>"]),
        "wordpiece": WordPiece.train(TEXT, 700, score=frequency),
        "cased": WordPiece(WordPiece.train(TEXT, 700, score=frequency).vocab, lowercase=False),
        "byt5": ByteTokenizer(),
    }


@pytest.mark.parametrize("name", ["bpe", "bytes", "special", "wordpiece", "cased", "byt5"])
def test_the_ids_are_those_of_the_tokenizer(name, tokenizers):
    tokenizer = tokenizers[name]
    encode = BulkEncoder(tokenizer)
    for text in [TEXT, *EDGES, TEXT[500:900]]:
        if name == "byt5" and "\ud83d" in text:
            continue  # it has no bytes for half a pair
        if name in ("bpe", "bytes", "special") and "\ud83d" in text:
            text = text.replace("\ud83d", "")
        found = encode(text)
        assert found.dtype == np.uint16
        assert found.tolist() == tokenizer.encode(text)


@pytest.mark.parametrize("name", ["bpe", "wordpiece"])
def test_every_character_of_unicode_is_encoded_alike(name, tokenizers):
    characters = [chr(i) for i in range(0x110000) if unicodedata.category(chr(i)) not in ("Cs", "Cn", "Co")]
    sparse = characters[:3_000] + characters[3_000::29]
    text = "".join(f"{c} a{c}b{c}{c}\n" for c in sparse)
    assert BulkEncoder(tokenizers[name])(text).tolist() == tokenizers[name].encode(text)


def test_the_table_starts_again_when_it_is_full(tokenizers, monkeypatch):
    monkeypatch.setattr("pioneers.tokenizers.bulk.MOST_WORDS", 10)
    encode = BulkEncoder(tokenizers["bpe"])
    for start in range(0, 4_000, 1_000):
        part = TEXT[start : start + 1_000]
        assert encode(part).tolist() == tokenizers["bpe"].encode(part)


def test_large_vocabularies_take_four_bytes(tokenizers):
    class Large(ByteTokenizer):
        vocab_size = (1 << 16) + 1

    assert id_dtype(tokenizers["bpe"]) == np.uint16
    assert BulkEncoder(Large())("a").dtype == np.uint32


def test_an_end_follows_every_text(tokenizers):
    for name in ("special", "wordpiece", "byt5"):
        tokenizer = tokenizers[name]
        texts, end = ["one day", "", "two days"], tokenizer.vocab_size - 1
        expected = [i for text in texts for i in [*tokenizer.encode(text), end]]
        assert BulkEncoder(tokenizer, end)(*texts).tolist() == expected
        assert BulkEncoder(tokenizer, end)(*texts, "").tolist() == [*expected, end]


def test_several_processes_encode_in_order(tokenizers):
    groups = [[TEXT[i : i + 4_000], TEXT[i + 4_000 : i + 7_000]] for i in range(0, len(TEXT), 7_000)]
    for name in ("bpe", "wordpiece"):
        one, two = ([*encode_all(groups, tokenizers[name], 3, processes=n)] for n in (1, 2))
        assert len(groups) == len(one) == len(two)
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_two_tokenizers_have_the_same_sha256_only_if_they_encode_alike(tokenizers):
    found = {tokenizer_sha256(tokenizer) for name, tokenizer in tokenizers.items() if name != "byt5"}
    assert len(found) == len(tokenizers) - 1
    assert tokenizer_sha256(FastBPE(tokenizers["bpe"].merges)) in found
