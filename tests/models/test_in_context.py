"""The in-context regressor sees the examples before a question and nothing else."""

import pytest
import torch

from pioneers.models import InContextRegressor


@pytest.fixture
def model():
    torch.manual_seed(0)
    return InContextRegressor(3, d_model=12, num_layers=2, num_heads=3, max_examples=11)


@pytest.mark.parametrize("i", [0, 4, 6])
def test_a_prediction_depends_on_its_input_and_the_examples_before_and_on_nothing_else(model, i):
    x, y = torch.randn(1, 7, 3).requires_grad_(), torch.randn(1, 7).requires_grad_()
    by_x, by_y = torch.autograd.grad(model(x, y)[0, i], [x, y])
    assert [j for j in range(7) if by_x[0, j].any()] == list(range(i + 1))
    assert [j for j in range(7) if by_y[0, j]] == list(range(i))


def test_a_longer_prompt_changes_no_earlier_prediction(model):
    x, y = torch.randn(5, 11, 3), torch.randn(5, 11)
    torch.testing.assert_close(model(x, y)[:, :7], model(x[:, :7], y[:, :7]))


def test_a_prompt_that_is_too_long_is_refused(model):
    with pytest.raises(ValueError, match="11"):
        model(torch.randn(1, 12, 3), torch.randn(1, 12))
