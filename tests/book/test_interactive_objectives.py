"""Three objectives of pretraining, in a browser: by mouse and by keyboard."""

import re

from .figures import DATA
from .test_interactive import cells, click_at, sentence, show

__all__ = ["show"]  # the fixture


def test_objectives(show):
    page = show("objectives")

    def check(kind, place):
        one = DATA["objectives"]["objectives"][kind]
        seen, answer = one["seen"][place], one["answers"][place]
        asked = f"is asked for “{answer}”" if answer else "is asked for nothing"
        told = sentence(page)
        assert f"“{one['tokens'][place]}” may look at {sum(seen)} of {len(seen)} tokens and {asked}" in told
        assert f"gives {sum(map(bool, one['answers']))} answers" in told
        assert ("in the encoder" in told) == (kind == 1 and place < 3)
        assert ("in the decoder" in told) == (kind == 1 and place >= 3)
        assert cells(page, ".piece") == one["tokens"]
        assert page.locator(".piece.made").inner_text() == one["tokens"][place]
        faint = page.locator('.piece[style*="opacity"]').count()
        assert faint == sum(not may for s, may in enumerate(seen) if s != place)
        styles = [rect.get_attribute("style") for rect in page.locator(".panel svg rect").all()]
        strong = [float(re.search(r"opacity: ([\d.]+)", style)[1]) for style in styles]
        assert [x > 0.1 for x in strong] == [bool(may) for row in one["seen"] for may in row]
        assert sum(x == 1 for x in strong) == sum(seen)
        assert sum("--two" in style for style in styles) == 1

    check(0, 2)  # the slider ends at the last token
    page.get_by_label("Position", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    check(0, 1)
    page.get_by_label("next token").focus()
    page.keyboard.press("ArrowRight")
    check(1, 1)
    click_at(page, "Position", 0.98)
    check(1, 4)
    page.get_by_label("next token").check()
    check(0, 2)
