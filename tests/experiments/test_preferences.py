"""The experiment on preferences: what it measures is what the page says."""

import importlib
import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pioneers.data import AnswerTokens
from pioneers.models import GPT, GPTConfig
from pioneers.tokenizers import ByteLevelBPE

SIZES: dict[str, Any] = {"pairs": 8, "new_tokens": 7, "sft_steps": 2, "reward_steps": 2}


@pytest.fixture
def answers(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    return importlib.import_module("experiments.text.answers")


@pytest.fixture
def experiment(answers, monkeypatch, tmp_path):
    """The experiment on a tiny GPT over bytes."""
    torch.manual_seed(0)
    config = GPTConfig(vocab_size=256, max_seq_len=129, d_model=12, num_layers=1, num_heads=3)
    for name, small in {"LONGEST": 24, "EXCERPT": 400, "tokenizer": lambda: ByteLevelBPE([])}.items():
        monkeypatch.setattr(answers, name, small)
    for cached in (answers.asked, answers.prompts, answers.windows):
        cached.cache_clear()
    module = importlib.import_module("experiments.preferences")
    sizes = {"BATCH": 3, "ROLLOUT": 4, "MINIBATCH": 2, "TESTED": 5, "SHOWN": 2}
    for name, small in sizes.items():
        monkeypatch.setattr(module, name, small)
    monkeypatch.setattr(module, "FINISHED", tmp_path)
    monkeypatch.setattr(module, "stored_gpt", lambda: GPT(config).eval())
    # A model of random bytes writes no sentences: this reader prefers the text that comes first.
    monkeypatch.setattr(answers, "judge", lambda text: -sum(map(ord, text)) or 1.0)
    yield module
    module.begin.cache_clear()
    for cached in (answers.asked, answers.prompts, answers.windows):
        cached.cache_clear()


def test_the_reader_prefers_the_shorter_of_two_sentences(answers):
    short, long, fragment, tiny = "Return it.", "Return the name of it.", "Return the name of", "A."
    assert answers.wins([short], [long]) == 1
    assert answers.wins([fragment, tiny], [long, long]) == 0.5
    assert answers.wins([fragment], [""]) == 0.5
    assert [answers.is_sentence(text) for text in (long, tiny, fragment, ".")] == [True, False, False, False]
    assert answers.wins([short, long, short], [long, short, short]) == pytest.approx(0.5)


def test_an_answer_ends_with_its_first_newline(answers, monkeypatch):
    made = torch.tensor([[7, 8, 9, 10, 10, 5], [7, 10, 10, 9, 9, 9]])  # 10 is the newline
    monkeypatch.setattr(answers, "tokenizer", lambda: SimpleNamespace(encode=lambda _: [10]))
    monkeypatch.setattr(answers, "generate", lambda *args, **how: made)
    monkeypatch.setattr(answers, "LONGEST", 3)
    asked = AnswerTokens(made[:, :2], torch.tensor([2, 3]), torch.tensor([2, 3]))
    found = answers.sample(None, asked, 3, seed=0)
    assert found.lengths.tolist() == [4, 6]  # the second has spent its three tokens


def test_pairs_hold_the_better_answer_first(experiment, answers):
    tokens = torch.tensor([ByteLevelBPE([]).encode(f"\nq:\n{answer}\n") for answer in "BAA"])
    four, six = torch.full((3,), 4), torch.full((3,), 6)
    first = AnswerTokens(tokens, four, six)
    second = AnswerTokens(tokens[[1, 0, 2]], four, six)
    chosen, rejected = answers.preferred(first, second)
    assert answers.texts(chosen) == ["A", "A"]
    assert answers.texts(rejected) == ["B", "B"]


@pytest.mark.parametrize("method", ["none", "dpo", "simpo", "ppo"])
def test_a_run_has_what_the_pages_read(experiment, method):
    row = experiment.one_case(seed=0, method=method, beta=0.1, lr=1e-3, steps=8, **SIZES)
    assert 0 <= row["win_rate"] <= 1
    assert len(row["answers"]) == 2
    if method == "none":
        assert row["kl"] == pytest.approx(0, abs=1e-6)
        assert row["before"]["answer_loss"] == pytest.approx(math.log(256), rel=0.1)
        assert row["pairs"] == 8
    else:
        assert [point["step"] for point in row["curve"]] == [0, 4, 7]
        assert row["curve"][0]["kl"] == pytest.approx(0, abs=1e-6)
        assert row["kl"] != 0
    if method == "dpo":
        assert len(row["examples"]) == 2
        assert all(sum(one["preferred"]) == 1 for one in row["examples"])


def test_answers_are_used_twice_and_then_sampled_anew(experiment, monkeypatch):
    start, _ = experiment.begin(0, 8, 7, 2, 2)
    made = []
    monkeypatch.setattr(
        experiment, "rollout", lambda *args, seed: made.append(seed) or [torch.arange(4) + 4 * len(made)]
    )
    _, batch = experiment.learn_rewards(None, start, 0.1, 0, 7)
    seen = [batch(step)[0].tolist() for step in range(8)]
    assert seen == [[4, 5], [6, 7], [4, 5], [6, 7], [8, 9], [10, 11], [8, 9], [10, 11]]
    assert len(set(made)) == 2
