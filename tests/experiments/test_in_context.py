"""The experiment on learning in context: what it measures is what the page says."""

import importlib
from typing import Any

import pytest
import torch

from pioneers.data import LinearFunctions

TINY: dict[str, Any] = {
    "sizes": {"num_inputs": 1, "d_model": 12, "num_layers": 1, "num_heads": 3},
    "steps": 20,
    "num_examples": 5,
    "noise": 0.5,
    "batch_size": 3,
    "lr": 1e-3,
    "warmup_steps": 2,
}


@pytest.fixture
def in_context(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    module = importlib.import_module("experiments.in_context")
    monkeypatch.setattr(module, "TEST_PROMPTS", 11)
    return module


def test_skewed_inputs_have_the_variance_of_the_others_on_average(in_context):
    variances = torch.tensor(in_context.SKEWED).square()
    assert variances.mean().item() == pytest.approx(1)
    assert (variances[0] / variances).tolist() == pytest.approx([1, 4, 9, 16, 25])


class Always(torch.nn.Module):
    """Predicts the same at every place."""

    def forward(self, x, y):
        return torch.full_like(y, 7.0)


def test_errors_are_those_to_the_values_without_noise(in_context):
    prompts = LinearFunctions(2, 5, batch_size=11, noise=0.5)(0)
    found = in_context.errors(Always(), prompts, 0.5)
    assert found["model"] == pytest.approx((7 - prompts.clean).square().mean(0).tolist())
    nothing_known = prompts.clean[:, 0].square().mean().item()
    assert [found[name][0] for name in found if name != "model"] == pytest.approx([nothing_known] * 4)


class Last(torch.nn.Module):
    """Predicts the last known value plus ten times the input."""

    def forward(self, x, y):
        return 10 * x[..., 0] + torch.nn.functional.pad(y[:, :-1], (1, 0))


def test_a_curve_is_asked_after_each_number_of_examples(in_context):
    prompts = LinearFunctions(1, 5, batch_size=2)(0)
    for found, y in zip(in_context.curves(Last(), prompts), prompts.y, strict=True):
        known = torch.cat([torch.zeros(1), y[:-1]])
        expected = known[:, None] + 10 * in_context.POINTS
        torch.testing.assert_close(torch.tensor(found["model"]), expected)


def test_a_run_has_what_the_page_reads(in_context):
    row = in_context.one_case(seed=0, others={"larger": [2.0]}, **TINY)
    assert set(row["errors"]) == {"as trained", "larger"}
    assert len(row["watched"]) == TINY["steps"]
    ridge = {name: row["errors"][name]["ridge"] for name in row["errors"]}
    assert ridge["larger"][0] == pytest.approx(4 * ridge["as trained"][0], rel=1e-5)
