"""The four models of the experiment differ in their shift and their biases, and in nothing else."""

import itertools

import pytest
import torch

from experiments.swin import CASES, make_swin, padded
from pioneers.data import ImageSet
from pioneers.device import seed_everything

SIZES = {"d_model": 6, "num_layers": (2, 2), "num_heads": (2, 3), "window_size": 2}


def made(case):
    seed_everything(0)
    return make_swin(**CASES[case], **SIZES)


def shifts(model):
    return [stage.shift for stage in model.stages]


def tables(model):
    return {name: p for name, p in model.named_parameters() if "table" in name}


def test_only_what_a_case_names_is_missing():
    models = {case: made(case) for case in CASES}
    for one, other in itertools.combinations(models.values(), 2):
        rest = zip(one.named_parameters(), other.named_parameters(), strict=True)
        assert all(torch.equal(p, q) for (name, p), (_, q) in rest if "table" not in name)
    assert {case: shifts(model) for case, model in models.items()} == {
        "both": [1, 1], "no shift": [0, 0], "no bias": [1, 1], "neither": [0, 0],
    }  # fmt: skip
    for case, model in models.items():
        assert tables(model)
        assert all(p.any() == p.requires_grad == CASES[case]["bias"] for p in tables(model).values())


@pytest.mark.parametrize("case", CASES)
def test_padded_digits_are_read(case):
    digits = padded(ImageSet(torch.rand(3, 1, 28, 28), torch.tensor([1, 2, 3])))
    assert digits.images.shape == (3, 1, 32, 32)
    assert not digits.images[:, :, :2].any() and not digits.images[:, :, :, -2:].any()
    assert made(case)(digits.images).shape == (3, 10)
