import argparse
import json

import pytest
import torch

from pioneers.bench import add_arguments, command, measure, run
from pioneers.bench.benchmarks import Benchmark

CPU = torch.device("cpu")


def linear(device, calls, name):
    model = torch.nn.Linear(5, 3).to(device)

    def loss():
        calls.append(name)
        return model(torch.ones(7, 5, device=device)).square().mean()

    return model, loss


def missing(device):
    raise ModuleNotFoundError("No module named 'theirs'")


def benchmark(calls, **changes):
    implementations = {
        "pioneers": lambda device: linear(device, calls, "pioneers"),
        "torch.nn": lambda device: linear(device, calls, "torch.nn"),
        "transformers": missing,
    }
    how = {
        "title": "A benchmark",
        "unit": "images",
        "amount": 7,
        "implementations": implementations,
        "flops": lambda: 210,
    }
    return Benchmark(**how | changes)


@pytest.fixture
def small(monkeypatch):
    calls = []
    monkeypatch.setattr(
        command, "benchmarks", lambda *, gpt2: {"gpt": benchmark(calls), "vit": benchmark(calls)}
    )
    monkeypatch.setattr(measure, "PEAK_SIZE", 8)
    return calls


def parse(*words):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words)


def test_libraries_take_turns_and_the_median_counts(monkeypatch):
    calls = []
    seconds = iter([9, 9, 9, 9, 1, 2, 30, 40, 2, 6])
    monkeypatch.setattr(measure, "_seconds", lambda step, device: (step(), next(seconds))[1])
    rows, absent = measure.measure("gpt", benchmark(calls), "fp32", device=CPU, rounds=3, peak=105.0)
    assert calls == ["pioneers", "torch.nn"] * (measure.WARM_UP + 3)
    ours, theirs = rows
    assert (ours.seconds, theirs.seconds) == (2, 6)
    assert (ours.ratio, theirs.ratio) == (1, 3)
    assert ours.per_second == 3.5
    assert ours.peak_fraction == 1.0
    assert ours.parameters == theirs.parameters == 18
    assert (ours.version, theirs.version.split("+")[0]) == ("0.1.0", torch.__version__.split("+")[0])
    assert absent == {"transformers": "No module named 'theirs'"}


def test_a_step_trains_in_the_precision_asked_for():
    seen = []
    model = torch.nn.Linear(5, 3)

    def loss():
        out = model(torch.ones(2, 5))
        seen.append(out.dtype)
        return out.square().mean()

    before = model.weight.detach().clone()
    measure._training_step(model, loss, CPU, "bf16")()
    assert seen == [torch.bfloat16]
    assert not torch.equal(before, model.weight)


def test_generation_runs_with_weights_in_the_precision_and_without_gradients():
    model = torch.nn.Linear(5, 3)
    seen = []
    implementations = {"pioneers": lambda device: (model, lambda: seen.append(torch.is_grad_enabled()))}
    measure.measure(
        "generate",
        benchmark([], implementations=implementations, trains=False),
        "bf16",
        device=CPU,
        rounds=1,
        peak=1.0,
    )
    assert model.weight.dtype == torch.bfloat16
    assert set(seen) == {False}


def test_peak_is_a_matrix_product_per_second(monkeypatch):
    monkeypatch.setattr(measure, "PEAK_SIZE", 4)
    monkeypatch.setattr(measure, "_seconds", lambda step, device: (step(), 0.5)[1])
    assert measure.matmul_peak("fp32", CPU) == 2 * 4**3 / 0.5


def test_the_command_prints_a_table_and_writes_a_file(small, tmp_path, capsys):
    out = tmp_path / "speed.json"
    assert run(parse("--only", "gpt", "--rounds", "1", "--precision", "fp32", "bf16", "--out", str(out))) == 0
    printed = capsys.readouterr()
    assert "A benchmark" in printed.out
    ours = [line for line in printed.out.splitlines() if "pioneers" in line and "×" in line]
    assert [line.split()[-1] for line in ours] == ["1.00×"] * 2
    assert "transformers was not measured: No module named 'theirs'" in printed.err
    written = json.loads(out.read_text())
    assert [(row["library"], row["precision"]) for row in written["rows"]] == [
        ("pioneers", "fp32"), ("torch.nn", "fp32"), ("pioneers", "bf16"), ("torch.nn", "bf16"),
    ]  # fmt: skip
    assert written["machine"]["torch"] == torch.__version__
    assert written["benchmarks"] == {"gpt": "A benchmark"}
    assert set(written["matmul_peak"]) == {"fp32", "bf16"}
    assert [p.name for p in tmp_path.iterdir()] == ["speed.json"]


def test_without_arguments_everything_that_suits_the_machine_is_measured(small, monkeypatch, capsys):
    monkeypatch.setattr(command, "NAMES", ("gpt", "vit", "gpt2"))
    monkeypatch.setattr(command, "best_device", lambda: CPU)
    monkeypatch.setattr(command, "has_fast_bf16", lambda kind: False)
    assert run(parse("--rounds", "1")) == 0
    assert capsys.readouterr().out.count("fp32") == 2


def test_a_folder_that_is_not_there_is_named_before_anything_is_measured(small, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to write speed\.json into"):
        run(parse("--out", str(tmp_path / "nowhere" / "speed.json")))
    assert small == []


def test_the_processor_is_named():
    assert measure.machine(CPU)["processor"]
    assert measure.machine(CPU)["device"] == "cpu"
