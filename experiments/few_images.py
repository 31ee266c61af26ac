"""DeiT's recipe on a hundred and on a thousand digits: augmentation, and a ConvNet as the teacher.

    PIONEERS_DATA=folder make experiments NAME=few_images

The ViT and the ConvNet of :mod:`experiments.vit_convnet`, of about equal cost, take equally many steps. An
augmented image is turned, moved and scaled a little, anew each time it is drawn. The teacher of a distilled
ViT is the augmented ConvNet, trained on the same labelled images; it looks at what the student looks at.
The learning rate of every run is the best of three on validation images. Touvron et al. 2021, in small.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import FINISHED, run
from experiments.common_mnist import accuracy, mnist_parts
from pioneers.data import ImageSet, RandomRows
from pioneers.device import best_device, seed_everything
from pioneers.layers import init_weights
from pioneers.models import DeiT, DeiTConfig, SmallResNet, ViT
from pioneers.objectives import classification_loss, distillation_token_loss, soft_target_loss
from pioneers.training import TrainConfig, fit, load_weights, save_weights

CONFIG: dict[str, Any] = {
    "vit": {"patch_size": 7, "d_model": 32, "num_layers": 3, "num_heads": 4},
    "width": 4,
    "augmentation": {"degrees": 15, "shift": 0.1, "scale": 0.15},
    "steps": 1200,
    "batch_size": 64,
    "weight_decay": 0.05,
    "rates": {"ViT": (2e-3, 6e-3, 0.018), "ConvNet": (0.02, 0.08, 0.32)},
}
RECIPES: dict[str, dict[str, Any]] = {
    "ConvNet": {"kind": "ConvNet"},
    "ConvNet, augmented": {"kind": "ConvNet", "augmented": True},
    "ViT": {"kind": "ViT"},
    "ViT, augmented": {"kind": "ViT", "augmented": True},
    "soft distillation": {"kind": "ViT", "augmented": True, "distilled": "soft"},
    "hard distillation": {"kind": "ViT", "augmented": True, "distilled": "hard"},
    "distillation token": {"kind": "ViT", "augmented": True, "distilled": "token"},
}
CASES = {
    f"{name}, {images} images": {"augmented": False, "distilled": None, **recipe, "images": images}
    for name, recipe in RECIPES.items()
    for images in (100, 1000)
}

Batch = tuple[Tensor, ...]


def jitter(images: Tensor, draw: torch.Generator, *, degrees: float, shift: float, scale: float) -> Tensor:
    """Each image turned, moved and scaled on its own; what comes in is 0.

    Args:
        images: ``(B, C, height, width)``.
        draw: where the random numbers come from, on the CPU.
        degrees: the largest angle, to either side.
        shift: the largest move, as a share of the side.
        scale: the largest change of size, as a share of it.
    """
    turn, size, right, down = (2 * torch.rand(4, len(images), generator=draw) - 1).to(images.device)
    angle, size = turn * math.radians(degrees), 1 + scale * size
    cos, sin = size * angle.cos(), size * angle.sin()
    rows = [cos, -sin, 2 * shift * right], [sin, cos, 2 * shift * down]
    maps = torch.stack([torch.stack(row, -1) for row in rows], 1)  # (B, 2, 3)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def build(kind: str, seed: int, vit: Mapping[str, int], width: int, *, token: bool = False) -> nn.Module:
    """A new ViT, DeiT or ConvNet."""
    seed_everything(seed)
    if kind == "ConvNet":
        return SmallResNet(1, 10, width=width).to(best_device())
    config = DeiTConfig(image_size=28, num_classes=10, in_channels=1, **vit)
    model = DeiT(config) if token else ViT(config)
    init_weights(model, std=config.d_model**-0.5)
    nn.init.normal_(model.embed.position.table, std=config.d_model**-0.5)
    return model.to(best_device())


def batches(
    digits: ImageSet,
    seed: int,
    batch_size: int,
    augmentation: Mapping[str, float] | None,
    teacher: nn.Module | None,
) -> Callable[[int], Batch]:
    """Step → images, labels, and what the teacher says of the same images."""
    rows = RandomRows(*digits, batch_size=batch_size, seed=seed)

    def batch(step: int) -> Batch:
        images, labels = rows(step)
        if augmentation is not None:
            draw = torch.Generator().manual_seed(step + 1_000_003 * seed)
            images = jitter(images, draw, **augmentation)
        if teacher is None:
            return images, labels
        with torch.no_grad():
            return images, labels, teacher(images)

    return batch


def loss(model: nn.Module, batch: Batch, distilled: str | None) -> Tensor:
    """Labels alone, or half labels and half teacher."""
    if distilled == "token":
        images, labels, teacher = batch
        said = model(images)
        return distillation_token_loss(said.class_token, said.distillation_token, labels, teacher)
    logits = model(batch[0])
    known = classification_loss(logits, batch[1])
    if distilled is None:
        return known
    taught = (
        soft_target_loss(logits, batch[2], temperature=3.0)
        if distilled == "soft"
        else F.cross_entropy(logits, batch[2].argmax(-1))
    )
    return (known + taught) / 2


def train(
    model: nn.Module, read: Callable[[int], Batch], seed: int, distilled: str | None, lr: float,
    *, steps: int, weight_decay: float,
) -> nn.Module:  # fmt: skip
    """Train in place, a tenth of the steps as warm-up."""
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="cosine", weight_decay=weight_decay,
        precision="fp32", log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model, lambda m, batch: loss(m, batch, distilled), read, recipe)
    return model.eval()


@torch.inference_mode()
def heads(model: DeiT, digits: ImageSet) -> dict[str, float]:
    """The accuracy of each head alone."""
    model.train()  # then it returns what each head says; nothing in it is random
    said = model(digits.images)
    model.eval()
    names = {"class_token": said.class_token, "distilled": said.distillation_token}
    return {
        name: (logits.argmax(-1) == digits.labels).float().mean().item() for name, logits in names.items()
    }


@torch.inference_mode()
def agreement(model: nn.Module, teacher: nn.Module, digits: ImageSet) -> float:
    """On which share of the images two models name the same digit."""
    return (model(digits.images).argmax(-1) == teacher(digits.images).argmax(-1)).float().mean().item()


def one_case(
    *,
    seed: int,
    kind: str,
    augmented: bool,
    distilled: str | None,
    images: int,
    vit: Mapping[str, int],
    width: int,
    augmentation: Mapping[str, float],
    batch_size: int,
    rates: Mapping[str, tuple[float, ...]],
    **recipe: Any,
) -> dict[str, Any]:
    """Train at each learning rate; the accuracy of the model that did best on validation."""
    parts = mnist_parts(images, seed)
    teacher = build("ConvNet", seed, vit, width)
    kept = FINISHED / f"few_images-{seed}-{images}.safetensors"  # by the augmented ConvNet, which comes first
    if distilled:
        load_weights(kept, teacher.eval())
    read = batches(
        parts.train, seed, batch_size, augmentation if augmented else None, teacher if distilled else None
    )
    tried = []
    for lr in rates[kind]:
        model = build(kind, seed, vit, width, token=distilled == "token")
        tried.append(train(model, read, seed, distilled, lr, **recipe))
    validation = [accuracy(model, parts.validation) for model in tried]
    best = max(range(len(tried)), key=validation.__getitem__)
    model = tried[best]
    if kind == "ConvNet" and augmented:
        kept.parent.mkdir(parents=True, exist_ok=True)
        save_weights(kept, model)
    numbers: dict[str, Any] = {
        "validation": validation,
        "lr": rates[kind][best],
        "accuracy": accuracy(model, parts.test),
    }
    if distilled:
        numbers["teacher"] = accuracy(teacher, parts.test)
        numbers["agreement"] = agreement(model, teacher, parts.test)
    if isinstance(model, DeiT):
        numbers |= heads(model, parts.test)
    return numbers


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    teachers = {name: case for name, case in CASES.items() if name.startswith("ConvNet, augmented")}
    for cases in (teachers, CASES):
        run("few_images", cases, one_case, config=CONFIG)


if __name__ == "__main__":
    main()
