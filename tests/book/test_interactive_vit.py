"""The ViT that runs in its page, by mouse and by keyboard, what it reads held against torch."""

import re

import pytest
import torch

from experiments.live_models import STORED
from pioneers.analysis import record_attention
from pioneers.weights import from_pretrained

from .figures import DATA
from .test_interactive import sentence, show  # noqa: F401 a fixture
from .test_live_models import stored

PICTURE = """async () => {
  for (const _ of "two") await new Promise(requestAnimationFrame);
  const copy = new OffscreenCanvas(224, 224).getContext("2d", { willReadFrequently: true });
  copy.drawImage(document.querySelector("canvas"), 0, 0);
  const picture = copy.getImageData(0, 0, 224, 224);
  const place = i => 4 * ((8 * Math.floor(i / 28) + 4) * 224 + 8 * (i % 28) + 4);
  return [...Array(784).keys()].map(i => picture.data[place(i) + 2]);
}"""  # the blue of each pixel's middle


@pytest.fixture(scope="module")
def vit():
    """The stored ViT with the rounded weights of the page."""
    vit = from_pretrained(STORED / "vit_digits")
    rounded = {key: weights.view_as(vit.state_dict()[key]) for key, weights in stored("vit").items()}
    vit.load_state_dict(rounded)
    return vit


def test_vit(show, vit):  # noqa: F811
    page = show("vit")
    canvas = page.locator(".panel canvas")
    image = [
        torch.tensor([int(x, 16) / 15 for x in one["picture"]]).view(28, 28) for one in DATA["vit"]["digits"]
    ]

    def check(picture, block=3, head=None):
        with torch.inference_mode(), record_attention(vit) as maps:
            p = vit(picture[None, None]).softmax(-1)[0]
        shown = [float(cell) for cell in page.locator(".panel td.numbers").all_inner_texts()]
        assert shown == pytest.approx(p.tolist(), abs=0.006)
        looked = maps[block][0, :, 0] if head is None else maps[block][0, head : head + 1, 0]
        looked = looked.mean(0)[1:]
        row, column = divmod(int(looked.argmax()), 7)
        found = re.search(
            r"reads an? (\d), .*row (\d), column (\d) \((.*)\), and .* ([\d.]+)\.$", sentence(page)
        )
        assert [int(text) for text in found.groups()[:3]] == [int(p.argmax()), row + 1, column + 1]
        ink = picture.unfold(0, 4, 4).unfold(1, 4, 4).amax((-1, -2)).flatten() > 0.2
        numbers = [looked.max().item(), looked[ink].sum().item()]
        assert [float(text) for text in found.groups()[3:]] == pytest.approx(numbers, abs=0.006)

    def hide(picture, row, column):
        picture = picture.clone()
        picture[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 0
        return picture

    def click(row, column):
        canvas.click(position={"x": 32 * column + 16, "y": 32 * row + 16})

    page.keyboard.press("Tab")  # the model is loaded
    page.get_by_role("group", name="Head").wait_for()
    check(image[1])
    page.get_by_role("group", name="Digit", exact=True).get_by_label("1").check()
    check(image[0])
    page.get_by_role("group", name="Attention of block").get_by_label("1").check()
    page.get_by_role("group", name="Head").get_by_label("2").check()
    check(image[0], block=0, head=1)

    page.get_by_label("hide patches").check()
    click(3, 3)
    check(hide(image[0], 3, 3), 0, 1)
    assert "1 of its 49 patches hidden" in sentence(page)
    canvas.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    check(hide(hide(image[0], 3, 3), 4, 3), 0, 1)
    click(3, 3)
    check(hide(image[0], 4, 3), 0, 1)
    page.get_by_role("button", name="Show every patch").click()
    check(image[0], 0, 1)

    page.get_by_role("button", name="Clear").click()
    check(torch.zeros(28, 28), 0, 1)
    page.get_by_role("radio", name="draw").check()
    box = canvas.bounding_box()
    at = [(box["x"] + 8 * x, box["y"] + 8 * y) for x, y in ((8, 5), (20, 5), (13, 24))]
    page.mouse.move(*at[0])
    page.mouse.down()
    page.mouse.move(*at[1])  # a fast pointer leaves no holes
    page.mouse.move(*at[2])
    page.mouse.up()
    assert "reads a 7, with a probability of 1.00" in sentence(page)
    drawn = sum(value > 100 for value in page.evaluate(PICTURE))
    assert 60 < drawn < 160
    canvas.focus()
    page.keyboard.press("Space")
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowLeft")
    assert sum(value > 100 for value in page.evaluate(PICTURE)) > drawn + 8
    page.get_by_label("erase").check()
    canvas.focus()
    page.keyboard.press("Space")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    assert sum(value > 100 for value in page.evaluate(PICTURE)) < drawn + 8
