from collections import namedtuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pioneers.optim import cosine, inverse_sqrt, linear
from pioneers.training import TrainConfig, fit
from pioneers.training.train_step import count_rows, split_batch

RECIPE = TrainConfig(max_steps=5, lr=1e-2, precision="fp32", log_every=1)


def regression(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 2))


def rows_of(step):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(11, 3, generator=generator), torch.randint(2, (11,), generator=generator)


def padded_rows_of(step):
    """Labels of -100 are left out, and they are not spread evenly."""
    inputs, labels = rows_of(step)
    rows = torch.arange(11)
    return inputs, labels.masked_fill((rows > 3 + step) & (rows % 4 > 0), -100)


def rows_with_labels_first(step):
    inputs, labels = rows_of(step)
    return inputs, labels.masked_fill(torch.arange(11) > 3, -100)


def loss_fn(model, batch):
    inputs, labels = batch
    return F.cross_entropy(model(inputs), labels)


def count_labels(batch):
    return (batch[1] != -100).sum()


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize(
    ("source", "count"), [(rows_of, {}), (padded_rows_of, {"count": count_labels})], ids=["rows", "labels"]
)
def test_accumulation_gives_the_result_of_the_whole_batch(source, count, parts):
    at_once, in_parts = regression(), regression()
    expected = fit(at_once, loss_fn, source, RECIPE)
    history = fit(in_parts, loss_fn, source, RECIPE.replace(accumulate=parts), **count)
    for row, other in zip(history, expected, strict=True):
        assert row == pytest.approx(other, rel=1e-4)
    torch.testing.assert_close(weights(in_parts), weights(at_once), rtol=1e-4, atol=1e-6)


def test_each_part_has_its_turn():
    seen = []

    def watched(model, batch):
        seen.append(len(batch[0]))
        return loss_fn(model, batch)

    fit(regression(), watched, rows_of, RECIPE.replace(max_steps=1, accumulate=4))
    assert seen == [3, 3, 3, 2]


def test_batches_of_any_form_are_divided():
    Pair = namedtuple("Pair", ["left", "right"])
    batch = {"pair": Pair(torch.arange(5), [torch.arange(10).view(5, 2)]), "scale": torch.tensor(3.0), "n": 7}
    first, second = split_batch(batch, 2)
    assert first["pair"].left.tolist() == [0, 1, 2]
    assert second["pair"].right[0].tolist() == [[6, 7], [8, 9]]
    assert (first["scale"], second["n"]) == (3.0, 7)
    assert isinstance(second["pair"], Pair)
    assert [count_rows(part) for part in (batch, first, second)] == [5, 3, 2]
    assert count_rows({"text": "no tensor", "scale": torch.tensor(1.0)}) == 1


def test_a_batch_too_small_for_its_parts_is_refused():
    with pytest.raises(ValueError, match=r"a batch of 11 rows cannot be divided into 12 parts \(accumulate"):
        fit(regression(), loss_fn, rows_of, RECIPE.replace(accumulate=12))
    with pytest.raises(
        ValueError, match="a micro-batch has no targets: raise batch_size or lower accumulate"
    ):
        fit(regression(), loss_fn, rows_with_labels_first, RECIPE.replace(accumulate=3), count=count_labels)


@pytest.mark.parametrize(
    ("schedule", "factor"),
    [
        ({"schedule": "cosine", "min_lr_factor": 0.1}, lambda s: cosine(s, **SPAN, min_factor=0.1)),
        ({"schedule": "linear"}, lambda s: linear(s, **SPAN)),
        ({"schedule": "inverse_sqrt"}, lambda s: inverse_sqrt(s, warmup_steps=5)),
        ({"schedule": "constant"}, lambda s: min(1, (s + 1) / 5)),
        ({"schedule": "constant", "cooldown_steps": 8}, lambda s: min(1, (s + 1) / 5, (17 - s) / 8)),
    ],
)
def test_the_schedule_sets_the_learning_rate(schedule, factor, monkeypatch):
    recipe = TrainConfig(**SPAN, lr=0.3, precision="fp32", **schedule)
    used = []
    step_of_adam = torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW,
        "step",
        lambda self: (used.append([g["lr"] for g in self.param_groups]), step_of_adam(self))[1],
    )
    fit(regression(), loss_fn, rows_of, recipe)
    assert used == [[pytest.approx(0.3 * factor(step))] * 2 for step in range(17)]
    assert recipe.lr_at(8) == used[8][0]


SPAN = {"max_steps": 17, "warmup_steps": 5}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"schedule": "step"}, "schedule must be one of cosine, linear, inverse_sqrt, constant, not 'step'"),
        ({"schedule": "inverse_sqrt"}, "needs warmup_steps of at least 1"),
        ({"schedule": "linear", "min_lr_factor": 0.1}, "applies to the cosine schedule, not to linear"),
        ({"cooldown_steps": 1}, "cooldown_steps applies to the constant schedule, not to cosine"),
        ({"schedule": "constant", "cooldown_steps": 4}, "cooldown_steps must be from 0 to max_steps, not 4"),
        ({"patience": 3}, "patience needs watch, the number to minimise"),
        ({"patience": 0, "watch": "x"}, "patience must be a positive integer, not 0"),
        ({"accumulate": 0}, "accumulate must be a positive integer, not 0"),
        ({"lr": -1}, "lr must be positive, not -1"),
        ({"clip_norm": 0}, "clip_norm must be positive, not 0"),
        ({"weight_decay": -0.1}, "weight_decay must be at least 0, not -0.1"),
        ({"warmup_steps": -2}, "warmup_steps must be at least 0, not -2"),
        ({"min_lr_factor": 1.5}, "min_lr_factor must be at least 0 and at most 1, not 1.5"),
        ({"betas": [0.9, 1.0]}, r"betas must be two numbers, at least 0 and less than 1, not \(0.9, 1.0\)"),
        ({"betas": (0.9,)}, "betas must be two numbers"),
        ({"precision": "x"}, "precision must be one of auto, bf16, fp16, fp32, not 'x'"),
    ],
)
def test_recipes_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(max_steps=3, **wrong)


def test_a_recipe_comes_back_from_json():
    recipe = TrainConfig(max_steps=3, betas=(0.8, 0.9), clip_norm=1e9)
    assert TrainConfig.from_json(recipe.to_json()) == recipe


def test_fp16_with_scaled_losses_trains_what_unscaled_ones_would_lose():
    """Gradients around 1e-8 are zero in float16, whose smallest number is 6e-8, unless the loss is scaled."""

    def faint_loss(model, batch):
        return loss_fn(model, batch) * 1e-6

    exact, scaled = regression(), regression()
    recipe = RECIPE.replace(max_steps=20, clip_norm=1e9)
    expected = fit(exact, faint_loss, rows_of, recipe)
    history = fit(scaled, faint_loss, rows_of, recipe.replace(precision="fp16"))
    for row, other in zip(history, expected, strict=True):
        assert row["grad_norm"] == pytest.approx(other["grad_norm"], rel=0.05)
    moved = weights(exact) - weights(regression())
    error = weights(scaled) - weights(exact)
    assert moved.norm() > 0.1
    assert error.norm() < 0.1 * moved.norm()


def test_a_step_that_overflows_in_fp16_is_left_out_and_the_scale_lowered(tmp_path):
    model, path = regression(), tmp_path / "run.safetensors"
    before = weights(model)
    recipe = RECIPE.replace(max_steps=1, precision="fp16")
    history = fit(model, lambda m, b: loss_fn(m, b) * 1e6, rows_of, recipe, checkpoint=path)
    assert not torch.tensor(history[0]["grad_norm"]).isfinite()
    assert torch.equal(weights(model), before)


def test_an_interrupted_fp16_run_goes_on_with_its_scale(tmp_path):
    def strong_loss(model, batch):
        return loss_fn(model, batch) * 1e5

    recipe, path = RECIPE.replace(max_steps=20, precision="fp16", checkpoint_every=6), tmp_path / "run"
    straight, resumed = regression(), regression()
    expected = fit(straight, strong_loss, rows_of, recipe)

    def stop_at_8(step):
        if step == 8:
            raise KeyboardInterrupt
        return rows_of(step)

    with pytest.raises(KeyboardInterrupt):
        fit(regression(), strong_loss, stop_at_8, recipe, checkpoint=path)
    assert repr(fit(resumed, strong_loss, rows_of, recipe, checkpoint=path)) == repr(expected)
    assert torch.equal(weights(resumed), weights(straight))
