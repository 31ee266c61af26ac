"""The commands that use a BERT or a ViT: fill, classify, tag, answer, embed."""

import io
import json

import pytest
import torch

import pioneers
from pioneers.cli import main
from pioneers.cli.pictures import read_picture
from pioneers.layers import padding_mask
from pioneers.weights import load_tokenizer


@pytest.fixture
def said(capsys):
    def lines(*arguments):
        assert main([*map(str, arguments)]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return lines


@pytest.fixture
def piped(monkeypatch):
    return lambda text: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_gaps_are_filled_with_the_likeliest_tokens(trained, said):
    found = [
        line.split("\t")
        for line in said("fill", trained("bert"), "the [MASK] of a [MASK]", "--top", "3").splitlines()
    ]
    assert [gap for gap, _, _ in found] == ["1", "1", "1", "2", "2", "2"]
    model, tokenizer = (
        pioneers.from_pretrained(trained("bert")).requires_grad_(False),
        load_tokenizer(trained("bert")),
    )
    mask = tokenizer.special_ids["[MASK]"]
    ids = [*tokenizer.encode("the"), mask, *tokenizer.encode("of a"), mask]
    row = torch.tensor([tokenizer.assemble(ids).input_ids])
    shares = model(row).masked_lm[row == mask].softmax(-1)
    assert [token for _, _, token in found] == [tokenizer.vocab[i] for i in shares.topk(3).indices.flatten()]
    assert [float(share) for _, share, _ in found] == pytest.approx(
        shares.topk(3).values.flatten().tolist(), abs=6e-4
    )


def test_the_stored_bert_fills_gaps_of_its_texts(said, root):
    folder = root / "pioneers" / "weights" / "bert_documents"
    assert "name" in said("fill", folder, "The value of the [MASK] is a string.")


def test_texts_are_classified(tuned, said, piped):
    model, tokenizer = (
        pioneers.from_pretrained(tuned("classifier")).requires_grad_(False),
        load_tokenizer(tuned("classifier")),
    )
    shares = model(torch.tensor([tokenizer.assemble(tokenizer.encode("a dull film")).input_ids]))[0].softmax(
        -1
    )
    best = max(("bad", "good"), key=lambda name: shares[("bad", "good").index(name)])
    expected = f"{best}\t{shares.max():.3f}\ta dull film\n"
    assert said("classify", tuned("classifier"), "a dull film") == expected
    piped("a dull film\n\na dull film\n")
    assert said("classify", tuned("classifier")) == 2 * expected
    both = said("classify", tuned("classifier"), "a dull film", "--top", "9").splitlines()
    assert {line.split("\t")[0] for line in both} == {"bad", "good"}
    assert said("classify", tuned("classifier"), "one text\tanother").endswith("one text\tanother\n")


def test_images_are_classified(tuned, examples, said):
    path = examples / "shades" / "dark" / "0.png"
    model = pioneers.from_pretrained(tuned("vit")).requires_grad_(False)
    image = read_picture(str(path), model.config)
    assert image.shape == (1, 1, 8, 8)
    assert image.mean() == pytest.approx(20 / 255, abs=1e-3)
    best = model(image)[0].argmax()
    assert said("classify", tuned("vit"), path).startswith(f"{('dark', 'light')[best]}\t")
    assert len(json.loads(said("embed", tuned("vit"), path))) == 12


def test_words_are_tagged_in_the_form_that_finetune_reads(tuned, said, piped, tmp_path):
    piped("Ann sees Rome .\nBob\n")
    out = said("tag", tuned("tagger"))
    words = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in words] == ["Ann", "sees", "Rome", ".", "", "Bob", ""]
    assert {row[1] for row in words if row[0]} <= {"B-PER", "B-LOC", "O"}
    (tmp_path / "tagged.conll").write_text(out)
    assert "accuracy            1.0000" in said(
        "evaluate", tuned("tagger"), "--data", tmp_path / "tagged.conll"
    )


def test_an_answer_is_part_of_the_text(tuned, said, tmp_path):
    context = "ann is in Rome today"
    (tmp_path / "context.txt").write_text(context + "\n")
    both = said("answer", tuned("reader"), "--question", "where?", "--question", "who?", "--context", context)
    assert len(both.splitlines()) == 2
    assert all(line in context for line in both.splitlines())
    one = said("answer", tuned("reader"), "--question", "where?", "--context-file", tmp_path / "context.txt")
    assert one == both.splitlines()[0] + "\n"


def test_a_text_is_embedded_as_the_mean_of_its_states(trained, said):
    body, tokenizer = (
        pioneers.from_pretrained(trained("bert")).bert.requires_grad_(False),
        load_tokenizer(trained("bert")),
    )
    vectors = [
        json.loads(line) for line in said("embed", trained("bert"), "a value", "an expression").splitlines()
    ]
    for text, vector in zip(("a value", "an expression"), vectors, strict=True):
        row = torch.tensor([tokenizer.assemble(tokenizer.encode(text)).input_ids])
        states = body(row, mask=padding_mask(torch.tensor([row.shape[1]]), row.shape[1]))
        assert vector == pytest.approx(states[0].mean(dim=0).tolist(), abs=1e-5)
