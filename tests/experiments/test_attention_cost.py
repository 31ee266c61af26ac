"""What attention costs: every form is the attention it says it is, and a needle is where it should be."""

import importlib

import pytest
import torch

from pioneers.data import language_reference
from pioneers.layers import attention, local_global_mask

SIZES = {"d_model": 12, "num_layers": 1, "batch_size": 3, "steps": 3, "rates": (1e-3, 1e-2)}
SETTINGS = {
    "cost": {"repeats": 1},
    "text": {**SIZES, "length": 23},
    "needle": {**SIZES, "length": 23},
}


@pytest.fixture
def experiment(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    module = importlib.import_module("experiments.attention_cost")
    monkeypatch.setattr(module, "LENGTHS", (64, 128))
    monkeypatch.setattr(module, "NEEDLE_TESTS", 50)
    return module


def test_the_forms_compute_what_they_should(experiment):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 200, 8)
    full = attention(q, k, v, causal=True)
    near = local_global_mask(200, window=experiment.WINDOW, num_global=experiment.GLOBAL, causal=True)
    for form, expected in (
        ("explicit", full), ("fused", full), ("window", attention(q, k, v, mask=near))
    ):  # fmt: skip
        torch.testing.assert_close(experiment.heads(form)(q, k, v), expected, atol=1e-5, rtol=1e-4)
    unit = torch.eye(200)
    made = experiment.heads("Linformer")(q, k, v, unit, unit)
    torch.testing.assert_close(made, attention(q, k, v), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("form", ["explicit", "fused", "window", "Linformer", "kernel"])
def test_a_measurement_has_a_time_and_a_size_for_each_length(experiment, form):
    row = experiment.one_case(seed=0, task="cost", form=form, **SETTINGS)
    assert row["lengths"] == [64, 128]
    assert len(row["seconds_by_length"]) == 2 and all(seconds > 0 for seconds in row["seconds_by_length"])
    small, large = row["peak_bytes"]
    assert large / small > (3.3 if form == "explicit" else 1) and large / small < 5


def test_each_text_has_one_capital(experiment):
    ids, place, capital = experiment.Needles(language_reference(), 23, 41, seed=3)(0)
    assert ids.shape == (41, 23) and (ids[:, 0] == ord("*")).all()
    upper = (ids >= ord("A")) & (ids <= ord("Z"))
    assert (upper.sum(1) == 1).all() and (upper.int().argmax(1) == place).all()
    assert (ids[torch.arange(41), place] == ord("A") + capital).all()
    again = experiment.Needles(language_reference(), 23, 41, seed=3)(0)
    other = experiment.Needles(language_reference(), 23, 41, seed=3)(1)
    assert torch.equal(ids, again[0]) and not torch.equal(ids, other[0])


class Nearby(torch.nn.Module):
    """Names the capital at the positions less than three away from it, and the next letter elsewhere."""

    def forward(self, ids):
        place = ((ids >= ord("A")) & (ids <= ord("H"))).int().argmax(1)  # (B,)
        capital = ids[torch.arange(len(ids)), place] - ord("A")
        near = (torch.arange(ids.shape[1]) - place[:, None]).abs() < 3  # (B, T)
        named = torch.where(near, capital[:, None], (capital[:, None] + 1) % 8)
        return torch.nn.functional.one_hot(named, 8).float()


def test_shares_are_by_distance(experiment):
    shares = experiment.named_by_distance(Nearby(), language_reference(), 11)
    assert shares[:9].tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert len(shares) == 10


def test_models_differ_in_their_attention_alone(experiment):
    sizes = {"d_model": 12, "num_layers": 2, "length": 23}
    counts = {
        form: sum(p.numel() for p in experiment.Model(form, causal=False, **sizes).parameters())
        for form in experiment.NEEDLES
    }
    assert counts.pop("Linformer 16") == counts["full"] + 2 * 2 * 16 * 23  # E and F of two blocks
    assert set(counts.values()) == {counts["full"]}


@pytest.mark.parametrize("task", ["text", "needle"])
def test_a_run_is_repeatable(experiment, task):
    first, again, other = (
        experiment.one_case(seed=seed, task=task, form="window 16", **SETTINGS) for seed in (0, 0, 1)
    )
    measured = "bits_per_character" if task == "text" else "named"
    assert str(first) == str(again) and str(first[measured]) != str(other[measured])
    assert first["lr"] == other["lr"] and len(first["validation"]) == 2
