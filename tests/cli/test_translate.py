import io

import pytest
import torch

import pioneers
from pioneers.cli import main
from pioneers.generation import translate
from pioneers.weights import load_tokenizer

TEXTS = ["forty-two", "seven hundred and three"]


def expected(folder, text, num_beams, alpha=0.6):
    """The same translation by way of the library."""
    model, tokenizer = pioneers.from_pretrained(folder), load_tokenizer(folder)
    ids = tokenizer.special_ids
    found = translate(
        model,
        torch.tensor([tokenizer.encode(text)]),
        46,
        start_id=ids["<s>"],
        stop_id=ids["</s>"],
        num_beams=num_beams,
        alpha=alpha,
        pad_id=ids["<pad>"],
    )
    return tokenizer.decode(i for i in found[0].tolist() if i not in ids.values())


@pytest.mark.parametrize(
    ("options", "num_beams", "alpha"),
    [([], 4, 0.6), (["--beams", "1"], 1, 0.6), (["--beams", "3", "--alpha", "2"], 3, 2.0)],
)
def test_the_translation_is_that_of_the_library(options, num_beams, alpha, trained, capsys):
    assert main(["translate", str(trained("transformer")), *TEXTS, *options]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines == [*(expected(trained("transformer"), text, num_beams, alpha) for text in TEXTS), ""]


def test_without_texts_the_lines_of_standard_input_are_translated(trained, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{TEXTS[0]}\n\n{TEXTS[1]}\n"))
    assert main(["translate", str(trained("transformer")), "--beams", "1"]) == 0
    first, second = (expected(trained("transformer"), text, 1) for text in TEXTS)
    assert capsys.readouterr().out == f"{first}\n\n{second}\n"


def test_a_tokenizer_of_another_model_is_refused(trained, tmp_path, fails):
    for path in trained("transformer").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "tokenizer.json").write_bytes((trained("gpt") / "tokenizer.json").read_bytes())
    assert fails(["translate", tmp_path, "one"]) == (
        f"{tmp_path} was not made by pioneers train transformer: no <pad>, <s>, </s>"
    )
