import os
import re
import shlex
import subprocess
import sys
import types

import pytest

import pioneers
from pioneers.cli import main
from pioneers.cli.commands import COMMANDS, make_parser
from pioneers.cli.recipes import RECIPES
from pioneers.cli.train_help import SUMMARIES

PAGES = [[name] for name in COMMANDS] + [["train", model] for model in SUMMARIES]


def fill_with(monkeypatch, run, **defaults):
    """Let the command `doctor` be something else."""
    add_arguments = lambda parser: parser.set_defaults(**defaults)  # noqa: E731
    module = types.SimpleNamespace(add_arguments=add_arguments, run=run)
    monkeypatch.setitem(sys.modules, "pioneers.cli.doctor", module)


def help_of(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main([*words, "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "output"),
    [("--help", "train a GPT, BERT"), ("--version", f"pioneers {pioneers.__version__}\n")],
)
def test_help_and_version_come_without_torch(option, output):
    script = f"""
import sys
from pioneers.cli import main
try:
    main([{option!r}])
finally:
    heavy = {{"torch", "numpy", "tqdm"}} & set(sys.modules)
    assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert output in done.stdout


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "pioneers", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"pioneers {pioneers.__version__}\n")
    wrong = subprocess.run([sys.executable, "-m", "pioneers", "trian"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("pioneers: error: ")


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_every_help_has_examples_that_can_be_given(words, capsys):
    page = help_of(capsys, *words)
    examples = re.findall(r"^  (?:\w+=\S+ )?pioneers (.*)$", page, re.MULTILINE)
    assert len(examples) >= 2 or words == ["bench"]
    for example in examples:
        given = re.split(r" [<>|] ", example)[0]
        args = make_parser().parse_args(shlex.split(given))
        assert callable(args.run)
    assert max(map(len, page.splitlines())) <= 105


def test_help_shows_defaults_and_where_results_go(capsys):
    page = " ".join(help_of(capsys, "train", "gpt").split())
    assert "updates of the weights (default: 500)" in page
    assert "(default: mini)" in page
    assert "random seed (default: 0)" in page
    assert "default: None" not in page
    assert "default: False" not in help_of(capsys, "generate")
    assert "metrics.jsonl the run's numbers" in page
    assert "gpt2-xl" in page


@pytest.mark.parametrize("model", SUMMARIES)
def test_help_says_what_the_default_preset_is(model, capsys):
    page = " ".join(help_of(capsys, "train", model).split())
    name = RECIPES[model].defaults["preset"]
    sizes = RECIPES[model].config.preset(name)
    assert f"{name}: {sizes.num_layers} layers, width {sizes.d_model}, {sizes.num_heads} heads, " in page
    assert f"dropout {sizes.dropout:g}. The other defaults suit {name} (default: {name})" in page
    if model != "vit":
        assert f"of {sizes.max_seq_len} tokens, a vocabulary of {sizes.vocab_size:,}, " in page


def test_unforeseen_errors_are_one_line_too(fails, monkeypatch):
    def run(args):
        raise KeyError("key\nof two lines")

    fill_with(monkeypatch, run)
    assert fails(["doctor"]) == (
        r"KeyError: 'key\nof two lines'; PIONEERS_DEBUG=1 shows where, please report it"
    )
    monkeypatch.setenv("PIONEERS_DEBUG", "1")
    with pytest.raises(KeyError, match="key"):
        main(["doctor"])


def test_a_command_that_cannot_be_loaded_is_an_error_of_one_line(fails, monkeypatch):
    def add_arguments(parser):
        raise ImportError("No module named 'torch'")

    monkeypatch.setitem(
        sys.modules, "pioneers.cli.doctor", types.SimpleNamespace(add_arguments=add_arguments)
    )
    assert fails(["doctor"]) == "No module named 'torch'"


def test_grading_without_its_extra_names_the_extra(fails, monkeypatch):
    monkeypatch.delitem(sys.modules, "pioneers.cli.grade", raising=False)
    for name in [name for name in sys.modules if name.startswith("pioneers.autograder")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "nh3", None)
    message = "nh3 is not installed; install the extra that brings it: pip install 'pioneers[grader]'"
    assert fails(["grade", "course", "lab"]) == message


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            RuntimeError("out of memory.\nTried to allocate 3 GiB"),
            "out of memory. Tried to allocate 3 GiB",
        ),
        (MemoryError(), "not enough memory"),
        (MemoryError("Unable to allocate 3 GiB"), "not enough memory (Unable to allocate 3 GiB)"),
    ],
)
def test_a_lack_of_memory_says_what_needs_less_where_there_is_such_an_option(
    error, message, fails, monkeypatch
):
    def run(args):
        raise error

    fill_with(monkeypatch, run, batch_size=16)
    assert fails(["doctor"]) == f"{message}; a smaller --batch-size needs less memory"
    fill_with(monkeypatch, run)
    assert fails(["doctor"]) == message


@pytest.mark.parametrize(
    ("stop", "rank", "line"),
    [
        (KeyboardInterrupt(), "0", "pioneers: interrupted"),
        (KeyboardInterrupt("saved; go on"), "0", "pioneers: saved; go on"),
        (KeyboardInterrupt(), "1", ""),
    ],
)
def test_an_interruption_is_one_line_of_one_process(stop, rank, line, capsys, monkeypatch):
    def run(args):
        raise stop

    fill_with(monkeypatch, run)
    monkeypatch.setenv("RANK", rank)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err.strip() == line


@pytest.mark.skipif(os.name != "posix", reason="pipes are closed in another way here")
def test_a_reader_that_has_seen_enough_ends_the_command_quietly():
    script = """
import sys, types
def run(args):
    for _ in range(100_000):
        print("a long line of text")
sys.modules["pioneers.cli.doctor"] = types.SimpleNamespace(add_arguments=lambda parser: None, run=run)
from pioneers.cli import main
sys.exit(main(["doctor"]))
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "a long line of text\n"
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (1, "")


def test_after_a_broken_pipe_nothing_more_is_written(capfd, monkeypatch):
    def run(args):
        raise BrokenPipeError

    moved = []
    fill_with(monkeypatch, run)
    monkeypatch.setattr(os, "dup2", lambda *descriptors: moved.append(descriptors[1]))
    assert main(["doctor"]) == 1
    assert moved == [sys.stdout.fileno()]
    assert capfd.readouterr() == ("", "")


def test_bench_is_that_of_the_package():
    import pioneers.bench
    from pioneers.cli import bench

    assert bench.run is pioneers.bench.run
    assert bench.add_arguments is pioneers.bench.add_arguments
