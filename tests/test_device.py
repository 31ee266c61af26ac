import random

import numpy as np
import pytest
import torch

from pioneers.device import autocast, best_device, has_fast_bf16, rng_state, seed_everything, set_rng_state


def test_the_environment_decides_the_device(monkeypatch):
    monkeypatch.setenv("PIONEERS_DEVICE", "cpu")
    assert best_device() == torch.device("cpu")


def test_an_impossible_device_is_refused_with_advice(monkeypatch):
    monkeypatch.setenv("PIONEERS_DEVICE", "abacus:1")
    with pytest.raises(
        RuntimeError, match=r"PIONEERS_DEVICE=abacus:1 cannot be used here .* set it to 'cpu'"
    ):
        best_device()


def test_without_an_accelerator_the_cpu_is_best(monkeypatch):
    monkeypatch.delenv("PIONEERS_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert best_device().type == "cpu"


@pytest.mark.parametrize("precision", ["fp32", "bf16", "auto"])
def test_autocast_computes_in_the_precision_asked_for(precision):
    x = torch.ones(2, 2)
    bf16 = precision == "bf16" or (precision == "auto" and has_fast_bf16("cpu"))
    with autocast(torch.device("cpu"), precision):
        assert (x @ x).dtype == (torch.bfloat16 if bf16 else torch.float32)


def test_other_precisions_are_refused():
    with pytest.raises(ValueError, match="must be 'auto', 'bf16', 'fp16' or 'fp32', not 'int3'"):
        autocast(torch.device("cpu"), "int3")


def test_seeding_and_restoring_repeat_the_numbers():
    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()

    seed_everything(7)
    first = draw()
    seed_everything(7)
    assert draw() == first
    state = rng_state()
    after = torch.rand(3)
    set_rng_state(state)
    assert torch.equal(torch.rand(3), after)
