"""The cue says which digit counts, and all that is compared sees the same pictures at about the same cost."""

import torch

from experiments.common_mnist import cost
from experiments.far_apart import CASES, CONFIG, DIGIT, SIDE, build, cues, one_case, pictures
from pioneers.data import ImageSet


def bright_digits():
    """Ten "digits" that can be told by their brightness."""
    labels = torch.arange(10)
    return ImageSet(((1 + labels) / 20).view(-1, 1, 1, 1).expand(-1, 1, 28, 28), labels)


def test_the_bar_points_at_the_label():
    images, labels = pictures(bright_digits(), 60, seed=0)
    bars = cues().sum((1, 2))  # told apart by how many pixels they have
    assert len(set(bars.tolist())) >= 2
    half = SIDE // 2
    corners = {0: (slice(0, half), slice(half, SIDE)), 1: (slice(half, SIDE), slice(0, half))}
    corners[2] = (slice(half, SIDE), slice(half, SIDE))
    for image, label in zip(images[:, 0], labels, strict=True):
        bar = image[:half, :half]
        spread = [int((bar.sum(axis) > 0).sum()) for axis in (1, 0)]  # rows and columns that it covers
        which = 0 if spread[0] < spread[1] and spread[0] == 2 else 1 if spread[1] == 2 else 2
        digit = image[corners[which]]
        assert digit.max() == (1 + label) / 20
        assert (digit > 0).sum() == DIGIT**2


def test_the_same_seed_gives_the_same_pictures_and_another_one_others():
    one, same, other = (pictures(bright_digits(), 20, seed) for seed in (1, 1, 2))
    assert torch.equal(one.images, same.images)
    assert torch.equal(one.labels, same.labels)
    assert not torch.equal(one.images, other.images)


def test_no_convnet_is_cheaper_than_the_vit_and_none_costs_a_quarter_more():
    costs = {kind: cost(build(kind, 0, CONFIG["sizes"]).eval(), SIDE)["multiply_adds"] for kind in CASES}
    assert costs["ViT"] == min(costs.values())
    assert max(costs.values()) < 1.25 * costs["ViT"]


def test_the_learning_rate_that_did_best_on_validation_is_reported(monkeypatch):
    from experiments import far_apart
    from experiments.common_mnist import Parts

    part = bright_digits()
    monkeypatch.setattr(far_apart, "mnist_parts", lambda images, seed: Parts(part, part, part))
    found = one_case(seed=0, **{**CONFIG, "steps": 2, "batch_size": 4, **CASES["ViT"]})
    best = found["validation"].index(max(found["validation"]))
    assert found["lr"] == CASES["ViT"]["rates"][best]
    assert 0 <= found["accuracy"] <= 1
