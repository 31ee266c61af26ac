"""The live figure of the chapter on many GPUs, driven by mouse and keyboard."""

import pytest

from .figures import DATA
from .test_interactive import sentence, show  # noqa: F401 a fixture


def words(size):
    amount = size / 1e9
    return f"{amount:.1f}".removesuffix(".0") if amount < 10 else f"{amount:,.0f}"


def expected(model, gpus, sharded, low, again):
    data = DATA["memory"]
    one, count = data["models"][model], data["gpus"][gpus]
    parts = one["bytes"][low][again][gpus if sharded else 0]
    names = ("weights", "gradients", "optimiser", "activations")
    held = [card for card in data["cards"] if sum(parts) <= card]
    fits = f"A GPU of {words(held[0])} GB holds this." if held else "Not even a GPU of 80 GB holds this."
    said = ", ".join(f"{name} {words(size)}" for name, size in zip(names, parts, strict=True))
    gpus = f"{count} GPU{'s' if count > 1 else ''}"
    return (
        f"{one['name']} on {gpus}, 4 sequences of {one['length']} tokens on each, in GB: {said}; "
        f"together {words(sum(parts))}. {fits}"
    )


def test_memory(show):  # noqa: F811
    page = show("memory")
    bars = page.locator(".interactive rect")

    def widths():
        return [float(bars.nth(i).get_attribute("width")) for i in range(bars.count())]

    assert sentence(page) == expected(1, 0, False, 1, 0)
    page.get_by_label("small", exact=True).click()
    assert sentence(page) == expected(0, 0, False, 1, 0)
    parts = DATA["memory"]["models"][0]["bytes"][1][0][0]
    assert [width / sum(widths()) for width in widths()] == pytest.approx(
        [part / sum(parts) for part in parts], abs=1e-3
    )
    page.get_by_label("GPUs", exact=True).focus()
    page.keyboard.press("End")
    assert sentence(page) == expected(0, 1, False, 1, 0)
    page.get_by_label("the batch and the model").click()
    assert sentence(page) == expected(0, 1, True, 1, 0)
    page.get_by_label("the batch", exact=True).click()
    assert sentence(page) == expected(0, 1, False, 1, 0)
    page.get_by_label("recompute the activations").focus()
    page.keyboard.press("Space")
    assert sentence(page) == expected(0, 1, False, 1, 1)
    page.get_by_label("float32", exact=True).click()
    assert sentence(page) == expected(0, 1, False, 0, 1)
    page.get_by_label("large", exact=True).click()
    assert sentence(page) == expected(1, 1, False, 0, 1)
    page.get_by_label("the batch and the model").click()
    assert sentence(page) == expected(1, 1, True, 0, 1)
