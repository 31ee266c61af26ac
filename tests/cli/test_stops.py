"""Runs that are killed at random moments, and runs of several processes one of which is."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from pioneers.cli import main
from pioneers.training import read_metrics

STOPPED = Path(__file__).with_name("stopped.py")
ROOT = STOPPED.parents[2]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]

pytestmark = pytest.mark.usefixtures("interruptible")

if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("this build of torch has no gloo", allow_module_level=True)


def start(*command, **more):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)} | more
    return subprocess.Popen(
        list(map(str, command)), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(("what", "processes"), [("train", 1), ("train", 2), ("finetune", 1)])
def test_killed_at_random_moments_a_run_ends_with_the_same_weights(
    what, processes, command, tuning, tmp_path
):
    seed = int(os.environ.get("PIONEERS_SEED", random.randrange(10**6)))
    print(f"PIONEERS_SEED={seed}")
    options = ["--batch-size", "6", "--log-every", "5", "--checkpoint-every", "5"]
    if what == "train":
        arguments = command("gpt", "FOLDER", *options, "--dropout", "0.1", steps=100)
    else:
        arguments = tuning("classifier", "FOLDER", *options, steps=100)
    where = arguments.index("--out")
    del arguments[where : where + 2]
    run = start(sys.executable, STOPPED, seed, processes, tmp_path / "run", *arguments)
    out, err = run.communicate()
    log = (tmp_path / "run.log").read_text()
    assert run.returncode == 0, err
    found = json.loads(out)
    assert found["straight"] == found["last"] == [0] * processes, log
    assert "resumes in" in log
    for kind, codes in found["ends"]:
        assert set(codes) <= ({0, 143} if kind == "SIGTERM" else {0, 1, 143, -9}), log
    assert "Traceback" not in log
    lines = [line for line in log.splitlines() if line.startswith("pioneers: ")]
    assert all(
        re.match("pioneers: (terminated|error: another process of the run has ended)", x) for x in lines
    )
    if processes == 1:
        metrics = [read_metrics(tmp_path / name / "metrics.jsonl") for name in ("run", "run-straight")]
        losses = [[(row["step"], row["loss"], row["val_loss"]) for row in rows] for rows in metrics]
        assert losses[0] == losses[1]
    for file in ("model.safetensors", "checkpoint.safetensors", "checkpoint.best.safetensors"):
        ours, straight = (tmp_path / name / file for name in ("run", "run-straight"))
        if processes == 1:
            assert ours.read_bytes() == straight.read_bytes()
        weights = load_file(straight)
        for name, tensor in load_file(ours).items():
            torch.testing.assert_close(tensor, weights[name], rtol=1e-4, atol=1e-6)


def test_two_machines_go_on_after_one_of_their_processes_is_killed(command, tmp_path):
    """Two launchers that meet at a port, each with one process, as on two machines."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    meet = ["--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint={place}"]
    often = ["--batch-size", "6", "--log-every", "10", "--checkpoint-every", "5"]
    training = command("gpt", tmp_path / "two", *often, steps=120)
    again = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}  # or they wait in two places if they exchange ranks
    machines = [
        start(*TORCHRUN, *meet, "--max-restarts=3", "-m", "pioneers", *training, **again) for _ in range(2)
    ]
    end = time.monotonic() + 120
    while not (tmp_path / "two" / "checkpoint.safetensors").exists():
        assert time.monotonic() < end, [machine.poll() for machine in machines]
        time.sleep(0.02)
    (worker,) = psutil.Process(machines[1].pid).children()
    os.kill(worker.pid, signal.SIGKILL)
    said = [machine.communicate() for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0], said
    printed = "".join(out for out, _ in said)
    assert re.search(r"resumes in .* after step \d*[05] of 120", printed)
    assert printed.count("the model is in") == 1
    assert main(command("gpt", tmp_path / "one", *often, steps=120)) == 0
    two, one = (read_metrics(tmp_path / name / "metrics.jsonl") for name in ("two", "one"))
    assert [row["step"] for row in two] == [row["step"] for row in one]
    assert [row["loss"] for row in two] == pytest.approx([row["loss"] for row in one], rel=1e-3)
    settings = [(tmp_path / name / "run.yaml").read_text() for name in ("two", "one")]
    assert settings[0] == settings[1]


def test_under_torchrun_an_error_is_one_line_of_one_process(command, tmp_path):
    training = command("gpt", tmp_path / "run", "--text", "nowhere.txt")
    run = start(*TORCHRUN, "--standalone", "--nproc-per-node=2", "-m", "pioneers", *training)
    out, err = run.communicate()
    assert (run.returncode, out) == (1, "")
    ours = [line for line in err.splitlines() if line.startswith("pioneers: ")]
    assert len(ours) == 1
    assert ours[0].startswith("pioneers: error: there is no file 'nowhere.txt'; name one, or one of: ")
    before = err.split("torch/distributed/elastic")[0]  # the rest is the report of torchrun
    assert "Warning" not in before
    assert "gloo" not in err
    assert not (tmp_path / "run").exists()
