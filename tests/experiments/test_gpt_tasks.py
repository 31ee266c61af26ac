"""Fine-tuning the stored GPT, on tiny sizes."""

import importlib

import pytest
import torch

TINY = {"steps": 2, "batch_size": 3, "max_seq_len": 24}


@pytest.fixture
def shapes(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    found = importlib.import_module("experiments.text.shapes")
    # a few examples to be judged on
    monkeypatch.setattr(found, "judge", lambda task, predict, split: judged(found, task, predict, split))
    return found


def judged(shapes, task, predict, split):
    rows = shapes.examples(task, split)[:8]
    right = predict(rows).cpu() == shapes.labels_of(rows)
    return {"accuracy": right.float().mean().item()}


@pytest.mark.parametrize("task", ["finished", "finished first", "finished choice"])
def test_a_run_is_repeatable(shapes, task):
    how = {"task": task, "read": "extract", "way": "from scratch", "lr": 1e-3, "seed": 0, **TINY}
    assert shapes.one_case(**how) == shapes.one_case(**how)


def test_only_three_rows_are_new(shapes):
    torch.manual_seed(0)
    wider, stored = shapes.start("pretrained"), shapes.from_pretrained(shapes.FOLDER)
    size = stored.config.vocab_size
    table = wider.embed.token.weight
    assert len(table) == size + 3 and torch.equal(table[:size].cpu(), stored.embed.token.weight.float())
    assert wider.lm_head.weight is table
    other = shapes.start("from scratch")
    assert not torch.equal(other.embed.token.weight[:size], table[:size])


def test_the_last_token_of_the_text_comes_before_the_extract_token(shapes):
    rows = shapes.examples("finished", "test")[:3]
    at, before = (shapes.inputs("finished", rows, back, 24) for back in (0, 1))
    row = torch.arange(3)
    assert torch.equal(at.input_ids, before.input_ids)
    assert (at.input_ids[row, at.extract] == 2050).all()
    ends = [shapes.encode(text)[-1] for text, _ in rows]
    assert before.input_ids[row, before.extract].tolist() == ends


def test_the_better_rate_is_taken(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    tasks = importlib.import_module("experiments.gpt_tasks")
    rows = [{"case": f"pretrained, last, {lr}", "accuracy": value} for lr, value in ((0.1, 0.7), (0.01, 0.8))]
    monkeypatch.setattr(tasks, "experiment", lambda name: {"rows": rows})
    assert tasks.rate("pretrained", "last") == 0.01
