"""Swin with and without the shift of its windows, and with and without its biases, on digits of MNIST.

    PIONEERS_DATA=folder make experiments NAME=swin

The digits are padded to 32 × 32 pixels and cut into 8 × 8 patches. Three stages of two blocks work in windows
of 2 × 2 patches. The model of this table is table 4 of Liu et al. 2021. Each case is trained with every rate
of the sweep; the rate that is best on 1,000 validation images gives the accuracy on the test images.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from experiments.common import run
from experiments.common_mnist import accuracy, mnist_parts, train
from pioneers.data import ImageSet
from pioneers.device import seed_everything
from pioneers.models import Swin, SwinConfig
from pioneers.models.swin import SwinStage

CONFIG = {
    "images": 7000,
    "d_model": 16,
    "num_layers": (2, 2, 2),
    "num_heads": (2, 4, 8),
    "window_size": 2,
    "steps": 300,
    "batch_size": 64,
    "rates": (3e-3, 6e-3, 1.2e-2),
    "weight_decay": 0.05,
}
CASES: dict[str, dict[str, Any]] = {
    "both": {"shift": True, "bias": True},
    "no shift": {"shift": False, "bias": True},
    "no bias": {"shift": True, "bias": False},
    "neither": {"shift": False, "bias": False},
}


def make_swin(*, shift: bool, bias: bool, **sizes: Any) -> Swin:
    """A Swin for padded digits; without ``shift`` its windows stay, without ``bias`` its biases stay zero."""
    model = Swin(SwinConfig(image_size=32, patch_size=4, num_classes=10, in_channels=1, **sizes))
    for stage in model.modules():
        if isinstance(stage, SwinStage) and not shift:
            stage.shift = 0
    if not bias:
        for table in model.stages.modules():
            if isinstance(table, nn.Embedding):
                nn.init.zeros_(table.weight).requires_grad_(False)
    return model


def padded(digits: ImageSet) -> ImageSet:
    """The digits in the middle of 32 × 32 pixels."""
    return ImageSet(F.pad(digits.images, (2, 2, 2, 2)), digits.labels)


def one_case(
    *,
    seed: int,
    images: int,
    rates: tuple[float, ...],
    steps: int,
    batch_size: int,
    weight_decay: float,
    **model: Any,
) -> dict[str, Any]:
    """Train with every rate; returns all validation accuracies, the best rate, and its test accuracy."""
    parts = [padded(part) for part in mnist_parts(images, seed)]
    recipe: dict[str, Any] = {"weight_decay": weight_decay, "steps": steps, "batch_size": batch_size}
    validation, test = [], []
    for lr in rates:
        seed_everything(seed)
        trained = train(make_swin(**model), parts[0], seed, lr=lr, **recipe).eval()
        validation.append(accuracy(trained, parts[1]))
        test.append(accuracy(trained, parts[2]))
    best = max(range(len(rates)), key=validation.__getitem__)
    return {"validation": validation, "lr": rates[best], "accuracy": test[best]}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    print(run("swin", CASES, one_case, config=CONFIG))


if __name__ == "__main__":
    main()
