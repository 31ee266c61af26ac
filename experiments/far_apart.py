"""A cue in one corner says which distant digit to read: attention against convolutions of equal cost.

    PIONEERS_DATA=folder make experiments NAME=far_apart

A picture of 56 × 56 pixels has a digit of 14 × 14 in three of its corners. In the fourth a bar says which of
the three is the label: a lying bar the one beside it, a standing bar the one below it, a slanted bar the one
opposite. Everything is moved by up to two pixels. All models see the same pictures, cost about the same
multiply-adds for each (the ConvNets a little more), and take the same steps; the learning rate of each run is
the better of two on pictures that choose. The digits of training, choosing and judging are different ones.
Beside the ConvNet of chapter 13 there is one with three times the blocks, which sees further.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import run
from experiments.common_mnist import accuracy, cost, mnist_parts
from pioneers.data import ImageSet
from pioneers.device import best_device, seed_everything
from pioneers.layers import init_weights
from pioneers.models import SmallResNet, ViT, ViTConfig
from pioneers.objectives import classification_loss
from pioneers.training import TrainConfig, fit

SIDE, DIGIT, JITTER = 56, 14, 2
CONFIG: dict[str, Any] = {
    "sizes": {
        "ViT": {"patch_size": 14, "d_model": 64, "num_layers": 4, "num_heads": 4},
        "ConvNet": {"width": 5},
        "deeper ConvNet": {"width": 3, "blocks_per_stage": 3},
    },
    "steps": 2000,
    "batch_size": 128,
    "weight_decay": 0.05,
}
RATES = {"ViT": (1e-3, 2e-3), "ConvNet": (3e-3, 1e-2), "deeper ConvNet": (3e-3, 1e-2)}
CASES = {kind: {"kind": kind, "rates": rates} for kind, rates in RATES.items()}


def cues() -> Tensor:
    """The bars ``(3, 14, 14)``: lying, standing and slanted."""
    bars = torch.zeros(3, DIGIT, DIGIT)
    bars[0, 6:8, 2:12] = 1
    bars[1, 2:12, 6:8] = 1
    bars[2, range(2, 12), range(2, 12)] = 1
    bars[2, range(3, 12), range(2, 11)] = 1
    return bars


def pictures(digits: ImageSet, count: int, seed: int) -> ImageSet:
    """``count`` pictures ``(count, 1, 56, 56)`` and their labels."""
    device = digits.labels.device
    draw = torch.Generator().manual_seed(seed)
    chosen = torch.randint(len(digits.labels), (count, 3), generator=draw).to(device)
    cue = torch.randint(3, (count,), generator=draw).to(device)
    small = F.avg_pool2d(digits.images, 2)[:, 0]  # (N, 14, 14)
    parts = torch.cat([cues().to(device)[cue][:, None], small[chosen]], 1)  # (count, 4, 14, 14)
    far = SIDE - DIGIT - JITTER
    corners = ((0, 0), (0, far), (far, 0), (far, far))
    moves = torch.randint(JITTER + 1, (count, 4, 2), generator=draw).to(device)
    canvas = torch.zeros(count, SIDE, SIDE, device=device)
    which, line = torch.arange(count, device=device)[:, None, None], torch.arange(DIGIT, device=device)
    for corner, (top, left) in enumerate(corners):
        rows = top + moves[:, corner, 0, None] + line  # (count, 14)
        columns = left + moves[:, corner, 1, None] + line
        canvas[which, rows[:, :, None], columns[:, None, :]] = parts[:, corner]
    labels = digits.labels[chosen].gather(1, cue[:, None])[:, 0]
    return ImageSet(canvas[:, None], labels)


def build(kind: str, seed: int, sizes: Mapping[str, Mapping[str, int]]) -> nn.Module:
    """A new model of one kind."""
    seed_everything(seed)
    if kind == "ViT":
        model = ViT(ViTConfig(image_size=SIDE, num_classes=10, in_channels=1, **sizes[kind]))
        init_weights(model, std=model.config.d_model**-0.5)
        nn.init.normal_(model.embed.position.table, std=model.config.d_model**-0.5)
        return model
    return SmallResNet(1, 10, **sizes[kind])


def train(
    model: nn.Module, read: Callable[[int], ImageSet], seed: int, lr: float, steps: int, weight_decay: float
) -> nn.Module:
    """Train in place, a tenth of the steps as warm-up."""
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="cosine", weight_decay=weight_decay,
        precision="fp32", log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model, lambda m, batch: classification_loss(m(batch.images), batch.labels), read, recipe)
    return model.eval()


def one_case(
    *,
    seed: int,
    kind: str,
    rates: tuple[float, ...],
    sizes: Mapping[str, Mapping[str, int]],
    steps: int,
    batch_size: int,
    weight_decay: float,
) -> dict[str, Any]:
    """Train at each learning rate; the cost, and the accuracy of the one that did best on validation."""
    parts = mnist_parts(7000, seed)
    choosing = pictures(parts.validation, 2000, 1)
    judging = pictures(parts.test, 5000, 2)
    validation, test = [], []
    for lr in rates:
        model = build(kind, seed, sizes).to(best_device())
        train(
            model,
            lambda step: pictures(parts.train, batch_size, 3 + step + 1_000_003 * seed),
            seed, lr, steps, weight_decay,
        )  # fmt: skip
        validation.append(accuracy(model, choosing))
        test.append(accuracy(model, judging))
    best = max(range(len(rates)), key=validation.__getitem__)
    return {**cost(model, SIDE), "validation": validation, "lr": rates[best], "accuracy": test[best]}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    run("far_apart", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()
