"""The small task of the experiments on images: MNIST's 10,000 test digits, cut anew into three parts.

2,000 images judge, 1,000 choose, and up to 7,000 train. Which images judge and choose is the same for all.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from pioneers.data import ImageSet, RandomRows, mnist
from pioneers.device import best_device, seed_everything
from pioneers.layers import init_weights
from pioneers.models import ViT, ViTConfig
from pioneers.objectives import classification_loss
from pioneers.training import TrainConfig, fit


class Parts(NamedTuple):
    """The images a model is trained with, those that choose its recipe, and those that judge it."""

    train: ImageSet
    validation: ImageSet
    test: ImageSet


def mnist_parts(images: int, seed: int) -> Parts:
    """``images`` to train with, drawn by the seed, and the parts that stay: 1,000 and 2,000."""
    digits = mnist("test")
    order = torch.randperm(10_000, generator=torch.Generator().manual_seed(0))
    pool = order[3000:]
    drawn = pool[torch.randperm(len(pool), generator=torch.Generator().manual_seed(seed))[:images]]
    return Parts(*(_rows(digits, rows) for rows in (drawn, order[2000:3000], order[:2000])))


def _rows(digits: ImageSet, rows: Tensor) -> ImageSet:
    return ImageSet(*(part[rows].to(best_device()) for part in digits))


def small_vit(patch_size: int, d_model: int, num_layers: int, num_heads: int) -> ViT:
    """A ViT for the digits. Weights and positions are drawn with a deviation of ``1 / √D``."""
    sizes = {"d_model": d_model, "num_layers": num_layers, "num_heads": num_heads}
    model = ViT(ViTConfig(image_size=28, patch_size=patch_size, num_classes=10, in_channels=1, **sizes))
    init_weights(model, std=d_model**-0.5)
    nn.init.normal_(model.embed.position.table, std=d_model**-0.5)
    return model


def train(
    model: nn.Module,
    digits: ImageSet,
    seed: int,
    *,
    lr: float,
    weight_decay: float,
    steps: int,
    batch_size: int,
) -> nn.Module:
    """Train in place, a tenth of the steps as warm-up; returns the model, ready to be judged."""
    model = model.to(best_device())
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, weight_decay=weight_decay, precision="fp32",
        log_every=steps, seed=seed,
    )  # fmt: skip
    seed_everything(seed)
    batches = RandomRows(*digits, batch_size=batch_size, seed=seed)
    fit(model, lambda m, batch: classification_loss(m(batch[0]), batch[1]), batches, recipe)
    return model


@torch.inference_mode()
def accuracy(model: nn.Module, digits: ImageSet) -> float:
    """Share of the images that a trained model names rightly."""
    parts = zip(digits.images.split(500), digits.labels.split(500), strict=True)
    return torch.cat([(model(images).argmax(-1) == labels).float() for images, labels in parts]).mean().item()


def cost(model: nn.Module, side: int = 28) -> dict[str, int]:
    """Parameters, and the multiply-adds of all matrix products and convolutions for one image."""
    image = torch.zeros(1, 1, side, side, device=next(model.parameters()).device)
    with (
        FlopCounterMode(display=False) as counter,
        sdpa_kernel(SDPBackend.MATH),
    ):  # it cannot see into the others
        model(image)
    parameters = sum(p.numel() for p in model.parameters())
    return {"parameters": parameters, "multiply_adds": counter.get_total_flops() // 2}
