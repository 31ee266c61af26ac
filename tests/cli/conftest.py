"""Small runs of every model, trained once for all tests of the command line."""

import contextlib
import io
import json
from pathlib import Path

import pytest
from PIL import Image

from pioneers.cli import main
from pioneers.data import language_reference, translation_pairs

SMALL = "--d-model 12 --num-layers 1 --num-heads 3 --batch-size 5 --precision fp32"
OFTEN = "--log-every 2 --checkpoint-every 3"
OPTIONS = {
    "gpt": "--vocab-size 293 --seq-len 23",
    "bert": "--vocab-size 397 --seq-len 23",
    "transformer": "--vocab-size 293 --seq-len 47",
    "vit": "--images digits",
}

MOODS = [("charming", "good"), ("dull", "bad")]
PLACES = ["Rome", "Oslo", "Bonn"]


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """One device, no bars, and nothing of the outside that changes what is printed."""
    monkeypatch.setenv("PIONEERS_DEVICE", "cpu")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("PIONEERS_DEBUG", raising=False)


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    """A short text and a few pairs, as files."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "text.txt").write_text(language_reference()[:20_000])
    pairs = translation_pairs("numbers", target="fr", count=101)
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return {
        "gpt": ["--text", str(folder / "text.txt")],
        "bert": ["--text", str(folder / "text.txt")],
        "transformer": ["--pairs", str(folder / "pairs.tsv")],
        "vit": [],
    }


@pytest.fixture(scope="session")
def command(sources):
    """Arguments that train a small model; options given later win."""

    def arguments(model, out, *options, steps=7):
        return [
            *["train", model, *sources[model], "--out", str(out), "--steps", str(steps)],
            *f"{SMALL} {OFTEN}".split(),
            *OPTIONS[model].split(),
            *map(str, options),
        ]

    return arguments


@pytest.fixture(scope="session")
def trained(command, tmp_path_factory):
    """The folder of a trained model, by name."""
    folders = {}

    def folder(model):
        if model not in folders:
            out = tmp_path_factory.mktemp("runs") / model
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(command(model, out)) == 0
            folders[model] = out
        return folders[model]

    return folder


REVIEWS = [(f"a {word} film number {n}", label) for n in range(12) for word, label in MOODS]
TAGGED = [(f"{name} sees {place} .", "B-PER O B-LOC O") for name in ("Ann", "Bob", "Eve") for place in PLACES]
ASKED = [
    (f"where is {name}", f"{name} is in {place} today", place) for name in ("ann", "bob") for place in PLACES
]


@pytest.fixture(scope="session")
def examples(tmp_path_factory, sources):
    """A folder with a file, or a folder, for every way of fine-tuning."""
    folder = tmp_path_factory.mktemp("examples")
    rows = "".join(f'"{text}",{label}\n' for text, label in REVIEWS)
    (folder / "reviews.csv").write_text(f"text,label\n{rows}")
    lines = (
        "\n".join(map("\t".join, zip(words.split(), tags.split(), strict=True))) for words, tags in TAGGED
    )
    (folder / "names.conll").write_text("\n\n".join(lines) + "\n")
    asked = ({"question": q, "context": c, "answer": a} for q, c, a in ASKED)
    (folder / "asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    for label, shade in (("dark", 20), ("light", 230)):
        (folder / "shades" / label).mkdir(parents=True)
        for n in range(10):
            Image.new("RGB", (9, 12), (shade + n, shade, shade)).save(folder / "shades" / label / f"{n}.png")
    (folder / "text.txt").write_text(Path(sources["gpt"][1]).read_text()[:5_000])
    (folder / "pairs.tsv").write_text(Path(sources["transformer"][1]).read_text())
    return folder


@pytest.fixture(scope="session")
def tuning(trained, examples):
    """Arguments that fine-tune a small model; options given later win."""
    ways = {
        "classifier": ("bert", "--data", "reviews.csv"),
        "tagger": ("bert", "--data", "names.conll"),
        "reader": ("bert", "--data", "asked.jsonl"),
        "vit": ("vit", "--images", "shades"),
        "gpt": ("gpt", "--text", "text.txt"),
        "transformer": ("transformer", "--pairs", "pairs.tsv"),
    }

    def arguments(task, out, *options, steps=7):
        origin, option, source = ways[task]
        given = ["--init-from", trained(origin), option, examples / source, "--out", out, "--steps", steps]
        how = ["--batch-size", 5, "--precision", "fp32", "--lr", 0.003, *OFTEN.split()]
        return ["finetune", task, *map(str, [*given, *how, *options])]

    return arguments


@pytest.fixture(scope="session")
def tuned(tuning, tmp_path_factory):
    """The folder of a fine-tuned model, by task."""
    folders = {}

    def folder(task):
        if task not in folders:
            out = tmp_path_factory.mktemp("tuned") / task
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(tuning(task, out)) == 0
            folders[task] = out
        return folders[task]

    return folder


@pytest.fixture
def fails(capsys):
    """Run a command that must fail: its message, which is one line of stderr and nothing else."""

    def message(arguments, status=1):
        capsys.readouterr()
        try:
            code = main(list(map(str, arguments)))
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert (code, out) == (status, "")
        assert err.startswith("pioneers: error: ")
        assert err.count("\n") == 1
        return err.removeprefix("pioneers: error: ").strip()

    return message
