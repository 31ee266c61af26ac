import json
import math

import pytest
import torch

import pioneers
from pioneers.cli import main, measures
from pioneers.weights import load_tokenizer

SOURCES = {
    "classifier": ("--data", "reviews.csv"),
    "tagger": ("--data", "names.conll"),
    "reader": ("--data", "asked.jsonl"),
    "vit": ("--images", "shades"),
    "gpt": ("--text", "text.txt"),
    "transformer": ("--pairs", "pairs.tsv"),
}
NAMES = {
    "classifier": {"model", "examples", "loss", "accuracy", "macro_f1"},
    "tagger": {"model", "words", "accuracy", "span_f1"},
    "reader": {"model", "questions", "exact_match", "f1"},
    "vit": {"model", "examples", "loss", "accuracy", "macro_f1"},
    "gpt": {"model", "tokens", "loss", "perplexity", "bits_per_character"},
    "transformer": {"model", "pairs", "bleu", "bleu_signature", "chrf", "chrf_signature"},
}


@pytest.fixture
def measured(tuned, examples, capsys):
    """The measures of a fine-tuned model, as JSON."""

    def numbers(task, *options):
        option, name = SOURCES[task]
        assert main(["evaluate", str(tuned(task)), option, str(examples / name), "--json", *options]) == 0
        return json.loads(capsys.readouterr().out)

    return numbers


@pytest.mark.parametrize("task", [task for task in SOURCES if task != "transformer"])
def test_each_model_has_its_measures(task, measured):
    numbers = measured(task)
    assert numbers.keys() == NAMES[task]
    assert all(0 <= numbers[name] <= 1 for name in {"accuracy", "span_f1", "macro_f1", "f1"} & numbers.keys())


def test_translations_are_measured_with_the_signature_of_sacrebleu(tuned, examples, tmp_path, capsys):
    pytest.importorskip("sacrebleu")
    (tmp_path / "few.tsv").write_text("\n".join((examples / "pairs.tsv").read_text().splitlines()[:3]))
    given = ["--pairs", str(tmp_path / "few.tsv"), "--beams", "1", "--json"]
    assert main(["evaluate", str(tuned("transformer")), *given]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers.keys() == NAMES["transformer"]
    assert "|tok:13a|" in numbers["bleu_signature"]
    assert numbers["chrf_signature"].startswith("nrefs:1|case:mixed|")


def test_the_loss_of_a_text_is_that_of_its_windows(measured, tuned, examples):
    model, tokenizer = (
        pioneers.from_pretrained(tuned("gpt")).requires_grad_(False),
        load_tokenizer(tuned("gpt")),
    )
    text = (examples / "text.txt").read_text()
    ids, nats = tokenizer.encode(text), 0.0
    for start in range(0, len(ids) - 1, 23):
        window = torch.tensor([ids[start : start + 24]])
        logits = model(window[:, :-1]).log_softmax(-1)
        nats -= logits.gather(-1, window[:, 1:, None]).sum().item()
    numbers = measured("gpt", "--batch-size", "7")
    assert numbers["tokens"] == len(ids) - 1
    assert numbers["loss"] == pytest.approx(nats / (len(ids) - 1), rel=1e-5)
    assert numbers["perplexity"] == pytest.approx(math.exp(numbers["loss"]))
    assert numbers["bits_per_character"] == pytest.approx(nats / math.log(2) / len(text), rel=1e-5)


def test_the_same_is_printed_for_people(tuned, examples, capsys, measured):
    numbers = measured("classifier", "--batch-size", "4")
    assert main(["evaluate", str(tuned("classifier")), "--data", str(examples / "reviews.csv")]) == 0
    lines = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert lines["examples"] == "24"
    assert lines["accuracy"] == f"{numbers['accuracy']:.4f}"


def test_spans_are_those_of_seqeval():
    tags = ["B-PER", "I-PER", "B-PER", "O", "I-LOC", "I-ORG", "E-ORG", "I-ORG", "S-LOC", "B-LOC"]
    found = list(measures.spans(tags))
    expected = [
        ("PER", 0, 2), ("PER", 2, 3), ("LOC", 4, 5), ("ORG", 5, 7), ("ORG", 7, 8), ("LOC", 8, 9),
        ("LOC", 9, 10),
    ]  # fmt: skip
    assert found == expected  # as seqeval.metrics.sequence_labeling.get_entities gives them
    assert measures.span_f1([["O"]], [["O"]]) == 1.0
    assert measures.span_f1([["B-PER", "O"]], [["B-PER", "I-PER"]]) == 0.0


def test_a_word_beyond_the_length_counts_as_wrong(measured):
    assert measured("tagger", "--seq-len", "3")["accuracy"] <= 1 / 4 < 1
