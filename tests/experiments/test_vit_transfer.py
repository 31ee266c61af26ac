"""Transfer of a ViT: fair parts, a head of zeros, both sides treated alike, and the model that ships."""

import json

import pytest
import torch

from experiments import vit_digits, vit_transfer
from experiments.common_mnist import Parts, cost
from pioneers.analysis import experiment
from pioneers.data import ImageSet
from pioneers.layers import sinusoidal_table_2d
from pioneers.models import ViT
from pioneers.weights import from_pretrained

TINY = {
    "sizes": {
        "ViT": {"patch_size": 14, "d_model": 12, "num_layers": 2, "num_heads": 3},
        "ConvNet": {"width": 2},
    },
    "images": 20,
    "steps": 2,
    "batch_size": 4,
    "shots": [1, 2],
    "tuning_steps": 2,
}


@pytest.fixture
def made_up(monkeypatch):
    """MNIST's parts, drawn at random."""
    labels = torch.arange(20) % 10
    part = ImageSet(torch.rand(20, 1, 28, 28), labels)
    for module in (vit_transfer, vit_digits):
        monkeypatch.setattr(module, "mnist_parts", lambda images, seed: Parts(part, part, part))


def test_no_image_trains_and_judges_and_each_digit_has_its_shots():
    parts, other = vit_transfer.other_digits(3, 0), vit_transfer.other_digits(3, 1)
    assert [len(part.labels) for part in parts] == [30, 300, 1000]
    assert torch.bincount(parts.train.labels).tolist() == [3] * 10
    assert not torch.equal(parts.train.images, other.train.images)
    assert torch.equal(parts.test.images, other.test.images)
    seen, *unseen = ({image.numpy().tobytes() for image in part.images} for part in parts)
    assert not seen & (unseen[0] | unseen[1]) and not unseen[0] & unseen[1]


def test_fewer_shots_are_among_the_more():
    few, many = (vit_transfer.other_digits(shots, 2).train.images for shots in (1, 3))
    assert torch.equal(many.view(10, 3, 28, 28)[:, 0], few[:, 0])


def test_digits_are_framed_as_those_of_mnist():
    image = vit_transfer.enlarged(torch.ones(2, 1, 8, 8))
    assert image.shape == (2, 1, 28, 28)
    torch.testing.assert_close(image[:, :, 4:24, 4:24], torch.ones(2, 1, 20, 20))
    assert image.sum() == pytest.approx(2 * 20 * 20)


def test_the_new_head_is_zero_and_the_old_model_as_it_was():
    model = vit_transfer.build("ViT", 0, TINY["sizes"])
    new = vit_transfer.with_new_head(model)
    assert not new.head.weight.any() and not new.head.bias.any()
    assert model.head.weight.any()
    assert torch.equal(new.embed.position.table, model.embed.position.table)


def test_positions_begin_as_sinusoids():
    model = vit_transfer.build("ViT", 0, TINY["sizes"])
    assert torch.equal(model.embed.position.table[1:], sinusoidal_table_2d(2, 2, 12))


def test_both_models_cost_about_the_same():
    costs = [
        cost(vit_transfer.build(kind, 0, vit_transfer.CONFIG["sizes"]).eval())["multiply_adds"]
        for kind in ("ViT", "ConvNet")
    ]
    assert max(costs) < 1.1 * min(costs)


@pytest.mark.parametrize("case", vit_transfer.CASES)
def test_every_case_is_trained_and_repeatable(made_up, case):
    how = vit_transfer.CONFIG | vit_transfer.CASES[case] | TINY
    if "longer" in case:
        how["steps"] = 0
    first, again = (vit_transfer.one_case(seed=0, **how) for _ in range(2))
    assert first == again
    starts = ["scratch"] if "longer" in case else ["scratch", "pretrained"]
    for start in starts:
        assert [0 <= share <= 1 for share in first[f"{start}_accuracy"]] == [True, True]
        assert set(first[f"{start}_lr"]) <= set(how["tuning_rates"])
    assert ("pretrained_accuracy" in first) == ("longer" not in case)
    assert ("distances" in first) == (case == "ViT")


def test_the_rate_that_did_best_on_validation_is_taken(monkeypatch):
    part = ImageSet(torch.rand(20, 1, 28, 28), torch.arange(20) % 10)
    start = vit_transfer.build("ViT", 0, TINY["sizes"])
    seen = []
    monkeypatch.setattr(vit_transfer, "train", lambda model, data, seed, *, lr: (model, lr))
    monkeypatch.setattr(
        vit_transfer, "accuracy", lambda model, data: seen.append(model[1]) or -abs(model[1] - 2)
    )
    found = vit_transfer.tuned(start, Parts(part, part, part), 0, [1, 2, 3])
    assert found["lr"] == 2 and seen == [1, 2, 3, 2, 2]


def test_the_recipe_of_the_model_that_ships_is_that_of_the_experiment():
    wanted = vit_transfer.CONFIG | vit_transfer.CASES["ViT"] | {"steps": 3000}
    assert vit_digits.CONFIG.items() <= wanted.items()
    assert vit_digits.CASES["stored"]["offset"] not in range(5)
    assert experiment("vit_digits")["config"] == json.loads(json.dumps(vit_digits.CONFIG))


def test_the_model_that_ships_is_small_and_reads_other_digits():
    (row,) = experiment("vit_digits")["rows"]
    stored = from_pretrained(vit_digits.FOLDER).eval()
    assert type(stored) is ViT
    assert sum(p.numel() for p in stored.parameters()) == row["parameters"]
    assert (vit_digits.FOLDER / "model.safetensors").stat().st_size < 300_000
    test = vit_transfer.other_digits(1, vit_digits.CASES["stored"]["offset"]).test
    assert vit_transfer.accuracy(stored, test) == pytest.approx(row["old_head"], abs=0.005)


def test_the_model_that_ships_is_kept_by_its_script(made_up, monkeypatch, tmp_path):
    monkeypatch.setattr(vit_digits, "FOLDER", tmp_path)
    how = {name: TINY[name] for name in ("sizes", "images", "steps", "batch_size")}
    found = vit_digits.one_case(seed=0, offset=0, **(vit_digits.CONFIG | how))
    assert {"mnist", "old_head", "distances", "distances_at_start", "parameters"} == set(found)
    assert isinstance(from_pretrained(tmp_path), ViT)
