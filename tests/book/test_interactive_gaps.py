"""The live figure of the page on BERT, by mouse and by keyboard."""

from .figures import DATA
from .test_interactive import sentence, show  # noqa: F401 a fixture

SIDES = ("both sides", "the left side only", "the right side only")


def test_gaps(show):  # noqa: F811
    page, data = show("gaps"), DATA["gaps"]

    def check(text, view, gap):
        tokens = data["texts"][text]["tokens"]
        found = data["texts"][text]["guesses"][view][gap]
        assert page.locator(".panel tbody th").all_inner_texts() == [token for token, _ in found["best"]]
        shares = [float(cell) for cell in page.locator(".panel td.numbers").all_inner_texts()]
        assert shares == [round(share, 2) for _, share in found["best"]]
        where = "the first guess" if found["rank"] == 1 else f"guess {found['rank']:,} of 2,048"
        assert sentence(page) == (
            f"Hidden: “{tokens[gap]}”. With {SIDES[view]} to read, it is {where}, "
            f"with a probability of {found['p']:.3f}."
        )
        shown = page.locator(".panel .tokens button").all_inner_texts()
        hidden = {1: lambda i: i > gap, 2: lambda i: i < gap}.get(view, lambda i: False)
        assert shown == [
            "[MASK]" if i == gap else "·" if hidden(i) else token for i, token in enumerate(tokens)
        ]

    check(0, 0, 2)
    page.get_by_role("button", name="the", exact=True).hover()
    check(0, 0, 0)
    page.keyboard.press("Tab")
    page.locator(".tokens button").first.focus()
    page.keyboard.press("ArrowRight")
    check(0, 0, 1)
    page.get_by_text("left only", exact=True).click()
    check(0, 1, 1)
    page.keyboard.press("ArrowRight")
    check(0, 2, 1)
    page.get_by_text("2", exact=True).click()
    check(1, 2, 1)


def test_the_token_that_was_there_is_printed_in_bold(show):  # noqa: F811
    page = show("gaps")
    weights = page.locator(".panel tbody th").evaluate_all(
        "all => all.map(one => getComputedStyle(one).fontWeight >= 600)"
    )
    assert weights == [True, False]
