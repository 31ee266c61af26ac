import gzip
import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest
import torch

from pioneers.data import (
    Corpus,
    RandomWindows,
    TokenFile,
    corpus_tokens,
    language_reference,
    split_text,
    token_files,
)
from pioneers.data import corpus as corpus_module
from pioneers.data.download import cache_folder
from pioneers.tokenizers import FastBPE, WordPiece
from pioneers.tokenizers.wordpiece import frequency

TEXT = language_reference()[:200_000] + " naïve 🙂 北京 don't  \t\n\n end"


@pytest.fixture(scope="module")
def bpe():
    return FastBPE(FastBPE.train(TEXT, 500).merges, ["<|endoftext|>"])


@pytest.fixture(autouse=True)
def large(tmp_path, monkeypatch):
    """A cache of its own, small pieces, and the ways of large files for small ones."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for module in (corpus_module, token_files):
        monkeypatch.setattr(module, "SMALL", 1_000)
        monkeypatch.setattr(module, "PIECE", 700)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def prepared():
    return sorted((cache_folder() / "tokens").glob("*/"))


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_a_long_text_gives_the_tokens_of_a_short_one(kind, bpe, text):
    tokenizer = bpe if kind == "bpe" else WordPiece.train(TEXT, 600, score=frequency)
    found = corpus_tokens(Corpus.read(text), tokenizer)
    for part, tokens in zip(split_text(TEXT), found, strict=True):
        assert isinstance(tokens, TokenFile)
        expected = torch.tensor(tokenizer.encode(part))
        assert torch.equal(tokens[torch.arange(len(tokens))], expected)
        how = {"seq_len": 13, "batch_size": 3, "seed": 5}
        assert torch.equal(RandomWindows(tokens, **how)(7), RandomWindows(expected, **how)(7))


@pytest.mark.parametrize("form", ["plain", "gz", "windows"])
def test_a_text_is_the_same_in_every_form(form, text, monkeypatch):
    monkeypatch.setattr("pioneers.data.streams.BLOCK", 997)
    raw = b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode() if form == "windows" else TEXT.encode()
    path = text.with_suffix(".txt" + ".gz" * (form == "gz"))
    path.write_bytes(gzip.compress(raw) if form == "gz" else raw)
    found, expected = Corpus.read(path), Corpus.of(TEXT)
    assert (found.sha256, found.characters) == (expected.sha256, len(TEXT))
    for part in ("train", "test"):
        assert [*found.pieces(part)] == [*expected.pieces(part)]
    assert ("".join(found.pieces("train")), "".join(found.pieces("test"))) == split_text(TEXT)


def test_pieces_end_where_words_do(text):
    pieces = [*Corpus.read(text).pieces("train")]
    assert len(pieces) > 200
    assert all(0 < len(piece) <= 700 for piece in pieces[:-1])
    assert all(a[-1].isalnum() and b[0] in " \n" for a, b in pairwise(pieces))
    assert [*Corpus.of("x" * 5_000).pieces("train")] == ["x" * 4_500]  # no place to cut


def test_a_sample_is_taken_from_everywhere(text):
    whole = Corpus.read(text)
    assert whole.sample(10**9) == split_text(TEXT)[0]
    sample = whole.sample(20_000)
    assert 20_000 <= len(sample) < 20_600
    assert all(part[:50] in sample for part in [*whole.pieces("train")][:-1:20])


def test_documents_are_kept_apart(bpe, tmp_path):
    texts = [TEXT[i : i + 90 + i % 50] for i in range(0, 9_000, 90)]
    rows = [json.dumps({"body": text}) for text in [*texts, " "]]
    (tmp_path / "docs.jsonl").write_text("\n".join(rows))
    docs = Corpus.read(tmp_path / "docs.jsonl", column="body")
    assert docs.documents == 100  # the blank one is none
    with pytest.raises(ValueError, match="has documents: give end_id"):
        corpus_tokens(docs, bpe)
    end = bpe.special_ids["<|endoftext|>"]
    for part, tokens in zip((texts[:90], texts[90:]), corpus_tokens(docs, bpe, end_id=end), strict=True):
        expected = [i for text in part for i in [*bpe.encode(text), end]]
        assert tokens[torch.arange(len(tokens))].tolist() == expected
    other = Corpus.of("\xff".join(texts))
    assert docs.sha256 != other.sha256
    (tmp_path / "one.jsonl").write_text(rows[0])
    with pytest.raises(ValueError, match=r"one\.jsonl has 1 document, too few to hold a tenth of them out"):
        Corpus.read(tmp_path / "one.jsonl", column="body").pieces("train")


def test_tokens_are_made_once(bpe, text, monkeypatch):
    first = corpus_tokens(Corpus.read(text), bpe)
    monkeypatch.setattr(corpus_module, "_count", lambda *args: pytest.fail("the text was read again"))
    monkeypatch.setattr(token_files, "_make", lambda *args: pytest.fail("the tokens were made again"))
    again = corpus_tokens(Corpus.read(text), bpe)
    assert [len(part) for part in again] == [len(part) for part in first]


def test_other_texts_and_tokenizers_have_other_tokens(bpe, text, tmp_path):
    corpus_tokens(Corpus.read(text), bpe)
    corpus_tokens(Corpus.read(text), FastBPE(bpe.merges[:-1]))
    before = text.stat()
    text.write_text(TEXT.replace("The", "Tha"))
    os.utime(text, ns=(before.st_atime_ns, before.st_mtime_ns))  # same name, size and time, other content
    corpus_tokens(Corpus.read(text), bpe)
    assert len(prepared()) == 3
    (tmp_path / "copy.txt").write_text(TEXT)
    corpus_tokens(Corpus.read(tmp_path / "copy.txt"), bpe)
    assert len(prepared()) == 3


@pytest.mark.parametrize("harm", ["cut", "flip", "about", "gone", "known"])
def test_damaged_caches_are_made_again(harm, bpe, text):
    tokens = corpus_tokens(Corpus.read(text), bpe)[0]
    good = tokens[torch.arange(len(tokens))]
    (folder,) = prepared()
    file = folder / ("about.json" if harm == "about" else "train.bin")
    if harm == "known":
        (file,) = (cache_folder() / "texts").glob("*.json")
    raw = file.read_bytes()
    if harm == "gone":
        file.unlink()
    elif harm == "flip":
        file.write_bytes(bytes([raw[0] ^ 1]) + raw[1:])
    else:
        file.write_bytes(raw[: len(raw) // 2])
    again = corpus_tokens(Corpus.read(text), bpe)[0]
    assert torch.equal(again[torch.arange(len(again))], good)
    assert prepared() == [folder]


def test_what_a_killed_process_left_is_cleared_and_two_at_once_make_one(bpe, text, tmp_path):
    corpus_tokens(Corpus.read(text), bpe)
    (folder,) = prepared()
    expected = (folder / "train.bin").read_bytes()
    folder.rename(folder.with_name(folder.name + ".partial"))
    bpe.save(tmp_path / "tokenizer.json")
    code = (
        "from pioneers.data import Corpus, corpus_tokens, token_files\n"
        "from pioneers.tokenizers import FastBPE\n"
        "token_files.SMALL = 1000\n"
        f"corpus_tokens(Corpus.read({str(text)!r}), FastBPE.load({str(tmp_path / 'tokenizer.json')!r}))\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in "ab"]
    assert [process.communicate()[1] for process in both] == ["", ""]
    assert prepared() == [folder]
    assert (folder / "train.bin").read_bytes() == expected


def test_a_cache_that_cannot_be_written_says_what_to_do(bpe, text, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(OSError, match=r"cannot be written .*; set XDG_CACHE_HOME to a folder of your own"):
        corpus_tokens(Corpus.read(text), bpe)

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(token_files, "encode_all", full)
    with pytest.raises(OSError, match="No space left on device"):
        corpus_tokens(Corpus.read(text), bpe)
    assert not prepared()


def test_broken_texts_are_named(tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"a\n" * 900 + b"caf\xe9\n" + b"b\n" * 900)
    with pytest.raises(ValueError, match=r"latin.txt, line 901: byte 0xe9 is not UTF-8"):
        Corpus.read(tmp_path / "latin.txt")
    (tmp_path / "blank.txt").write_text(" \n" * 2_000)
    with pytest.raises(ValueError, match="contains no text; choose another file"):
        Corpus.read(tmp_path / "blank.txt")
    (tmp_path / "letter.txt").write_text("a")
    with pytest.raises(ValueError, match="has 1 character, too few"):
        corpus_tokens(Corpus.read(tmp_path / "letter.txt"), FastBPE([]))


MEMORY = """
import re, sys
from pioneers.data import Corpus, RandomWindows, corpus_tokens
from pioneers.tokenizers import FastBPE
import torch

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

before, corpus = peak(), Corpus.read(sys.argv[1])
tokenizer = FastBPE.train(corpus.sample(1_000_000), 400)
batches = RandomWindows(corpus_tokens(corpus, tokenizer)[0], seq_len=64, batch_size=8)
for step in range(50):
    batches(step)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_text(tmp_path):
    with (tmp_path / "long.txt").open("w") as file:
        for i in range(40):
            file.write(f"{i} " + language_reference()[:500_000])
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "long.txt")], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 150  # MB; encoded as one list, these 20 MB of text take 280
