"""Two processes, really launched, against one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pioneers.training import best_path, read_metrics
from pioneers.training.distributed import (
    all_reduce_sum,
    broadcast_object,
    gather,
    init_process_group,
    rank,
    world_size,
)
from pioneers.training.sharding import full_tensor

if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("this build of torch has no gloo", allow_module_level=True)

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import worker  # noqa: E402

sys.path.remove(str(HERE))
WORKER = HERE / "worker.py"


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process makes of it."""
    folder = tmp_path_factory.mktemp("alone")
    worker.train(folder, "straight")
    worker.interrupted(folder, "begun_alone", worker.CONFIG)
    worker.train(folder, "experts", make=worker.Experts)
    return folder


@pytest.fixture(scope="module")
def together(alone, tmp_path_factory):
    """What two make of it; they also take over a run that one has begun."""
    folder = tmp_path_factory.mktemp("together")
    for ending in ("safetensors", "jsonl"):
        (folder / f"begun_alone.{ending}").write_bytes((alone / f"begun_alone.{ending}").read_bytes())
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(
        [*launch, str(WORKER), str(folder)], env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    (folder / "stderr").write_text(done.stderr)
    return folder


def history(folder, name, process=0):
    return json.loads((folder / f"{name}.{process}.json").read_text())


def assert_same_run(folder, name, alone, straight="straight"):
    for row, expected in zip(history(folder, name), history(alone, straight), strict=True):
        assert row == pytest.approx(expected, rel=1e-4)
        assert row["loss"] == pytest.approx(expected["loss"], abs=1e-5)
    weights, expected = (
        load_file(folder / f"{name}.safetensors"),
        load_file(alone / f"{straight}.safetensors"),
    )
    weights, expected = ({n: t for n, t in some.items() if n[:4] != "rng."} for some in (weights, expected))
    assert weights.keys() == expected.keys()
    for key in expected:
        if key.startswith("model.") and not key.endswith("k_proj.bias"):  # its gradient is rounding error
            torch.testing.assert_close(weights[key], expected[key], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["replicated", "accumulated", "sharded", "begun_alone"])
def test_two_processes_train_as_one(name, together, alone):
    assert_same_run(together, name, alone)


def test_one_process_goes_on_where_two_sharded_ones_stopped(together, alone, tmp_path):
    path = tmp_path / "begun_together.safetensors"
    path.write_bytes((together / path.name).read_bytes())
    worker.train(tmp_path, "begun_together")
    assert_same_run(tmp_path, "begun_together", alone)


@pytest.mark.parametrize("name", ["experts_replicated", "experts_sharded"])
def test_two_processes_train_experts_as_one(name, together, alone):
    assert_same_run(together, name, alone, straight="experts")


def test_sharded_models_train_in_bfloat16_as_replicated_ones(together):
    """Norms and routers included: they are gathered in float32."""
    pairs = zip(history(together, "bf16_sharded"), history(together, "bf16_replicated"), strict=True)
    for row, expected in pairs:
        assert (row["loss"], row["grad_norm"]) == pytest.approx(
            (expected["loss"], expected["grad_norm"]), abs=1e-6
        )


def test_sharded_models_generate_as_whole_ones(together):
    written = [json.loads((together / f"written.{process}.json").read_text()) for process in (0, 1)]
    assert written == [worker.continuation(False)] * 2


def test_a_sharded_vit_sees_what_a_whole_one_does(together):
    (seen,) = json.loads((together / "seen.1.json").read_text())
    assert seen == pytest.approx(worker.class_scores(False)[0], abs=1e-5)


def test_gathered_weights_are_freed_until_the_backward_pass(together):
    kept = json.loads((together / "kept.0.json").read_text())
    assert kept == {"fp32": 0, "bf16": 0}


def test_all_processes_return_the_same_history_and_one_writes_it(together):
    assert history(together, "replicated", 0) == history(together, "replicated", 1)
    rows = read_metrics(together / "replicated.jsonl")
    assert [row["step"] for row in rows] == [row["step"] for row in history(together, "replicated")]


def test_a_resumed_run_equals_an_uninterrupted_one_dropout_of_each_process_included(together):
    assert history(together, "resumed") == history(together, "dropout")
    states = load_file(together / "dropout.safetensors")
    assert not torch.equal(states["rng.cpu"], states["rng.cpu.1"])


def test_the_best_weights_of_sharded_models_are_whole(together, alone):
    weights = load_file(best_path(together / "sharded.safetensors"))
    assert weights["gpt.embed.token.weight"].shape == (13, 12)
    assert set(weights) == dict(worker.Model().named_parameters()).keys()


def test_the_processes_run_without_warnings_and_draw_one_bar(together):
    text = (together / "stderr").read_text()
    assert history(together, "all_used")
    assert "Warning" not in text


def test_alone_the_functions_do_nothing():
    value = torch.ones(3)
    assert (world_size(), rank()) == (1, 0)
    assert all_reduce_sum(value) is broadcast_object(value) is full_tensor(value) is value
    assert gather(7) == [7]


@pytest.mark.parametrize(("name", "card"), [("cuda:3", 3), ("cpu", None)])
def test_each_process_takes_its_own_card_before_it_joins(name, card, monkeypatch):
    done = []
    monkeypatch.setenv("WORLD_SIZE", "5")
    monkeypatch.setattr(torch.accelerator, "set_device_index", lambda index: done.append(index))
    monkeypatch.setattr(
        torch.distributed, "init_process_group", lambda backend, device_id: done.append((backend, device_id))
    )
    monkeypatch.setattr("pioneers.training.distributed.atexit.register", lambda function: None)
    init_process_group(torch.device(name))
    backend = torch.distributed.get_default_backend_for_device(torch.device(name))
    assert done == ([card, (backend, torch.device(name))] if card is not None else [(backend, None)])
