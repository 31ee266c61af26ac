import re

import pytest
from bs4 import BeautifulSoup

from pioneers.analysis.schematic import Schematic, SideBySide
from pioneers.analysis.shapes import PALETTE, Place, area, rectangle

ALT = 'Three words & "weights" < 1.'


def draw():
    picture = Schematic(300, 200, alt=ALT)
    words = picture.matrix(10, 20, 3, 2, kind="input", label="X", values=[["a", "<b>"]] * 3, cell=28)
    heat = [[1.0, None], [0.25, 0.75]]
    weights = picture.matrix(
        200, 60, 2, 2, heat=heat, kind="weights", row_labels="ab", column_labels=["animal", "b"]
    )
    plus = picture.node(120, 150, "+", kind="residual")
    layer = picture.box(100, 90, 60, 30, "FFN\nx_{t}", kind="ffn")
    picture.arrow(words.right, weights.left, "(T, d_{k})", kind="query")
    picture.arrow(layer.bottom, plus.top)
    picture.residual(layer.top, plus.right, 40)
    picture.brace((10, 180), (90, 180), "T")
    picture.brace((20, 120), (20, 180), "S")
    return picture


def shown(picture):
    return picture._repr_mimebundle_()["text/html"]


def test_a_picture_says_in_words_what_it_shows():
    found = BeautifulSoup(shown(draw()), "html.parser").svg
    assert (found["role"], found["aria-label"]) == ("img", ALT)
    assert draw()._repr_mimebundle_()["text/plain"] == f"Picture: {ALT}"
    with pytest.raises(ValueError, match="alt is empty"):
        Schematic(300, 200, alt=" ")
    with pytest.raises(ValueError, match="400 units wide cannot be read on a telephone"):
        Schematic(400, 200, alt=ALT)


def test_words_are_written_as_they_are_and_in_order():
    found = BeautifulSoup(shown(draw()), "html.parser")
    words = [text.get_text().replace("\u200b", "") for text in found.select("text")]
    assert words[:7] == ["a", "<b>", "a", "<b>", "a", "<b>", "X"]
    assert words[-3:] == ["(T, dk)", "T", "S"]
    assert [tspan.get_text() for tspan in found.select("tspan[font-size]")] == ["t", "k"]


def test_a_cell_is_as_strong_as_its_number_and_a_masked_one_is_crossed_out():
    picture = Schematic(100, 100, alt=ALT)
    place = picture.matrix(10, 20, 1, 3, cell=20, kind="weights", heat=[[1.0, 0.5, None]])
    cells = BeautifulSoup(picture.svg(), "html.parser").select("rect")
    assert [cell["fill-opacity"] for cell in cells] == ["0.9", "0.45", "0"]
    assert [cell["stroke"] for cell in cells] == [PALETTE["weights"], PALETTE["weights"], PALETTE["mask"]]
    assert len(BeautifulSoup(picture.svg(), "html.parser").select("path")) == 1
    assert (place.left, place.right, place.top, place.bottom) == ((10, 30), (70, 30), (40, 20), (40, 40))


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_every_colour_is_seen_on_light_and_on_dark_pages():
    for background in ("#ffffff", "#14181e"):
        for kind, colour in PALETTE.items():
            dark, light = sorted([luminance(colour), luminance(background)])
            assert (light + 0.05) / (dark + 0.05) >= 3, (kind, background)
    colours = set(re.findall(r"#[0-9a-f]{6}|currentColor|(?<=fill=\")none|black|white", draw().svg()))
    assert colours <= {*PALETTE.values(), "currentColor", "none"}


def test_the_same_shapes_give_the_same_picture_and_two_fit_into_one_figure():
    assert draw().svg() == draw().svg()
    two = BeautifulSoup(shown(SideBySide([draw(), draw()])), "html.parser")
    assert len(two.select("div > svg")) == 2


def test_the_parts_are_svg_on_their_own():
    assert 'rx="5"' in rectangle(Place(1, 2, 3, 4), "key", 0.5, 5)
    assert area([(0, 0), (4, 0), (2, 3)], "key").startswith('<path d="M0,0L4,0L2,3Z"')
