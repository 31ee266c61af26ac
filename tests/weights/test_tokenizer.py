import json
import os

import pytest

from pioneers.tokenizers import ByteLevelBPE, FastBPE, WordPiece
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
        ({"model": {"type": "Unigram", "vocab": {}}}, "it is Unigram after ByteLevel"),
        ({"normalizer": {"type": "NFC"}}, "or changes the text first"),
        ({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}}, "or changes the text first"),
        ({"pre_tokenizer": None}, "NoneType"),
        ({"model": {}}, "'vocab'"),
        ({}, "does not number its tokens as GPT-2 does"),
    ],
)
def test_a_tokenizer_of_another_kind_is_refused(changes, message, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(LIBRARY | changes))
    with pytest.raises(ValueError, match=rf"is not a tokenizer like GPT-2's or BERT's \(.*{message}"):
        load_tokenizer(tmp_path)


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
