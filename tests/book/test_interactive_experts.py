"""The live figure of the chapter on experts, by mouse and by keyboard, compared with the router of torch."""

import re

import torch

from pioneers.layers import TopKRouter

from .figures import DATA
from .test_interactive import cells, sentence, show  # noqa: F401 a fixture


def routed(probabilities, k, factor):
    """What our router does with these probabilities."""
    E = probabilities.shape[-1]
    router = TopKRouter(E, E, k=k, capacity_factor=factor)
    router.gate.weight.data = torch.eye(E)
    return router(probabilities.log()[None])


def test_experts(show):  # noqa: F811
    page, data = show("experts"), DATA["experts"]

    def check(number, k, factor, expert):
        probabilities = data["sentences"][number]["probabilities"]
        made = routed(probabilities, k, factor)
        T, E = probabilities.shape
        asked = made.experts.flatten().bincount(minlength=E)
        taken = made.experts[made.kept].bincount(minlength=E)
        passed = int((~made.kept[0]).all(-1).sum())
        found = [int(n) for n in re.findall(r"\d+", sentence(page))]
        room = [] if factor is None else [-(-round(100 * factor) * T * k // (100 * E))]
        assert found == [T, T * k, *room, asked.max(), (~made.kept).sum(), passed]
        shown = [
            f"{t} of {a}" if t < a else f"{a}" for t, a in zip(taken.tolist(), asked.tolist(), strict=True)
        ]
        assert cells(page, "td.numbers") == shown
        here = (made.kept & (made.experts == expert)).any(-1)
        assert page.locator(".routed > .made").count() == here.sum()
        assert page.locator(".routed > span > span.lost").count() == passed

    check(0, 1, None, 0)
    page.get_by_label("Experts per character, k").focus()
    page.keyboard.press("ArrowRight")
    check(0, 2, None, 0)
    page.get_by_label("1.25", exact=True).click()
    page.get_by_role("button", name="expert 3").click()
    check(0, 2, 1.25, 2)
    page.get_by_role("group", name="Text").get_by_label("second text").click()
    check(1, 2, 1.25, 2)
    page.get_by_label("1", exact=True).click()
    page.get_by_role("button", name="expert 3").focus()
    page.keyboard.press("ArrowDown")
    check(1, 2, 1, 3)
