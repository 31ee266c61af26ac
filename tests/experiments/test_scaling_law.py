"""The experiments on scaling: what they train on, what they predict from, and what the pages read."""

import importlib

import numpy as np
import pytest
import torch

TINY = {"seq_len": 5, "batch_size": 3, "num_heads": 2}
LINE = "The quick brown fox jumps over the lazy dog. "


@pytest.fixture
def scaling(root, monkeypatch):
    """The module, with a small text."""
    monkeypatch.syspath_prepend(root)
    module = importlib.import_module("experiments.scaling_law")
    texts = {"train": module.encode(LINE * 20), "held_out": module.encode(LINE * 5)}
    monkeypatch.setattr(module, "tokens_of", texts.__getitem__)
    return module


def test_characters_outside_ascii_share_an_id(scaling):
    assert scaling.encode("a~é…").tolist() == [97, 126, 127, 127]


def test_every_window_is_read_once_and_then_again_in_another_order(scaling):
    tokens = torch.arange(7 * 5 * 3 + 1)
    batches = scaling.EachWindowOnce(tokens, 5 * 15, seq_len=5, batch_size=3, seed=1)
    first, second = ([batches(step) for step in steps] for steps in (range(5), range(5, 10)))
    starts = [torch.cat(epoch)[:, 0].tolist() for epoch in (first, second)]
    assert len(set(starts[0])) == 15 and sorted(starts[0]) == sorted(starts[1])
    assert starts[0] != starts[1]
    assert all(start % 5 == 0 for start in starts[0])
    assert (first[0] == first[0][:, :1] + torch.arange(6)).all()
    assert torch.equal(batches(2), first[2])  # a batch depends on the step alone


def test_a_text_that_is_too_short_is_refused(scaling):
    with pytest.raises(ValueError, match="100 tokens are to be read, and the text has 100"):
        scaling.EachWindowOnce(torch.zeros(100), 100, seq_len=5, batch_size=3, seed=1)


def test_the_best_rate_is_the_lowest_point_of_a_parabola(scaling, monkeypatch):
    def rows(best, bend):
        rates = (1e-3, 2e-3, 4e-3)
        return [{"lr": lr, "bits": 2 + bend * (np.log(lr) - np.log(best)) ** 2} for lr in rates]

    found = [row | {"parameters": n} for n, best in ((50, 3e-3), (90, 0.1)) for row in rows(best, 1)]
    found += [row | {"parameters": 70} for row in rows(3e-3, -1)]
    monkeypatch.setattr(scaling, "experiment", {"scaling_rates": {"rows": found}}.__getitem__)
    sizes, best = scaling.best_rates()
    assert sizes == [50, 70, 90]
    assert best == pytest.approx([3e-3, 1e-3, 4e-3])  # inside, at the lower end, not beyond the upper end


def test_a_run_has_what_the_page_reads(scaling):
    row = scaling.one_case(seed=0, layers=1, width=12, tokens=95, lr=1e-3, **TINY)
    config = scaling.config_of(1, 12).replace(max_seq_len=5, num_heads=2)
    assert row["tokens"] == 90  # whole batches
    assert row["operations"] == scaling.training_operations(config, 90)
    assert row["parameters"] > row["in_blocks"] > 12 * 12**2
    assert 5 < row["bits"] < 9
    longer = scaling.one_case(seed=0, layers=1, width=12, tokens=600, lr=3e-2, **TINY)
    assert longer["bits"] < row["bits"] - 1


def test_bits_are_those_of_a_model_that_knows_nothing(scaling, monkeypatch):
    monkeypatch.setattr(scaling, "TEST_EVERY", 1)
    model = scaling.GPT(scaling.config_of(1, 8))
    with torch.no_grad():
        model.embed.token.weight.zero_()
    assert scaling.bits(model, 5) == pytest.approx(7)  # 128 characters


def test_the_prediction_is_made_from_the_small_runs(scaling, monkeypatch):
    held_out = importlib.import_module("experiments.scaling_held_out")
    rng = np.random.default_rng(0)
    rows = [
        {"parameters": n, "bits": (1.5 + 20 * n**-0.3) * np.exp(0.01 * rng.normal())}
        for n in np.geomspace(1e3, 1e5, 12).tolist()
    ]
    found = held_out.predict(rows, 400_000)
    assert found["low"] < 1.5 + 20 * 400_000**-0.3 < found["high"]
    assert found["low"] < found["middle"] < found["high"]
    monkeypatch.setattr(held_out, "experiment", {"scaling_law": {"rows": rows}}.__getitem__)
    row = held_out.one_case(seed=0, layers=1, width=12, tokens=60, lr=1e-3, **TINY)
    assert row["predicted"] == held_out.predict(rows, scaling.parameters_of(1, 12))


def test_the_larger_model_is_none_of_the_fit_and_much_larger(scaling):
    held_out = importlib.import_module("experiments.scaling_held_out")
    (larger,) = held_out.CASES.values()
    size = scaling.parameters_of(larger["layers"], larger["width"])
    assert size > 3.5 * max(scaling.parameters_of(*one) for one in scaling.SIZES)
    assert {case["tokens"] for case in scaling.CASES.values()} == {larger["tokens"]}


def test_a_budget_buys_the_same_operations_for_every_size(scaling):
    budgets = importlib.import_module("experiments.scaling_budgets")
    for name, case in budgets.CASES.items():
        if "distinct" not in case:
            config = scaling.config_of(case["layers"], case["width"])
            spent = scaling.training_operations(config, case["tokens"])
            assert spent == pytest.approx(float(name.split(":")[0]), rel=1e-3)
    assert len(budgets.CASES) == 16 + 3


def test_the_search_for_rates_tries_as_much_for_every_size(scaling):
    rates = importlib.import_module("experiments.scaling_rates")
    tried = {}
    for case in rates.CASES.values():
        tried.setdefault((case["layers"], case["width"]), []).append((case["lr"], case["tokens"]))
    assert len(tried) == 4 and len({tuple(one) for one in tried.values()}) == 1
    assert set(tried) <= set(scaling.SIZES)
