import json
import os
import re
import signal
import subprocess
import sys
import textwrap

import pytest
import torch
from safetensors.torch import load_file, load_model

from pioneers.data import RandomWindows
from pioneers.models import GPT, GPTConfig
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.training import (
    TrainConfig,
    best_path,
    fit,
    load_checkpoint,
    load_weights,
    read_metrics,
    save_weights,
    saved_step,
)

CONFIG = TrainConfig(max_steps=20, lr=1e-2, warmup_steps=3, log_every=2, checkpoint_every=5, precision="fp32")


def tiny_gpt(**changes):
    torch.manual_seed(0)
    sizes = {"vocab_size": 13, "max_seq_len": 7, "d_model": 12, "num_layers": 2, "num_heads": 3}
    return GPT(GPTConfig(**sizes, **changes))


def lm_loss(model, batch):
    input_ids, targets = causal_lm(batch)
    return causal_lm_loss(model(input_ids), targets)


def batches(step):
    tokens = torch.randint(13, (200,), generator=torch.Generator().manual_seed(0))
    return RandomWindows(tokens, seq_len=7, batch_size=3)(step)


class Scripted:
    """An evaluation whose losses are written beforehand."""

    def __init__(self, *losses):
        self.losses, self.weights = list(losses), []

    def __call__(self, model):
        self.weights.append(model.embed.token.weight.detach().clone())
        return {"val_loss": self.losses[len(self.weights) - 1]}


def test_rows_are_on_disk_before_the_next_step_begins(tmp_path):
    path, seen = tmp_path / "logs" / "run.jsonl", []

    def watching(step):
        seen.append(len(read_metrics(path)))
        return batches(step)

    history = fit(tiny_gpt(), lm_loss, watching, CONFIG, metrics=path)
    assert seen == [(step + 1) // 2 for step in range(20)]
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows == read_metrics(path)
    assert [{name: row[name] for name in history[0]} for row in rows] == history
    assert [row["lr"] for row in rows] == [CONFIG.lr_at(row["step"]) for row in rows]
    assert all(row["tokens/s"] > 0 for row in rows)


def test_a_killed_run_continues_its_file_without_repeating_a_row(tmp_path):
    script = textwrap.dedent("""
        import os, signal, sys
        sys.path.insert(0, sys.argv[1])
        import test_metrics as t
        def kill_at_13(step):
            if step == 13:
                os.kill(os.getpid(), signal.SIGKILL)
            return t.batches(step)
        where = {"checkpoint": sys.argv[2] + ".safetensors", "metrics": sys.argv[2] + ".jsonl"}
        t.fit(t.tiny_gpt(), t.lm_loss, kill_at_13, t.CONFIG, **where)
    """)
    here, stem = os.path.dirname(__file__), str(tmp_path / "run")
    dead = subprocess.run([sys.executable, "-c", script, here, stem], capture_output=True)
    assert dead.returncode == -signal.SIGKILL
    path = tmp_path / "run.jsonl"
    before = read_metrics(path)
    assert [row["step"] for row in before] == [0, 2, 4, 6, 8, 10, 12]  # the checkpoint is at 10
    with open(path, "a") as file:
        file.write('{"step": 14, "lo')
    assert read_metrics(path) == before
    history = fit(tiny_gpt(), lm_loss, batches, CONFIG, checkpoint=f"{stem}.safetensors", metrics=path)
    after = read_metrics(path)
    assert [row["step"] for row in after] == [*range(0, 20, 2), 19]
    assert [row["loss"] for row in after] == [row["loss"] for row in history]
    assert after[:5] == before[:5]
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["run.jsonl", "run.safetensors"]


@pytest.mark.parametrize("line", ['{"ste', "7", '{"loss": 1.5}', "\xff"])
def test_a_damaged_line_of_metrics_is_named(line, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"step": 0, "loss": 2.5}\n' + line.encode("latin-1") + b"\n")
    reason = r"run\.jsonl, line 2 is damaged: delete this line, which begins '"
    with pytest.raises(ValueError, match=reason):
        fit(tiny_gpt(), lm_loss, batches, CONFIG, metrics=path)


def test_a_new_run_begins_its_file_anew(tmp_path):
    path = tmp_path / "run.jsonl"
    for steps in (20, 6):
        fit(tiny_gpt(), lm_loss, batches, CONFIG.replace(max_steps=steps), metrics=path)
    assert [row["step"] for row in read_metrics(path)] == [0, 2, 4, 5]


def test_numbers_json_does_not_have_become_null(tmp_path):
    path = tmp_path / "run.jsonl"
    fit(
        tiny_gpt(),
        lm_loss,
        batches,
        CONFIG.replace(max_steps=1),
        metrics=path,
        evaluate=lambda model: {"ratio": float("inf")},
    )
    assert json.loads(path.read_text(), parse_constant=pytest.fail)["ratio"] is None


def test_metrics_that_cannot_be_written_are_named(tmp_path):
    (tmp_path / "file").touch()
    reason = r"run\.jsonl \(.+\); fix that and start again: a run with a checkpoint resumes from it"
    with pytest.raises(OSError, match=rf"cannot write the metrics to .*{reason}"):
        fit(tiny_gpt(), lm_loss, batches, CONFIG, metrics=tmp_path / "file" / "run.jsonl")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no file that is always full")
def test_a_disk_that_fills_up_while_training_is_named(tmp_path):
    path = tmp_path / "run.jsonl"

    def filling(step):
        if step == 1:
            path.unlink()
            path.symlink_to("/dev/full")
        return batches(step)

    with pytest.raises(OSError, match=r"metrics to .*run\.jsonl \(No space left on device\); fix that"):
        fit(tiny_gpt(), lm_loss, filling, CONFIG, metrics=path)


def test_a_missing_metrics_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there are no metrics at .*run.jsonl; fit"):
        read_metrics(tmp_path / "run.jsonl")


@pytest.mark.parametrize(
    ("model", "source", "unit"),
    [
        (tiny_gpt, batches, "tokens/s"),
        (lambda: torch.nn.Linear(3, 1), lambda step: torch.ones(5, 3), "rows/s"),
    ],
)
def test_the_bar_shows_loss_speed_and_the_time_left(model, source, unit, capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    loss_fn = lm_loss if unit == "tokens/s" else lambda model, batch: model(batch).square().mean()
    history = fit(model(), loss_fn, source, CONFIG.replace(max_steps=3))
    bar = capsys.readouterr().err
    assert f"loss={history[-1]['loss']:.3f}" in bar
    assert re.search(rf"{unit}=[\d,]+", bar)
    assert re.search(r"3/3 \[\d\d:\d\d<", bar)


def test_a_batch_without_tensors_has_no_speed(tmp_path):
    path = tmp_path / "run.jsonl"
    model = torch.nn.Linear(3, 1)
    loss = lambda model, batch: model(torch.ones(2, batch)).sum()  # noqa: E731
    fit(model, loss, lambda step: 3, CONFIG.replace(max_steps=1), metrics=path)
    assert read_metrics(path)[0]["rows/s"] == 0


def test_the_best_weights_are_kept_and_load_alone(tmp_path):
    path = tmp_path / "run.safetensors"
    evaluate = Scripted(3.0, 2.0, 2.5, 1.5, 1.6, 1.7)
    config = CONFIG.replace(max_steps=11, watch="val_loss")
    trained = tiny_gpt()
    fit(trained, lm_loss, batches, config, evaluate=evaluate, checkpoint=path)
    assert best_path(path) == tmp_path / "run.best.safetensors"
    assert set(load_file(best_path(path))) == dict(trained.named_parameters()).keys()
    for load in (load_weights, lambda path, model: load_model(model, path)):
        fresh = tiny_gpt()
        load(best_path(path), fresh)
        assert torch.equal(fresh.embed.token.weight, evaluate.weights[3])
        assert fresh.lm_head.weight is fresh.embed.token.weight
    last = tiny_gpt()
    assert load_checkpoint(path, last)["step"] == saved_step(path) == 11
    assert saved_step(tmp_path / "nothing") is None
    assert torch.equal(last.embed.token.weight, trained.embed.token.weight)
    assert not torch.equal(last.embed.token.weight, evaluate.weights[3])


def test_training_stops_when_patience_ends_and_stays_stopped(tmp_path):
    path = tmp_path / "run.safetensors"
    config = CONFIG.replace(watch="val_loss", patience=2)
    model = tiny_gpt()
    history = fit(model, lm_loss, batches, config, evaluate=Scripted(3, 2, 2.5, 2), checkpoint=path)
    assert [row["step"] for row in history] == [0, 2, 4, 6]  # an equal value is not a better one
    assert load_checkpoint(path, tiny_gpt())["step"] == 7
    again = tiny_gpt()
    assert fit(again, lm_loss, batches, config, evaluate=Scripted(), checkpoint=path) == history
    assert torch.equal(again.embed.token.weight, model.embed.token.weight)
    alone = fit(tiny_gpt(), lm_loss, batches, config, evaluate=Scripted(1, 2, 3))
    assert len(alone) == 3


def test_watching_a_number_that_is_not_there_says_so():
    config = CONFIG.replace(watch="accuracy")
    with pytest.raises(ValueError, match="watch is 'accuracy' and evaluate gives val_loss: let evaluate"):
        fit(tiny_gpt(), lm_loss, batches, config, evaluate=Scripted(1.0))
    with pytest.raises(ValueError, match="watch is 'accuracy' and evaluate gives nothing"):
        fit(tiny_gpt(), lm_loss, batches, config)


def test_weights_are_not_a_checkpoint_nor_of_another_model(tmp_path):
    path = tmp_path / "weights.safetensors"
    save_weights(path, tiny_gpt())
    with pytest.raises(ValueError, match="holds only weights: load them with load_weights, or name the"):
        fit(tiny_gpt(), lm_loss, batches, CONFIG, checkpoint=path)
    with pytest.raises(ValueError, match=r"another model: .* tensors differ"):
        load_weights(path, GPT(GPTConfig(vocab_size=11, max_seq_len=7, d_model=6, num_layers=1, num_heads=2)))
    with pytest.raises(ValueError, match="holds only weights"):
        saved_step(path)
    with pytest.raises(FileNotFoundError, match="there is no checkpoint at"):
        load_weights(tmp_path / "nothing", tiny_gpt())
