"""The published vocabularies, the real texts, and the `tokenizers` library to compare with."""

import gzip
import json

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from pioneers.tokenizers import ByteLevelBPE, WordPiece


@pytest.fixture(scope="session")
def corpora(public_data):
    """Tiny Shakespeare, and the training part of Multi30k in three languages."""
    texts = {"shakespeare": (public_data / "tinyshakespeare.txt").read_text(encoding="utf-8")}
    for language in ("en", "de", "fr"):
        packed = (public_data / "multi30k" / f"train.{language}.gz").read_bytes()
        texts[language] = gzip.decompress(packed).decode()
    return texts


@pytest.fixture(scope="session")
def gpt2_files(public_data):
    return public_data / "gpt2" / "vocab.bpe", public_data / "gpt2" / "encoder.json"


@pytest.fixture(scope="session")
def gpt2(gpt2_files):
    return ByteLevelBPE.from_gpt2(*gpt2_files)


@pytest.fixture(scope="session")
def library_gpt2(gpt2_files):
    merges, vocab = gpt2_files
    pairs = [tuple(line.split()) for line in merges.read_text(encoding="utf-8").split("\n")[1:] if line]
    other = Tokenizer(models.BPE(json.loads(vocab.read_text(encoding="utf-8")), pairs))
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return other


@pytest.fixture(scope="session")
def bert(public_data):
    return WordPiece.from_vocab(public_data / "bert" / "bert-base-uncased-vocab.txt")


@pytest.fixture(scope="session")
def library_bert(public_data):
    return library_wordpiece(
        (public_data / "bert" / "bert-base-uncased-vocab.txt").read_text("utf-8").split()
    )


def library_wordpiece(vocab, *, lowercase=True):
    """The library's BERT tokenizer over a vocabulary."""
    ids = {piece: i for i, piece in enumerate(vocab)}
    other = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    other.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    other.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    other.decoder = decoders.WordPiece(cleanup=False)
    return other


@pytest.fixture(scope="session")
def make_library_wordpiece():
    return library_wordpiece
