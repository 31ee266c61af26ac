import base64
import json
import math

import matplotlib.pyplot as plt
import pytest
import torch
from bs4 import BeautifulSoup

from pioneers.analysis.interactive import LARGEST, interactive

ALT = 'Two bars: "a" < "b" & nothing else.'


def draw(data, name="softmax", alt=ALT):
    figure, ax = plt.subplots(figsize=(3, 2), dpi=100)
    ax.bar([0, 1], [1, 2])
    try:
        return interactive(name, data, figure, alt)
    finally:
        plt.close(figure)


def page(shown):
    return BeautifulSoup(shown._repr_mimebundle_()["text/html"], "html.parser")


def test_a_page_gets_the_data_and_a_picture_with_words():
    found = page(draw({"rows": [1 / 3, 2], "who": "é"}))
    assert found.div["data-name"] == "softmax"
    assert json.loads(found.script.string) == {"rows": [0.3333, 2], "who": "é"}
    assert found.img["alt"] == ALT
    assert (found.img["width"], found.img["height"]) == ("300", "200")
    assert base64.b64decode(found.img["src"].partition(",")[2]).startswith(b"\x89PNG")


def test_a_text_shows_what_the_picture_does():
    assert draw({})._repr_mimebundle_()["text/plain"] == f"Interactive figure 'softmax': {ALT}"


def test_tensors_become_lists_of_rounded_numbers():
    data = {"weights": torch.tensor([[1 / 7, 1e-9], [12345.678, 0.5]]), "ids": torch.arange(3)}
    assert json.loads(draw(data).data) == {"weights": [[0.1429, 1e-9], [12350, 0.5]], "ids": [0, 1, 2]}


def test_data_cannot_end_the_script():
    shown = draw({"token": "</script><b>"})
    assert "</script><b>" not in shown._repr_mimebundle_()["text/html"]
    assert json.loads(page(shown).script.string) == {"token": "</script><b>"}


def test_the_figure_is_closed_so_that_it_is_not_shown_twice():
    before = plt.get_fignums()
    figure, _ = plt.subplots()
    interactive("softmax", {}, figure, ALT)
    assert plt.get_fignums() == before


@pytest.mark.parametrize("value", [math.nan, -math.inf, torch.tensor([0.0, math.nan])])
def test_what_json_cannot_say_is_an_error(value):
    with pytest.raises(ValueError, match=r"'softmax' contain NaN or infinity"):
        draw({"x": value})


def test_what_json_does_not_know_is_an_error():
    with pytest.raises(TypeError, match="set"):
        draw({"x": {1, 2}})


def test_too_much_data_is_an_error():
    assert draw({"x": "a" * (LARGEST - 8)}).data
    with pytest.raises(ValueError, match="60,001 characters"):
        draw({"x": "a" * (LARGEST - 7)})


def test_a_figure_needs_words():
    with pytest.raises(ValueError, match="alt is empty"):
        draw({}, alt=" ")
