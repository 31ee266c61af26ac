"""Runs from a file of options, made longer, compiled, shown by TensorBoard, and measured beforehand."""

import re
import sys

import pytest
import torch
import yaml
from safetensors.torch import load_file
from torch import nn
from torch._inductor import config as inductor

from pioneers.cli import main
from pioneers.training import read_metrics


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


def run_of(trained, tmp_path, **changes):
    """The settings of a finished run, with changes, as a file of one's own."""
    settings = yaml.safe_load((trained("gpt") / "run.yaml").read_text()) | changes
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


@pytest.mark.parametrize("model", ["gpt", "vit"])
def test_a_run_is_repeated_from_its_settings(model, trained, tmp_path):
    config = trained(model) / "run.yaml"
    assert main(["train", model, "--config", str(config), "--out", str(tmp_path / "again")]) == 0
    assert weights(tmp_path / "again") == weights(trained(model))
    assert (tmp_path / "again" / "run.yaml").read_text() == config.read_text()


@pytest.mark.parametrize("task", ["gpt", "classifier"])
def test_fine_tuning_is_repeated_from_its_settings(task, tuned, tmp_path):
    config = tuned(task) / "run.yaml"
    assert main(["finetune", task, "--config", str(config), "--out", str(tmp_path / "again")]) == 0
    assert weights(tmp_path / "again") == weights(tuned(task))
    assert (tmp_path / "again" / "run.yaml").read_text() == config.read_text()


def test_options_of_the_command_line_win(trained, tmp_path):
    config = run_of(trained, tmp_path, shard=True, out=str(tmp_path / "run"), patience=None)
    given = ["--steps", "3", "--no-shard", "--batch-size", "2"]
    assert main(["train", "gpt", *given, "--config", str(config)]) == 0
    settings = yaml.safe_load((tmp_path / "run" / "run.yaml").read_text())
    assert (settings["steps"], settings["batch_size"], settings["d_model"]) == (3, 2, 12)
    assert settings["shard"] is False
    assert [row["step"] for row in read_metrics(tmp_path / "run" / "metrics.jsonl")] == [0, 2]


def test_settings_may_be_few_and_written_by_hand(sources, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        f"text: {sources['gpt'][1]}\nlr: 1e-3\nsteps: 2\nd_model: 12\nnum_heads: 3\nvocab_size: 270\n"
    )
    command = [
        "train",
        "gpt",
        "--config",
        tmp_path / "mine.yaml",
        "--out",
        tmp_path / "run",
        "--seq-len",
        "9",
    ]
    assert main(list(map(str, command))) == 0
    assert yaml.safe_load((tmp_path / "run" / "run.yaml").read_text())["lr"] == 0.001


def test_other_data_than_those_of_the_settings_are_refused(trained, sources, tmp_path, fails):
    text = tmp_path / "text.txt"
    with open(sources["gpt"][1]) as file:
        text.write_text(file.read().replace("a", "o"))
    config = run_of(trained, tmp_path, text=str(text))
    command = ["train", "gpt", "--config", config, "--out", tmp_path / "run"]
    assert fails(command) == (
        f"the data are not those that {config} was written for; restore them, or delete its line 'sha256' to "
        "train on what is there now"
    )
    assert not (tmp_path / "run").exists()
    command = ["train", "gpt", "--config", trained("gpt") / "run.yaml", "--text", text, "--steps", "1"]
    assert main([*map(str, command), "--out", str(tmp_path / "run")]) == 0


BAD_SETTINGS = [
    ("stepps: 3", "{}: there is no option stepps here; did you mean steps?"),
    ("zebra: 3", "{}: there is no option zebra here; its options are those of the command line"),
    ("steps: many", "{}: steps must be a positive integer, not 'many'"),
    ("steps: 0", "{}: steps must be a positive integer, not '0'"),
    ("steps: 2.5", "{}: steps must be a positive integer, not '2.5'"),
    ("steps: true", "{}: steps must be a positive integer, not 'True'"),
    ("steps: [3, 4]", "{}: steps must be one value, not [3, 4]"),
    ("text: {a: b}", "{}: text must be one value, not {{'a': 'b'}}"),
    ("lr: fast", "{}: lr must be a number of at least 0, not 'fast'"),
    ("seed: -1", "{}: seed must be an integer of at least 0, not '-1'"),
    ("schedule: step", "{}: schedule must be one of cosine, linear, inverse_sqrt, constant, not 'step'"),
    ("compile: 3", "{}: compile must be true or false, not 3"),
    ("config: other.yaml", "{}: there is no option config here; "),
    ("model: bert", "{} has the settings of another model: pioneers train bert --config {}"),
    ("- steps", "{} has no options; write a line for each, as in steps: 500"),
    ("", "{} has no options; write a line for each, as in steps: 500"),
    ("steps: [3", "{}, line 2, is not YAML (expected ',' or ']', but got '<stream end>'); write a line for"),
    ("text: caf\xe9", "{} is not YAML (it is not UTF-8); write a line for each option, as in steps: 500"),
]


@pytest.mark.parametrize(("text", "message"), BAD_SETTINGS)
def test_wrong_settings_are_named_with_their_file(text, message, tmp_path, fails):
    path = tmp_path / "run.yaml"
    path.write_bytes(f"{text}\n".encode("latin-1"))
    said = fails(["train", "gpt", "--config", path, "--out", tmp_path / "run"], status=2)
    assert said.startswith(message.format(path, path))
    assert said.endswith("(see: pioneers train gpt --help)")
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_made_longer_cooled_down_and_made_longer_again(command, tmp_path, capsys):
    constant = ["--schedule", "constant"]
    assert main(command("gpt", tmp_path / "run", *constant, steps=10)) == 0
    cooled = [*constant, "--cooldown-steps", "4"]
    assert main(command("gpt", tmp_path / "run", *cooled, steps=16)) == 0
    assert f"resumes in {tmp_path / 'run'} after step 10 of 16" in capsys.readouterr().out
    assert main(command("gpt", tmp_path / "run", *cooled, steps=20)) == 0
    assert f"resumes in {tmp_path / 'run'} after step 12 of 20" in capsys.readouterr().out
    straight = ["--warmup-steps", "1"]  # a tenth of the first 10
    assert main(command("gpt", tmp_path / "straight", *cooled, *straight, steps=20)) == 0
    last = [load_file(tmp_path / name / "checkpoint.safetensors") for name in ("run", "straight")]
    assert all(torch.equal(tensor, last[1][name]) for name, tensor in last[0].items())
    runs = [(tmp_path / name / "run.yaml").read_text() for name in ("run", "straight")]
    assert runs[0] == runs[1]


def test_a_run_that_follows_a_cosine_is_not_made_longer(command, trained, fails):
    before = {path.name: path.read_bytes() for path in trained("gpt").iterdir() if path.is_file()}
    assert fails(command("gpt", trained("gpt"), steps=11)) == (
        f"{trained('gpt')} holds a run with --steps 7 (now 11), whose learning rate was planned for its "
        "steps: only a run with --schedule constant can be made longer; give --out a new folder"
    )
    assert before == {path.name: path.read_bytes() for path in trained("gpt").iterdir() if path.is_file()}


@pytest.mark.parametrize("model", ["gpt", "bert", "transformer", "vit"])
def test_a_dry_run_measures_and_writes_nothing(model, command, trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pioneers.cli.dry_run.SECONDS", 0)
    assert main(command(model, tmp_path / "run", "--dry-run", "--accumulate", "2")) == 0
    out, err = capsys.readouterr()
    assert err == ""
    size = sum(t.numel() for t in load_file(trained(model) / "model.safetensors").values())
    number = r"[\d.,e+-]+"
    form = [
        rf"\w+ of {size:,} parameters on cpu, trained on .*",
        rf"memory: {number} MB \({number} of weights, {number} of gradients, {number} of optimizer, "
        rf"{number} of activations\), by formula",
        rf"operations: {number} in a step, {number} in 7 steps",
        rf"time: {number} s for a step, \d+ seconds in all, with 5 evaluations, as measured now",
        rf"disk: {number} MB, of {number} MB left",
        "nothing was written",
    ]
    for line, expected in zip(out.splitlines(), form, strict=True):
        assert re.fullmatch(expected, line), line
    assert not list(tmp_path.iterdir())


def test_a_dry_run_counts_operations_as_the_formula_does(tmp_path, sources, capsys, monkeypatch):
    from pioneers.analysis.operations import training_operations
    from pioneers.models import GPTConfig

    monkeypatch.setattr("pioneers.cli.dry_run.SECONDS", 0)
    sizes = "--d-model 12 --num-layers 2 --num-heads 3 --seq-len 16 --vocab-size 320 --batch-size 4 --steps 3"
    main(["train", "gpt", *sources["gpt"], *sizes.split(), "--out", str(tmp_path / "run"), "--dry-run"])
    said = float(re.search(r"operations: (\S+) in a step", capsys.readouterr().out)[1])
    names = {"vocab_size": 320, "max_seq_len": 16, "d_model": 12, "num_layers": 2, "num_heads": 3}
    assert said == pytest.approx(training_operations(GPTConfig(**names), tokens=4 * 16), rel=0.01)


def test_a_compiled_run_has_plain_names(command, trained, tmp_path, monkeypatch):
    compile_module = nn.Module.compile
    monkeypatch.setattr(nn.Module, "compile", lambda module: compile_module(module, backend="eager"))
    assert main(command("gpt", tmp_path, "--compile")) == 0
    for file in ("model.safetensors", "checkpoint.safetensors"):
        assert load_file(tmp_path / file).keys() == load_file(trained("gpt") / file).keys()


def test_without_a_compiler_one_line_says_so(command, tmp_path, fails, monkeypatch):
    monkeypatch.setattr("pioneers.cli.train._say", lambda line: None)
    with inductor.patch({"cpp.cxx": ("nothing",)}):  # monkeypatch would delete it afterwards
        said = fails(command("gpt", tmp_path / "run", "--compile"))
    assert re.fullmatch(
        r"--compile failed \(.*No working C\+\+ compiler found.*\): install a C\+\+ compiler, such as g\+\+, "
        r"or leave out --compile, and give another --out",
        said,
    )


def test_tensorboard_is_written_beside_the_metrics(command, tmp_path, fails, monkeypatch):
    assert main(command("gpt", tmp_path / "run", "--tensorboard")) == 0
    assert len(list((tmp_path / "run" / "tensorboard").glob("events.*"))) == 1
    assert main(command("gpt", tmp_path / "run")) == 0  # the same run
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert fails(command("gpt", tmp_path / "new", "--tensorboard")) == (
        "TensorBoard is not installed: pip install tensorboard"
    )
    assert not (tmp_path / "new").exists()
