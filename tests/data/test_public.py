"""The loaders: on small files of the same form everywhere, on the real files where PIONEERS_DATA is set."""

import gzip
import hashlib
import io
import re
import struct
import tarfile
from itertools import permutations

import pytest
import torch

from pioneers import data
from pioneers.data import public
from pioneers.data.registry import FILES, PublicFile

SPLITS = {
    data.sst2: ("train", "validation", "test"),
    data.mrpc: ("train", "test"),
    data.squad2: ("train", "validation", "sample"),
    data.ud_english_ewt: ("validation", "test"),
    data.mnist: ("train", "test"),
}


def test_every_entry_is_complete():
    for name, file in FILES.items():
        assert file.size > 1000
        assert file.sha256
        assert all(re.fullmatch(r"[0-9a-f]{64}", value) for value in file.sha256)
        assert all(re.fullmatch(r"https://[\w.-]+/\S+", url) for url in file.urls), name
        assert ";" in file.source
    hashes = [value for file in FILES.values() for value in file.sha256]
    assert len(set(hashes)) == len(hashes)


def test_the_loaders_ask_for_every_file_and_no_other(monkeypatch, tmp_path):
    asked = set()

    def fetch(name):
        asked.add(name)
        return name

    monkeypatch.setattr(public, "fetch", fetch)
    for reader in ("text_file", "read_lines", "read_table", "read_conllu", "read_squad"):
        monkeypatch.setattr(public, reader, lambda path, **options: [])
    monkeypatch.setattr(public, "read_json", lambda path: {})
    monkeypatch.setattr(public, "read_idx", lambda path, *, ndim: torch.zeros([1] * ndim))
    for load, splits in SPLITS.items():
        for split in splits:
            load(split)
    for split in ("train", "test"):
        data.mrpc(split, tokenized=True)
    for split in ("train", "validation", "test"):
        for source, target in permutations(("en", "de", "fr"), 2):
            data.multi30k(split, source=source, target=target)
    monkeypatch.setattr(public, "read_bytes", lambda path: b"0 a")
    empty, opened = tmp_path / "empty.tar", tarfile.open
    opened(empty, "w").close()
    monkeypatch.setattr(tarfile, "open", lambda path: opened(empty))
    for load in (
        data.subj,
        data.imdb_reviews,
        data.tiny_shakespeare,
        data.gpt2_merges,
        data.gpt2_encoder,
        data.bert_vocabulary,
    ):
        load()
    assert asked == set(FILES)


@pytest.mark.parametrize("load", [*SPLITS, data.multi30k], ids=lambda load: load.__name__)
def test_an_unknown_split_is_answered_with_the_known_ones(load):
    with pytest.raises(ValueError, match=rf"{load.__name__} has no split 'dev'; it has: \w+, "):
        load("dev")


@pytest.mark.parametrize(("source", "target"), [("en", "en"), ("en", "ja")])
def test_multi30k_needs_two_of_its_languages(source, target):
    with pytest.raises(ValueError, match=f"two of en, de, fr, not '{source}' and '{target}'"):
        data.multi30k("train", source=source, target=target)


@pytest.fixture
def supply(monkeypatch, tmp_path):
    """Puts a file into the data folder in place of a published one."""
    monkeypatch.setenv("PIONEERS_DATA", str(tmp_path))

    def supply(name, content):
        content = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
        monkeypatch.setitem(FILES, name, PublicFile(len(content), (hashlib.sha256(content).hexdigest(),), ""))

    return supply


def test_labels_are_read_and_checked(supply):
    supply("sst2/dev.tsv", 'a "fine" film\t1\na dull one\t0')
    assert data.sst2("validation") == [('a "fine" film', 1), ("a dull one", 0)]
    supply("sst2/dev.tsv", "fine\t1\ndull\t2\n")
    with pytest.raises(ValueError, match=r"dev\.tsv, line 2: the label must be 0 or 1, not '2'"):
        data.sst2("validation")
    supply("subj/subj.all", "0 a clich\xe9\n1 the duke \x96 dies\n".encode("latin-1"))
    assert data.subj() == [("a clich\u00e9", 0), ("the duke \u2013 dies", 1)]


def test_the_reviews_come_in_the_order_of_their_numbers(supply, tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in ("train/unsup/10_0", "train/pos/0_9", "train/unsup/2_0", "train/unsup/0_0"):
            text = f"Dull.<br />{name}".encode()
            member = tarfile.TarInfo(f"aclImdb/{name}.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    supply("imdb/aclImdb_v1.tar.gz", packed.getvalue())
    assert data.imdb_reviews() == [f"Dull.<br />train/unsup/{i}_0" for i in (0, 2, 10)]
    assert data.imdb_reviews(limit=3) == [f"Dull.<br />train/unsup/{i}_0" for i in (0, 2)]


def test_pairs_come_without_header_and_without_invented_ones(supply):
    head = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    supply("mrpc/msr_paraphrase_test.txt", head + "1\t3\t5\tA\tB\r\n0\t-1\t-1\tC\tD\r\n")
    assert data.mrpc("test") == [("A", "B", 1)]
    supply("mrpc/senteval/msr_paraphrase_test.txt", head + "0\t3\t5\tA .\tB .\r\n")
    assert data.mrpc("test", tokenized=True) == [("A .", "B .", 0)]
    supply("mrpc/msr_paraphrase_test.txt", head + "yes\t3\t5\tA\tB\r\n")
    with pytest.raises(ValueError, match=r"line 2: the label must be 0 or 1, not 'yes'"):
        data.mrpc("test")


def test_mnist_is_scaled_to_one(supply):
    images = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 28, 28) + bytes([0, 51, 102, 255] * 392)
    supply("mnist/t10k-images-idx3-ubyte.gz", gzip.compress(images))
    supply("mnist/t10k-labels-idx1-ubyte.gz", gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 3])))
    digits = data.mnist("test")
    assert digits.images.shape == (2, 1, 28, 28)
    assert torch.equal(digits.images[1, 0, 27, -4:], torch.tensor([0, 51, 102, 255]) / 255)
    assert digits.labels.tolist() == [7, 3]
    assert digits.labels.dtype == torch.int64


def test_vocabularies_in_their_published_forms(supply):
    supply("gpt2/vocab.bpe", "#version: 0.2\nĠ t\nh e\n")
    supply("gpt2/encoder.json", '{"!": 0, "Ġt": 256}')
    supply("bert/bert-base-uncased-vocab.txt", "[PAD]\n##s\nthe\n")
    assert data.gpt2_merges() == [("Ġ", "t"), ("h", "e")]
    assert data.gpt2_encoder() == {"!": 0, "Ġt": 256}
    assert data.bert_vocabulary() == ["[PAD]", "##s", "the"]


# The real files from here on.


def test_tiny_shakespeare_as_published(public_data):
    text = data.tiny_shakespeare()
    assert len(text) == 1_115_394
    assert len(set(text)) == 65
    assert text.startswith("First Citizen:\nBefore we proceed any further, hear me speak.")


def test_multi30k_as_published(public_data):
    sizes = {split: len(data.multi30k(split, target="fr")) for split in ("train", "validation", "test")}
    assert sizes == {"train": 29_000, "validation": 1_014, "test": 1_000}
    assert data.multi30k("train", source="fr", target="de")[0] == (
        "Deux jeunes hommes blancs sont dehors près de buissons.",
        "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.",
    )


def test_sst2_and_mrpc_as_published(public_data):
    assert [len(data.sst2(split)) for split in ("train", "validation", "test")] == [6_920, 872, 1_821]
    train, test = data.mrpc("train"), data.mrpc("test")
    assert (len(train), len(test)) == (4_076, 1_725)
    assert (sum(pair.label for pair in train), sum(pair.label for pair in test)) == (2_753, 1_147)


def test_the_sample_of_squad2_as_published(public_data):
    questions = data.squad2("sample")
    assert len(questions) == 1_407
    assert sum(bool(question.answers) for question in questions) == 705
    for question in questions:
        for text, start in question.answers:
            assert question.context[start : start + len(text)] == text


def test_the_english_web_treebank_as_published(public_data):
    validation, test = data.ud_english_ewt("validation"), data.ud_english_ewt("test")
    assert (len(validation), len(test)) == (2_001, 2_077)
    assert len({tag for sentence in test for tag in sentence.tags}) == 17
    assert all(len(sentence.words) == len(sentence.tags) for sentence in validation)
    relations = data.ud_english_ewt("validation", "relations")
    assert [sentence.words for sentence in relations] == [sentence.words for sentence in validation]
    assert sum(sentence.tags.count("root") for sentence in relations) == 2_001


def test_mnist_as_published(public_data):
    images, labels = data.mnist("test")
    assert images.shape == (10_000, 1, 28, 28)
    assert (images.min(), images.max()) == (0, 1)
    assert labels[:11].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9, 0]


def test_vocabularies_as_published(public_data):
    merges, encoder = data.gpt2_merges(), data.gpt2_encoder()
    assert len(merges) == 50_000
    assert all(encoder[a + b] == 256 + rank for rank, (a, b) in enumerate(merges))
    assert encoder["<|endoftext|>"] == len(encoder) - 1 == 50_256
    vocabulary = data.bert_vocabulary()
    assert len(vocabulary) == 30_522
    assert [vocabulary.index(token) for token in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")] == [0, 101, 102, 103]
