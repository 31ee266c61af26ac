"""The experiments on ViT: fair parts, positions that are what they are called, measures checked by hand."""

import importlib

import pytest
import torch

from pioneers.data import ImageSet
from pioneers.layers import patchify, unpatchify

RECIPE = {"steps": 2, "batch_size": 4, "lr": 1e-3, "weight_decay": 0.05}
SIZES = {"d_model": 12, "num_layers": 3, "num_heads": 3}


@pytest.fixture
def load(root, monkeypatch):
    """A module of the experiments that finds its images in memory: the pixels of image i are i / 10,000."""
    monkeypatch.syspath_prepend(root)
    numbers = torch.arange(10_000)
    images = (numbers / 10_000).view(-1, 1, 1, 1).expand(-1, 1, 28, 28)
    task = importlib.import_module("experiments.common_mnist")
    monkeypatch.setattr(task, "mnist", lambda split: ImageSet(images, numbers % 10))
    return lambda name: importlib.import_module(f"experiments.{name}")


def test_no_image_judges_and_trains_and_all_are_judged_by_the_same(load):
    task = load("common_mnist")
    parts, other = task.mnist_parts(7000, seed=0), task.mnist_parts(30, seed=1)
    assert [len(part.labels) for part in parts] == [7000, 1000, 2000]
    assert torch.cat([part.images[:, 0, 0, 0] for part in parts]).unique().numel() == 10_000
    for one, two in zip(parts[1:], other[1:], strict=True):
        assert torch.equal(one.images, two.images)
    assert len(other.train.labels) == 30
    assert not torch.equal(other.train.images, task.mnist_parts(30, seed=2).train.images)


def test_multiply_adds_are_those_of_the_formula(load):
    task = load("common_mnist")
    D, L, N, P = 12, 3, 16, 7
    T = N + 1
    block = 12 * T * D**2 + 2 * T**2 * D
    last = 2 * T * D**2 + 10 * D**2 + 2 * T * D  # there only the class token asks
    expected = N * P**2 * D + (L - 1) * block + last + 10 * D
    assert task.cost(task.small_vit(P, **SIZES))["multiply_adds"] == expected


@pytest.mark.parametrize("kind", ["vit", "vit_14", "convnet"])
def test_the_models_are_trained_and_judged_and_repeatable(load, kind):
    module = load("vit_convnet")
    sizes = {
        "vit": {"patch_size": 28, **SIZES},
        "vit_14": {"patch_size": 14, **SIZES},
        "convnet": {"width": 2},
    }
    how = {"sizes": sizes, "kind": kind, "images": 20, **RECIPE}
    first, again, other = (module.one_case(seed=seed, **how) for seed in (0, 0, 1))
    assert first == again != other
    assert 0 <= first["accuracy"] <= 1 and 0 <= first["training_accuracy"] <= 1
    assert len(first["shifted"]) == 1 + len(module.SHIFTS)
    for name in {"distances", "distances_at_start"} & set(first):
        assert torch.tensor(first[name]).shape == (3, 3)
    assert ("distances" in first) == (kind != "convnet")
    assert set(load("vit_convnet_grid").one_case(seed=0, **how)) == {"validation"}


def test_each_model_gets_the_learning_rate_that_did_best(load):
    module = load("vit_convnet")
    cases = {
        f"{kind} {lr}": {"kind": kind, "images": 100, "lr": lr}
        for kind in ("vit", "convnet")
        for lr in (1, 2, 3)
    }
    rows = [{"case": case, "validation": -abs(how["lr"] - 2) + 9} for case, how in cases.items()]
    rows[3]["validation"] = 10
    found = module.chosen(rows, cases)
    assert {case: how["lr"] for case, how in found.items()} == {
        "vit, 100 images": 2,
        "convnet, 100 images": 1,
    }


def test_a_shift_moves_every_pixel_and_brings_in_white(load):
    shift = load("vit_convnet").shift
    image = torch.arange(1.0, 10).view(1, 1, 3, 3)
    assert shift(image, 1, 0)[0, 0].tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]
    assert shift(image, 0, -2)[0, 0].tolist() == [[3, 0, 0], [6, 0, 0], [9, 0, 0]]


def test_patches_cost_what_they_should(load):
    module = load("patch_size")
    large, small = (module.one_case(seed=0, images=20, patch_size=p, **SIZES, **RECIPE) for p in (28, 7))
    assert small["multiply_adds"] > large["multiply_adds"]
    assert set(small) == {"parameters", "multiply_adds", "accuracy"}


def vit(module, kind, place):
    torch.manual_seed(0)
    model = module.PositionedViT(patch_size=7, **SIZES, kind=kind, place=place)
    for position in model.positions:
        for table in position.parameters():
            torch.nn.init.normal_(table)
    return model.eval()


def test_only_the_model_without_positions_is_blind_to_order(load):
    module = load("vit_positions")
    images = torch.randn(2, 1, 28, 28)
    patches = patchify(images, 7)
    shuffled = unpatchify(patches[:, torch.randperm(16)], 7, height=28)
    for case in module.CASES.values():
        model = vit(module, case["kind"], case["place"])
        same = torch.allclose(model(images), model(shuffled), atol=1e-4)
        assert same == (case["kind"] == "none"), case


@pytest.mark.parametrize(("axes", "offsets"), [(1, 7), (2, 9)])
def test_relative_positions_are_one_value_per_offset(load, axes, offsets):
    position = load("vit_positions").RelativePositions(2, 3, axes, spread=1.0)
    assert position.table.shape == (offsets, 3)
    _, bias = position(torch.zeros(1, 5, 12))
    assert bias.shape == (3, 5, 5) and not bias[:, 0].any() and not bias[:, :, 0].any()
    place = [(0,), (1,), (2,), (3,)] if axes == 1 else [(0, 0), (0, 1), (1, 0), (1, 1)]
    by_offset = {}
    for q in range(4):
        for k in range(4):
            offset = tuple(b - a for a, b in zip(place[q], place[k], strict=True))
            by_offset.setdefault(offset, bias[:, 1 + q, 1 + k])
            assert torch.equal(by_offset[offset], bias[:, 1 + q, 1 + k])
    assert len({tuple(values.tolist()) for values in by_offset.values()}) == offsets


def test_two_axes_are_a_row_and_a_column_side_by_side(load):
    position = load("vit_positions").AddedPositions(3, 10, axes=2)
    rows, columns = position.table
    x, bias = position(torch.zeros(2, 10, 10))
    assert bias is None and not x[:, 0].any()
    assert torch.equal(x[1, 1 + 3 * 2 + 1], torch.cat([rows[2], columns[1]]))


def test_shared_positions_are_one_table_and_equal_those_of_every_block_if_these_agree(load):
    module = load("vit_positions")
    images = torch.randn(2, 1, 28, 28)
    for kind in ("1-D", "2-D", "relative 1-D", "relative 2-D"):
        every, shared = vit(module, kind, "every"), vit(module, kind, "shared")
        assert len(list(every.positions.parameters())) == 3
        assert len(list(shared.positions.parameters())) == 1
        every.load_state_dict(shared.state_dict())
        torch.testing.assert_close(every(images), shared(images))
    at_input = vit(module, "1-D", "input").positions
    assert [len(list(position.parameters())) for position in at_input] == [1, 0, 0]


def test_every_kind_of_positions_is_trained(load):
    module = load("vit_positions")
    for case in module.CASES.values():
        found = module.one_case(seed=0, images=20, patch_size=14, **SIZES, **case, **RECIPE)
        assert 0 <= found["accuracy"] <= 1 and len(found["shifted"]) == 3
