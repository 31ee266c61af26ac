"""Texts made of every kind of Unicode: cut, cleaned and numbered as the `tokenizers` library does.

Both sides classify characters by tables of some version of Unicode: ours by those of `regex` (and of Python
for lower case and decomposition), the library by its own, older ones. Every code point is therefore probed
alone; those that the two sides class differently are left out of the random texts, and a test holds that they
are the ones expected: characters younger than the library's tables, and the few named here.
"""

import random
import unicodedata

import pytest
from tokenizers import normalizers, pre_tokenizers

from pioneers.tokenizers import FastBPE
from pioneers.tokenizers.bert_text import basic_tokens, words
from pioneers.tokenizers.bpe import CHUNK

# Everything but surrogates (which are no text) in planes 0 and 1; of the others, which hold only Chinese and
# marks for tags, samples.
PLANES = (range(0xD800), range(0xE000, 0x20000), range(0x20000, 0x323B0, 61), range(0xE0000, 0xE01F0))
CODE_POINTS = [c for plane in PLANES for c in plane]
SINCE_CHANGED = {"\u166d", "\u1734", "\u1885", "\u1886"}  # of another category in the library's tables
NOT_CHINESE_THERE = {chr(c) for c in range(0x2B820, 0x2B920)}  # BERT's own code counts them as Chinese
FAVOURITES = [
    "ab zA'sld'reve'M  \n\t\r.,!-#$_ 0123²½٣",
    "ÀéîõüßŒæİıŞģĲǆΣσςΆϓЙё\u0301\u0327\u0308\u0345\u20d0",
    "漢字かなカナ한글각ᄀ\u11a8\u3000。「」㐀\U00020001豈ﾊ",
    "🙂👩\u200d👩\u200d👧🏽\ufe0f\u200b\u2028\u2029\x85\xa0\xad\x00\x1c\x7f\ufeff\ufffd\ue000\u0378",
    "नमस्ते\u093fสวัสดีשלום\u05b8سلام\u064e\u06dd\u070f",
]
bytelevel = pre_tokenizers.ByteLevel(add_prefix_space=False)
bert_normalizer = normalizers.BertNormalizer()
bert_splitter = pre_tokenizers.BertPreTokenizer()


def our_chunks(text):
    return CHUNK.findall(text)


def library_chunks(text):
    return [text[start:end] for _, (start, end) in bytelevel.pre_tokenize_str(text)]


def our_tokens(text):
    return [token for word, _ in words(text) for token, _ in basic_tokens(word, lowercase=True)]


def library_tokens(text):
    return [token for token, _ in bert_splitter.pre_tokenize_str(bert_normalizer.normalize_str(text))]


def differing(ours, theirs, *probes):
    """The characters that the two sides class differently."""
    return {
        chr(c) for c in CODE_POINTS if any(ours(p.format(chr(c))) != theirs(p.format(chr(c))) for p in probes)
    }


def young(char):
    """Whether a character is younger than Unicode 3.2, the oldest table that Python carries."""
    return unicodedata.ucd_3_2_0.category(char) == "Cn"


@pytest.fixture(scope="module")
def odd_chunks():
    return differing(our_chunks, library_chunks, "a{}a", "1{}1", "!{}!")


@pytest.fixture(scope="module")
def odd_tokens():
    return differing(our_tokens, library_tokens, "a{}a")


def test_sides_differ_only_in_young_characters(odd_chunks, odd_tokens):
    assert all(young(char) for char in odd_chunks)
    assert all(young(char) for char in odd_tokens - SINCE_CHANGED - NOT_CHINESE_THERE)
    assert max(len(odd_chunks), len(odd_tokens)) < 0.03 * len(CODE_POINTS)


def texts(excluded):
    """3,000 random texts: half of all characters alike, half of a few that meet in real texts."""
    rng = random.Random(0)
    everything = [chr(c) for c in CODE_POINTS if chr(c) not in excluded]
    for i in range(3_000):
        length = rng.randrange(41)
        if i % 2:
            yield "".join(rng.choices(everything, k=length))
        else:
            letters = "".join(rng.sample(FAVOURITES, k=2))
            yield "".join(char for char in rng.choices(letters, k=length) if char not in excluded)


def test_same_chunks(odd_chunks):
    for text in texts(odd_chunks):
        assert our_chunks(text) == library_chunks(text)


def test_same_normalised_tokens(odd_tokens):
    for text in texts(odd_tokens):
        assert our_tokens(text) == library_tokens(text)


def test_same_ids_with_gpt2s_merges(gpt2, library_gpt2, odd_chunks):
    fast = FastBPE(gpt2.merges)
    for text in texts(odd_chunks):
        ids = library_gpt2.encode(text).ids
        assert gpt2.encode(text) == ids
        assert fast.encode(text) == ids
        assert gpt2.decode(ids) == text


def test_same_ids_and_offsets_with_berts_vocabulary(bert, library_bert, odd_tokens):
    for text in texts(odd_tokens):
        theirs = library_bert.encode(text)
        assert bert.encode(text) == theirs.ids
        assert bert.encode_with_offsets(text) == (theirs.ids, theirs.offsets)
