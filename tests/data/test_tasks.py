import asyncio
import inspect
import re
from collections import Counter

import pytest

from pioneers import data
from pioneers.data import (
    cloze_questions,
    code_words,
    continuations,
    docstring_packages,
    documents,
    next_sentence_pairs,
    punctuation,
    sentence_boundary_qa,
)
from pioneers.data.registry import FILES
from pioneers.data.tasks import BLANK, PACKAGES, REFERENCE

QUESTIONS = (cloze_questions, sentence_boundary_qa)
TASKS = (docstring_packages, next_sentence_pairs, continuations, code_words, *QUESTIONS)


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
        next_sentence_pairs: lambda row: row.first,
        continuations: lambda row: row.context,
        code_words: lambda row: " ".join(row.words),
        cloze_questions: lambda row: row.context,
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


def test_half_of_the_second_sentences_follow():
    follows = {d.sentences[:2] for d in documents("train")}
    rows = next_sentence_pairs("train")
    assert near(sum(row.label for row in rows), len(rows), 1 / 2)
    assert all(((row.first, row.second) in follows) == row.label for row in rows)


def test_a_choice_is_right_and_the_others_follow_in_other_documents_of_the_package():
    of_package = {}
    for document in documents("train"):
        if len(document.sentences) > 1:
            of_package.setdefault(document.sentences[0], []).append(document)
    seconds = {(d.package, d.sentences[1]) for d in documents("train") if len(d.sentences) > 1}
    rows = continuations("train")
    for row in rows:
        own = next(d for d in of_package[row.context] if d.sentences[1] == row.choices[row.label])
        assert len(set(row.choices)) == 4
        assert {(own.package, choice) for choice in row.choices} <= seconds
    counts = Counter(row.label for row in rows)
    assert all(near(counts[label], len(rows), 1 / 4) for label in range(4))


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


def test_the_word_left_out_stands_once_in_the_context():
    sentences = {sentence for d in documents("test") for sentence in d.sentences}
    for row in cloze_questions("test"):
        (answer,) = row.answers
        assert row.context[answer.start :].startswith(answer.text)
        assert row.context.count(answer.text) == 1
        assert row.question.replace(BLANK, answer.text) in sentences
        assert row.question.replace(BLANK, answer.text) not in row.context


def test_punctuation_is_taken_away_and_asked_for():
    marks = "[,.;:!?]"
    texts = {re.sub(marks, "", " ".join(document.sentences)) for document in documents("test")}
    rows = punctuation("test")
    for words, tags in rows[::20]:
        assert any(text.startswith(re.sub(marks, "", " ".join(words))) for text in texts)
        assert len(words) == len(tags) <= 40
    words, tags = zip(*(pair for row in rows for pair in zip(*row, strict=True)), strict=True)
    left = [bool(re.fullmatch(rf"\w+{marks}", word)) for word in words]
    assert not any(left)
    assert {tag: round(tags.count(tag) / len(tags), 2) for tag in set(tags)} == pytest.approx(
        {"NONE": 0.9, "STOP": 0.05, "COMMA": 0.04}, abs=0.02
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
    assert len(functions) > 25
    assert [name for name in functions if f'"{name}"' not in page] == []
    assert [path for path in FILES if f'"{path.split("/")[0]}": [' not in page] == []
