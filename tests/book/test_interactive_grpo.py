"""The live figure of the chapter on checked rewards, by mouse and by keyboard, compared with GRPO."""

import re

import pytest
import torch

from pioneers.objectives import group_advantages

from .figures import DATA
from .test_interactive import sentence, show  # noqa: F401 a fixture

BARS = """places => places.map(place => {
  const [all, bar] = [place, place.firstChild].map(one => one.getBoundingClientRect());
  return bar.width / all.width * (bar.left + 1 < all.left + all.width / 2 ? -1 : 1);
})"""  # the length of each bar, negative to the left of the middle


def test_grpo(show):  # noqa: F811
    page, data = show("grpo"), DATA["grpo"]

    def check(problem, rewards, scale=True):
        rewards = torch.tensor(rewards).float()
        wanted = group_advantages(rewards[None], scale=scale)[0].tolist()
        shown = [
            text.replace("−", "-") for text in page.locator(".group-answers .numbers").all_text_contents()
        ]
        assert [float(text) for text in shown] == pytest.approx(wanted, abs=0.006)
        pressed = page.locator('.group-answers button[aria-pressed="true"]').count()
        assert pressed == rewards.sum()
        found = re.match(r"(\d) of 8 .* mean ([\d.]+), standard deviation ([\d.]+)\. ", sentence(page))
        told = [rewards.sum().item(), rewards.mean().item(), rewards.std(correction=0).item()]
        assert [float(text) for text in found.groups()] == pytest.approx(told, abs=0.0006)
        bars = page.locator(".push").evaluate_all(BARS)
        assert bars == pytest.approx([value / 5.4 for value in wanted], abs=0.01)
        assert ("teaches nothing" in sentence(page)) == (wanted == [0.0] * 8)
        assert (
            data["groups"][problem]["answers"][0] in page.locator(".group-answers button").first.inner_text()
        )

    rewards = list(data["groups"][0]["rewards"])
    check(0, rewards)
    page.locator(".group-answers button").nth(1).click()
    rewards[1] = 1
    check(0, rewards)
    page.locator(".group-answers button").nth(3).focus()
    page.keyboard.press("Space")
    rewards[3] = 0
    check(0, rewards)
    assert page.evaluate("document.activeElement.textContent").startswith("✗")  # still the same button
    page.get_by_label("divide by").focus()
    page.keyboard.press("Space")
    check(0, rewards, scale=False)
    page.get_by_role("button", name="all wrong").click()
    check(0, [0] * 8, scale=False)
    page.get_by_role("button", name="check again").click()
    check(0, data["groups"][0]["rewards"], scale=False)
    page.get_by_role("group", name="Problem").get_by_label("417").focus()
    page.keyboard.press("ArrowRight")
    check(1, [1] * 8, scale=False)
    page.get_by_label("divide by").click()
    check(1, [1] * 8)
