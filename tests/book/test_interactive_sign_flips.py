"""The live figure of the test that flips signs, by mouse and by keyboard, compared with Python."""

import itertools
import re

import pytest

from .figures import DATA
from .test_interactive import sentence, show  # noqa: F401 a fixture


def test_sign_flips(show):  # noqa: F811
    page, data = show("sign_flips"), DATA["sign_flips"]
    buttons = page.locator(".panel .control[role=group] button")

    def check(number, flipped):
        differences = data["comparisons"][number]["differences"]
        now = [-d if i in flipped else d for i, d in enumerate(differences)]
        shown = [float(text.replace("−", "-")) for text in buttons.all_inner_texts()]
        assert shown == pytest.approx(now, abs=0.051)
        sums = [
            sum(sign * d for sign, d in zip(signs, differences, strict=True))
            for signs in itertools.product((1, -1), repeat=len(differences))
        ]
        far = sum(abs(total) >= abs(sum(differences)) - 1e-9 for total in sums)
        assert page.locator(".panel circle.far").count() == far
        assert page.locator(".panel circle").count() == len(sums)
        told = [float(x.replace("−", "-")) for x in re.findall(r"[+−]?\d+(?:\.\d+)?", sentence(page))]
        wanted = [sum(now) / 5, len(sums), far, sum(differences) / 5, far, len(sums)]
        assert told == pytest.approx(wanted, abs=0.051)

    check(0, set())
    buttons.nth(1).click()
    check(0, {1})
    buttons.nth(4).focus()
    page.keyboard.press("Enter")
    check(0, {1, 4})
    assert buttons.nth(4).get_attribute("aria-pressed") == "true"
    page.get_by_text("B", exact=True).click()
    check(1, set())
    page.keyboard.press("ArrowLeft")
    check(0, set())
