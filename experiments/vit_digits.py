"""Train the ViT that ships with the package and that the page on what a ViT needs looks into.

    PIONEERS_DATA=folder make experiments NAME=vit_digits

The recipe is that of the ViT of ``vit_transfer`` before its fine-tuning, for three times as many steps and
with a seed of its own. The weights, in float16, go to ``pioneers/weights/vit_digits``; the result file says
how good they are as they are stored.
"""

from typing import Any

import torch

from experiments.common import ROOT, run
from experiments.common_mnist import accuracy, mnist_parts
from experiments.vit_convnet import distances
from experiments.vit_transfer import CASES as TRANSFER_CASES
from experiments.vit_transfer import CONFIG as TRANSFER_CONFIG
from experiments.vit_transfer import build, other_digits, train
from pioneers.weights import from_pretrained, save_pretrained

FOLDER = ROOT / "pioneers" / "weights" / "vit_digits"
CONFIG: dict[str, Any] = {
    **{
        name: (TRANSFER_CONFIG | TRANSFER_CASES["ViT"])[name]
        for name in ("sizes", "images", "augmentation", "batch_size", "weight_decay", "lr")
    },
    "steps": 3 * TRANSFER_CONFIG["steps"],
}
CASES = {"stored": {"offset": 5}}  # vit_transfer has the seeds 0 to 4


def one_case(*, seed: int, offset: int, sizes: dict[str, Any], images: int, **recipe: Any) -> dict[str, Any]:
    """Train a ViT, keep it, and judge what was kept."""
    seed += offset
    parts, model = mnist_parts(images, seed), build("ViT", seed, sizes)
    few = parts.test.images[:200]
    found = {"distances_at_start": distances(model.eval(), few)}
    train(model, parts.train, seed, **recipe)
    save_pretrained(model.half(), FOLDER)
    stored: Any = from_pretrained(FOLDER).to(few.device)
    return found | {
        "parameters": sum(p.numel() for p in stored.parameters()),
        "mnist": accuracy(stored, parts.test),
        "old_head": accuracy(stored, other_digits(1, seed).test),
        "distances": distances(stored, few),
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # so small a model is slower with more
    run("vit_digits", CASES, one_case, config=CONFIG, seeds=[0])


if __name__ == "__main__":
    main()
