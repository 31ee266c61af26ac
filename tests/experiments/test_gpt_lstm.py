"""A GPT beside an LSTM, on tiny sizes."""

import importlib

import pytest
import torch


@pytest.fixture
def lstm(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    found = importlib.import_module("experiments.gpt_lstm")
    ids = torch.randint(found.VOCAB_SIZE, (600,), generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(found, "tokens", lambda: (ids, ids))
    return found


def test_both_have_as_many_parameters(lstm):
    gpt, other = (lstm.build(lstm.CASES[kind]["sizes"], 256) for kind in ("GPT", "LSTM"))
    counts = [sum(p.numel() for p in model.parameters()) for model in (gpt, other)]
    assert max(counts) < 1.001 * min(counts)


@pytest.mark.parametrize("kind", ["GPT", "LSTM"])
def test_losses_fit_together(lstm, kind):
    found = lstm.one_case(seed=0, **lstm.CASES[kind], seq_len=16, batch_size=2, steps=2)
    assert sum(found["by_place"]) / 8 == pytest.approx(found["nats"], rel=1e-4)
    share = found["share"]
    if share:
        mean = share * found["recurring"] + (1 - share) * found["new"]
        assert mean == pytest.approx(found["nats"], rel=1e-4)


def test_a_pair_recurs_where_it_has_been_read_before(lstm):
    windows = torch.tensor([[1, 2, 3, 1, 2, 3, 3], [5, 5, 5, 5, 1, 5, 5]])
    assert lstm.recurs(windows).int().tolist() == [[0, 0, 0, 1, 1, 0], [0, 1, 1, 0, 0, 1]]


def test_a_window_repeats_one_passage_until_it_is_full(lstm):
    ids = torch.arange(600)
    batches = lstm.Repeats(ids, seq_len=64, batch_size=9, shortest=8, seed=0)
    windows = batches(3)
    assert windows.shape == (9, 65)
    assert windows.equal(batches(3)) and not windows.equal(batches(4))
    lengths = set()
    for row in windows:
        length = int((row == row[0]).nonzero()[1])
        assert row.equal(row[0] + torch.arange(65) % length)
        lengths.add(length)
    assert 8 <= min(lengths) < max(lengths) <= 32


def test_a_case_with_repeats_is_trained_on_them(lstm):
    shape = {"seq_len": 16, "batch_size": 2, "steps": 2}
    case = lstm.CASES["GPT, repeats"] | shape | {"shortest": 4}
    repeated, plain = lstm.one_case(seed=0, **case), lstm.one_case(seed=0, **case | {"shortest": 0})
    assert repeated["nats"] != plain["nats"]
