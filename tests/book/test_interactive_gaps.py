"""The BERT that runs in its page, by mouse and by keyboard, its guesses held against torch."""

import pytest
import torch

from experiments.live_models import STORED
from pioneers.weights import from_pretrained, load_tokenizer

from .figures import DATA
from .test_interactive import sentence, show  # noqa: F401 a fixture
from .test_live_models import stored

SIDES = ("both sides", "the left side only", "the right side only")


@pytest.fixture(scope="module")
def guess():
    """What torch expects in place of a token, with the rounded weights of the page."""
    tokenizer, bert = load_tokenizer(STORED / "bert_documents"), from_pretrained(STORED / "bert_documents")
    bert.load_state_dict(stored("bert"), strict=False)

    def guess(text, view, gap, kept=()):
        ids = torch.tensor([tokenizer.assemble(tokenizer.encode(text)).input_ids])
        place = torch.arange(ids.shape[1])
        seen = (place >= 0, place <= gap + 1, place >= gap + 1)[view]
        hidden = ids.clone()
        hidden[0, [1 + i for i in {gap, *kept}]] = tokenizer.special_ids["[MASK]"]
        with torch.inference_mode():
            p = bert(hidden, mask=seen[None, None, None]).masked_lm[0, gap + 1].softmax(-1)
        tokens = [tokenizer.vocab[i] for i in ids[0, 1:-1]]
        best = p.topk(5)
        named = [tokenizer.vocab[i] for i in best.indices]
        right = p[ids[0, gap + 1]]
        return tokens, named, best.values.tolist(), right.item(), int((p > right).sum()) + 1

    return guess


def test_gaps(show, guess):  # noqa: F811
    page, texts = show("gaps"), DATA["gaps"]["sentences"]
    assert page.evaluate("window.Live") is None and page.locator(".tokens button").count() == 0

    def check(text, view, gap, kept=()):
        tokens, named, shares, right, rank = guess(text, view, gap, kept)
        assert page.locator(".panel tbody th").all_inner_texts() == named
        shown = [float(cell) for cell in page.locator(".panel td.numbers").all_inner_texts()]
        assert shown == pytest.approx(shares, abs=0.0051)
        where = "the first guess" if rank == 1 else f"guess {rank:,} of 2,048"
        said, p = sentence(page).rsplit("of ", 1)
        more = f" {len(kept)} more hidden." if kept else ""
        assert said == (
            f"Hidden: “{tokens[gap]}”.{more} With {SIDES[view]} to read, it is {where}, with a probability "
        )
        assert float(p.rstrip(".")) == pytest.approx(right, abs=6e-4)
        away = {1: lambda i: i > gap, 2: lambda i: i < gap}.get(view, lambda i: False)
        assert page.locator(".panel .tokens button").all_inner_texts() == [
            "·" if away(i) else "[MASK]" if i in (gap, *kept) else token for i, token in enumerate(tokens)
        ]

    page.keyboard.press("Tab")  # the model is loaded
    page.locator(".tokens button").first.wait_for()
    check(texts[0], 0, 2)
    weights = page.locator(".panel tbody th").evaluate_all(
        "all => all.map(one => getComputedStyle(one).fontWeight)"
    )
    assert [int(weight) >= 600 for weight in weights] == [
        name == guess(texts[0], 0, 2)[0][2] for name in guess(texts[0], 0, 2)[1]
    ]
    page.get_by_role("button", name="of", exact=True).hover()
    check(texts[0], 0, 3)
    page.keyboard.press("Tab")
    page.locator(".tokens button").first.focus()
    page.keyboard.press("ArrowRight")
    check(texts[0], 0, 1)
    page.get_by_text("left only", exact=True).click()
    check(texts[0], 1, 1)
    page.get_by_label("right only").check()
    check(texts[0], 2, 1)
    page.get_by_label("both sides").check()
    page.locator(".tokens button").nth(4).press("Space")  # it stays hidden
    page.locator(".tokens button").nth(2).hover()
    check(texts[0], 0, 2, kept=[4])
    page.locator(".tokens button").nth(4).click()
    check(texts[0], 0, 4)
    page.get_by_role("group", name="Sentence").get_by_label("2").check()
    check(texts[1], 0, 1)

    page.get_by_label("write your own").fill("Unwanted files!")
    check("Unwanted files!", 0, 0)
    page.get_by_label("write your own").fill("")
    assert "Write a sentence" in sentence(page)
    page.get_by_label("write your own").fill("word " * 70)
    assert "the first 62 tokens" in sentence(page) and page.locator(".tokens button").count() == 62
