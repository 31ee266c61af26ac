"""Two ViTs against a convolutional network by the number of training images, each with its own learning rate.

    PIONEERS_DATA=folder make experiments NAME=vit_convnet

All cost about the same multiply-adds per image and take the same steps; the ViTs have patches of 7 and of 14
pixels. The learning rate of each, at each number of images, is the one that did best on validation images,
see :mod:`experiments.vit_convnet_grid`. Dosovitskiy et al. 2021, figures 3 and 4, in small.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import run
from experiments.common_mnist import accuracy, cost, mnist_parts, small_vit, train
from pioneers.analysis import attention_distance, experiment, record_attention
from pioneers.data import ImageSet
from pioneers.device import seed_everything
from pioneers.models import SmallResNet, ViT

CONFIG: dict[str, Any] = {
    "sizes": {
        "vit": {"patch_size": 7, "d_model": 32, "num_layers": 3, "num_heads": 4},
        "vit_14": {"patch_size": 14, "d_model": 60, "num_layers": 3, "num_heads": 4},
        "convnet": {"width": 4},
    },
    "steps": 500,
    "batch_size": 64,
    "weight_decay": 0.05,
}
KINDS = tuple(CONFIG["sizes"])
IMAGES = (100, 300, 1000, 7000)
SHIFTS = (1, 2, 3, 4)  # pixels


def build(kind: str, seed: int, sizes: Mapping[str, Mapping[str, int]]) -> nn.Module:
    """A new model of one kind."""
    seed_everything(seed)
    return SmallResNet(1, 10, **sizes[kind]) if kind == "convnet" else small_vit(**sizes[kind])


def shift(images: Tensor, down: int, right: int) -> Tensor:
    """Images moved by some pixels; what comes in is white paper, which is 0."""
    return F.pad(images, (right, -right, down, -down))


def shifted_accuracy(model: nn.Module, digits: ImageSet, pixels: int) -> float:
    """Mean accuracy on images moved up, down, left and right."""
    ways = ((pixels, 0), (-pixels, 0), (0, pixels), (0, -pixels))
    return sum(accuracy(model, ImageSet(shift(digits.images, *way), digits.labels)) for way in ways) / len(
        ways
    )


@torch.inference_mode()
def distances(model: ViT, images: Tensor) -> list[list[float]]:
    """The attention distance of every layer and head."""
    with record_attention(model) as maps:
        model.hidden_states(images)
    return [attention_distance(weights, model.config.patch_size).tolist() for weights in maps]


def one_case(
    *,
    seed: int,
    kind: str,
    images: int,
    sizes: Mapping[str, Mapping[str, int]],
    **recipe: Any,
) -> dict[str, Any]:
    """Train one model; its cost, its accuracy, also on shifted images, and its attention distances."""
    parts = mnist_parts(images, seed)
    model = build(kind, seed, sizes)
    numbers: dict[str, Any] = cost(model)
    if isinstance(model, ViT):
        numbers["distances_at_start"] = distances(model, parts.test.images[:200])
    train(model, parts.train, seed, **recipe)
    few = ImageSet(*(part[:500] for part in parts.test))
    numbers |= {
        "accuracy": accuracy(model, parts.test),
        "training_accuracy": accuracy(model, parts.train),
        "shifted": [accuracy(model, few), *(shifted_accuracy(model, few, pixels) for pixels in SHIFTS)],
    }
    if isinstance(model, ViT):
        numbers["distances"] = distances(model, parts.test.images[:200])
    return numbers


def chosen(
    rows: list[dict[str, Any]], cases: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Of the learning rates tried for a model and a number of images, the best on validation."""
    score = {row["case"]: row["validation"] for row in rows}
    best: dict[str, str] = {}
    for case, how in cases.items():
        name = f"{how['kind']}, {how['images']} images"
        best[name] = max(best.get(name, case), case, key=score.__getitem__)
    return {name: cases[case] for name, case in best.items()}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    tried = experiment("vit_convnet_grid")
    run("vit_convnet", chosen(tried["rows"], tried["cases"]), one_case, config=CONFIG)


if __name__ == "__main__":
    main()
