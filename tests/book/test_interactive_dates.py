"""The Transformer that runs in the page on translation, by mouse and by keyboard, held against torch."""

import json
import re

import pytest
import torch

from experiments.live_dates import IDS, PIECE, pairs_of
from experiments.live_models import LIVE
from pioneers.analysis import experiment, record_attention
from pioneers.generation import translate
from pioneers.models import Transformer, TransformerConfig

from .test_interactive import sentence, show  # noqa: F401 a fixture
from .test_live_models import stored


@pytest.fixture(scope="module")
def dates():
    """The model of the page and its tokens."""
    held = json.loads((LIVE / "dates.js").read_text().split(" = ", 1)[1].rstrip(";\n"))
    model = Transformer(TransformerConfig(**held["config"])).eval()
    model.load_state_dict(stored("dates"), strict=False)
    return model, held["tokens"]


def test_it_is_right_about_dates_that_were_held_out(dates):
    model, tokens = dates
    (row,) = experiment("live_dates")["rows"]
    assert row["parameters"] == sum(weights.numel() for weights in model.parameters())
    ids = {token: i for i, token in enumerate(tokens)}
    for lang, share in row["right"].items():
        for source, target in pairs_of(lang, 20, "test", ids):
            found = translate(model, torch.tensor([source]), 14, **IDS)[0].tolist()
            assert share > 0.99 and found[: len(target) + 1] == [*target, 2]


def test_dates(show, dates):  # noqa: F811
    page, (model, tokens) = show("dates"), dates
    ids = {token: i for i, token in enumerate(tokens)}

    def torch_says(text, lang):
        source = torch.tensor([[ids[f"<{lang}>"], *(ids[piece] for piece in PIECE.findall(text))]])
        written = translate(model, source, 14, **IDS)[0].tolist()
        target = torch.tensor([[1, *written[:-1]]])
        with torch.inference_mode(), record_attention(model) as maps:
            p = model(source, target)[0].softmax(-1)
        return source[0].tolist(), written, p, maps[3::2][1][0]  # of the second block of the decoder

    def check(text, lang, steps, head=2):
        source, written, p, maps = torch_says(text, lang)
        spelled = "".join(tokens[i] for i in written[:steps] if i != 2)
        assert page.locator(".translation").inner_text() == (spelled or "nothing yet")
        shown = [float(cell) for cell in page.locator(".values td.numbers").all_inner_texts()]
        at = min(steps, len(written) - 1)
        assert shown == pytest.approx(p[at].topk(3).values.tolist(), abs=0.006)
        weights = maps[head, :steps] if head is not None else maps.mean(0)[:steps]
        found = [float(cell) for cell in page.locator(".alignment tbody td").all_text_contents()]
        assert found == pytest.approx(weights.flatten().tolist(), abs=0.006)
        if steps:
            most = tokens[source[weights[-1].argmax()]].strip()
            name = "end" if written[steps - 1] == 2 else tokens[written[steps - 1]].strip()
            assert f"To write “{name}”, it looks most at “{most}”" in sentence(page)
        assert ("The translation is" in sentence(page)) == (steps == len(written))
        return spelled

    page.keyboard.press("Tab")  # the model is loaded
    page.get_by_role("group", name="Head").wait_for()
    check("27 May 2035", "fr", 0)
    page.get_by_role("button", name="Next token").click()
    check("27 May 2035", "fr", 1)
    page.get_by_role("button", name="Next token").press("Enter")
    check("27 May 2035", "fr", 2)
    page.get_by_role("button", name="To the end").press("Space")
    assert check("27 May 2035", "fr", len(torch_says("27 May 2035", "fr")[1])) == "27 mai 2035"
    page.get_by_role("group", name="Head").get_by_label("mean").check()
    check("27 May 2035", "fr", len(torch_says("27 May 2035", "fr")[1]), head=None)

    page.get_by_label("Japanese").check()
    check("27 May 2035", "ja", 0, head=None)
    page.get_by_label("A date", exact=True).select_option("Saturday, 06 May 1967")
    page.get_by_role("button", name="To the end").click()
    found = torch_says("Saturday, 06 May 1967", "ja")[1]
    assert check("Saturday, 06 May 1967", "ja", len(found), head=None) == "1967年5月6日土曜日"
    page.get_by_role("button", name="Start again").click()
    check("Saturday, 06 May 1967", "ja", 0, head=None)

    page.get_by_label("Change it").fill("tomorrow")
    assert re.search("“tomorrow” is not in the vocabulary", sentence(page))
    page.get_by_label("Change it").fill("")
    assert "Write a date" in sentence(page)
    page.get_by_label("Change it").fill("May, " * 8)
    assert "at most 15 tokens" in sentence(page)
    page.get_by_label("Change it").fill("May 27, 2035")
    page.get_by_role("button", name="To the end").click()
    assert page.locator(".translation").inner_text() == "2035年5月27日"
    page.get_by_label("Change it").fill("6 May 1789")  # a century that it has never seen
    page.get_by_role("button", name="To the end").click()
    assert (
        page.locator(".translation").inner_text() and "1789" not in page.locator(".translation").inner_text()
    )
