"""Patch size of a ViT: cost and accuracy.

    PIONEERS_DATA=folder make experiments NAME=patch_size

One ViT, the same images, steps and recipe; only the patches differ.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.common_mnist import accuracy, cost, mnist_parts, small_vit, train
from pioneers.device import seed_everything

CONFIG = {
    "images": 7000,
    "d_model": 32,
    "num_layers": 3,
    "num_heads": 4,
    "steps": 300,
    "batch_size": 64,
    "lr": 9e-3,
    "weight_decay": 0.05,
}
CASES = {f"P = {patch_size}": {"patch_size": patch_size} for patch_size in (4, 7, 14, 28)}


def one_case(
    *, seed: int, images: int, patch_size: int, d_model: int, num_layers: int, num_heads: int, **recipe: Any
) -> dict[str, float]:
    """Train one ViT; its accuracy and its cost."""
    parts = mnist_parts(images, seed)
    seed_everything(seed)
    model = small_vit(patch_size, d_model, num_layers, num_heads)
    numbers = cost(model)
    train(model, parts.train, seed, **recipe)
    return {**numbers, "accuracy": accuracy(model, parts.test)}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("patch_size", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()
