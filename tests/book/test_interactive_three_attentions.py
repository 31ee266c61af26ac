"""The live figure of the three attentions, by mouse and by keyboard, compared with the package's masks."""

import re

import torch

from pioneers.layers import causal_mask, padding_mask

from .figures import DATA
from .test_interactive import sentence, show  # noqa: F401 a fixture


def test_three_attentions(show):  # noqa: F811
    page, data = show("three_attentions"), DATA["three_attentions"]
    S, T = len(data["source"]), len(data["target"])
    real = padding_mask(torch.tensor([S - data["pad"]]), S)[0, 0]  # (1, S)
    masks = [real.expand(S, -1), causal_mask(T), real.expand(T, -1)]

    def check(kind, query):
        mask = masks[kind]
        shown = page.locator("rect.may, rect.may-not").evaluate_all(
            "all => all.map(one => one.classList.contains('may'))"
        )
        assert shown == mask.flatten().tolist()
        keys = page.locator(".panel li").evaluate_all(
            "all => all.map(one => one.classList.contains('readable'))"
        )
        assert keys == mask[query].tolist()
        seen, columns = mask[query].sum(), mask.shape[1]
        hidden = [columns - seen] if seen < columns else []
        numbers = [int(n) for n in re.findall(r"\d+", sentence(page))]
        assert numbers == [seen, columns, *hidden, *mask.shape]
        assert (data["next"][query] in sentence(page)) == (kind > 0)
        top = page.locator("rect.asking").get_attribute("y")
        assert top == str(2 + 15 * query)

    check(0, 1)
    page.get_by_role("button", name="sleeps").click()
    check(0, 2)
    page.mouse.move(0, 0)  # a word that appears below the mouse would ask
    page.get_by_label("encoder: self").focus()
    page.keyboard.press("ArrowRight")
    check(1, 2)
    page.get_by_role("button", name="chat").focus()
    page.keyboard.press("ArrowLeft")
    check(1, 1)
    page.keyboard.press("End")
    check(1, 3)
    page.get_by_label("decoder: cross").click()
    check(2, 2)
    page.get_by_role("button", name="<start>").hover()
    check(2, 0)
