"""Time to read a sequence: every layer, by length, and the number of threads is as before."""

import importlib

import pytest
import torch


@pytest.fixture
def experiment(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    return importlib.import_module("experiments.reading_time")


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "attention"])
def test_longer_sequences_take_longer(experiment, kind):
    threads = torch.get_num_threads()
    sizes = {"width": 11, "lengths": (3, 3000), "repeats": 2}
    row = experiment.one_case(seed=0, kind=kind, batch=2, threads=2, **sizes)
    short, long = row["milliseconds"]
    assert 0 < short < long
    assert torch.get_num_threads() == threads


def test_both_passes_reach_every_weight(experiment):
    for kind in experiment.KINDS:
        layer = experiment.layer_of(kind, 7)
        experiment.both_passes(layer, torch.randn(2, 5, 7))
        assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


def test_there_is_a_case_for_each_combination(experiment):
    assert len(experiment.CASES) == 27
    assert experiment.CASES["RNN, batch 16, 4 threads"] == {"kind": "RNN", "batch": 16, "threads": 4}
