"""Dense or experts: a token takes as many multiplications, and the numbers are what the page says."""

import importlib

import pytest
import torch
from torch import nn

from pioneers.layers import TopKRouter, routing
from pioneers.objectives import balance_loss, causal_lm, causal_lm_loss

SIZES = {"d_model": 12, "num_heads": 3, "num_layers": 2, "seq_len": 11, "entries": 20}


@pytest.fixture
def experts(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    return importlib.import_module("experiments.experts")


def sizes(experts, case):
    """The arguments of a case's decoder, with the sizes of the real run."""
    named = {name: experts.CONFIG[name] for name in SIZES}
    return named | {name: value for name, value in experts.CASES[case].items() if name != "balance"}


def test_all_cases_but_the_wide_one_take_as_many_multiplications(experts):
    found = {}
    for case in experts.CASES:
        model = experts.Decoder(**sizes(experts, case))
        found[case] = {experts.multiplications(block.ffn) for block in model.stack.blocks}
    assert found.pop("dense, 8x as wide") == {8 * 2 * 64 * 132}
    assert set().union(*found.values()) == {2 * 64 * 132}


def test_the_wide_model_has_about_as_many_parameters_as_eight_experts(experts):
    count = {
        case: sum(p.numel() for p in experts.Decoder(**sizes(experts, case)).parameters())
        for case in ("dense, 8x as wide", "8 experts, top 1")
    }
    assert count["dense, 8x as wide"] == pytest.approx(count["8 experts, top 1"], rel=0.02)


@pytest.mark.parametrize("k", [1, 2])
def test_multiplications_are_those_that_a_token_goes_through(experts, k):
    ffn = experts.Decoder(**SIZES, num_experts=4, k=k).stack.blocks[0].ffn
    rows = []
    for module in ffn.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(
                lambda made, given, _: rows.append(len(given[0].flatten(0, -2)) * made.weight.numel())
            )
    ffn(torch.randn(3, 7, 12))
    assert sum(rows) == 3 * 7 * experts.multiplications(ffn)


def test_half_of_the_rows_are_documentation_and_no_number_is_seen_twice(experts):
    texts = experts.texts()
    assert [len(part) for part in texts] == [len(experts.KINDS)] * 3
    first = bytes(texts.train[0][:2000].tolist()).decode()
    assert "the" in first
    for train, validation, test in list(zip(*texts, strict=True))[1:]:
        seen, chosen, asked = (
            set(bytes(part.tolist()).decode().splitlines()) for part in (train, validation, test)
        )
        assert not seen & chosen and not seen & asked and not chosen & asked
        assert len(asked) > 100


def test_the_loss_adds_the_balance_of_every_block(experts):
    windows = torch.randint(256, (3, 12))
    input_ids, targets = causal_lm(windows)
    model = experts.Decoder(**SIZES, num_experts=4, k=2)
    with routing(model) as seen:
        expected = causal_lm_loss(model(input_ids), targets)
    expected = expected + 0.5 * sum(balance_loss(made.logits, k=2) for made in seen)
    torch.testing.assert_close(experts.loss_fn(model, windows, k=2, balance=0.5), expected)
    dense = experts.Decoder(**SIZES)
    torch.testing.assert_close(
        experts.loss_fn(dense, windows, k=1, balance=0.5), causal_lm_loss(dense(input_ids), targets)
    )


class Uniform(nn.Module):
    """Every byte is as likely as any other."""

    def forward(self, ids):
        return torch.zeros(*ids.shape, 256)


def test_a_model_without_an_idea_needs_eight_bits_per_byte(experts):
    assert experts.bits_per_byte(Uniform(), torch.arange(100) % 256, 11) == pytest.approx(8)


def test_a_run_is_repeatable_and_has_what_the_page_reads(experts):
    how = SIZES | {"seq_len": 67, "rates": (1e-3, 1e-2), "batch_size": 4, "steps": 2, "num_experts": 4}
    first, again, other = (experts.one_case(seed=seed, **how) for seed in (0, 0, 1))
    assert str(first) == str(again) != str(other)
    assert set(first) - set(other) == {"favourites", "sentences"}
    assert [len(row) for row in first["loads"]] == [4, 4]
    assert [len(row) for row in first["by_kind"]] == [4] * len(experts.KINDS)
    assert [round(float(sum(row)), 4) for row in first["loads"]] == [1, 1]
    assert first["dropped"] == 0  # without a capacity
    assert [p.shape for p in first["sentences"]] == [
        (len(sentence.encode()), 4) for sentence in experts.SENTENCES
    ]
    dense = experts.one_case(seed=0, **how | {"num_experts": 1})
    assert "loads" not in dense and dense["multiplications"] == first["multiplications"]


def test_favourites_are_the_characters_that_went_to_an_expert_most_often(experts):
    router = TopKRouter(2, 2)
    router.gate.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    rows = torch.tensor([list(b"abacab"), list(b"cccbad")])
    made = router(nn.functional.one_hot((rows == ord("c")).long(), 2).float())
    found = experts.favourites(rows, made, count=2)
    assert found == [[["a", 0.5], ["b", 0.375]], [["c", 1.0], ["\0", 0.0]]]
