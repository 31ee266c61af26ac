import asyncio
import inspect
import re
from collections import Counter

import pytest

from pioneers import data
from pioneers.data import (
    code_words,
    docstring_packages,
    documents,
    sentence_boundary_qa,
)
from pioneers.data.registry import FILES
from pioneers.data.tasks import PACKAGES, REFERENCE

TASKS = (docstring_packages, code_words, sentence_boundary_qa)


def near(count, total, probability):
    """Within four standard deviations of a binomial."""
    return abs(count - total * probability) < 4 * (total * probability * (1 - probability)) ** 0.5


def test_a_fifth_of_the_documents_is_held_out_and_none_is_in_both_parts():
    train, test = documents("train"), documents("test")
    assert near(len(test), len(train) + len(test), 1 / 5)
    assert not {d.sentences for d in train} & {d.sentences for d in test}
    assert sum(len(" ".join(d.sentences)) for d in train) > 900_000


@pytest.mark.parametrize("task", TASKS)
def test_what_a_task_holds_out_stands_in_held_out_documents_alone(task):
    held_out = {sentence for d in documents("test") for sentence in d.sentences}
    learned = {sentence for d in documents("train") for sentence in d.sentences}
    text = {
        docstring_packages: lambda row: row.text,
        code_words: lambda row: " ".join(row.words),
        sentence_boundary_qa: lambda row: row.context,
    }[task]
    rows = task("test")
    assert len(rows) > 300
    assert not {text(row) for row in rows} & (learned - held_out)
    assert len(task("train")) > 3 * len(rows)


@pytest.mark.parametrize("task", [documents, *TASKS])
def test_a_split_that_does_not_exist_is_named(task):
    with pytest.raises(ValueError, match="no split 'dev'; it has: train, test"):
        task("dev")


def test_a_docstring_has_the_label_of_its_package():
    labels = {row.text: row.label for split in ("train", "test") for row in docstring_packages(split)}
    doc = " ".join(inspect.getdoc(asyncio.Queue).split())
    sentences = [text for text in labels if doc.startswith(text[:40])]
    assert [PACKAGES[labels[text]] for text in sentences] == ["asyncio"]
    assert set(labels.values()) == set(range(len(PACKAGES)))


def test_code_words_are_those_the_authors_put_between_quotation_marks():
    sentences = [s for d in documents("train") if d.package == REFERENCE for s in d.sentences]
    original = {sentence.replace('"', ""): sentence for sentence in sentences}
    rows = code_words("train")
    for words, tags in rows:
        written = original[" ".join(words)].split()
        assert ["CODE" if word.count('"') == 2 else "TEXT" for word in written] == list(tags)
    assert (
        0.02 < Counter(tag for row in rows for tag in row.tags)["CODE"] / sum(len(r.tags) for r in rows) < 0.1
    )


def test_two_sentences_are_run_together_and_their_border_is_asked_for():
    def plain(sentence):
        return re.sub(r"(\w\S*?)[,.;:!?]+(?!\S)", r"\1", sentence).lower()

    pairs = [tuple(map(plain, d.sentences[:2])) for d in documents("test") if len(d.sentences) > 1]
    rows = sentence_boundary_qa("test")
    from_left, from_right = Counter(), Counter()
    for row in rows:
        (answer,) = row.answers
        before, after = row.context[: answer.start], row.context[answer.start :]
        assert after.startswith(answer.text) and len(answer.text.split()) == 2
        assert any(f" {a} ".endswith(f" {before}") and b.startswith(after) for a, b in pairs)
        from_left[len(before.split())] += 1
        from_right[len(after.split())] += 1
    for places in (from_left, from_right):
        assert {4, 14} <= set(places) <= set(range(4, 15))
        assert max(places.values()) < len(rows) / 5  # no place gives the answer away


def test_the_page_of_tasks_has_a_row_for_each(root):
    """Every task and data set of the package is on it, and every public file belongs to one."""
    page = (root / "book" / "tasks.md").read_text()
    files = ("docstrings", "embedded", "public", "tasks", "translation", "truncation")
    modules = {f"pioneers.data.{name}" for name in files}
    functions = [
        name for name in data.__all__ if getattr(data, name).__module__ in modules and name.islower()
    ]
    assert len(functions) > 20
    assert [name for name in functions if f'"{name}"' not in page] == []
    assert [path for path in FILES if f'"{path.split("/")[0]}": [' not in page] == []
