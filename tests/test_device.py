import random

import numpy as np
import pytest
import torch

from pioneers.device import (
    autocast,
    best_device,
    grad_scaler,
    has_fast_bf16,
    low_precision,
    rng_state,
    seed_everything,
    set_rng_state,
)


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


@pytest.mark.parametrize(("card", "name"), [(None, "cuda"), ("3", "cuda:3")])
def test_each_of_several_processes_gets_a_card_of_its_own(card, name, monkeypatch):
    monkeypatch.delenv("PIONEERS_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if card is not None:
        monkeypatch.setenv("LOCAL_RANK", card)
    assert best_device() == torch.device(name)


def test_more_processes_than_cards_are_refused(monkeypatch):
    monkeypatch.delenv("PIONEERS_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setenv("LOCAL_RANK", "4")
    with pytest.raises(RuntimeError, match="GPU number 4, counted from 0, but this machine has 4: give"):
        best_device()


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16", "auto"])
def test_autocast_computes_in_the_precision_asked_for(precision):
    x = torch.ones(2, 2)
    auto = torch.bfloat16 if has_fast_bf16("cpu") else torch.float32
    asked = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "auto": auto}[precision]
    with autocast(torch.device("cpu"), precision):
        assert (x @ x).dtype == asked
    assert grad_scaler(torch.device("cpu"), precision).is_enabled() == (asked == torch.float16)


@pytest.mark.parametrize(
    ("kind", "bf16", "chosen"),
    [
        ("cuda", True, torch.bfloat16),
        ("cuda", False, torch.float16),
        ("cpu", False, None),
        ("mps", False, None),
    ],
)
def test_cards_without_bf16_train_in_fp16(kind, bf16, chosen, monkeypatch):
    monkeypatch.setattr("pioneers.device.has_fast_bf16", lambda device_type: bf16)
    assert low_precision(torch.device(kind), "auto") == chosen


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


@pytest.mark.parametrize("there", [True, False])
def test_the_random_state_of_an_accelerator_is_kept_and_put_back_where_there_is_one(there, monkeypatch):
    put_back = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: torch.tensor([7], dtype=torch.uint8))
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state: put_back.append(state.tolist()))
    state = rng_state()
    assert state.keys() == ({"cpu", "cuda"} if there else {"cpu"})
    set_rng_state({"cuda": torch.tensor([7], dtype=torch.uint8)})
    assert put_back == ([[7]] if there else [])


def test_on_a_mac_its_own_accelerator_is_best_and_has_no_fast_bf16(monkeypatch):
    monkeypatch.delenv("PIONEERS_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert best_device() == torch.device("mps")
    assert not has_fast_bf16("mps")


@pytest.mark.parametrize("native", [True, False])
def test_bf16_of_a_card_counts_only_where_it_is_not_emulated(native, monkeypatch):
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda *, including_emulation: including_emulation or native
    )
    assert has_fast_bf16.__wrapped__("cuda") == native
