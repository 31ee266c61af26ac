"""Small runs of every model, trained once for all tests of the command line."""

import contextlib
import io

import pytest

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
