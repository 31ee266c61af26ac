"""What MNIST teaches for other digits: a ViT and a ConvNet, pretrained and from scratch, on few labels.

    PIONEERS_DATA=folder make experiments NAME=vit_transfer

Each model learns 7,000 digits of MNIST, augmented, and gets a new head that begins at zero. Then it is
trained on one, three or ten labelled images of each digit of scikit-learn's set, enlarged from 8 × 8 pixels.
Beside it the same model begins from scratch and takes the same steps. Both models cost about the same
multiply-adds per image. The learning rate of every such training is the best of three on 300 images that
choose; 1,000 others judge. For the ViT, the attention distances of every block and head are kept, too, before
and after its pretraining. Its position table begins with two-dimensional sinusoids, so that near places
are alike from the start. Dosovitskiy et al. 2021, section 4, at a small scale.
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import run
from experiments.common_mnist import Parts, accuracy, cost, mnist_parts, small_vit
from experiments.few_images import jitter
from experiments.vit_convnet import distances
from pioneers.data import ImageSet, RandomRows, digits
from pioneers.device import best_device, seed_everything
from pioneers.layers import sinusoidal_table_2d
from pioneers.models import SmallResNet, ViT
from pioneers.objectives import classification_loss
from pioneers.training import TrainConfig, fit

CONFIG: dict[str, Any] = {
    "sizes": {
        "ViT": {"patch_size": 4, "d_model": 48, "num_layers": 4, "num_heads": 4},
        "ConvNet": {"width": 13},
    },
    "images": 7000,
    "augmentation": {"degrees": 15, "shift": 0.1, "scale": 0.15},
    "steps": 1000,
    "batch_size": 64,
    "weight_decay": 0.05,
    "shots": [1, 3, 10],
    "tuning_steps": 100,
}
# The rate of pretraining was the best of three, each three times the one before, on the images that choose.
CASES: dict[str, dict[str, Any]] = {
    "ViT": {"kind": "ViT", "lr": 3e-3, "tuning_rates": [1e-3, 4e-3, 1.6e-2]},
    "ConvNet": {"kind": "ConvNet", "lr": 9e-2, "tuning_rates": [1e-2, 4e-2, 1.6e-1]},
}
# In a hundred steps a ViT from scratch does not even learn its own images. So training from scratch may also
# take longer, and the ViT may begin with positions drawn at random, which suits few images better.
CASES |= {
    f"{kind}, longer from scratch": {**case, "steps": 0, "tuning_steps": 300, "sinusoids": False}
    for kind, case in CASES.items()
}


def build(
    kind: str, seed: int, sizes: Mapping[str, Mapping[str, int]], *, sinusoids: bool = True
) -> nn.Module:
    """A new model of one kind; the positions of a ViT begin as sinusoids or at random."""
    seed_everything(seed)
    if kind == "ConvNet":
        return SmallResNet(1, 10, **sizes[kind]).to(best_device())
    model = small_vit(**sizes[kind])
    side = 28 // model.config.patch_size
    if not sinusoids:
        return model.to(best_device())
    with torch.no_grad():
        model.embed.position.table[1:] = sinusoidal_table_2d(side, side, model.config.d_model)
    return model.to(best_device())


def enlarged(images: Tensor) -> Tensor:
    """Digits ``(B, 1, 8, 8)`` as MNIST has them: 20 pixels high, in a frame of 28."""
    larger = F.interpolate(images, size=(20, 20), mode="bilinear", align_corners=False)
    return F.pad(larger, (4, 4, 4, 4))


def other_digits(shots: int, seed: int) -> Parts:
    """``shots`` images of each digit to train with, drawn by the seed; the 300 and 1,000 of all seeds."""
    both = [torch.cat(parts) for parts in zip(*digits(), strict=True)]
    order = torch.randperm(len(both[1]), generator=torch.Generator().manual_seed(0))
    pool = order[1300:]
    pool = pool[torch.randperm(len(pool), generator=torch.Generator().manual_seed(seed))]
    drawn = torch.cat([pool[both[1][pool] == label][:shots] for label in range(10)])
    images, labels = enlarged(both[0]).to(best_device()), both[1].to(best_device())
    return Parts(*(ImageSet(images[rows], labels[rows]) for rows in (drawn, order[1000:1300], order[:1000])))


def train(
    model: nn.Module, data: ImageSet, seed: int, *, lr: float, steps: int, batch_size: int,
    weight_decay: float, augmentation: Mapping[str, float] | None = None,
) -> nn.Module:  # fmt: skip
    """Train in place, a tenth of the steps as warm-up."""
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="cosine", weight_decay=weight_decay,
        precision="fp32", log_every=steps, seed=seed,
    )  # fmt: skip
    rows = RandomRows(*data, batch_size=batch_size, seed=seed)

    def read(step: int) -> tuple[Tensor, Tensor]:
        images, labels = rows(step)
        if augmentation is not None:
            draw = torch.Generator().manual_seed(step + 1_000_003 * seed)
            images = jitter(images, draw, **augmentation)
        return images, labels

    fit(model, lambda m, batch: classification_loss(m(batch[0]), batch[1]), read, recipe)
    return model.eval()


def with_new_head(model: Any) -> nn.Module:
    """A copy whose head starts at zero."""
    model = copy.deepcopy(model)
    nn.init.zeros_(model.head.weight)
    nn.init.zeros_(model.head.bias)
    return model


def tuned(start: nn.Module, parts: Parts, seed: int, rates: list[float], **recipe: Any) -> dict[str, float]:
    """Train a copy at each rate; accuracy of the one that did best on the images that choose."""
    models = [train(copy.deepcopy(start), parts.train, seed, lr=lr, **recipe) for lr in rates]
    validation = [accuracy(model, parts.validation) for model in models]
    best = max(range(len(rates)), key=validation.__getitem__)
    return {
        "lr": rates[best],
        "accuracy": accuracy(models[best], parts.test),
        "training_accuracy": accuracy(models[best], parts.train),
    }


def one_case(
    *,
    seed: int,
    kind: str,
    lr: float,
    tuning_rates: list[float],
    sizes: Mapping[str, Mapping[str, int]],
    images: int,
    augmentation: Mapping[str, float],
    steps: int,
    batch_size: int,
    weight_decay: float,
    shots: list[int],
    tuning_steps: int,
    sinusoids: bool = True,
) -> dict[str, Any]:
    """Pretrain a model; then lists by the number of labels, from the pretrained weights and from new ones."""
    old, model = mnist_parts(images, seed), build(kind, seed, sizes, sinusoids=sinusoids)
    found: dict[str, Any] = cost(model.eval())
    if isinstance(model, ViT):
        found["distances_at_start"] = distances(model, old.test.images[:200])
    recipe = {"batch_size": batch_size, "weight_decay": weight_decay}
    starts = {"scratch": copy.deepcopy(model)}
    if steps:
        train(model, old.train, seed, lr=lr, steps=steps, augmentation=augmentation, **recipe)
        if isinstance(model, ViT):
            found["distances"] = distances(model, old.test.images[:200])
        found |= {"validation": accuracy(model, old.validation), "mnist": accuracy(model, old.test)}
        found["old_head"] = accuracy(model, other_digits(1, seed).test)
        starts["pretrained"] = with_new_head(model)
    recipe["batch_size"] = min(batch_size, 32)
    for name, start in starts.items():
        each = [
            tuned(start, other_digits(few, seed), seed, tuning_rates, steps=tuning_steps, **recipe)
            for few in shots
        ]
        found |= {f"{name}_{key}": [one[key] for one in each] for key in each[0]}
    return found


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("vit_transfer", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()
