import os
import re
import signal
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn

from pioneers.data import RandomWindows
from pioneers.models import GPT, GPTConfig
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.training import TrainConfig, fit, load_checkpoint, save_checkpoint

CONFIG = TrainConfig(max_steps=20, lr=1e-2, warmup_steps=3, log_every=4, checkpoint_every=5)


def tiny_gpt(**changes):
    torch.manual_seed(0)
    sizes = {"vocab_size": 13, "max_seq_len": 7, "d_model": 12, "num_layers": 2, "num_heads": 3}
    return GPT(GPTConfig(**{**sizes, "dropout": 0.1, **changes}))


def lm_loss(model, batch):
    input_ids, targets = causal_lm(batch)
    return causal_lm_loss(model(input_ids), targets)


def batches():
    tokens = torch.randint(13, (200,), generator=torch.Generator().manual_seed(0))
    return RandomWindows(tokens, seq_len=7, batch_size=3)


def same(a, b):
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


class Interrupted(Exception):
    pass


def stop_at(step_to_stop):
    source = batches()

    def interrupted(step):
        if step == step_to_stop:
            raise Interrupted
        return source(step)

    return interrupted


def test_training_lowers_the_loss_and_returns_the_history():
    tokens = torch.arange(13).repeat(30)
    model = tiny_gpt(dropout=0.0)
    source = RandomWindows(tokens, seq_len=7, batch_size=5)
    config = CONFIG.replace(max_steps=120, warmup_steps=10)
    history = fit(model, lm_loss, source, config, evaluate=lambda m: {"training": float(m.training)})
    assert [row["step"] for row in history] == [*range(0, 120, 4), 119]
    assert history[0]["loss"] > 2.3 > 0.1 > history[-1]["loss"]
    assert all(row["training"] == 0 for row in history)
    assert not model.training


@pytest.mark.parametrize("stop", [7, 12, 19])
def test_interrupted_and_resumed_equals_uninterrupted_bit_for_bit(tmp_path, stop):
    straight = tiny_gpt()
    history = fit(straight, lm_loss, batches(), CONFIG)
    path = tmp_path / "run.safetensors"
    with pytest.raises(Interrupted):
        fit(tiny_gpt(), lm_loss, stop_at(stop), CONFIG, checkpoint=path)
    resumed = tiny_gpt()
    torch.manual_seed(99)  # a new process has another random state
    assert fit(resumed, lm_loss, batches(), CONFIG, checkpoint=path) == history
    assert same(resumed, straight)


def test_a_finished_run_is_loaded_and_not_trained_again(tmp_path):
    path = tmp_path / "run.safetensors"
    trained = tiny_gpt()
    history = fit(trained, lm_loss, batches(), CONFIG, checkpoint=path)
    again = tiny_gpt()
    assert fit(again, lm_loss, stop_at(0), CONFIG, checkpoint=path) == history
    assert same(again, trained)


def test_a_killed_process_leaves_a_checkpoint_that_resumes(tmp_path):
    script = textwrap.dedent("""
        import os, signal, sys
        sys.path.insert(0, sys.argv[1])
        import test_training as t
        source = t.batches()
        def kill_at_13(step):
            if step == 13:
                os.kill(os.getpid(), signal.SIGKILL)
            return source(step)
        t.fit(t.tiny_gpt(), t.lm_loss, kill_at_13, t.CONFIG, checkpoint=sys.argv[2])
    """)
    path = tmp_path / "run.safetensors"
    here = os.path.dirname(__file__)
    dead = subprocess.run([sys.executable, "-c", script, here, str(path)], capture_output=True)
    assert dead.returncode == -signal.SIGKILL
    straight, resumed = tiny_gpt(), tiny_gpt()
    history = fit(straight, lm_loss, batches(), CONFIG)
    assert fit(resumed, lm_loss, batches(), CONFIG, checkpoint=path) == history
    assert same(resumed, straight)


def test_missing_and_truncated_checkpoints_say_what_to_do(tmp_path):
    path = tmp_path / "run.safetensors"
    with pytest.raises(
        FileNotFoundError, match=re.escape(f"there is no checkpoint at {path}; check the path")
    ):
        load_checkpoint(path, tiny_gpt())
    fit(tiny_gpt(), lm_loss, batches(), CONFIG, checkpoint=path)
    whole = path.read_bytes()
    for part in (0, 5, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:part])
        with pytest.raises(ValueError, match=r"truncated or damaged.*delete it and train again"):
            fit(tiny_gpt(), lm_loss, batches(), CONFIG, checkpoint=path)


def test_a_checkpoint_of_another_model_or_recipe_is_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    fit(tiny_gpt(), lm_loss, batches(), CONFIG, checkpoint=path)
    with pytest.raises(ValueError, match=r"written for another model: 1 tensors differ, first 'embed\.pos"):
        load_checkpoint(path, tiny_gpt(max_seq_len=9))
    with pytest.raises(ValueError, match="trained with another lr, seed: resume with the same TrainConfig"):
        fit(tiny_gpt(), lm_loss, batches(), CONFIG.replace(lr=1.0, seed=5), checkpoint=path)


def test_a_failed_write_keeps_the_previous_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "run.safetensors"
    model = tiny_gpt()
    optimizer = torch.optim.AdamW(model.parameters())
    save_checkpoint(path, model, optimizer, {"step": 1})
    before = path.read_bytes()

    def disk_full(tensors, filename, metadata):
        filename.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pioneers.training.checkpoint.save_file", disk_full)
    with pytest.raises(OSError, match=r"No space left on device.*the previous one is untouched"):
        save_checkpoint(path, model, optimizer, {"step": 2})
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.safetensors"]


def test_a_loss_that_is_not_a_number_stops_the_run_before_it_is_saved(tmp_path):
    path = tmp_path / "run.safetensors"
    model = tiny_gpt()

    def poisoned(model, batch):
        step = batch.shape[0] * 0 + calls.pop(0)
        return lm_loss(model, batch) * (float("nan") if step >= 8 else 1.0)

    calls = list(range(20))
    with pytest.raises(FloatingPointError, match=r"loss is nan at step 8: lower lr"):
        fit(model, poisoned, batches(), CONFIG, checkpoint=path)
    assert load_checkpoint(path, tiny_gpt())["step"] == 5


def test_a_gradient_that_is_not_a_number_stops_the_run_before_it_is_saved(tmp_path):
    path = tmp_path / "run.safetensors"
    model = tiny_gpt()
    calls = iter(range(20))

    def poisoned(model, batch):
        """At step 9, which is saved and not logged, the loss is finite and its gradient is not."""
        weight = model.embed.token.weight
        nothing = (weight - weight.detach()).sum().sqrt()  # its slope is infinite
        return lm_loss(model, batch) + (0 * nothing if next(calls) == 9 else 0)

    with pytest.raises(FloatingPointError, match=r"gradient is nan at step 9: lower lr"):
        fit(model, poisoned, batches(), CONFIG, checkpoint=path)
    assert load_checkpoint(path, tiny_gpt())["step"] == 5


def test_weights_load_without_an_optimizer_and_tied_ones_stay_tied(tmp_path):
    path = tmp_path / "run.safetensors"
    trained = tiny_gpt()
    fit(trained, lm_loss, batches(), CONFIG, checkpoint=path)
    fresh = tiny_gpt()
    progress = load_checkpoint(path, fresh)
    assert progress["step"] == 20
    assert fresh.lm_head.weight is fresh.embed.token.weight
    assert torch.equal(fresh.lm_head.weight, trained.lm_head.weight)


def test_running_statistics_are_saved_too(tmp_path):
    model = nn.BatchNorm1d(3)
    model(torch.randn(5, 3))
    optimizer = torch.optim.AdamW(model.parameters())
    save_checkpoint(tmp_path / "bn", model, optimizer, {})
    fresh = nn.BatchNorm1d(3)
    load_checkpoint(tmp_path / "bn", fresh)
    assert torch.equal(fresh.running_mean, model.running_mean)
    assert fresh.running_mean.any()
