"""What is compared in the experiment on MAE differs in one thing: what the encoder has learned before."""

import pytest
import torch

from experiments import mae as experiment
from experiments.common_mnist import Parts
from experiments.mae import CASES, CONFIG, NUM_PATCHES, batches, fine_tune, mae, one_case, pixel_loss, probe
from pioneers.data import ImageSet
from pioneers.layers import patchify
from pioneers.objectives import mask_patches

SIZES = {
    "d_model": 8, "num_layers": 1, "num_heads": 2, "decoder_d_model": 4, "decoder_layers": 1,
    "decoder_heads": 2,
}  # fmt: skip
TINY = {"sizes": SIZES, "steps": 3, "batch_size": 4, "tuning": {"batch_size": 4, "weight_decay": 0.05}}


@pytest.fixture
def parts(monkeypatch):
    """Images whose label is how bright they are."""
    labels = torch.arange(60) % 10
    noise = torch.rand(60, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    part = ImageSet(noise * 0.1 + labels.view(-1, 1, 1, 1) / 10, labels)
    monkeypatch.setattr(experiment, "LABELS", (20, 60))
    monkeypatch.setattr(experiment, "mnist_parts", lambda images, seed: Parts(part, part, part))
    return Parts(part, part, part)


def test_cases_with_an_encoder_differ_in_what_is_hidden_alone():
    encoders = {name: dict(case) for name, case in CASES.items() if case["encoder"]}
    ratios = [case.pop("mask_ratio") for case in encoders.values()]
    assert ratios == [None, 0.25, 0.5, 0.75, 0.9]
    first, *pretrained = encoders.values()
    assert all(case == pretrained[0] for case in pretrained)
    assert (
        first["tuning_steps"] > pretrained[0]["tuning_steps"]
    )  # who has not pretrained may train for longer


def test_every_case_sees_the_same_images_and_noise():
    images = torch.rand(11, 1, 28, 28)
    one, same = (batches(images, 5, seed=3)(7) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one, same, strict=True))
    assert one[1].shape == (5, NUM_PATCHES)
    assert not torch.equal(one[1], batches(images, 5, seed=4)(7)[1])


def test_the_loss_is_that_of_the_hidden_pixels_alone(parts):
    images, noise = parts.train.images[:5], torch.rand(5, NUM_PATCHES)
    masked = mask_patches(noise, mask_ratio=0.5).masked
    truth = patchify(images, 7)
    wrong = truth + masked[..., None] * 0.5
    assert pixel_loss(lambda *_: truth, (images, noise), 0.5) == 0
    torch.testing.assert_close(pixel_loss(lambda *_: wrong, (images, noise), 0.5), torch.tensor(0.25))


def test_a_probe_reads_brightness_from_pixels_and_leaves_the_encoder_as_it_was(parts):
    assert min(probe(None, parts)) > 0.5
    encoder = mae(SIZES).to_vit()
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    probe(encoder, parts)
    assert all(torch.equal(tensor, encoder.state_dict()[name]) for name, tensor in before.items())


def test_fine_tuning_begins_each_time_with_what_was_pretrained(parts):
    model = mae(SIZES)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    recipe = {"steps": 2, "batch_size": 4, "weight_decay": 0.05}
    first, second = (fine_tune(model, parts, 0, 1e-2, recipe) for _ in range(2))
    assert first == second
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in before.items())


@pytest.mark.parametrize("name", ["raw pixels", "random encoder", "50% hidden"])
def test_a_case_reports_what_it_has(name, parts):
    found = one_case(seed=0, **{**CONFIG, **TINY, **CASES[name], "tuning_steps": 2})
    assert len(found["probe"]) == 2
    assert ("fine_tuned" in found) == (name != "raw pixels")
    assert ("loss" in found) == (name == "50% hidden")
