"""The live figure of the chapter on following instructions, by mouse and by keyboard, compared with DPO."""

import re

import pytest
import torch

from pioneers.objectives import dpo_loss

from .figures import DATA
from .test_interactive import cells, sentence, show  # noqa: F401 a fixture


def test_preferences(show):  # noqa: F811
    page, data = show("preferences"), DATA["preferences"]

    def check(number, mine, beta):
        one = data["pairs"][number]
        before, after = torch.tensor(one["before"]), torch.tensor(one["after"]).requires_grad_()
        pair = after[mine : mine + 1], after[1 - mine : 2 - mine]
        reference = before[mine : mine + 1], before[1 - mine : 2 - mine]
        loss = dpo_loss(*pair, *reference, beta=beta)
        loss.backward()
        ratios = (after - before).tolist()
        margin = beta * (ratios[mine] - ratios[1 - mine])
        text = sentence(page).replace("−", "-")
        found = re.search(
            r"You prefer (\w); .* prefers (\w)\. .* is (\S+), the loss (\S+), .* (\S+)\.$", text
        )
        assert found.groups()[:2] == ("AB"[mine], "AB"[one["reader"]])
        wanted = [margin, loss.item(), after.grad[1 - mine].item()]
        assert [float(value) for value in found.groups()[2:]] == pytest.approx(wanted, rel=0.03, abs=0.006)
        shown = [float(cell.replace("−", "-")) for cell in cells(page, "td.numbers")]
        rows = [one["before"][0], one["after"][0], ratios[0], one["before"][1], one["after"][1], ratios[1]]
        assert shown == pytest.approx(rows, abs=0.0051)
        assert f"{100 / (1 + torch.tensor(-margin).exp().item()):.0f}%" in page.locator(".panel").inner_text()

    check(0, 0, 0.1)
    page.get_by_label("answer B").click()
    check(0, 1, 0.1)
    page.get_by_label("β", exact=True).focus()
    page.keyboard.press("End")
    check(0, 1, 10**0.5)
    page.get_by_role("group", name="Pair").get_by_label("1").focus()
    page.keyboard.press("ArrowRight")
    check(1, 1, 10**0.5)
    page.get_by_label("answer A").click()
    page.get_by_label("β", exact=True).focus()
    page.keyboard.press("Home")
    check(1, 0, 0.01)
