"""The interactive figures in a browser: driven by mouse and by keyboard, their numbers held against torch."""

import itertools
import math
import re

import matplotlib.pyplot as plt
import pytest
import torch

from pioneers.analysis.interactive import interactive
from pioneers.layers import (
    Rotary,
    cyclic_shift,
    shifted_window_mask,
    sinusoidal_table,
    window_partition,
)
from pioneers.objectives import masked_pixel_loss

from .figures import DATA, PLACES, TIMES, TOKENS, WIDTHS, count_pairs, tiny_mae

STOPS = """() => {
  const radios = new Set();
  return [...document.querySelectorAll(".panel :is(input, button, select, [tabindex])")].filter(one => {
    const first = one.type !== "radio" || !radios.has(one.name);
    radios.add(one.name);
    return first && one.tabIndex >= 0;
  }).length;
}"""
FOCUSED = """() => {
  const one = document.activeElement;
  const name = one.labels?.[0]?.textContent || one.getAttribute("aria-label") || one.textContent;
  const inside = document.querySelector(".panel").contains(one);
  return { inside, name: name.trim(), outline: getComputedStyle(one).outlineStyle };
}"""
COLOURS = """theme => {
  document.documentElement.dataset.theme = theme;
  const style = getComputedStyle(document.querySelector(".interactive"));
  const names = ["one", "two", "faint", "line", "pale", "warm"];
  return Object.fromEntries(names.map(name => [name, style.getPropertyValue(`--${name}`).trim()]));
}"""


class Complaints(list):
    """What a page complains about, and what it asks the network for."""

    def attend(self, page):
        page.on("console", self.listen)
        page.on("pageerror", lambda error: self.append(str(error)))
        page.on("request", lambda request: self.ask(request.url))
        return page

    def listen(self, message):
        if message.type in ("error", "warning"):
            self.append(message.text)

    def ask(self, url):
        if not url.startswith(("file:", "data:")):
            self.append(url)


@pytest.fixture
def show(browser, root, tmp_path):
    """Open a page with one figure; at the end it must have had nothing to complain about."""
    complaints, contexts = Complaints(), []

    def show(name, **options):
        figure, _ = plt.subplots(figsize=(3, 2))
        shown = interactive(name, DATA[name], figure, "What the figure shows.")
        loader = (root / "book" / "_static" / "interactive" / "loader.js").as_uri()
        path = tmp_path / "page.html"
        path.write_text(
            '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>A page</title>'
            '<meta name="viewport" content="width=device-width">'
            f'{shown._repr_mimebundle_()["text/html"]}<script src="{loader}"></script>',
            encoding="utf-8",
        )
        contexts.append(browser.new_context(viewport={"width": 900, "height": 800}, **options))
        page = complaints.attend(contexts[-1].new_page())
        page.goto(path.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()
    assert not complaints


def contrast(one, other):
    """The ratio of the luminances of two colours, #rrggbb."""
    lights = []
    for colour in (one, other):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        lights.append(sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), parts, strict=True)))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def sentence(page):
    return page.locator(".says").inner_text()


def cells(page, selector):
    return page.locator(f".panel {selector}").all_inner_texts()


def click_at(page, label, share):
    """Click on a slider, at a share of its length."""
    box = page.get_by_label(label, exact=True).bounding_box()
    page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)


@pytest.mark.parametrize("name", DATA)
def test_a_figure_takes_the_place_of_its_picture(show, name):
    page = show(name)
    page.locator(".interactive.live").wait_for()
    assert not page.locator(".interactive > img").is_visible()
    assert len(sentence(page)) > 20
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.emulate_media(media="print")
    assert page.locator(".interactive > img").is_visible() and not page.locator(".panel").is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_stand_out(show, theme):
    """WCAG 2.2: 4.5:1 for text, 3:1 for shapes, on the theme's own page colour and on the filled ones."""
    page, paper = show("softmax"), {"light": "#ffffff", "dark": "#121212"}[theme]
    page.locator(".live").wait_for()
    colour = page.evaluate(COLOURS, theme)
    ink = {"light": "#222832", "dark": "#ced6dd"}[theme]
    assert min(contrast(colour[name], paper) for name in ("one", "two", "faint")) > 4.5
    assert min(contrast(colour["line"], fill) for fill in (paper, colour["pale"])) > 3
    assert min(contrast(ink, colour[name]) for name in ("pale", "warm")) > 4.5


def test_without_scripts_the_picture_stays(show):
    page = show("softmax", java_script_enabled=False)
    assert page.locator(".interactive > img").is_visible()
    assert page.locator(".panel").count() == 0


@pytest.mark.parametrize("name", DATA)
def test_every_control_is_reached_by_tab_and_has_a_name(show, name):
    page = show(name)
    page.locator(".live").wait_for()
    reached = []
    for _ in range(page.evaluate(STOPS)):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    assert reached
    assert all(found["inside"] and found["name"] and found["outline"] == "solid" for found in reached)


def test_softmax(show):
    page = show("softmax")

    def check(width, scaled, tau):
        scores = DATA["softmax"]["scores"][WIDTHS.index(width)].double() / tau
        scores = scores / math.sqrt(width) if scaled else scores
        p = scores.softmax(-1)
        norm = (torch.diag(p) - torch.outer(p, p)).norm().item()
        shown = [float(text) for text in cells(page, "td:last-child")]
        assert shown == pytest.approx(p.tolist(), abs=1e-3)
        assert sum(shown) == pytest.approx(1, abs=5e-3)
        assert f"d_k = {width}, " in sentence(page) and f"key {int(p.argmax()) + 1} has " in sentence(page)
        shown_norm = float(re.search(r"Norm of J: (.*)\.$", sentence(page))[1])
        assert shown_norm == pytest.approx(norm, rel=0.06, abs=6e-3)

    page.get_by_label("Width of the keys").focus()
    page.keyboard.press("End")
    check(1024, False, 1)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    check(1024, True, 1)
    page.keyboard.press("Tab")
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    check(1024, True, 10**-0.5)
    click_at(page, "Width of the keys", 0.01)
    page.get_by_label("Divide by √d_k").click()
    check(4, False, 10**-0.5)


def test_attention(show):
    page, maps = show("attention"), DATA["attention"]["maps"]

    def check(weights):
        shown = [float(text) for text in cells(page, ".keys .numbers")]
        assert shown == pytest.approx(weights.tolist(), abs=6e-3)
        assert sum(shown) == pytest.approx(1, abs=0.03)

    check(maps[0, 1, 2])
    page.get_by_role("button", name="sat").hover()
    check(maps[0, 1, 3])
    assert f"“sat” in place 4 looks at “{TOKENS[maps[0, 1, 3].argmax()]}”" in sentence(page)
    page.get_by_role("button", name="sat").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    check(maps[0, 1, 0])
    page.get_by_role("group", name="Block").get_by_label("2").click()
    check(maps[1, 1, 0])
    page.get_by_role("group", name="Head").get_by_label("2").focus()
    page.keyboard.press("ArrowRight")
    check(maps[1, 2, 0])
    page.keyboard.press("ArrowRight")
    check(maps[1, :, 0].mean(0))
    page.get_by_role("group", name="Third word").get_by_label("ran").click()
    check(DATA["attention"]["other"]["maps"][1, :, 0].mean(0))
    assert page.get_by_role("button", name="ran").is_visible() and "ran" in cells(page, ".keys .token")
    page.get_by_role("group", name="Third word").get_by_label("sat").click()
    check(maps[1, :, 0].mean(0))


def test_positions(show):
    page, data = show("positions"), DATA["positions"]

    def check(rotary, m, n, base=10000.0):
        q, k = data["query"], data["key"]
        if rotary:
            turn = Rotary(8, max_seq_len=32, base=base)
            score = turn(q[None], start=m)[0] @ turn(k[None], start=n)[0]
        else:
            table = sinusoidal_table(32, 8, base=base)
            score = (q + table[m]) @ (k + table[n])
        found = re.search(r"query at (\d+), key at (\d+), score (-?[\d.]+)\.", sentence(page))
        assert (int(found[1]), int(found[2])) == (m, n)
        assert float(found[3]) == pytest.approx(score.item(), abs=0.011)
        assert ("everywhere" in sentence(page)) == rotary

    check(True, 7, 4)
    page.get_by_label("Position of the key").focus()
    page.keyboard.press("End")
    check(True, 3 + PLACES - 1, PLACES - 1)
    page.get_by_label("sinusoids added").click()
    check(False, 3 + PLACES - 1, PLACES - 1)
    click_at(page, "Distance, query − key", 0.99)
    check(False, 7 + PLACES - 1, PLACES - 1)
    page.get_by_label("Base").focus()
    page.keyboard.press("Home")
    page.get_by_label("sinusoids added").focus()
    page.keyboard.press("ArrowRight")
    check(True, 7 + PLACES - 1, PLACES - 1, base=10.0)


def test_byte_pairs(show):
    page, data = show("bpe"), DATA["bpe"]
    for done in range(len(data["merges"]) + 1):
        counts = count_pairs(data["steps"][done])
        pairs, times = cells(page, "tbody th"), cells(page, "tbody td.numbers")
        shown = {tuple(pair.split(" + ")): int(n) for pair, n in zip(pairs, times, strict=True)}
        assert shown.items() <= counts.items() and len(shown) == min(5, len(counts))
        assert list(shown)[:1] == data["merges"][done : done + 1]
        words = [re.sub(r"\s", "", text) for text in cells(page, ".words .word")]
        assert words == list(TIMES)
        assert page.locator(".words .piece").count() == sum(map(len, data["steps"][done]))
        if done % 2:
            page.get_by_role("button", name="Next").click()
        else:
            page.get_by_role("button", name="Next").focus()
            page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    page.get_by_label("Cut a word of your own").fill("newlow")
    assert "2 pieces: new | low." in sentence(page)
    page.get_by_label("Merges").focus()
    page.keyboard.press("Home")
    assert "6 pieces: n | e | w | l | o | w." in sentence(page)


def test_cache(show):
    page, data = show("cache"), DATA["cache"]

    def check(written, keep):
        seen = [data["prompt"] + i for i in range(written)]
        this = 0 if not written else seen[-1] if not keep or written == 1 else 1
        total = sum(seen) if not keep else seen[-1] if written else 0
        size = 2 * data["layers"] * data["width"] * data["bytes"] * (seen[-1] if written and keep else 0)
        assert [int(text.replace(",", "")) for text in cells(page, "td")] == [this, total, size]
        assert page.locator("rect.computed").count() == total
        assert page.locator("rect").count() == sum(seen)

    check(1, True)
    page.get_by_label("Tokens written").focus()
    page.keyboard.press("Home")
    check(0, True)
    for written in (1, 2, 3):
        page.get_by_role("button", name="Next").click()
        check(written, True)
    page.get_by_label("Tokens written").focus()
    page.keyboard.press("End")
    check(6, True)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    check(5, True)
    page.get_by_label("Keep keys and values").click()
    check(5, False)
    page.get_by_label("Tokens written").focus()
    page.keyboard.press("Home")
    check(0, False)


def test_beam(show):
    page, found = show("beam"), DATA["beam"]["found"]
    assert (found[1]["text"], found[2]["text"]) == ([*"Ax!"], [*"Bx!"])
    page.get_by_role("group", name="Beams").get_by_label("1").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("Steps").focus()
    page.keyboard.press("ArrowRight")
    rows = dict(zip(cells(page, "tbody th"), cells(page, "td:last-child"), strict=True))
    assert rows == {"B x": "kept", "A x": "kept", "A y": "dropped", "A z": "dropped", "B y": "dropped"}
    assert [float(p) for p in cells(page, "td.numbers")] == [0.36, 0.24, 0.21, 0.15, 0.04]
    assert page.locator("svg line.kept").count() == 4
    page.get_by_role("button", name="Next").click()
    assert sorted(cells(page, "td:last-child")) == ["finished", "finished", "kept"]
    page.get_by_role("button", name="Next").click()
    assert "over: “B x !” with probability 0.3240" in sentence(page)
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    page.get_by_role("group", name="Beams").get_by_label("1").click()
    assert page.get_by_label("Steps").input_value() == "3"
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    assert "over: “A x !” with probability 0.2400" in sentence(page)


def test_block(show):
    page, data = show("block"), DATA["block"]["placements"]
    norms = {"post": 2, "pre": 2, "sandwich": 4}
    page.get_by_role("group", name="Placement").get_by_label("post-norm").focus()
    for name in data:
        page.get_by_label("Block", exact=True).focus()
        page.keyboard.press("Home")
        assert [float(x) for x in cells(page, "td")] == [sizes[0] for sizes in data.values()]
        click_at(page, "Block", 0.99)
        assert [float(x) for x in cells(page, "td")] == [sizes[-1] for sizes in data.values()]
        assert f"size {data[name][-1]:.2f} after block 2" in sentence(page)
        assert page.locator("svg .norm").count() == norms[name] and page.locator("svg .layer").count() == 2
        page.get_by_role("group", name="Placement").locator(":checked").focus()
        page.keyboard.press("ArrowRight")


def test_rollout(show):
    page, one = show("rollout"), DATA["rollout"]["images"][0]

    def check(shares):
        order = shares.argsort(descending=True).tolist()
        names = ["the class token", *(f"patch {i}" for i in range(4))]
        assert cells(page, "li") == [f"{names[t]}: {100 * shares[t]:.1f}%" for t in order]
        areas = [float(rect.get_attribute("width")) ** 2 for rect in page.locator("rect.share").all()]
        assert torch.tensor(areas) / sum(areas) == pytest.approx(shares[1:] / shares[1:].sum(), abs=2e-3)

    check(one["rollout"][0])
    page.get_by_role("button", name="patch 3").hover()
    check(one["rollout"][4])
    page.get_by_label("layer 1").click()
    check(one["layers"][0][4])
    page.get_by_role("button", name="patch 3").focus()
    page.keyboard.press("ArrowUp")
    check(one["layers"][0][2])
    page.get_by_label("layer 1").focus()
    page.keyboard.press("ArrowRight")
    check(one["layers"][1][2])
    page.get_by_label("3", exact=True).click()
    assert sentence(page).startswith("Digit 3, attention of layer 2")


def test_patches(show):
    page = show("patches")

    def check(P, token):
        N = (32 // P) ** 2
        assert [int(text.replace(",", "")) for text in cells(page, "td")] == [N, 3 * P * P, (N + 1) ** 2]
        row, column = divmod(token, 32 // P)
        assert f"Token {token} is the patch in row {row}, column {column}," in sentence(page)

    check(16, 0)
    page.get_by_label("8", exact=True).click()
    page.get_by_label("Token").focus()
    page.keyboard.press("End")
    check(8, 15)
    page.get_by_label("8", exact=True).focus()
    page.keyboard.press("ArrowRight")
    check(16, 3)  # the last that there is


def test_every_figure_of_the_book_comes_to_life(browser, html):
    pages = [path for path in html.glob("lectures/*.html") if 'class="interactive"' in path.read_text()]
    names = set()
    for path, theme in itertools.product(pages, ("light", "dark")):
        context, complaints = browser.new_context(color_scheme=theme), Complaints()
        page = complaints.attend(context.new_page())
        page.goto(path.as_uri())
        figures = page.locator(".interactive").all()
        page.wait_for_function(
            "n => document.querySelectorAll('.interactive.live').length === n", arg=len(figures)
        )
        names |= {figure.get_attribute("data-name") for figure in figures}
        assert all(len(text) > 20 for text in page.locator(".says").all_inner_texts())
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        assert not complaints
        context.close()
    assert names == DATA.keys() | {"gpt"}  # which needs its own files: test_live_gpt.py


def test_in_context(show):
    page, data = show("in_context"), DATA["in_context"]

    def check(prompt, k, method):
        one = data["prompts"][prompt]
        x, y = one["x"][:k], one["y"][:k]
        near = (-((x - 1.5) ** 2) / (2 * 0.7**2)).softmax(-1) @ y
        ridge, squares = (1.5 * (x @ y) / (x @ x + penalty) for penalty in (0.25, 0.0))
        theirs = {"ridge regression": ridge, "least squares": squares, "averaging by attention": near}
        wanted = [one["model"][k][3].item(), theirs[method].item() if k else 0, 1.5 * one["w"]]
        found = re.search(rf"predicts (.*) at x = 1.5, {method} (.*)\. .* is at (.*) there", sentence(page))
        assert [float(text) for text in found.groups()] == pytest.approx(wanted, abs=0.006)
        assert page.locator("circle").count() == k

    check(0, 3, "ridge regression")
    page.get_by_label("Examples in the prompt").focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_label("least squares").click()
    check(0, 2, "least squares")
    page.get_by_role("group", name="Prompt").get_by_label("2").click()
    page.get_by_label("averaging by attention").click()
    check(1, 2, "averaging by attention")
    page.get_by_label("Examples in the prompt").focus()
    page.keyboard.press("Home")
    check(1, 0, "averaging by attention")


def test_swin_windows(show):
    page = show("swin_windows")

    def check(shift, patch):
        allowed = shifted_window_mask(6, 6, 3, shift)
        places = window_partition(cyclic_shift(torch.arange(36).view(1, 6, 6, 1), shift), 3)[0, ..., 0]
        seen = torch.zeros(36, 36, dtype=torch.bool)
        for window, mask in zip(places, allowed, strict=True):
            seen[window[:, None], window] = mask
        window_of = torch.arange(6) // 3
        first = (3 * window_of[:, None] + window_of).flatten()
        through = (seen[patch][:, None] & (first[:, None] == first)).any(0)
        shown = [page.locator(f".tiles {name}").count() for name in (".now", ".before")]
        assert shown == [int(seen[patch].sum()), int((through & ~seen[patch]).sum())]
        row, column = divmod(patch, 6)
        assert sentence(page) == (
            f"Shift {shift}: the patch in row {row}, column {column} sees {shown[0]} patches in this layer "
            f"and {sum(shown)} through both layers."
        )

    check(1, 14)
    page.get_by_role("button", name="row 5, column 0").hover()
    check(1, 30)
    page.get_by_label("Shift").focus()
    page.keyboard.press("End")
    check(2, 30)
    page.get_by_role("button", name="row 5, column 0").focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    check(2, 26)
    page.get_by_label("Shift").focus()
    page.keyboard.press("Home")
    check(0, 26)


def test_clip_matrix(show):
    page, data = show("clip_matrix"), DATA["clip_matrix"]

    def check(language, images, tau, i, j):
        scores = data["cosines"][language, images].double()
        p = (scores / tau).softmax(-1)
        cells = page.locator(".pairs button")
        share = "cell => parseFloat(cell.style.getPropertyValue('--share'))"
        shown = cells.evaluate_all(f"cells => cells.map({share})")
        assert shown == pytest.approx((100 * p).flatten().tolist(), abs=0.1)
        names, best = data["words"][language], int(scores[i].argmax())
        found = re.fullmatch(
            r"Image of (\d), word “(\w+)”: cosine (\S+), probability (\S+)\. "
            r"The likeliest word for this image is “(\w+)”, which is (right|wrong)\. "
            r"In (\w+), (\d) of these 3 images get the right word\.",
            sentence(page),
        )
        right = int((scores.argmax(-1) == torch.arange(3)).sum())
        assert found.group(1, 2, 5) == (str(i), names[j], names[best])
        assert found.group(6, 7, 8) == (
            "right" if best == i else "wrong", data["languages"][language], str(right),
        )  # fmt: skip
        numbers = [float(text) for text in found.group(3, 4)]
        assert numbers == pytest.approx([scores[i, j].item(), p[i, j].item()], abs=6e-3)
        assert page.locator(".pairs .heading").all_inner_texts() == names

    check(1, 0, 0.07, 0, 0)
    page.get_by_role("button", name="image of 2, één").hover()
    check(1, 0, 0.07, 2, 1)
    page.get_by_label("German", exact=True).check()
    check(0, 0, 0.07, 2, 1)
    page.get_by_label("Temperature").focus()
    page.keyboard.press("End")
    check(0, 0, 1.0, 2, 1)
    page.get_by_label("Images", exact=True).focus()
    page.keyboard.press("ArrowRight")
    check(0, 1, 1.0, 2, 1)
    page.get_by_role("button", name="image of 2, eins").focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    check(0, 1, 1.0, 0, 2)
    page.get_by_label("Dutch (left out)").focus()
    page.keyboard.press("Space")
    check(1, 1, 1.0, 0, 2)
    first = "document.querySelector('.pairs canvas').getContext('2d').getImageData(0, 0, 4, 4).data"
    shades = page.evaluate(f"[...{first}].filter((_, i) => i % 4 === 0)")
    assert shades == pytest.approx((255 - 255 * data["pixels"][1, 0] / 16).tolist(), abs=1)


def test_augmentations(show):
    page = show("augmentations")

    def check(changed, corner):
        label = f"corner {corner:.2f}, snow {1 - corner:.2f}"
        says = f"{changed} of 16 patches have changed. The label is {label}."
        assert sentence(page) == says
        assert cells(page, "td") == [f"{corner:.2f}", f"{1 - corner:.2f}", f"{changed} of 16"]

    check(0, 1)
    right = page.get_by_label("Shift to the right")
    right.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    check(2, 1)  # the white patch has moved into the next one
    page.get_by_label("Mirrored, left to right").click()
    check(1, 1)  # mirrored first, it leaves the picture
    for _ in range(8):
        right.press("ArrowLeft")
    check(2, 1)
    page.get_by_label("Mirrored, left to right").press("Space")
    check(0, 1)
    page.get_by_label("Erased square").press("End")
    check(4, 1)  # grey now, a quarter of the picture
    page.get_by_label("Erased square").press("Home")
    click_at(page, "Mixed-in snow", 0.5)
    check(15, 0.5)  # all but the white patch are lighter
    page.get_by_label("Mixed-in snow").press("End")
    check(15, 0)


def test_corruption(show):
    page = show("corruption")

    def check(way, reads, writes):
        assert cells(page, "td") == [reads, writes]
        found = re.search(r"(\w+) reads (\d+) tokens and writes (\d+), ", sentence(page))
        lengths = [len(text.split()) for text in (reads, writes)]
        assert found.groups() == (way, *map(str, lengths))

    check("T5", "Thank you <X> me", "<X> for inviting <Y>")
    page.get_by_role("button", name="Thank").click()
    check("T5", "<X> you <Y> me", "<X> Thank <Y> for inviting <Z>")
    page.get_by_label("BART").click()
    check("BART", "[MASK] you [MASK] me", "Thank you for inviting me")
    page.get_by_label("BERT").click()
    check("BERT", "[MASK] you [MASK] [MASK] me", "Thank for inviting")
    page.get_by_role("button", name="Thank").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="inviting").focus()
    page.keyboard.press("Space")
    check("BERT", "Thank you [MASK] inviting me", "for")
    page.get_by_role("button", name="for").click()
    assert cells(page, "td") == ["Thank you for inviting me", "nothing"]


def test_mae_masks(show):
    page, data, (model, _) = show("mae_masks"), DATA["mae_masks"], tiny_mae()
    hidden = set(data["start"])

    def tile(n):
        return page.get_by_role("button", name=f"row {n // 3}, column {n % 3}")

    def pressed():
        return {n for n in range(9) if tile(n).get_attribute("aria-pressed") == "true"}

    def check(digit):
        assert pressed() == hidden
        image = data["images"][digit].view(1, 1, 6, 6) / 16
        order = torch.tensor([[n for n in range(9) if n not in hidden] + sorted(hidden)])
        visible, masked = order[:, : 9 - len(hidden)], torch.tensor([[n in hidden for n in range(9)]])
        with torch.inference_mode():
            painted = model(image, visible, order.argsort())
        for predicted, words in ((painted, "is"), (torch.full((1, 9, 4), 0.25), "it would be")):
            loss = masked_pixel_loss(predicted, image, masked, patch_size=2, normalise=False).item()
            found = re.search(rf"{words} (\d+\.?\d*)", sentence(page).split("pixel ")[1])
            assert float(found[1]) == pytest.approx(loss, rel=0.02, abs=6e-3)
        assert sentence(page).startswith(f"{len(hidden)} of 9 patches are hidden")

    check(0)
    tile(0).click()
    tile(4).click()
    hidden ^= {0, 4}
    check(0)
    page.get_by_label("7", exact=True).click()
    check(1)
    tile(4).focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    hidden ^= {4, 8}
    check(1)
    page.get_by_label("Hide at random").focus()
    page.keyboard.press("ArrowRight")
    hidden = pressed()
    assert len(hidden) == 7
    check(1)
    page.get_by_role("button", name="Draw another mask").click()
    assert pressed() != hidden
    hidden = pressed()
    assert len(hidden) == 7
    check(1)
    for n in hidden:
        tile(n).click()
    assert sentence(page).startswith("No patch is hidden")
    for n in range(9):
        tile(n).click()
    hidden = set(range(9))
    check(1)


def test_detections(show):
    page, scenes = show("detections"), DATA["detections"]["scenes"]

    def check(scene, threshold, query):
        one = scenes[scene]["queries"][query]
        drawn = [each["p"] >= threshold for each in scenes[scene]["queries"]]
        assert page.locator(".scene g.found").count() == sum(drawn)
        assert page.locator(".scene g.chosen.found").count() == drawn[query]
        heat = page.locator(".scene .heat").evaluate_all(
            "all => all.map(one => +one.getAttribute('fill-opacity'))"
        )
        assert heat == pytest.approx((0.65 * one["look"] / one["look"].max()).tolist(), abs=6e-4)
        frame = page.locator(".scene g.chosen rect")
        shown = [float(frame.get_attribute(name)) for name in ("x", "y", "width", "height")]
        cx, cy, w, h = (288 * one["box"]).tolist()
        assert shown == pytest.approx([cx - w / 2, cy - h / 2, w, h], abs=0.1)
        shown = cells(page, ".object-queries .numbers")
        assert shown == [f"{each['p']:.2f}" for each in scenes[scene]["queries"]]
        row, column = divmod(int(one["look"].argmax()), 3)
        digits, boxes = scenes[scene]["digits"], sum(drawn)
        assert sentence(page) == (
            f"Threshold {threshold:.2f}: {boxes} {'box' if boxes == 1 else 'boxes'} for {digits} "
            f"{'digit' if digits == 1 else 'digits'}. Query {query} says {one['label']} with probability "
            f"{one['p']:.2f}; its box is {'drawn' if drawn[query] else 'below the threshold, and dashed'}. "
            f"It looks most at the cell in row {row + 1}, column {column + 1}."
        )

    check(0, 0.9, 0)
    page.get_by_role("button", name="query 2").hover()
    check(0, 0.9, 2)
    page.get_by_label("2", exact=True).check()
    check(1, 0.9, 2)
    page.get_by_role("button", name="query 2").focus()
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    check(1, 0.9, 1)
    page.get_by_label("Threshold").focus()
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
    check(1, 0.3, 1)
    page.keyboard.press("End")
    check(1, 0.99, 1)
