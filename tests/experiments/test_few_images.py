"""The recipes differ in what they say they differ in, and an augmented digit is the same digit moved."""

import pytest
import torch

from experiments import few_images as experiment
from experiments.common_mnist import Parts
from experiments.few_images import CASES, CONFIG, RECIPES, batches, build, jitter, loss, one_case
from pioneers.data import ImageSet
from pioneers.models import DeiT, SmallResNet, ViT

NOTHING = {"degrees": 0.0, "shift": 0.0, "scale": 0.0}


def square(B=5):
    images = torch.zeros(B, 1, 28, 28)
    images[:, :, 10:18, 12:16] = 1
    return images


def generator():
    return torch.Generator().manual_seed(0)


def test_without_any_range_a_picture_stays_as_it_is():
    torch.testing.assert_close(jitter(square(), generator(), **NOTHING), square(), atol=1e-5, rtol=0)


def test_shifts_keep_what_is_moved_and_stay_within_their_range():
    moved = jitter(square(50), generator(), **{**NOTHING, "shift": 0.1})
    torch.testing.assert_close(moved.sum((1, 2, 3)), torch.full((50,), 32.0))
    rows = (moved.sum((1, 3)) * torch.arange(28)).sum(1) / 32  # the mean row of each
    assert (rows - 13.5).abs().max() <= 2.8
    assert rows.std() > 1


def test_every_picture_is_turned_on_its_own_and_the_same_draw_gives_the_same():
    how = {"degrees": 15, "shift": 0.1, "scale": 0.15}
    one, again = (jitter(square(), generator(), **how) for _ in range(2))
    assert torch.equal(one, again)
    assert not torch.equal(one[0], one[1])


def test_larger_scales_show_less_of_a_larger_square():
    sizes = jitter(square(200), generator(), **{**NOTHING, "scale": 0.15}).sum((1, 2, 3))
    assert 32 / 1.15**2 * 0.95 < sizes.min() < 32 < sizes.max() < 32 / 0.85**2 * 1.05


def test_recipes_add_one_thing_at_a_time():
    assert RECIPES["ViT, augmented"] == {**RECIPES["ViT"], "augmented": True}
    for name in ("soft", "hard"):
        assert RECIPES[f"{name} distillation"] == {**RECIPES["ViT, augmented"], "distilled": name}
    assert {case["images"] for case in CASES.values()} == {100, 1000}


@pytest.mark.parametrize(
    ("kind", "token", "made"), [("ConvNet", False, SmallResNet), ("ViT", False, ViT), ("ViT", True, DeiT)]
)
def test_the_same_seed_builds_the_same_model(kind, token, made):
    one, same, other = (build(kind, seed, CONFIG["vit"], 2, token=token) for seed in (0, 0, 1))
    assert type(one) is made
    state, equal = one.state_dict(), same.state_dict()
    assert all(torch.equal(state[name], equal[name]) for name in state)
    assert any(not torch.equal(state[name], tensor) for name, tensor in other.state_dict().items())


def test_teacher_and_student_look_at_the_same_augmented_images():
    digits = ImageSet(torch.rand(9, 1, 28, 28), torch.arange(9))
    seen = []

    def teacher(images):
        seen.append(images)
        return torch.zeros(len(images), 10)

    images, labels, said = batches(digits, 0, 4, CONFIG["augmentation"], teacher)(3)
    assert torch.equal(images, seen[0])
    assert said.shape == (4, 10)
    assert not any(
        torch.equal(image, digits.images[label]) for image, label in zip(images, labels, strict=True)
    )


@pytest.mark.parametrize("distilled", ["soft", "hard"])
def test_half_of_the_loss_of_a_student_comes_from_its_teacher(distilled):
    logits = torch.tensor([[4.0, 0, 0]])
    agrees, differs = torch.tensor([[4.0, 0, 0]]), torch.tensor([[0.0, 0, 4]])
    images, labels = torch.zeros(1, 1, 2, 2), torch.tensor([0])
    alone = loss(lambda _: logits, (images, labels), None)
    pleased = loss(lambda _: logits, (images, labels, agrees), distilled)
    assert alone / 2 <= pleased <= alone
    assert loss(lambda _: logits, (images, labels, differs), distilled) > alone


def test_students_need_the_teacher_that_came_before_them(monkeypatch, tmp_path):
    labels = torch.arange(40) % 10
    part = ImageSet(torch.rand(40, 1, 28, 28), labels)
    monkeypatch.setattr(experiment, "FINISHED", tmp_path / "kept")
    monkeypatch.setattr(experiment, "mnist_parts", lambda images, seed: Parts(part, part, part))
    tiny = {**CONFIG, "steps": 2, "batch_size": 4, "rates": {"ViT": (1e-3, 2e-3), "ConvNet": (1e-2,)}}
    student = {**tiny, **CASES["distillation token, 100 images"]}
    with pytest.raises(FileNotFoundError):
        one_case(seed=0, **student)
    teacher = one_case(seed=0, **{**tiny, **CASES["ConvNet, augmented, 100 images"]})
    found = one_case(seed=0, **student)
    assert found["teacher"] == teacher["accuracy"]
    assert found["lr"] == tiny["rates"]["ViT"][found["validation"].index(max(found["validation"]))]
    assert {"class_token", "distilled", "agreement"} <= set(found)
