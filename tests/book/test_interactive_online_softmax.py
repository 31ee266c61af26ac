"""The online softmax, tile by tile, in a browser: by mouse and by keyboard."""

import pytest
import torch

from .figures import DATA
from .test_interactive import cells, sentence, show

__all__ = ["show"]  # the fixture


def test_online_softmax(show):
    page, data = show("online_softmax"), DATA["online_softmax"]
    scores, values = data["scores"], data["values"]

    def check(tiles, size, exact=True):
        read = min(tiles * size, len(scores))
        assert sentence(page).startswith(f"{read} of {len(scores)} keys read")
        kinds = [bar.get_attribute("class") for bar in page.locator(".panel svg rect").all()]
        assert kinds.count("kept") == len(scores) - read
        assert kinds[max(0, (tiles - 1) * size) : read] == ["computed"] * (read - max(0, (tiles - 1) * size))
        shown = cells(page, "td")
        if not exact:
            return float(shown[4])
        seen = scores[:read].double()
        terms = (seen - seen.max()).exp()
        assert float(shown[0]) == pytest.approx(seen.max().item(), abs=0.06)
        assert float(shown[2]) == pytest.approx(terms.sum().item(), rel=0.01)
        mixed = (terms @ values[:read].double() / terms.sum()).item()
        assert float(shown[4]) == pytest.approx(mixed, abs=0.01)
        return mixed

    check(2, 3)
    page.get_by_role("button", name="Next").click()
    check(3, 3)
    page.get_by_label("Tiles read", exact=True).focus()
    page.keyboard.press("End")
    whole = (scores.softmax(0) @ values).item()
    assert check(4, 3) == pytest.approx(whole, abs=0.01)
    assert "the softmax over the whole row gives" in sentence(page)
    for name, size in (("1", 1), ("9", 9)):
        page.get_by_label(name, exact=True).click()
        page.get_by_label("Tiles read", exact=True).focus()
        page.keyboard.press("End")
        assert check(-(-len(scores) // size), size) == pytest.approx(whole, abs=0.01)
    page.get_by_label("1", exact=True).click()
    page.get_by_label("Tiles read", exact=True).focus()
    page.keyboard.press("End")
    page.get_by_label("Rescale the old sums").uncheck()
    assert abs(check(11, 1, exact=False) - whole) > 0.02
    assert torch.isfinite(torch.tensor(whole))
