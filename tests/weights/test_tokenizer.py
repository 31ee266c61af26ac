import json
import os

import pytest
from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

from pioneers.tokenizers import ByteLevelBPE, ByteTokenizer, FastBPE, LibraryBPE, Unigram, WordPiece
from pioneers.tokenizers.bpe import BYTES, SYMBOLS
from pioneers.weights import load_tokenizer, save_tokenizer

TEXT = "the white cat sat on the other mat with the white hat"
PROBE = "The white cat's hat, thatched. Ünïcode: 猫 <|end|>\n\n  [MASK]"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghij", "##at", "##he", "t", "White", "T"]


def bpe():
    return ByteLevelBPE(ByteLevelBPE.train(TEXT, vocab_size=283).merges, ["<|end|>", "<|start|>"])


@pytest.mark.parametrize("lowercase", [True, False])
def test_wordpiece_comes_back_with_its_case(lowercase, tmp_path):
    tokenizer = WordPiece(PIECES, lowercase=lowercase)
    save_tokenizer(tokenizer, tmp_path)
    back = load_tokenizer(tmp_path)
    assert isinstance(back, WordPiece)
    assert back.vocab == PIECES
    assert back.encode("The hat White") == tokenizer.encode("The hat White")
    os.remove(tmp_path / "tokenizer_config.json")
    assert load_tokenizer(tmp_path).lowercase


@pytest.mark.parametrize(
    "write", [save_tokenizer, lambda tokenizer, folder: tokenizer.save(folder / "tokenizer.json")]
)
def test_byte_pairs_come_back(write, tmp_path):
    write(bpe(), tmp_path)
    back = load_tokenizer(str(tmp_path))
    assert isinstance(back, FastBPE)
    assert back.merges == bpe().merges
    assert back.special_ids == bpe().special_ids
    assert back.encode(PROBE) == bpe().encode(PROBE)


@pytest.mark.parametrize("tokenizer", [bpe(), WordPiece(PIECES)])
def test_a_missing_folder_is_made(tokenizer, tmp_path):
    save_tokenizer(tokenizer, tmp_path / "a" / "new")
    assert load_tokenizer(tmp_path / "a" / "new").vocab == tokenizer.vocab
    tokenizer.save(tmp_path / "another" / "file")
    assert (tmp_path / "another" / "file").is_file()


def library_file(folder, transformers, cls, **how):
    """What the other library makes of our files when it saves them in its own format."""
    theirs = getattr(transformers, cls).from_pretrained(folder, **how)
    theirs.save_pretrained(folder / "saved")
    assert {"tokenizer.json", "tokenizer_config.json"} == {*os.listdir(folder / "saved")}
    return theirs, folder / "saved"


def test_byte_pairs_are_read_from_the_librarys_format(tmp_path, transformers):
    save_tokenizer(bpe(), tmp_path)
    theirs, saved = library_file(
        tmp_path, transformers, "GPT2Tokenizer", unk_token="<|end|>", bos_token="<|end|>", eos_token="<|end|>"
    )
    back = load_tokenizer(saved)
    assert isinstance(back, FastBPE)
    assert back.merges == bpe().merges
    probe = PROBE.replace("<|end|>", "")
    assert back.encode(probe) == theirs(probe)["input_ids"] == bpe().encode(probe)
    path = saved / "tokenizer.json"
    values = json.loads(path.read_text())
    values["model"]["merges"] = [" ".join(pair) for pair in values["model"]["merges"]]
    path.write_text(json.dumps(values))
    assert load_tokenizer(saved).merges == bpe().merges


def test_a_special_token_of_gpt2_is_one_for_the_library_too(tmp_path, transformers):
    end = "<|endoftext|>"
    ours = ByteLevelBPE(bpe().merges, [end])
    save_tokenizer(ours, tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert len(theirs) == ours.vocab_size
    assert (theirs.eos_token, theirs.eos_token_id) == (end, ours.special_ids[end])


@pytest.mark.parametrize("lowercase", [True, False])
def test_wordpiece_is_read_from_the_librarys_format(lowercase, tmp_path, transformers):
    save_tokenizer(WordPiece(PIECES, lowercase=lowercase), tmp_path)
    theirs, saved = library_file(tmp_path, transformers, "BertTokenizer", do_lower_case=lowercase)
    back = load_tokenizer(saved)
    assert isinstance(back, WordPiece)
    assert back.vocab == PIECES
    assert back.lowercase == lowercase
    probe = PROBE.replace("[MASK]", "")
    assert back.encode(probe) == theirs(probe, add_special_tokens=False)["input_ids"]


def test_a_folder_without_a_tokenizer_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no tokenizer: neither merges\.txt and vocab\.json"):
        load_tokenizer(tmp_path)


LIBRARY = {
    "model": {"type": "BPE", "vocab": {}, "merges": []},
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pre_tokenizer": None}, "is a BPE after nothing; known here are"),
        ({"model": {"type": "WordLevel", "vocab": {}}}, "is a WordLevel after ByteLevel; known here are"),
        ({"pre_tokenizer": {"pretokenizers": [{"type": "Metaspace"}]}}, "is a BPE after Metaspace"),
        ({"model": {}}, "is damaged, or of a kind .*'type'"),
        ({"model": {"type": "Unigram", "vocab": {}}}, "is damaged, or of a kind .*cannot read this"),
        ({"normalizer": {"type": "NFC"}}, "is damaged, or of a kind .*cannot read this"),
    ],
)
def test_a_tokenizer_of_another_kind_is_refused(changes, message, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(LIBRARY | changes))
    with pytest.raises(ValueError, match=message):
        load_tokenizer(tmp_path)


def test_merges_without_the_rules_they_need_are_refused(tmp_path):
    save_tokenizer(bpe(), tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "Qwen2Tokenizer"}')
    with pytest.raises(ValueError, match=r"merges of a Qwen2Tokenizer .* get (its )?tokenizer\.json too"):
        load_tokenizer(tmp_path)


SCORES = [("▁", -2.0), ("▁the", -2.5), ("at", -3.0), ("▁white", -4.0), ("▁w", -4.5), ("h", -5.0), ("c", -6.5)]
SCORES += [(letter, -7.0 - i / 8) for i, letter in enumerate("abdefgijklmno")]
UNIGRAMS = {  # with their special tokens, whose ids are published
    "T5Tokenizer": [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *SCORES],
    "AlbertTokenizer": [*((name, 0.0) for name in ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")), *SCORES],
    "XLNetTokenizer": [
        *((name, 0.0) for name in ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>")),
        *SCORES,
    ],
}


@pytest.mark.parametrize("family", UNIGRAMS)
def test_a_unigram_tokenizer_is_theirs(family, transformers, tmp_path):
    theirs = getattr(transformers, family)(vocab=UNIGRAMS[family])
    theirs.save_pretrained(tmp_path / "theirs")
    ours = load_tokenizer(tmp_path / "theirs")
    assert isinstance(ours, Unigram)
    assert ours.vocab_size == len(theirs)
    assert {ours.special_ids[name] for name in theirs.all_special_tokens} == set(theirs.all_special_ids)
    for text in (TEXT, PROBE.replace("[MASK]", ""), "", "  the \t hat "):
        assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"]
        assert ours.decode(ours.encode(text)) == theirs.decode(ours.encode(text))
    end = theirs.eos_token
    assert theirs.eos_token_id in theirs(f"the {end}", add_special_tokens=False)["input_ids"]
    assert theirs.eos_token_id not in ours.encode(f"the {end}")
    save_tokenizer(ours, tmp_path / "ours")
    again = load_tokenizer(tmp_path / "ours")
    assert (again.vocab, again.encode(PROBE)) == (ours.vocab, ours.encode(PROBE))
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "ours").mask_token == theirs.mask_token


def test_a_trained_unigram_tokenizer_is_theirs_too(transformers, tmp_path):
    ours = Unigram.train(f"{TEXT}. " * 7, vocab_size=40)
    save_tokenizer(ours, tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (theirs.pad_token_id, theirs.eos_token_id, theirs.unk_token_id) == (0, 1, 2)
    assert theirs(TEXT)["input_ids"] == [*ours.encode(TEXT), 1]  # as T5's, which ends every text


def merged(tokenizer):
    """Ids and merges as files spell them."""
    symbols = ["".join(SYMBOLS[BYTES.index(byte)] for byte in token) for token in tokenizer.vocab]
    ids = {symbol: i for i, symbol in enumerate(symbols)}
    return ids, [(symbols[a], symbols[b]) for a, b in tokenizer.merges]


@pytest.mark.parametrize("family", ["Qwen2Tokenizer", "LlamaTokenizer", "RobertaTokenizer"])
def test_byte_pairs_with_other_rules_are_theirs(family, transformers, tmp_path):
    gpt2 = ByteLevelBPE.train(f"{'12345 ' * 9}{TEXT}", vocab_size=290)  # the others cut numbers up
    ids, merges = merged(gpt2)
    if family == "RobertaTokenizer":  # BART's too: other numbers
        ids = {name: i for i, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", *reversed(ids), "<mask>"])}
    if family == "LlamaTokenizer":
        theirs = llama3(transformers, ids, merges)
    else:
        theirs = getattr(transformers, family)(vocab=ids, merges=merges)
    theirs.save_pretrained(tmp_path / "theirs")
    save_tokenizer(gpt2, tmp_path / "theirs")  # Qwen's folders have the files of GPT-2's, too
    (tmp_path / "theirs" / "tokenizer_config.json").unlink()
    ours = load_tokenizer(tmp_path / "theirs")
    assert isinstance(ours, LibraryBPE)
    text = "The white cat's hat 12345 THATCHED'S Ünïcode: 猫\n\n  hat"
    assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"]
    assert ours.encode(text) != gpt2.encode(text)
    assert ours.decode(ours.encode(text)) == ours.decode_bytes(ours.encode(text)).decode()
    save_tokenizer(ours, tmp_path / "ours")
    assert load_tokenizer(tmp_path / "ours").encode(text) == ours.encode(text)
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "ours").mask_token == theirs.mask_token
    special = list(ours.special_ids.values())
    assert ours.decode_bytes(special).decode() == "".join(ours.special_ids)
    assert not set(special) & set(ours.encode("".join(ours.special_ids)))


def llama3(transformers, ids, merges):
    """A tokenizer that cuts texts as Llama 3's does."""
    split = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    library = Tokenizer(BPE(ids, merges, ignore_merges=True))
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(split), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=library)


def test_byt5s_tokenizer_is_theirs(transformers, tmp_path):
    save_tokenizer(ByteTokenizer(), tmp_path)
    ours = load_tokenizer(tmp_path)
    assert isinstance(ours, ByteTokenizer)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours.encode(PROBE) == theirs(PROBE, add_special_tokens=False)["input_ids"]
    assert ours.special_ids == {name: theirs.convert_tokens_to_ids(name) for name in ours.special_ids}


def test_a_damaged_tokenizer_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ValueError, match=r"tokenizer\.json is not JSON"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"merges": [[0, 999]]}')
    with pytest.raises(ValueError, match=r"is not a saved tokenizer, or is damaged"):
        load_tokenizer(tmp_path)
    (tmp_path / "merges.txt").write_text("")
    with pytest.raises(FileNotFoundError, match=r"no file .*vocab\.json"):
        load_tokenizer(tmp_path)
