"""Tokenizers that the library runs: bytes, special tokens, files."""

import pickle

import pytest
from tokenizers import ByteLevelBPETokenizer

from pioneers.tokenizers import FastBPE, LibraryBPE, LibraryTokenizer

TEXT = "low lower lowest 123 é猫"


OURS = FastBPE.train(TEXT, vocab_size=262)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    files = [str(tmp_path_factory.mktemp("gpt2") / name) for name in ("merges.txt", "vocab.json")]
    OURS.save_gpt2(*files)
    library = ByteLevelBPETokenizer.from_file(*reversed(files))
    library.add_special_tokens(["<|end|>"])
    library.add_tokens(["<think>", "「"])  # as Qwen3's: no special tokens, but no merges of bytes either
    library.enable_truncation(2)
    library.enable_padding(length=50)
    return LibraryBPE(library.to_str())


def test_texts_are_ours_with_gpt2s_rules_and_neither_cut_nor_padded(tokenizer):
    ids = tokenizer.encode(TEXT)
    assert ids == OURS.encode(TEXT)
    assert tokenizer.decode_bytes(ids[:-1]) == TEXT.encode()[:-1]
    assert tokenizer.decode(ids) == TEXT


def test_added_tokens_are_spelled_as_they_are(tokenizer):
    end = OURS.vocab_size
    assert tokenizer.special_ids == {"<|end|>": end}
    ids = tokenizer.encode("<|end|><think>「")
    assert end not in ids
    assert [tokenizer.vocab[i] for i in ids[-2:]] == ["<think>", "「"]
    assert tokenizer.decode_bytes([end, *ids]).decode() == "<|end|><|end|><think>「"
    assert tokenizer.vocab_size == len(tokenizer.vocab) == ids[-1] + 1


def test_it_is_saved_loaded_and_pickled(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "new" / "tokenizer.json")
    loaded = LibraryTokenizer.load(tmp_path / "new" / "tokenizer.json")
    for twin in (loaded, pickle.loads(pickle.dumps(tokenizer))):
        assert twin.vocab == tokenizer.vocab
        assert twin.encode(f"{TEXT}<|end|>") == tokenizer.encode(f"{TEXT}<|end|>")
    with pytest.raises(ValueError, match="token id 999 is not in the vocabulary"):
        tokenizer.decode_bytes([999])
    with pytest.raises(ValueError, match="the library `tokenizers` cannot read this description"):
        LibraryBPE("nothing")
