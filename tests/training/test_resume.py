import re
import sys

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn

from pioneers.training import TrainConfig, best_path, fit, load_weights, read_metrics, save_weights
from pioneers.training.resume import stable_path

CONFIG = TrainConfig(
    max_steps=9, lr=0.03, warmup_steps=2, schedule="constant", log_every=3, checkpoint_every=4
)
LONGER = CONFIG.replace(max_steps=15)
COOLED = CONFIG.replace(cooldown_steps=4)


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.2), nn.Linear(7, 1))


def loss_fn(model, batch):
    return (model(batch).squeeze(-1) - batch.sum(-1)).square().mean()


def batches(step):
    return torch.randn(11, 5, generator=torch.Generator().manual_seed(step))


def run(config, path=None, **how):
    made = model()
    history = fit(made, loss_fn, batches, config, checkpoint=path, **how)
    return torch.cat([p.detach().flatten() for p in made.parameters()]), history


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (CONFIG, LONGER),
        (CONFIG, COOLED.replace(max_steps=13)),
        (COOLED, COOLED.replace(max_steps=15)),
        (COOLED, LONGER),
        (CONFIG.replace(max_steps=11), COOLED.replace(max_steps=15)),
    ],
)
def test_a_finished_run_made_longer_is_the_long_run(first, then, tmp_path):
    path = tmp_path / "run.safetensors"
    run(first, path)
    weights, _ = run(then, path)
    assert torch.equal(weights, run(then)[0])


def test_a_cool_down_can_be_taken_back_twice_and_by_a_run_that_was_killed_in_it(tmp_path):
    path = tmp_path / "run.safetensors"
    run(CONFIG, path)
    steps = iter(range(13))

    def killed(step):
        if next(steps) == 3:
            raise KeyboardInterrupt
        return batches(step)

    with pytest.raises(KeyboardInterrupt):
        fit(model(), loss_fn, killed, COOLED.replace(max_steps=13), checkpoint=path)
    for end in (17, 19):
        longer = COOLED.replace(max_steps=end)
        assert torch.equal(run(longer, path)[0], run(longer)[0])


def test_with_the_cool_down_its_rows_and_its_best_weights_are_taken_back(tmp_path):
    path, metrics = tmp_path / "run.safetensors", tmp_path / "run.jsonl"
    losses = iter([5.0, 4.0, 1.0, 0.5])  # after steps 0, 3, 6 and 8; the last two are cooled down
    how = {"metrics": metrics, "evaluate": lambda model: {"val_loss": next(losses)}}
    watching = COOLED.replace(watch="val_loss")
    run(watching, path, **how)
    cooled = load_file(best_path(path))
    losses = iter([6.0] * 4)
    run(watching.replace(max_steps=15), path, **how)
    assert [row["step"] for row in read_metrics(metrics)] == [0, 3, 6, 9, 12, 14]
    best = load_file(best_path(path))
    assert not torch.equal(best["0.weight"], cooled["0.weight"])
    assert torch.equal(best["0.weight"], load_file(best_path(stable_path(path)))["0.weight"])


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_run_whose_learning_rate_was_planned_is_not_made_longer(schedule, tmp_path):
    path = tmp_path / "run.safetensors"
    planned = CONFIG.replace(schedule=schedule)
    run(planned, path)
    message = (
        f"{path} holds 9 steps with learning rates that 15 would not have: only a run with "
        f"schedule='constant' can be made longer. Give max_steps=9 and schedule='{schedule}' as before, or "
        f"another checkpoint path to start afresh"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        run(planned.replace(max_steps=15), path)
    with pytest.raises(ValueError, match="holds 9 steps with learning rates that 9 would not have"):
        run(CONFIG, path)


def test_steps_that_are_made_are_not_taken_back(tmp_path):
    path = tmp_path / "run.safetensors"
    run(CONFIG, path)
    with pytest.raises(ValueError, match="holds 9 steps with learning rates that 6 would not have"):
        run(CONFIG.replace(max_steps=6), path)


def test_every_flipped_bit_is_found(tmp_path):
    path = tmp_path / "run.safetensors"
    run(CONFIG, path)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    generator = torch.Generator().manual_seed(0)
    inside = torch.randint(header, len(whole), (40,), generator=generator).tolist()
    step = whole.index(b'\\"step\\": 9') + len('\\"step\\": ')
    for place in (*inside, header, len(whole) - 1, step):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"^{path} is not a complete checkpoint: .*delete it and train"):
            run(CONFIG, path)
    path.write_bytes(whole)
    assert len(run(CONFIG, path)[1]) == 4


def test_a_flipped_bit_of_the_best_weights_is_found_and_a_file_without_a_hash_is_read(tmp_path):
    from safetensors.torch import save_file

    path, saved = tmp_path / "weights.safetensors", model()
    save_weights(path, saved)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 128
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="do not have the hash that was written with them"):
        load_weights(path, model())
    save_file(saved.state_dict(), path)
    load_weights(path, model())


def test_a_compiled_run_has_the_names_and_numbers_of_a_plain_one(tmp_path, monkeypatch):
    compiled, compile_module = [], nn.Module.compile

    def without_compiler(module):
        compiled.append(type(module))
        compile_module(module, backend="eager")

    monkeypatch.setattr(nn.Module, "compile", without_compiler)
    weights, history = run(CONFIG, tmp_path / "plain")
    assert not compiled
    other, found = run(CONFIG.replace(compile=True), tmp_path / "compiled")
    assert compiled == [nn.Sequential]
    assert torch.equal(weights, other)
    assert found == history
    names = [set(load_file(tmp_path / name)) for name in ("plain", "compiled")]
    assert names[0] == names[1]
    with pytest.raises(ValueError, match="trained with another compile: resume"):
        run(CONFIG, tmp_path / "compiled")


def test_tensorboard_shows_each_row_once_also_after_a_resumption(tmp_path):
    path, board = tmp_path / "run.safetensors", tmp_path / "board"
    where = {"checkpoint": path, "metrics": tmp_path / "run.jsonl", "tensorboard": board}

    def killed(step):
        if step == 7:
            raise KeyboardInterrupt
        return batches(step)

    with pytest.raises(KeyboardInterrupt):
        fit(
            model(), loss_fn, killed, CONFIG, **where
        )  # the row of step 6 is beyond the checkpoint, of step 4
    fit(model(), loss_fn, batches, CONFIG, **where)
    events = EventAccumulator(str(board)).Reload()
    rows = read_metrics(tmp_path / "run.jsonl")
    assert set(events.Tags()["scalars"]) == set(rows[0])
    shown = [(event.step, event.value) for event in events.Scalars("loss")]
    assert shown == [(row["step"], pytest.approx(row["loss"])) for row in rows]


def test_without_tensorboard_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ModuleNotFoundError, match=r"^TensorBoard is not installed: pip install tensorboard$"):
        run(CONFIG, tensorboard=tmp_path)
