"""The GPTs that come with the project: what they were trained on, how good they are, and their files."""

import json

import pytest
import torch

from experiments.gpt_documents import FOLDER, LIVE, bits, excerpt, opening
from experiments.text import prose
from experiments.text.live import export, read_live
from pioneers.analysis import experiment
from pioneers.data.docstrings import Document
from pioneers.generation import generate
from pioneers.models import GPT, GPTConfig
from pioneers.tokenizers import ByteLevelBPE
from pioneers.weights import from_pretrained, load_tokenizer


@pytest.fixture(scope="module")
def rows():
    return {row["case"]: row for row in experiment("gpt_documents")["rows"]}


@pytest.fixture(scope="module")
def index():
    return json.loads((LIVE / "model.json").read_text())


DOCSTRING = """Sort by :func:`~a.b.key`, which is ``None`` at first.

Returns
-------
    The sorted list,
    in one piece.

Args:
    x (int): The number to
        begin with.
    y: It stops here.

>>> This is code and not prose.
"""


def test_prose_is_paragraphs_of_english_without_markup():
    assert list(prose.prose(DOCSTRING)) == [
        "Sort by a.b.key, which is `None` at first.",
        "The sorted list, in one piece.",
        "The number to begin with.",
    ]


def test_no_training_paragraph_shares_eight_words_with_a_text_held_out(monkeypatch):
    page = "This very sentence is in the last tenth of the reference."
    tested = "Here is a docstring which every task of this book holds out."
    made = [
        ["Only this first paragraph is here to be trained on, nothing else is.", f"But {page}"],
        [f"As another package says: {tested}", "A paragraph beside it is held out as well."],
        ["And this first paragraph is here to be trained on, nothing else is."],
    ]
    monkeypatch.setattr(prose, "_package_documents", lambda: iter(made))
    monkeypatch.setattr(prose, "number_of", lambda _: 1)
    monkeypatch.setattr(prose, "split_text", lambda _: (f"{tested}\n\nNew words.", page))
    monkeypatch.setattr(prose, "documents", lambda _: [Document("a", (tested,))])
    found = prose.texts()
    assert found.train == f"{made[0][0]}\n\nNew words.\n\n"
    assert found.held_out == "\n".join(made[1]) + "\n\n"


def test_the_stored_gpt_beats_a_compressor_and_the_model_of_the_page(rows):
    held_out = rows["stored"]["held_out"]
    assert held_out <= rows["counts and compressors"]["held_out"]["xz"] - 0.25
    assert held_out <= min(rows[case]["held_out"] for case in ("page", "page, same text")) - 0.3


def test_the_stored_gpt_is_the_one_of_the_results(rows):
    gpt, tokenizer = from_pretrained(FOLDER), load_tokenizer(FOLDER)
    assert sum(p.numel() for p in gpt.parameters()) == rows["stored"]["parameters"]
    assert (FOLDER / "model.safetensors").stat().st_size <= 8_000_000
    # the docstrings differ a little between versions of Python
    assert bits(gpt, tokenizer, excerpt()) == pytest.approx(rows["stored"]["excerpt"], abs=0.05)
    prompt = torch.tensor([tokenizer.encode("\nReturn the")])
    first, again = (generate(gpt, prompt, 20, seed=3) for _ in range(2))
    assert torch.equal(first, again)


def test_the_live_gpt_learns_from_file_to_file(rows, index):
    files = [LIVE / point["file"] for point in index["checkpoints"]]
    assert all(path.stat().st_size <= 2_100_000 for path in files)
    assert sum(path.stat().st_size for path in files) <= 12_000_000
    words = json.loads((LIVE / "tokenizer.json").read_text())
    tokenizer = ByteLevelBPE(words["merges"])
    found = [bits(read_live(path), tokenizer, excerpt()) for path in (files[0], files[2], files[-1])]
    assert found[0] > found[1] + 1 > found[2] + 1.5
    assert found[2] == pytest.approx(rows["live"]["excerpt"], abs=0.05)
    assert index["checkpoints"] == rows["live"]["kept"]


def test_a_live_file_holds_the_model(tmp_path):
    torch.manual_seed(0)
    gpt = GPT(GPTConfig(vocab_size=31, max_seq_len=11, d_model=12, num_layers=2, num_heads=3)).eval()
    ids = torch.randint(31, (2, 7))
    for precision, error in (("fp32", 0.0), ("int8", 0.05)):
        export(gpt, tmp_path / precision, precision=precision)
        difference = (read_live(tmp_path / precision)(ids) - gpt(ids)).abs().max().item()
        assert difference <= error
    assert difference > 0


def test_what_the_figure_shows_first_is_what_the_model_says(rows, index):
    tokenizer = ByteLevelBPE(json.loads((LIVE / "tokenizer.json").read_text())["merges"])
    stored = rows["live"]["opening"]
    found = opening(read_live(LIVE / index["checkpoints"][-1]["file"]), tokenizer)
    assert found["pieces"] == stored["pieces"] and found["bits"] == pytest.approx(stored["bits"], abs=0.01)
    for ours, theirs in zip(found["likely"], stored["likely"], strict=True):
        assert ours[0] == theirs[0] and ours[1:] == pytest.approx(theirs[1:], abs=0.001)
