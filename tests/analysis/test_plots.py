import math

import matplotlib.pyplot as plt
import pytest
import torch

from pioneers.analysis.plots import STYLE, heatmap, plot_history, use_book_style

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


def test_a_heatmap_writes_its_numbers_light_on_dark_and_dark_on_light(ax):
    values = torch.tensor([[0.0, 0.25, 1.0], [0.5, 0.7, 0.125]], requires_grad=True)
    image = heatmap(ax, values, rows=["the", "cat"], columns=list("abc"), numbers=True)
    assert image.get_array().tolist() == values.tolist()
    assert image.get_clim() == (0.0, 1.0)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["the", "cat"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    texts = {text.get_position(): (text.get_text(), text.get_color()) for text in ax.texts}
    assert texts[2, 0] == ("1.00", "white")
    assert texts[1, 1] == ("0.70", "white")
    assert texts[0, 1] == ("0.50", "black")
    assert len(texts) == 6


def test_a_heatmap_takes_the_ends_of_its_colours_and_turns_many_labels(ax):
    image = heatmap(ax, torch.rand(2, 7) - 0.5, columns=list("abcdefg"), vmin=-1.0, vmax=1.0)
    assert image.get_clim() == (-1.0, 1.0)
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {45.0}
    assert not ax.texts


def test_the_books_style_is_set():
    with plt.rc_context():
        use_book_style()
        assert {name: plt.rcParams[name] for name in STYLE} == STYLE | {"figure.figsize": [7.0, 3.4]}
