"""Tasks that only experiments use."""

import re
from collections import Counter

import pytest

from experiments.text.more_tasks import (
    BLANK,
    cloze_questions,
    continuations,
    next_sentence_pairs,
    punctuation,
)
from pioneers.data import documents

TEXTS = {
    next_sentence_pairs: lambda row: row.first,
    continuations: lambda row: row.context,
    cloze_questions: lambda row: row.context,
}


def near(count, total, probability):
    """Within four standard deviations of a binomial."""
    return abs(count - total * probability) < 4 * (total * probability * (1 - probability)) ** 0.5


@pytest.mark.parametrize("task", TEXTS)
def test_what_a_task_holds_out_stands_in_held_out_documents_alone(task):
    held_out = {sentence for d in documents("test") for sentence in d.sentences}
    learned = {sentence for d in documents("train") for sentence in d.sentences}
    rows = task("test")
    assert len(rows) > 300
    assert not {TEXTS[task](row) for row in rows} & (learned - held_out)
    assert len(task("train")) > 3 * len(rows)


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
