"""The live figure of the chapter on cost, driven by mouse and keyboard and compared with masks of torch."""

import re

import torch

from pioneers.layers import causal_mask, local_global_mask

from .test_interactive import sentence, show  # noqa: F401 a fixture


def table(name, T, r, K):
    """Numbers in the table of a pattern, and the products to make it and to use it."""
    if name == "kernel":
        return K * (K + 1), 2 * T * K * (K + 1)
    if name == "Linformer":
        return T * r, 4 * T * r * K
    masks = {
        "full": torch.ones(T, T),
        "causal": causal_mask(T),
        "window": local_global_mask(T, window=r),
        "window and a global token": local_global_mask(T, window=r, num_global=1),
    }
    scores = int(masks[name].sum())
    return scores, 2 * scores * K


def test_attention_patterns(show):  # noqa: F811
    page = show("attention_patterns")

    def check(name, T, r, K=8):
        numbers, products = table(name, T, r, K)
        times = table(name, 2 * T, r, K)[1] / products
        assert sentence(page) == (
            f"{name[0].upper()}{name[1:]}, {T} tokens: a table of {numbers:,} numbers per head, "
            f"{4 * numbers:,} bytes, and {products:,} multiplications. "
            f"Twice the tokens take {times:.1f} times as many."
        )
        drawn = page.locator("path.seen").get_attribute("d")
        assert len(re.findall("M", drawn)) == numbers

    check("window", 16, 3)
    for name in ("full", "causal", "window and a global token", "Linformer", "kernel"):
        page.get_by_label(name, exact=True).click()
        check(name, 16, 3)
    page.get_by_label("Tokens T").focus()
    page.keyboard.press("End")
    check("kernel", 32, 3)
    page.get_by_label("window", exact=True).click()
    page.get_by_label("Window r, or mixtures c").focus()
    page.keyboard.press("ArrowLeft")
    check("window", 32, 2)
    page.keyboard.press("Home")
    check("window", 32, 1)
