"""The live figure of the chapter on cheap fine-tuning, by mouse and by keyboard, compared with torch."""

import re

import pytest
import torch

from .figures import DATA
from .test_interactive import click_at, sentence, show  # noqa: F401 a fixture

PAINT = r"fill: var\(--(one|two)\); fill-opacity: ([\d.]+)"


def test_lora(show):  # noqa: F811
    page, data = show("lora"), DATA["lora"]
    u, s, v = data["u"], data["s"], data["v"]

    def check(i):
        rank = data["ranks"][i]
        wanted = u[:, :rank] * s[:rank] @ v[:, :rank].T
        grids = page.locator(".panel svg g")
        styles = grids.nth(1).locator("rect").evaluate_all("all => all.map(one => one.getAttribute('style'))")
        painted = [re.fullmatch(PAINT, style).groups() for style in styles]
        cells = [(1 if name == "two" else -1) * float(shade) for name, shade in painted]
        expected = (wanted / data["shown"].abs().max()).clamp(-1, 1).flatten().tolist()
        assert cells == pytest.approx(expected, abs=0.006)
        numbers = [float(text.replace(",", "")) for text in re.findall(r"[\d,]*\d", sentence(page))]
        missing = 100 * (s[rank:].norm() / s.norm()).item()
        told = [rank, 2 * 6 * rank, 36, round(missing), round(100 * data["exact"][i]), 90]
        assert numbers == pytest.approx(told, abs=0.6)

    check(1)
    page.get_by_label("Rank", exact=True).focus()
    page.keyboard.press("ArrowRight")
    check(2)
    click_at(page, "Rank", 0.02)
    check(0)


def test_the_difference_itself_is_painted(show):  # noqa: F811
    page, shown = show("lora"), DATA["lora"]["shown"]
    styles = (
        page.locator(".panel svg g")
        .first.locator("rect")
        .evaluate_all("all => all.map(one => one.getAttribute('style'))")
    )
    signs = [re.fullmatch(PAINT, style)[1] == "two" for style in styles]
    assert signs == (shown > 0).flatten().tolist()
    assert torch.tensor(len(styles)).sqrt() == len(shown)
