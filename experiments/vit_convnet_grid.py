"""The learning rates of :mod:`experiments.vit_convnet`: seven for each model, at each number of images.

    PIONEERS_DATA=folder make experiments NAME=vit_convnet_grid

Judged on the validation images, with a seed that is not used again: 100.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

import torch

from experiments.common import run
from experiments.common_mnist import accuracy, mnist_parts, train
from experiments.vit_convnet import CONFIG, IMAGES, KINDS, build

APART = 100  # added to the seed: what is chosen here is judged with other weights and other images
LEARNING_RATES = (1e-3, 3e-3, 9e-3, 2.7e-2, 8.1e-2, 0.243, 0.729)
CASES = {
    f"{kind}, {images} images, lr {lr:g}": {
        "kind": kind,
        "images": images,
        "lr": lr,
    }
    for kind, images, lr in product(KINDS, IMAGES, LEARNING_RATES)
}


def one_case(
    *, seed: int, kind: str, images: int, sizes: Mapping[str, Mapping[str, int]], **recipe: Any
) -> dict[str, float]:
    """Train one model; its accuracy on the validation images."""
    seed += APART
    parts = mnist_parts(images, seed)
    model = build(kind, seed, sizes)
    return {"validation": accuracy(train(model, parts.train, seed, **recipe), parts.validation)}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("vit_convnet_grid", CASES, one_case, config=CONFIG, seeds=[0])


if __name__ == "__main__":
    main()
