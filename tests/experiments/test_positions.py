"""The models of the experiment on positions: causal, told where they stand, and equal but for that."""

import importlib

import pytest
import torch

from pioneers.layers import causal_mask

KINDS = ("none", "learned", "sinusoidal", "relative", "alibi", "rotary")
SIZES = {"d_model": 12, "num_heads": 3, "num_layers": 2, "train_len": 5, "test_len": 11}


@pytest.fixture
def positions(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    return importlib.import_module("experiments.positions")


@pytest.fixture(params=KINDS)
def model(request, positions):
    torch.manual_seed(0)
    return positions.build(request.param, **SIZES)


def test_no_model_sees_what_comes_later(model):
    ids = torch.randint(256, (2, 11))
    other = ids.clone()
    other[:, 7] = (ids[:, 7] + 1) % 256
    moved = (model(ids) - model(other)).abs().amax(-1)
    assert (moved[:, :7] < 1e-6).all() and (moved[:, 7:] > 1e-6).all()


def test_added_positions_tell_the_same_byte_in_two_places_apart(positions):
    repeated = torch.full((1, 11), 65)
    for kind in ("learned", "sinusoidal"):
        logits = positions.build(kind, **SIZES)(repeated)[0]
        assert not torch.allclose(logits[3], logits[8], atol=1e-4)
    logits = positions.build("none", **SIZES)(repeated)[0]
    torch.testing.assert_close(logits, logits[:1].expand(11, -1), atol=1e-5, rtol=0)


def test_bits_are_those_of_the_window_alone(positions, model):
    windows = torch.randint(256, (3, 12))
    bits = positions.bits_by_position(model, windows)
    assert bits.shape == (11,)
    torch.testing.assert_close(bits, positions.bits_by_position(model, windows, causal_mask(11)))
    torch.testing.assert_close(bits[:6], positions.bits_by_position(model, windows[:, :7]))
