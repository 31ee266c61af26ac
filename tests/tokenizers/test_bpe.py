import json
import pickle
import random

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from pioneers.data import language_reference
from pioneers.tokenizers import ByteLevelBPE, FastBPE
from pioneers.tokenizers.bpe import SYMBOLS


@pytest.fixture(scope="module")
def text():
    return language_reference()[:60_000]


@pytest.fixture(scope="module")
def tokenizer(text):
    return ByteLevelBPE.train(text, vocab_size=512)


@pytest.fixture(scope="module")
def theirs(text):
    """The `tokenizers` library, trained the same way."""
    other = Tokenizer(models.BPE())
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=512, initial_alphabet=alphabet, show_progress=False)
    other.train_from_iterator([text], trainer)
    return other


def random_texts():
    rng = random.Random(0)
    alphabet = "ab Zé'ß 1²٣\n\t  \u3000漢字🙂'll're\u0301\ud7ff\x00"
    return ["".join(rng.choices(alphabet, k=rng.randrange(30))) for _ in range(300)]


def test_same_merges_as_the_tokenizers_library(tokenizer, theirs):
    model = json.loads(theirs.to_str())["model"]
    assert tokenizer.merges == [tuple(model["vocab"][symbol] for symbol in pair) for pair in model["merges"]]


def test_same_ids_as_the_tokenizers_library(tokenizer, theirs, text):
    for sample in [text, *random_texts()]:
        assert tokenizer.encode(sample) == theirs.encode(sample).ids


def test_every_text_comes_back(tokenizer):
    for sample in ["", *random_texts()]:
        assert tokenizer.decode(tokenizer.encode(sample)) == sample


@pytest.mark.parametrize("kind", [ByteLevelBPE, FastBPE])
def test_every_byte_string_comes_back(tokenizer, kind):
    same = kind(tokenizer.merges)
    rng = random.Random(0)
    strings = [bytes(range(256)), "é".encode()[:1], "\udc80".encode("utf-8", errors="surrogatepass")]
    strings += [bytes([byte]) for byte in range(256)]
    strings += [rng.randbytes(rng.randrange(53)) for _ in range(1_000)]
    for data in strings:
        assert same.decode_bytes(same.encode_bytes(data)) == data
        assert same.encode_bytes(data) == tokenizer.encode_bytes(data)


def test_bytes_of_a_text_are_encoded_like_the_text(tokenizer):
    for sample in random_texts():
        assert tokenizer.encode_bytes(sample.encode()) == tokenizer.encode(sample)


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


def test_special_tokens_follow_the_merges_and_never_come_from_text(tokenizer, tmp_path):
    special = ByteLevelBPE(tokenizer.merges, special_tokens=["<start>", "<end>"])
    assert special.special_ids == {"<start>": 512, "<end>": 513}
    assert special.vocab_size == 514
    assert special.encode("<end>") == tokenizer.encode("<end>")
    assert special.decode([512, *special.encode("low"), 513]) == "<start>low<end>"
    special.save(tmp_path / "bpe.json")
    assert ByteLevelBPE.load(tmp_path / "bpe.json").special_ids == special.special_ids


@pytest.mark.parametrize("kind", [ByteLevelBPE, FastBPE])
def test_travels_to_other_processes(tokenizer, kind):
    special = kind(tokenizer.merges, special_tokens=["<end>"])
    again = pickle.loads(pickle.dumps(special))
    assert type(again) is kind
    assert again.special_ids == {"<end>": 512}
    assert again.encode("flow lower") == special.encode("flow lower")


@pytest.fixture
def published(tokenizer, tmp_path):
    """A tokenizer in the two files of GPT-2's format."""
    symbols = ["".join(SYMBOLS[i] for i in tokenizer_bytes(token)) for token in tokenizer.vocab]
    lines = ["#version: 0.2", *(f"{symbols[a]} {symbols[b]}" for a, b in tokenizer.merges), ""]
    merges, vocab = tmp_path / "vocab.bpe", tmp_path / "encoder.json"
    merges.write_text("\n".join(lines), encoding="utf-8")
    ids = {symbol: i for i, symbol in enumerate([*symbols, "<|endoftext|>"])}
    vocab.write_text(json.dumps(ids), encoding="utf-8")
    return merges, vocab


def tokenizer_bytes(token):
    """The ids of a token's single bytes, in GPT-2's order of bytes."""
    order = [*range(33, 127), *range(161, 173), *range(174, 256)]
    order += [byte for byte in range(256) if byte not in order]
    return [order.index(byte) for byte in token]


def test_gpt2s_files_are_read(tokenizer, published):
    read = ByteLevelBPE.from_gpt2(*published)
    assert read.merges == tokenizer.merges
    assert read.special_ids == {"<|endoftext|>": 512}


def test_gpt2s_files_are_written(tokenizer, tmp_path):
    named = type(tokenizer)(tokenizer.merges, ["<pad>", "<s>"])
    named.save_gpt2(tmp_path / "merges.txt", tmp_path / "vocab.json")
    again = type(tokenizer).from_gpt2(tmp_path / "merges.txt", tmp_path / "vocab.json")
    assert (again.merges, again.special_ids) == (named.merges, named.special_ids)
    alike = ByteLevelBPE([(64, 65), (256, 66), (65, 66), (64, 258)])  # ab+c and a+bc
    with pytest.raises(ValueError, match=r"two tokens have the same spelling, .* cannot express: use save"):
        alike.save_gpt2(tmp_path / "merges.txt", tmp_path / "vocab.json")


def test_bad_gpt2_files_say_what_is_wrong(published, tmp_path):
    merges, vocab = published
    with pytest.raises(FileNotFoundError, match=r"no file .*nothing; GPT-2's tokenizer is published as"):
        ByteLevelBPE.from_gpt2(tmp_path / "nothing", vocab)
    with pytest.raises(FileNotFoundError, match=r"no file .*nothing; GPT-2's tokenizer is published as"):
        ByteLevelBPE.from_gpt2(merges, tmp_path / "nothing")
    for damaged in ("{", "[1]", '{"a": null}', '{"a": "b"}'):
        (tmp_path / "damaged.json").write_text(damaged)
        with pytest.raises(ValueError, match=r"damaged\.json does not map tokens to ids"):
            ByteLevelBPE.from_gpt2(merges, tmp_path / "damaged.json")
    ids = json.loads(vocab.read_text(encoding="utf-8"))
    (tmp_path / "other.json").write_text(json.dumps({token: i + 1 for token, i in ids.items()}))
    with pytest.raises(ValueError, match=r"other\.json does not number its tokens as GPT-2 does"):
        ByteLevelBPE.from_gpt2(merges, tmp_path / "other.json")
    merges.write_text("#version: 0.2\na b\nabc d\n")
    with pytest.raises(ValueError, match=r"line 3: 'abc d' does not join two tokens known so far"):
        ByteLevelBPE.from_gpt2(merges, vocab)


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
