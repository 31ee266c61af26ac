"""Models and methods that count are judged by the same words, and each method counts what it should."""

import types

import numpy as np
import pytest
import torch

from experiments import bert_work
from experiments.bert_work import TASKS, judge, loss_of, model_of, predictions, words_of

EMBEDDED = ("finished pairs", "sentence boundary", "code words")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few examples of each task, and nothing kept from other tests."""
    rows = {task: {split: TASKS[task].rows(split)[:40] for split in ("train", "test")} for task in EMBEDDED}
    monkeypatch.setattr(bert_work, "examples", lambda task, split: rows[task][split])
    cached = ("names_of", "truth_of", "words_of", "counted")
    for name in cached:
        getattr(bert_work, name).cache_clear()
    yield
    for name in cached:
        getattr(bert_work, name).cache_clear()


@pytest.mark.parametrize("task", EMBEDDED)
def test_a_model_has_a_loss_and_an_answer_for_every_example(task):
    torch.manual_seed(0)
    rows = bert_work.examples(task, "test")
    for way in ("pretrained", "from scratch"):
        model = model_of(task, way).eval()
        assert loss_of(task, model, rows[:5]).item() > 0
        found = predictions(model, task)
        assert len(found) == (len(words_of(task)) if task == "code words" else len(rows))
        assert all(0 <= mark <= 1 for name, mark in judge(task, found).items() if name != "matthews")


@pytest.mark.parametrize("task", EMBEDDED)
def test_right_answers_get_full_marks(task):
    if task == "sentence boundary":
        right = [row.answers[0].text for row in bert_work.examples(task, "test")]
    else:
        right = bert_work.truth_of(task)
    found = judge(task, right)
    found.pop("share_unseen", None)
    assert all(mark == pytest.approx(1) for mark in found.values())


def test_the_lookup_knows_each_word_by_its_most_frequent_tag(monkeypatch):
    def row(words, tags):
        return types.SimpleNamespace(words=words.split(), tags=tags.split())

    rows = {
        "train": [row("a dir.", "TEXT CODE"), row("dir dir a", "CODE TEXT TEXT")],
        "test": [row("A dir new", "TEXT CODE CODE")],
    }
    monkeypatch.setattr(bert_work, "examples", lambda task, split: rows[split])
    assert bert_work.names_of("code words") == ["TEXT", "CODE"]
    assert bert_work.look_up("code words") == [0, 1, 0]
    found = judge("code words", bert_work.look_up("code words"))
    assert found["unseen"] == 0 and found["share_unseen"] == pytest.approx(1 / 3)


def test_the_first_words_are_those_that_begin_most_often(monkeypatch):
    def row(context, answer):
        return types.SimpleNamespace(context=context, answers=[types.SimpleNamespace(text=answer)])

    rows = {"train": [row("it is so the end", "the end")], "test": [row("so it went the way", "the way")]}
    monkeypatch.setattr(bert_work, "examples", lambda task, split: rows[split])
    assert bert_work.first_words("sentence boundary") == ["the way"]


def test_the_sides_of_a_pair_are_told_apart():
    found = bert_work.count_words("finished pairs")
    assert len(found) == 40 and set(found) <= {0, 1}
    assert np.mean([row[-1] for row in bert_work.examples("finished pairs", "train")]) == 0.5
