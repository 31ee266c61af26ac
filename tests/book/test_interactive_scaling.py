"""The law through small models, in a browser: by mouse and by keyboard, against numpy."""

import re

import numpy as np
import pytest

from .figures import DATA
from .test_interactive import click_at, sentence, show

__all__ = ["show"]  # the fixture


def predicted(floor, exponent):
    """The mean miss in percent and the prediction, for the factor that puts the law through the middle."""
    data = DATA["scaling"]
    n, bits = np.array(data["parameters"], dtype=float), np.array(data["bits"])
    a = np.exp((np.log(bits - floor) + exponent * np.log(n)).mean())
    miss = 100 * np.abs(np.log(bits / (floor + a * n**-exponent))).mean()
    return [miss, floor + a * data["larger"]["parameters"] ** -exponent]


def test_scaling(show):
    page = show("scaling")

    def check(floor, exponent, measured):
        found = re.search(r"by (.*)% on average. It predicts (.*) bits for 460,000", sentence(page))
        assert [float(text) for text in found.groups()] == pytest.approx(predicted(floor, exponent), abs=0.06)
        assert ("Measured: 2.10 bits" in sentence(page)) == measured
        assert page.locator("circle:last-of-type").is_visible() == measured

    check(0.0, 0.1, False)
    page.get_by_label("Exponent").focus()
    page.keyboard.press("ArrowRight")
    check(0.0, 0.11, False)
    page.get_by_label("Floor, in bits").focus()
    page.keyboard.press("PageUp")
    floor = float(page.get_by_label("Floor, in bits").input_value())
    assert floor > 0
    check(floor, 0.11, False)
    page.get_by_label("Show the larger model").check()
    check(floor, 0.11, True)
    click_at(page, "Exponent", 0.5)
    exponent = float(page.get_by_label("Exponent").input_value())
    assert 0.4 < exponent < 0.65
    check(floor, exponent, True)


def test_a_law_with_a_floor_comes_closer(show):
    page = show("scaling")
    straight = min(predicted(0.0, b)[0] for b in np.arange(0.05, 1, 0.01))
    curved = min(predicted(1.5, b)[0] for b in np.arange(0.05, 1, 0.01))
    assert curved < straight
    page.get_by_label("Floor, in bits").fill("1.5")
    page.get_by_label("Exponent").fill("0.35")
    assert f"by {predicted(1.5, 0.35)[0]:.1f}%" in sentence(page)
