"""What a run may learn from: documents, tables, pairs with faults, and tokenizers of others."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from pioneers import from_pretrained
from pioneers.cli import main
from pioneers.cli import texts as texts_module
from pioneers.cli.sources import read_pairs, read_text
from pioneers.data import corpus as corpus_module
from pioneers.data import digits, language_reference, token_files
from pioneers.tokenizers import FastBPE, LibraryBPE, WordPiece
from pioneers.weights import load_tokenizer, save_tokenizer

PAIRS = [(f"number {i}", f"Zahl {i}") for i in range(30)]


@pytest.fixture
def documents(tmp_path):
    text = language_reference()
    rows = [{"body": text[i : i + 400], "label": i} for i in range(0, 16_000, 400)]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "docs.jsonl"


def as_tabs(pairs):
    return "".join("\t".join(sides) + "\n" for sides in pairs)


def test_documents_are_learned_apart(command, documents, tmp_path, capsys):
    for model, end in (("gpt", "<|endoftext|>"), ("bert", "[SEP]")):
        out = tmp_path / model
        assert main(command(model, out, "--text", documents, "--column", "body")) == 0
        assert "trained on 36 documents\n" in capsys.readouterr().out
        tokenizer = load_tokenizer(out)
        assert end in tokenizer.special_ids
        assert from_pretrained(out).config.vocab_size == tokenizer.vocab_size


def test_a_long_text_is_prepared_once_and_its_run_goes_on(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    straight = tmp_path / "straight"
    assert main(command("gpt", straight)) == 0  # from memory
    for module in (corpus_module, token_files):
        monkeypatch.setattr(module, "SMALL", 100)
    assert main(command("gpt", tmp_path / "filed")) == 0
    assert (tmp_path / "filed" / "tokenizer.json").read_bytes() == (straight / "tokenizer.json").read_bytes()
    filed, memory = (load_file(folder / "model.safetensors") for folder in (tmp_path / "filed", straight))
    assert all(torch.equal(tensor, memory[name]) for name, tensor in filed.items())
    monkeypatch.setattr(token_files, "_make", lambda *args: pytest.fail("the tokens were made again"))
    monkeypatch.setattr(corpus_module, "_count", lambda *args: pytest.fail("the text was read again"))
    assert main(command("gpt", tmp_path / "filed")) == 0
    assert "has already made all 7 steps" in capsys.readouterr().out


def test_a_tokenizer_is_learned_from_a_sample_of_a_long_text_and_that_is_said(
    command, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(texts_module, "LEARN_FROM", 3_000)
    assert main(command("gpt", tmp_path / "run")) == 0
    assert "trained on 18,000 characters (its tokenizer on 3,000 characters, taken" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["file", "folder", "published"])
def test_a_run_may_take_a_tokenizer_of_others(kind, command, trained, tmp_path, fails, capsys):
    options = [option for option in command("gpt", tmp_path / "run") if option not in ("--vocab-size", "293")]
    given = trained("gpt") if kind == "folder" else trained("gpt") / "tokenizer.json"
    if kind == "published":
        given = tmp_path / "hf"
        save_tokenizer(FastBPE(load_tokenizer(trained("gpt")).merges, ["<|endoftext|>"]), given)
    assert main([*options, "--tokenizer", str(given)]) == 0
    found = load_tokenizer(tmp_path / "run")
    assert found.merges == load_tokenizer(trained("gpt")).merges
    assert main([*options, "--tokenizer", str(given)]) == 0  # the same run
    assert "has already made" in capsys.readouterr().out
    assert "brings a vocabulary of its own; leave out --vocab-size" in fails(
        command("gpt", tmp_path / "other", "--tokenizer", given)
    )
    assert "is a FastBPE; this model needs WordPiece" in fails(
        ["train", "bert", *options[2:], "--out", str(tmp_path / "other"), "--tokenizer", str(given)]
    )
    assert not (tmp_path / "other" / "run.yaml").exists()


def test_a_cased_vocabulary_stays_cased(command, trained, tmp_path):
    options = [o for o in command("bert", tmp_path / "run") if o not in ("--vocab-size", "397")]
    vocab = load_tokenizer(trained("bert")).vocab
    save_tokenizer(WordPiece([*vocab, "Python"], lowercase=False), tmp_path / "cased")
    assert main([*options, "--tokenizer", str(tmp_path / "cased")]) == 0
    assert load_tokenizer(tmp_path / "run").encode("Python") == [len(vocab)]
    assert main([*options, "--tokenizer", str(tmp_path / "cased")]) == 0


def test_long_pairs_are_named_or_left_out_and_counted(command, tmp_path, fails, capsys):
    pairs = [*PAIRS[:9], ("a long one " * 20, "kurz"), *PAIRS[9:], ("short", "lang " * 30)]
    (tmp_path / "pairs.tsv").write_text(as_tabs(pairs))
    options = command("transformer", tmp_path / "run", "--pairs", tmp_path / "pairs.tsv", "--seq-len", 24)
    message = fails(options)
    assert message.startswith(
        "2 of 32 pairs have a side of more than --seq-len 24 tokens, the first in line 10"
    )
    assert message.endswith("or --drop-long to leave them out")
    assert main([*options, "--drop-long"]) == 0
    out = capsys.readouterr().out
    assert "trained on 28 pairs\n" in out
    assert f"left out 2 long pairs: {tmp_path / 'run' / 'left_out.json'}\n" in out
    assert json.loads((tmp_path / "run" / "left_out.json").read_text()) == {"long": [10, 32], "broken": []}
    assert "no pair is left with sides of at most 2 tokens" in fails(
        [*options, "--out", str(tmp_path / "none"), "--seq-len", "2", "--drop-long"]
    )


def test_broken_pairs_are_named_or_left_out_and_counted(command, tmp_path, fails, capsys):
    pairs = [*PAIRS, ("one", ""), ("three", "parts", "here"), ("two", "zwei")]
    (tmp_path / "pairs.tsv").write_text(as_tabs(pairs))
    options = command("transformer", tmp_path / "run", "--pairs", tmp_path / "pairs.tsv")
    assert fails(options).endswith(
        "line 31: one side is empty; give it a source and a target; 2 lines are broken, and --drop-broken "
        "leaves them out"
    )
    assert main([*options, "--drop-broken"]) == 0
    assert f"left out 2 broken pairs: {tmp_path / 'run' / 'left_out.json'}\n" in capsys.readouterr().out
    assert json.loads((tmp_path / "run" / "left_out.json").read_text()) == {"long": [], "broken": [31, 32]}


def test_pairs_come_from_tables_too(tmp_path):
    rows = [{"en": source, "de": target, "id": 7} for source, target in PAIRS]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = "source,target\n" + "".join(f'"{source}",{target}\n' for source, target in PAIRS)
    (tmp_path / "pairs.csv").write_text(table)
    (tmp_path / "pairs.tsv").write_text(as_tabs(PAIRS))
    found = [
        read_pairs(str(tmp_path / "pairs.jsonl"), "", "en,de"),
        read_pairs(str(tmp_path / "pairs.csv"), ""),
        read_pairs(str(tmp_path / "pairs.tsv"), ""),
    ]
    assert len({dataset.sha256 for dataset in found}) == 1
    assert found[0].data.train + found[0].data.test == PAIRS
    assert list(found[1].data.lines) == [*range(2, 32)]


def test_texts_that_do_not_fit_their_options(command, documents, tmp_path, fails):
    assert "no column 'text', only 'body', 'label'" in fails(
        command("gpt", tmp_path / "run", "--text", documents)
    )
    assert "--column goes with a .csv, .tsv or .jsonl file" in fails(
        command("gpt", tmp_path / "run", "--column", "text")
    )
    assert not (tmp_path / "run").exists()


def test_a_tokenizer_without_an_end_cannot_keep_documents_apart(command, trained, documents, tmp_path, fails):
    options = [o for o in command("gpt", tmp_path / "run") if o not in ("--vocab-size", "293")]
    source = ["--text", str(documents), "--column", "body"]
    assert "the tokenizer has none of <|endoftext|>, " in fails(
        [*options, *source, "--tokenizer", str(trained("gpt"))]
    )


def test_published_names_are_read_from_their_files(monkeypatch, tmp_path):
    monkeypatch.setattr(texts_module, "PUBLISHED", {"mine": lambda: FastBPE([(64, 65)])})
    assert texts_module.given_tokenizer("mine", FastBPE).merges == [(64, 65)]
    assert texts_module.KINDS[FastBPE][1] is LibraryBPE


def test_named_texts_are_read_in_pieces():
    pieces = [*read_text("language-reference").data.pieces("train")]
    assert "".join(pieces) == language_reference()[: round(0.9 * len(language_reference()))]
    assert np.mean([len(piece) for piece in pieces]) > 1_000


def test_a_vit_learns_from_arrays_and_from_a_table(command, tmp_path, capsys, fails):
    train, _ = digits()
    pixels = (train.images[:, 0] * 16).round().byte().numpy() * 15
    np.savez(tmp_path / "digits.npz", images=pixels[:100], labels=train.labels[:100].numpy())
    assert main(command("vit", tmp_path / "arrays", "--images", tmp_path / "digits.npz")) == 0
    assert "trained on 90 images\n" in capsys.readouterr().out
    assert from_pretrained(tmp_path / "arrays").config.num_classes == 10
    rows = ["image,label"]
    for i in range(20):
        Image.fromarray(pixels[i]).save(tmp_path / f"{i}.png")
        rows.append(f"{i}.png,{'even' if train.labels[i] % 2 == 0 else 'odd'}")
    (tmp_path / "digits.csv").write_text("\n".join(rows))
    options = ["--images", str(tmp_path / "digits.csv"), "--image-size", "8"]
    assert main(command("vit", tmp_path / "table", *options)) == 0
    assert from_pretrained(tmp_path / "table").config.labels == ("even", "odd")
    assert "there is no file 'none.npz'; name one, or one of: digits" in fails(
        command("vit", tmp_path / "none", "--images", "none.npz")
    )
