import math

import matplotlib.pyplot as plt
import pytest

from pioneers.analysis.plots import plot_history

HISTORY = [{"step": 0, "loss": 3.0, "val_loss": 4.0}, {"step": 5, "loss": 2.0}, {"step": 7, "loss": None}]


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_a_curve_per_number_against_the_steps(ax):
    plot_history(ax, HISTORY, "loss", "val_loss")
    loss, val_loss = ax.get_lines()
    assert list(loss.get_xdata()) == [0, 5, 7]
    assert list(loss.get_ydata())[:2] == [3.0, 2.0]
    assert math.isnan(float(loss.get_ydata(orig=False)[2]))
    assert list(val_loss.get_ydata()) == [4.0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["loss", "val_loss"]
    assert ax.get_xlabel() == "step"


def test_the_loss_is_drawn_when_nothing_is_named(ax):
    plot_history(ax, HISTORY)
    assert [line.get_label() for line in ax.get_lines()] == ["loss"]


def test_a_number_that_is_not_there_is_named_with_those_that_are(ax):
    with pytest.raises(ValueError, match="no row of the history has 'accuracy'; there are: loss, val_loss"):
        plot_history(ax, HISTORY, "accuracy")
    with pytest.raises(ValueError, match="there are: no rows"):
        plot_history(ax, [])
