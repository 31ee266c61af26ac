"""MAE on handwritten digits: what hiding more or fewer patches teaches an encoder, He et al. 2022, in small.

    make experiments NAME=mae

A small ViT reads 7,000 digits of 28 × 28 pixels as 16 patches, without labels. It is pretrained with a
quarter, half, three quarters or nine tenths of the patches hidden, for equally many steps. Then 100 or 1,000
labels are there: for a linear probe of the frozen encoder, and to fine-tune it. Beside it stand the probe of
raw pixels, the probe of the same encoder as it was drawn, and the same encoder trained from scratch on the
labels. The 2,000 images that judge are the same for all; 1,000 others choose the strength of each probe.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from experiments.common import run
from experiments.common_mnist import Parts, accuracy, mnist_parts, train
from pioneers.data import ImageSet
from pioneers.device import best_device
from pioneers.layers import patchify
from pioneers.models import MAE, MAEConfig, ViT
from pioneers.objectives import mask_patches, masked_pixel_loss
from pioneers.training import TrainConfig, fit

PATCH, NUM_PATCHES = 7, 16
CONFIG: dict[str, Any] = {
    "images": 7000,
    "sizes": {
        "d_model": 48, "num_layers": 3, "num_heads": 4, "decoder_d_model": 32, "decoder_layers": 1,
        "decoder_heads": 4,
    },
    "steps": 2500,
    "batch_size": 128,
    "lr": 4e-3,
    "tuning": {"batch_size": 32, "weight_decay": 0.05},
}  # fmt: skip
# The learning rate of fine-tuning was the best of 5e-4, 1e-3 and 2e-3 on the images that choose, both with
# and without pretraining. Without it the encoder may train for longer.
CASES: dict[str, dict[str, Any]] = {
    "raw pixels": {"mask_ratio": None, "encoder": False, "tuning_lr": 0.0, "tuning_steps": 0},
    "random encoder": {"mask_ratio": None, "encoder": True, "tuning_lr": 2e-3, "tuning_steps": 1000},
    **{
        f"{ratio:.0%} hidden": {"mask_ratio": ratio, "encoder": True, "tuning_lr": 2e-3, "tuning_steps": 250}
        for ratio in (0.25, 0.5, 0.75, 0.9)
    },
}
LABELS = (100, 1000)
STRENGTHS = (0.01, 0.1, 1.0)  # inverse penalties of a probe


def mae(sizes: dict[str, int]) -> MAE:
    """The encoder and its decoder, with new weights."""
    return MAE(MAEConfig(image_size=28, patch_size=PATCH, in_channels=1, **sizes))


def batches(images: Tensor, batch_size: int, seed: int) -> Callable[[int], tuple[Tensor, Tensor]]:
    """Step → images, and noise that says which patches to hide."""

    def batch(step: int) -> tuple[Tensor, Tensor]:
        draw = torch.Generator().manual_seed(step + 1_000_003 * seed)
        rows = torch.randint(len(images), (batch_size,), generator=draw)
        return images[rows], torch.rand(batch_size, NUM_PATCHES, generator=draw).to(images.device)

    return batch


def pixel_loss(model: nn.Module, batch: tuple[Tensor, Tensor], mask_ratio: float) -> Tensor:
    """The squared error of the hidden pixels, as they are."""
    images, noise = batch
    visible, restore, masked = mask_patches(noise, mask_ratio=mask_ratio)
    predicted = model(images, visible, restore)
    return masked_pixel_loss(predicted, images, masked, patch_size=PATCH, normalise=False)


def pretrain(
    model: MAE, parts: Parts, seed: int, *, mask_ratio: float, steps: int, batch_size: int, lr: float
) -> dict[str, float]:
    """Train without labels; the loss on images that choose, beside that of the mean image."""
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 20, schedule="cosine", betas=(0.9, 0.95),
        weight_decay=0.05, precision="fp32", log_every=steps, seed=seed,
    )  # fmt: skip
    read = batches(parts.train.images, batch_size, seed)
    fit(model, lambda m, batch: pixel_loss(m, batch, mask_ratio), read, recipe)
    images = parts.validation.images
    draw = torch.Generator().manual_seed(0)
    noise = torch.rand(len(images), NUM_PATCHES, generator=draw).to(images.device)
    mean = patchify(parts.train.images.mean(0, keepdim=True), PATCH).expand(len(images), -1, -1)
    masked = mask_patches(noise, mask_ratio=mask_ratio).masked
    with torch.inference_mode():
        loss = pixel_loss(model, (images, noise), mask_ratio).item()
    trivial = masked_pixel_loss(mean, images, masked, patch_size=PATCH, normalise=False).item()
    return {"loss": loss, "loss_of_the_mean_image": trivial}


@torch.inference_mode()
def features(encoder: ViT | None, images: Tensor) -> np.ndarray:
    """What a probe reads: the mean of the last states of the patches, or the pixels."""
    if encoder is None:
        return images.flatten(1).cpu().numpy()
    states = [encoder.eval().hidden_states(part)[:, 1:].mean(1) for part in images.split(500)]
    return torch.cat(states).cpu().numpy()


def probe(encoder: ViT | None, parts: Parts) -> list[float]:
    """Test accuracy of a linear model of frozen features, by the number of labels.

    Features are standardised by the images of the training, which needs no labels.
    """
    seen, choosing, judging = (features(encoder, part.images) for part in parts)
    known, validation, test = (part.labels.cpu().numpy() for part in parts)
    centre, scale = seen.mean(0), seen.std(0) + 1e-3
    found = []
    for labels in LABELS:
        rows, truth = (seen[:labels] - centre) / scale, known[:labels]
        fitted = [LogisticRegression(C=c, max_iter=2000).fit(rows, truth) for c in STRENGTHS]
        best = max(fitted, key=lambda model: model.score((choosing - centre) / scale, validation))
        found.append(float(best.score((judging - centre) / scale, test)))
    return found


def fine_tune(model: MAE, parts: Parts, seed: int, lr: float, tuning: dict[str, Any]) -> list[float]:
    """Test accuracy of the encoder with a head, trained as one, by the number of labels."""
    found = []
    for labels in LABELS:
        torch.manual_seed(seed)
        vit = model.to_vit(num_classes=10)
        train(vit, ImageSet(*(part[:labels] for part in parts.train)), seed, lr=lr, **tuning)
        found.append(accuracy(vit, parts.test))
    return found


def one_case(
    *,
    seed: int,
    mask_ratio: float | None,
    encoder: bool,
    tuning_lr: float,
    tuning_steps: int,
    images: int,
    sizes: dict[str, int],
    tuning: dict[str, Any],
    **recipe: Any,
) -> dict[str, Any]:
    """Pretrain if there is a share to hide; then probe and fine-tune."""
    parts = mnist_parts(images, seed)
    if not encoder:
        return {"probe": probe(None, parts)}
    torch.manual_seed(seed)
    model, found = mae(sizes).to(best_device()), {}
    if mask_ratio is not None:
        found = pretrain(model, parts, seed, mask_ratio=mask_ratio, **recipe)
    tuned = fine_tune(model, parts, seed, tuning_lr, {"steps": tuning_steps, **tuning})
    return {**found, "probe": probe(model.to_vit(), parts), "fine_tuned": tuned}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("mae", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()
