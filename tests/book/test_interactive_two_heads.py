"""Two heads on one text, in a browser: by mouse and by keyboard."""

import re

import pytest

from .figures import DATA
from .test_interactive import sentence, show

__all__ = ["show"]  # the fixture


def test_two_heads(show):
    page, data = show("two_heads"), DATA["two_heads"]
    tokens = page.locator(".tokens button")

    def check(first, second, t):
        rows = [data["maps"][block][head][t] for block, head in (first, second)]
        assert f"in place {t + 1} looks most at" in sentence(page)
        for (block, head), row, colour in zip((first, second), rows, ("Blue", "Orange"), strict=True):
            told = sentence(page).split(f"{colour}, block {block + 1}, head {head + 1}: ")[1]
            place, share = re.search(r"in place (\d+) \((\d+)%\)", told).groups()
            assert int(share) == max(row) == row[int(place) - 1]
        for j in range(len(data["tokens"])):
            bars = tokens.nth(j).locator(".bar > span")
            widths = [float(bars.nth(i).evaluate("bar => bar.style.width").rstrip("%")) for i in range(2)]
            assert widths == pytest.approx([row[j] if j < len(row) else 0 for row in rows])

    check((0, 1), (1, 2), 3)
    tokens.nth(4).hover()
    check((0, 1), (1, 2), 4)
    tokens.nth(4).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    check((0, 1), (1, 2), 2)
    page.get_by_label("Blue head").select_option("block 2, head 1")
    check((1, 0), (1, 2), 2)
    page.get_by_label("Orange head").focus()
    page.keyboard.press("ArrowUp")
    check((1, 0), (1, 1), 2)
