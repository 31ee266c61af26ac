"""The experiment on checked rewards: what it counts and how it samples is what the page says."""

import importlib
from typing import Any

import pytest
import torch

from pioneers.data import check_sum, encode_sums, sum_answer, sum_problems

TINY: dict[str, Any] = {
    "digits": 2,
    "sizes": {"d_model": 12, "num_layers": 1, "num_heads": 3},
    "base": {"steps": 9, "lr": 3e-3, "batch_size": 5, "written": 0.5},
    "grpo": {"steps": 2, "lr": 1e-3, "prompts": 3, "group": 2, "beta": 0.04, "clip": 0.2},
    "rates": [1e-3],
}


@pytest.fixture
def grpo(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    module = importlib.import_module("experiments.grpo")
    monkeypatch.setattr(module, "TEST_PROBLEMS", 15)
    ablations = {name: how | {"prompts": 2, "group": 3} for name, how in module.ABLATIONS.items()}
    monkeypatch.setattr(module, "ABLATIONS", ablations)
    return module


@pytest.fixture
def model(grpo):
    return grpo.base_model(2, TINY["sizes"], TINY["base"], seed=0)


def test_only_answers_up_to_their_stops_are_learned(grpo):
    """With uniform logits the loss is log V, and its gradient is where an answer's token is predicted."""
    ids = encode_sums(["12+34=46.", "98+13=(11,11)111."])
    logits = torch.zeros(2, ids.shape[1] - 1, 17, requires_grad=True)
    loss = grpo.supervised_loss(lambda given: logits, ids)
    assert loss.item() == pytest.approx(torch.tensor(17.0).log().item())
    loss.backward()
    learned = logits.grad.abs().sum(-1) > 0
    assert learned[0].nonzero().flatten().tolist() == [5, 6, 7]
    assert learned[1].nonzero().flatten().tolist() == list(range(5, 16))


def test_the_mask_marks_the_sampled_answer_with_its_stop(grpo, model):
    problems = sum_problems(40, digits=2, seed=3)
    ids, mask, answers = grpo.sample(model, problems, seed=0)
    assert ids.shape == (40, mask.shape[1] + 1)
    for row, marked, answer in zip(ids, mask, answers, strict=True):
        chosen = row[1:][marked].tolist()
        assert chosen == row[6 : 6 + len(chosen)].tolist()
        if "." in answer:
            assert chosen[-1] == grpo.STOP
            assert grpo.STOP not in chosen[:-1]
        else:
            assert len(chosen) == ids.shape[1] - 6


def test_the_lazy_check_reads_the_last_digit(grpo):
    assert [grpo.last_digit("47+85=", a) for a in ("122.", "(12,12)132.", "2.", "131.", "132", "")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


def test_a_step_of_grpo_costs_five_passes_of_its_answers_and_a_supervised_one_three(grpo, model):
    cost = grpo.costs(model, TINY["base"], TINY["grpo"], 2)
    row = cost["supervised"] / (3 * TINY["base"]["batch_size"])
    answers = TINY["grpo"]["prompts"] * TINY["grpo"]["group"]
    assert cost["grpo"] == pytest.approx(5 * answers * row)
    assert cost["keep"] == pytest.approx(4 * answers * row)
    tokens, matrices = 6 + 11 - 1, 12 * 12**2 + 17 * 12  # a block, the output layer
    assert row >= 2 * tokens * matrices
    assert row < 2.5 * tokens * matrices  # attention adds little


def test_right_answers_become_likelier(grpo, model, monkeypatch):
    """A check that likes the full stop at once: after some steps the model writes little else."""
    monkeypatch.setitem(grpo.CHECKS, "brief", lambda problem, answer: len(answer) <= 2)
    settings = TINY["grpo"] | {"steps": 40, "prompts": 4, "group": 16, "lr": 1e-2, "check": "brief"}
    curves = grpo.run_grpo(model, settings, seed=0, digits=2)
    assert sum(curves["reward"][-5:]) / 5 > sum(curves["reward"][:5]) / 5 + 0.3
    assert curves["length"][-1] < curves["length"][0]


def test_keeping_ignores_wrong_answers(grpo, model, monkeypatch):
    monkeypatch.setitem(grpo.CHECKS, "brief", lambda problem, answer: False)
    before = [p.clone() for p in model.parameters()]
    grpo.run_grpo(model, TINY["grpo"] | {"check": "brief", "keep": True}, seed=0, digits=2)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_measured_shares_are_those_of_a_perfect_model(grpo, monkeypatch):
    """With answers that all have their working, everything is right at once."""

    def sample(model, problems, seed, **how):
        answers = [sum_answer(problem, working=True) for problem in problems]
        ids = encode_sums([p + a for p, a in zip(problems, answers, strict=True)])
        mask = torch.ones(len(ids), ids.shape[1] - 1, dtype=torch.bool)
        return ids, mask, answers

    monkeypatch.setattr(grpo, "sample", sample)
    found = grpo.measure(lambda ids: torch.zeros(*ids.shape, 17), 2, seed=0)
    assert found["sampled"] == found["greedy"] == found["written"] == 1
    assert set(found["pass"].values()) == {1.0}
    assert found["entropy"] == pytest.approx(torch.tensor(17.0).log().item())


def test_a_run_has_what_the_pages_read(grpo):
    row = grpo.one_case(seed=0, **TINY)
    supervised = {"the same class", "right working", "right working, a fifth"}
    assert set(row["ways"]) == supervised | {"GRPO", "keep the right ones"}
    losses = {name: len(row["ways"][name]["0.001"]["curves"]["loss"]) for name in supervised}
    assert losses == {"the same class": 4, "right working": 4, "right working, a fifth": 1}
    assert set(row["ablations"]) == set(grpo.ABLATIONS)
    assert row["steps"] == {"supervised": round(2 * 5 * 6 / (3 * 5)), "keep": round(2 * 5 / 4)}
    for after in row["ways"].values():
        assert set(after) == {"0.001"}
        assert {"sampled", "greedy", "written", "pass", "valid", "curves"} <= set(after["0.001"])
    assert len(row["ways"]["GRPO"]["0.001"]["curves"]["reward"]) == 2
    assert all(check_sum(p, sum_answer(p, working=True)) for p in sum_problems(9, split="test"))
