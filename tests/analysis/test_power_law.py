"""Fitted power laws: exact without noise, with intervals that contain the truth as often as they say."""

import numpy as np
import pytest

from pioneers.analysis import fit_power_law

X = np.logspace(3, 6, 23)


@pytest.mark.parametrize(
    ("offset", "scale", "exponent"),
    [(1.3, 17.0, 0.31), (0.0, 5.0, 0.08), (0.02, 300.0, 1.4), (2.0, 7.0, 0.05)],
)
def test_a_law_without_noise_is_recovered(offset, scale, exponent):
    law = fit_power_law(X, offset + scale * X**-exponent, draws=2)
    found = [law.offset, law.scale, law.exponent]
    assert found == pytest.approx([offset, scale, exponent], rel=1e-3, abs=1e-5)
    assert law(1e9) == pytest.approx(offset + scale * 1e9**-exponent, rel=1e-4)


def test_without_an_offset_it_is_a_line_in_logarithms():
    rng = np.random.default_rng(0)
    y = 3 * X**-0.2 * np.exp(0.1 * rng.normal(size=len(X)))
    slope, height = np.polyfit(np.log(X), np.log(y), 1)
    law = fit_power_law(X, y, offset=False, draws=2)
    assert (law.offset, law.exponent, law.scale) == pytest.approx((0.0, -slope, np.exp(height)))


def test_the_offset_has_the_smallest_error():
    rng = np.random.default_rng(1)
    y = (1 + 9 * X**-0.25) * np.exp(0.02 * rng.normal(size=len(X)))
    law = fit_power_law(X, y, draws=2)
    best = np.square(law.residuals).sum()
    for other in np.linspace(0, 0.99 * y.min(), 50):
        slope, height = np.polyfit(np.log(X), np.log(y - other), 1, w=(y - other) / y)
        assert best <= np.square(np.log(y / (other + np.exp(height) * X**slope))).sum() + 1e-12


@pytest.mark.parametrize("offset", [0.0, 1.2])
def test_intervals_contain_the_truth_as_often_as_they_say(offset):
    trials, hits = 200, np.zeros(3)
    rng = np.random.default_rng(2)
    for seed in range(trials):
        y = (offset + 8 * X**-0.2) * np.exp(0.02 * rng.normal(size=len(X)))
        law = fit_power_law(X, y, offset=bool(offset), draws=300, seed=seed)
        truth = offset + 8 * 1e7**-0.2
        measured = truth * np.exp(0.02 * rng.normal())
        for i, (low, high, value) in enumerate(
            [
                (*law.intervals["exponent"], 0.2),
                (*law.interval(1e7, noise=False), truth),
                (*law.interval(1e7), measured),
            ]
        ):
            hits[i] += low <= value <= high
    # The bootstrap of 23 points is a little narrow; the rest is the binomial error of 200 trials.
    error = np.sqrt(0.9 * 0.1 / trials)
    assert (hits / trials > 0.88 - 3 * error).all()
    assert (hits / trials < 0.9 + 3 * error).all()


def test_noise_widens_the_interval_and_distance_does_too():
    rng = np.random.default_rng(3)
    y = (1 + 8 * X**-0.2) * np.exp(0.02 * rng.normal(size=len(X)))
    law = fit_power_law(X, y)
    low, high = law.interval([1e5, 1e9])
    inner_low, inner_high = law.interval([1e5, 1e9], noise=False)
    assert low.shape == (2,)
    assert low[0] < inner_low[0] and inner_high[0] < high[0]
    assert inner_high[1] - inner_low[1] > inner_high[0] - inner_low[0]  # 1e9 is far from every point
    assert (law.interval(1e5)[0], law.interval(1e5)[1]) == pytest.approx((low[0], high[0]))


def test_the_same_seed_gives_the_same_intervals():
    y = 1 + 8 * X**-0.2 + 0.01 * np.sin(np.arange(23))
    assert fit_power_law(X, y, seed=5).intervals == fit_power_law(X, y, seed=5).intervals
    assert fit_power_law(X, y, seed=5).intervals != fit_power_law(X, y, seed=6).intervals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": [1, 2, 3], "y": [3, 2, 1]}, "at least 4 points, not 3"),
        ({"x": [1, 2, 3, 4], "y": [3, 2, 0, 1]}, "y must be positive, .* contains 0"),
        ({"x": [1, -2, 3, 4], "y": [3, 2, 1, 1]}, "x must be positive, .* contains -2"),
        ({"x": [1, 2, 3, 4], "y": [3, 2, np.nan, 1]}, "y must be positive, .* contains nan"),
        ({"x": [1, 2, 3, 4], "y": [3, 2, 1]}, "same length"),
        ({"x": [1, 1, 2, 2], "y": [3, 2, 1, 1]}, "at least 3 different x, not 2"),
        ({"x": [1, 2, 3, 4], "y": [4, 3, 2, 1], "level": 1.0}, "level must be between 0 and 1, not 1.0"),
        ({"x": [1, 2, 3, 4], "y": [4, 3, 2, 1], "draws": 0}, "draws must be at least 1, not 0"),
    ],
)
def test_impossible_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        fit_power_law(**change)
