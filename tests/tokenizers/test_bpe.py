import random

import pytest

from pioneers.data import language_reference
from pioneers.tokenizers import ByteLevelBPE


@pytest.fixture(scope="module")
def text():
    return language_reference()[:60_000]


@pytest.fixture(scope="module")
def tokenizer(text):
    return ByteLevelBPE.train(text, vocab_size=512)


@pytest.fixture(scope="module")
def theirs(text):
    """The `tokenizers` library, trained the same way."""
    library = pytest.importorskip("tokenizers", reason="the tokenizers library is not installed")
    other = library.Tokenizer(library.models.BPE())
    other.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = library.trainers.BpeTrainer(
        vocab_size=512,
        initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    other.train_from_iterator([text], trainer)
    return other


def random_texts():
    rng = random.Random(0)
    alphabet = "ab Zé'ß 1²٣\n\t  \u3000漢字🙂'll're\u0301\ud7ff\x00"
    return ["".join(rng.choices(alphabet, k=rng.randrange(30))) for _ in range(300)]


def test_same_ids_as_the_tokenizers_library(tokenizer, theirs, text):
    for sample in [text, *random_texts()]:
        assert tokenizer.encode(sample) == theirs.encode(sample).ids


def test_every_text_comes_back(tokenizer):
    for sample in ["", *random_texts()]:
        assert tokenizer.decode(tokenizer.encode(sample)) == sample


def test_the_first_merge_is_the_most_frequent_pair_and_ties_go_to_the_smaller_ids():
    tokenizer = ByteLevelBPE.train("ab ab ab cd cd cd", vocab_size=257)
    assert tokenizer.vocab[256] == b"ab"


def test_training_stops_when_nothing_is_left_to_join():
    assert ByteLevelBPE.train("aaaa", vocab_size=1000).vocab[256:] == [b"aa", b"aaaa"]


def test_saved_tokenizer_comes_back_whole(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "bpe.json")
    again = ByteLevelBPE.load(tmp_path / "bpe.json")
    assert again.merges == tokenizer.merges
    assert [p.name for p in tmp_path.iterdir()] == ["bpe.json"]


def test_bad_files_and_inputs_say_what_to_do(tokenizer, tmp_path):
    with pytest.raises(FileNotFoundError, match="train one and save it there first"):
        ByteLevelBPE.load(tmp_path / "nothing.json")
    for damaged in ("{", "[]", '{"merges": [[0, 999]]}'):
        (tmp_path / "bad.json").write_text(damaged)
        with pytest.raises(ValueError, match="not a saved tokenizer, or is damaged"):
            ByteLevelBPE.load(tmp_path / "bad.json")
    with pytest.raises(ValueError, match="cannot train a tokenizer on an empty text"):
        ByteLevelBPE.train("", vocab_size=300)
    with pytest.raises(ValueError, match="vocab_size=100 is too small"):
        ByteLevelBPE.train("abc", vocab_size=100)
    with pytest.raises(ValueError, match="token id 512 is not in the vocabulary of 512 tokens"):
        tokenizer.decode([512])
