"""How far a gradient reaches, in a browser: by mouse and by keyboard."""

import math
import re

import pytest

from .figures import DATA
from .test_interactive import click_at, sentence, show

__all__ = ["show"]  # the fixture
RATES = {"RNN": 0.5, "LSTM": 0.7, "attention": 1.0}


def test_reach(show):
    page = show("reach")

    def check(steps):
        assert sentence(page).startswith(f"From {steps} step")
        told = re.findall(r"(RNN|LSTM|attention) ([\d.e-]+\d)", sentence(page))
        assert [name for name, _ in told] == list(RATES)
        for name, share in told:
            assert float(share) == pytest.approx(RATES[name] ** steps, rel=0.08)
        widths = [float(bar.get_attribute("width")) for bar in page.locator(".panel svg rect").all()]
        expected = [max(0, 1 - steps * math.log(rate) / math.log(1e-12)) * 340 for rate in RATES.values()]
        assert widths == pytest.approx(expected, abs=0.5)
        shown = page.locator('.panel svg line[style*="--one"]')
        assert shown.count() == steps
        assert page.locator('.panel svg circle[r="6"]').count() == 2

    check(DATA["reach"]["start"])
    page.get_by_label("Steps back", exact=True).focus()
    page.keyboard.press("ArrowRight")
    check(7)
    page.keyboard.press("Home")
    check(1)
    click_at(page, "Steps back", 0.6)
    steps = int(page.get_by_label("Steps back", exact=True).input_value())
    assert 10 < steps < 30
    check(steps)


def test_the_chain_fades_and_the_jump_does_not(show):
    page = show("reach")
    page.get_by_label("Steps back", exact=True).fill("20")
    styles = page.locator('.panel svg line[style*="--one"]').evaluate_all(
        "all => all.map(one => +one.style.strokeOpacity)"
    )
    assert styles == sorted(styles, reverse=True) and styles[0] > 0.9 > 0.6 > styles[-1]
    assert "opacity" not in page.locator(".panel svg path").get_attribute("style")
