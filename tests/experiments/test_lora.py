"""The experiment on cheap fine-tuning: what it measures is what the page says."""

import importlib
from typing import Any

import pytest
from torch import nn

from pioneers.layers import LoRALinear, QuantizedLinear

TINY: dict[str, Any] = {"language": "nl", "steps": 2, "batch_size": 3, "validation": 5, "test": 7}


@pytest.fixture
def lora(root, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(root)
    module = importlib.import_module("experiments.lora")
    monkeypatch.setattr(module, "RANKS", (1, 256))
    monkeypatch.setattr(module, "FINISHED", tmp_path)
    monkeypatch.setattr(module, "RATES", {way: rates[:2] for way, rates in module.RATES.items()})
    return module


def test_no_date_is_in_two_parts(lora):
    parts = lora.dates("nl", 600, 50, 60)
    days = {name: {target for _, target in pairs} for name, pairs in parts.items()}
    assert [len(pairs) for pairs in parts.values()] == [600, 50, 60]
    assert not days["train"] & days["validation"] and not days["train"] & days["test"]


def test_targets_are_the_translation_and_the_line_break(lora):
    batch = lora.rows([("1 May 1946", "1 mei 1946"), ("Saturday, 06 May 1967", "zaterdag 6 mei 1967")])
    for row, text in zip(batch.targets, (" 1 mei 1946\n", " zaterdag 6 mei 1967\n"), strict=True):
        assert lora.tokenizer().decode(row[row != lora.IGNORED].tolist()) == text
    seen = lora.tokenizer().decode(batch.input_ids[1].tolist())
    assert seen == "Saturday, 06 May 1967 => zaterdag 6 mei 1967"


class Oracle(nn.Module):
    """Knows the right tokens of all rows but those it is told to spoil."""

    def __init__(self, targets, spoiled):
        super().__init__()
        self.targets, self.spoiled = targets, spoiled

    def forward(self, input_ids):
        wanted = self.targets.clamp(min=0)
        wanted[self.spoiled, (self.targets[self.spoiled] >= 0).nonzero()[0]] += 1
        return 20 * nn.functional.one_hot(wanted, 2048).float()


def test_a_translation_is_right_if_every_token_is(lora):
    pairs = lora.dates("nl", 1, 1, 7)["test"]
    found = lora.judge(Oracle(lora.rows(pairs).targets, 4), pairs)
    assert found["right"] == [1, 1, 1, 1, 0, 1, 1] and found["exact"] == pytest.approx(6 / 7)
    count = (lora.rows(pairs).targets != lora.IGNORED).sum().item()
    assert found["loss"] == pytest.approx(20 / count, rel=1e-3)


@pytest.mark.parametrize(
    ("case", "trained"),
    [
        ("full fine-tuning", 3_749_376),
        ("rank 2", 2 * 4 * (4 * (256 + 256) + 2 * (256 + 1024))),
        ("rank 8 on 4 bits", 8 * 4 * (4 * (256 + 256) + 2 * (256 + 1024))),
        ("last block", 12 * 256**2 + 13 * 256 + 2 * 256),
        ("biases", 4 * 11 * 256 + 256),
        ("soft prompt", 16 * 256),
    ],
)
def test_what_each_way_trains(lora, case, trained):
    how = {key: value for key, value in lora.CASES[case].items() if key != "language"}
    model = lora.prepare(**how)
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == trained
    inner = {type(layer.linear) for layer in model.modules() if isinstance(layer, LoRALinear)}
    assert inner == {"rank 2": {nn.Linear}, "rank 8 on 4 bits": {QuantizedLinear}}.get(case, set())


def test_a_run_of_full_fine_tuning_has_what_the_page_reads(lora):
    row = lora.one_case(seed=0, way="all", **TINY)
    assert len(row["validation"]) == 2 and row["lr"] in lora.RATES["all"]
    assert row["cut"][256]["left_over"] == pytest.approx(0, abs=1e-6)
    assert 0 < row["cut"][1]["left_over"] < 1
    assert row["cut"][256]["exact"] == row["exact"]
    parts = row["matrix"]
    assert parts["u"].shape == (32, 64) and parts["s"].shape == (256,)
    rebuilt = parts["u"] * parts["s"][:64] @ parts["v"].T
    assert (rebuilt - parts["shown"]).norm() < parts["shown"].norm()


def test_a_run_with_a_prompt_and_in_german(lora):
    row = lora.one_case(seed=0, way="prompt", **(TINY | {"language": "de"}))
    assert row["trained"] == 16 * 256 and "cut" not in row and len(row["right"]) == 7


def test_fewer_bits_take_fewer_bytes_and_predict_worse(lora):
    found = [lora.one_case(seed=0, way="rounded", bits=bits, **TINY) for bits in (None, 8, 2)]
    sizes = [row["matrix_bytes"] for row in found]
    assert sizes == [4 * 12 * 256**2 * 4, 4 * (12 * 256**2 + 9 * 256 * 2), 4 * (3 * 256**2 + 9 * 256 * 2)]
    bits = [row["bits_per_character"] for row in found]
    assert bits[2] > bits[1] + 0.5 and bits[1] == pytest.approx(bits[0], abs=0.01)


def test_every_case_names_a_way(lora):
    assert {case["way"] for case in lora.CASES.values()} == {*lora.RATES, "rounded"}


def test_rates_are_tried_once_and_come_in_their_order(lora, monkeypatch):
    how = {"validation": 3, "steps": 1, "batch_size": 2}
    first = lora.by_rate(1, "biases", **how)
    assert list(first) == [*lora.RATES["biases"]]
    monkeypatch.setattr(lora, "train", None)
    assert lora.by_rate(0, "biases", **how) == first
