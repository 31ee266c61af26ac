"""Prompts of linear functions: their statistics, and what they depend on."""

import pytest
import torch

from pioneers.data import LinearFunctions


def test_values_are_one_linear_function_of_the_inputs_of_each_prompt():
    prompts = LinearFunctions(3, 7, batch_size=5)(step=11)
    assert prompts.x.shape == (5, 7, 3)
    w = torch.linalg.lstsq(prompts.x, prompts.y[..., None]).solution  # (5, 3, 1)
    torch.testing.assert_close((prompts.x @ w).squeeze(-1), prompts.y, atol=1e-4, rtol=1e-4)
    assert torch.cdist(w.squeeze(-1), w.squeeze(-1)).fill_diagonal_(1).min() > 0.1


def test_noise_and_scales_are_those_asked_for():
    prompts = LinearFunctions(3, 7, batch_size=2000, noise=0.5, scales=[1, 2, 5], seed=2)(step=0)
    assert (prompts.y - prompts.clean).std().item() == pytest.approx(0.5, rel=0.03)
    assert prompts.x.std(dim=(0, 1)).tolist() == pytest.approx([1, 2, 5], rel=0.03)
    assert prompts.clean.var().item() == pytest.approx(1 + 4 + 25, rel=0.1)


def test_a_batch_depends_on_seed_and_step_alone():
    first = LinearFunctions(3, 7, batch_size=5)
    assert torch.equal(first(3).y, LinearFunctions(3, 7, batch_size=5)(3).y)
    assert not torch.equal(first(3).y, first(4).y)
    assert not torch.equal(first(3).y, LinearFunctions(3, 7, batch_size=5, seed=1)(3).y)


@pytest.mark.parametrize(
    ("sizes", "how", "says"),
    [
        ((0, 7), {}, "num_inputs=0"),
        ((3, 0), {}, "num_examples=0"),
        ((3, 7), {"noise": -1.0}, "noise=-1.0 at least 0"),
        ((3, 7), {"scales": [1.0, 2.0]}, "one scale for each of the 3 inputs, not 2"),
    ],
)
def test_impossible_prompts_are_refused(sizes, how, says):
    with pytest.raises(ValueError, match=says):
        LinearFunctions(*sizes, batch_size=5, **how)
