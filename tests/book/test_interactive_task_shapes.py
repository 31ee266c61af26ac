"""The live figure of the page on GPT's tasks, by mouse and by keyboard, compared with the package."""

import re

from pioneers.objectives import (
    TaskTokens,
    classification_inputs,
    entailment_inputs,
    multiple_choice_inputs,
    similarity_inputs,
)

from .figures import DATA
from .test_interactive import sentence, show  # noqa: F401 a fixture

MAKE = {
    "classification": classification_inputs,
    "entailment": entailment_inputs,
    "similarity": similarity_inputs,
}


def wanted(shape, texts, size):
    """The rows of one example, as words."""
    words = sorted({token for text in texts for token in text})
    ids = [[words.index(token) for token in text] for text in texts]
    marks = TaskTokens(len(words), len(words) + 1, len(words) + 2)
    if shape == "multiple choice":
        inputs = multiple_choice_inputs([ids[0]], [ids[1:]], marks, max_seq_len=size)
    else:
        inputs = MAKE[shape](*([text] for text in ids), marks, max_seq_len=size)
    rows, ends = inputs.input_ids.flatten(0, -2).tolist(), inputs.extract.flatten().tolist()
    return [
        [[*words, "start", "delimiter", "extract"][i] for i in row[: end + 1]]
        for row, end in zip(rows, ends, strict=True)
    ]


def check(page, shape, example, size, back):
    one = {s["name"]: s["examples"] for s in DATA["task_shapes"]["shapes"]}[shape][example]
    expected = wanted(shape, one["texts"], size)
    lines = page.locator(".panel li").all()
    assert [line.locator(".piece").all_text_contents() for line in lines] == expected
    seen = [max(1, len(row) - back) for row in expected]
    assert [line.locator("[data-seen=yes]").count() for line in lines] == seen
    assert page.locator(".panel [data-read=yes]").count() == len(expected)
    told = re.findall(r"(\d+) of (\d+)", sentence(page))
    assert [(int(a), int(b)) for a, b in told] == list(zip(seen, map(len, expected), strict=True))
    assert ("same for every text" in sentence(page)) == (max(seen) == 1)
    assert one["asks"] in page.locator(".panel").inner_text()


def test_the_shapes_are_those_of_the_package(show):  # noqa: F811
    page, longest = show("task_shapes"), DATA["task_shapes"]["longest"]
    check(page, "classification", 0, longest, 0)
    for shape in ("entailment", "similarity", "multiple choice"):
        page.get_by_role("group", name="Shape").get_by_label(shape).click()
        check(page, shape, 0, longest, 0)
    page.get_by_role("group", name="Example").get_by_label("2").click()
    check(page, "multiple choice", 1, longest, 0)


def test_a_long_text_is_cut_and_an_early_state_has_seen_less(show):  # noqa: F811
    page, longest = show("task_shapes"), DATA["task_shapes"]["longest"]
    page.get_by_role("group", name="Shape").get_by_label("classification").focus()
    page.keyboard.press("ArrowRight")
    check(page, "entailment", 0, longest, 0)
    page.get_by_label("Longest sequence").focus()
    page.keyboard.press("Home")
    check(page, "entailment", 0, 8, 0)
    page.get_by_label("Read the answer").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    check(page, "entailment", 0, 8, 2)
    assert "dashed" in sentence(page)
    page.keyboard.press("Home")
    check(page, "entailment", 0, 8, longest - 1)
