"""The classical predictions against NumPy, one question at a time."""

import numpy as np
import pytest

from pioneers.analysis import predict_average, predict_neighbours, predict_ridge
from pioneers.data import LinearFunctions

PROMPTS = LinearFunctions(3, 11, batch_size=5, noise=0.5, seed=2)(step=0)
X, Y = PROMPTS.x.double().numpy(), PROMPTS.y.double().numpy()


def one_by_one(estimate):
    """What ``estimate(examples, their values, question)`` predicts at every place of every prompt."""
    made = [
        [estimate(x[:i], y[:i], x[i]) if i else 0.0 for i in range(11)] for x, y in zip(X, Y, strict=True)
    ]
    return pytest.approx(np.array(made), abs=1e-4)


@pytest.mark.parametrize("strength", [0.25, 7.0])
def test_ridge_solves_the_normal_equations(strength):
    def by_formula(x, y, question):
        return question @ np.linalg.solve(x.T @ x + strength * np.eye(3), x.T @ y)

    assert predict_ridge(PROMPTS.x, PROMPTS.y, strength=strength).numpy() == one_by_one(by_formula)


def test_no_penalty_is_least_squares_and_the_shortest_where_several_fit():
    def by_formula(x, y, question):
        return question @ np.linalg.lstsq(x, y, rcond=None)[0]

    assert predict_ridge(PROMPTS.x, PROMPTS.y, strength=0.0).numpy() == one_by_one(by_formula)


def test_average():
    def by_formula(x, y, question):
        return question @ (x * y[:, None]).mean(0)

    assert predict_average(PROMPTS.x, PROMPTS.y).numpy() == one_by_one(by_formula)


@pytest.mark.parametrize("count", [1, 3, 20])
def test_neighbours(count):
    def by_formula(x, y, question):
        return y[np.argsort(((x - question) ** 2).sum(-1))[:count]].mean()

    assert predict_neighbours(PROMPTS.x, PROMPTS.y, count=count).numpy() == one_by_one(by_formula)


def test_impossible_numbers_are_refused():
    with pytest.raises(ValueError, match="strength must be at least 0, not -1"):
        predict_ridge(PROMPTS.x, PROMPTS.y, strength=-1.0)
    with pytest.raises(ValueError, match="count must be at least 1, not 0"):
        predict_neighbours(PROMPTS.x, PROMPTS.y, count=0)
