"""A small DETR finds digits on photographs: positions, auxiliary losses, number and kind of the queries.

    PIONEERS_DATA=folder make experiments NAME=detr

Scenes are made of MNIST's 10,000 test digits and of scikit-learn's two photographs. Digits and parts of the
photographs that judge are in no scene of the training. Every case changes one thing about "anchors". Carion
et al. 2020, tables 3 and 4, in small.
"""

import functools
from typing import Any

import torch
from torch import Tensor

from experiments.common import run
from pioneers.analysis import AveragePrecision, average_precision
from pioneers.data import ImageSet, RandomRows, Scenes, digit_scenes, mnist, photograph_parts
from pioneers.device import best_device, seed_everything
from pioneers.models import DETR, AnchorDETR, DETRConfig, Memory
from pioneers.objectives import set_loss
from pioneers.training import TrainConfig, fit

HELD_OUT_DIGITS = 2000
CONFIG: dict[str, Any] = {
    "scenes": {"size": 48, "heights": (14, 22), "max_digits": 3},
    "train": 6000,
    "test": 400,
    "batch_size": 32,
    "steps": 300,
    "lr": 2e-3,
    "kind": "anchors",
    "queries": 10,
    "positions": "every layer",
    "auxiliary": True,
}
CASES: dict[str, dict[str, Any]] = {
    "anchors, longer": {"steps": 600},
    "anchors, longest": {"steps": 1500},
    "anchors": {},
    "learned queries": {"kind": "learned"},
    "no positions": {"positions": "none"},
    "no auxiliary losses": {"auxiliary": False},
    "positions at the input": {"positions": "input"},
    "4 queries": {"queries": 4},
    "20 queries": {"queries": 20},
}


class NoPositions:
    """The cells are not told where they are."""

    def features(self, images: Tensor, mask: Tensor | None = None) -> Memory:
        """As in the model, without the positions."""
        return super().features(images, mask)._replace(positions=None)  # type: ignore[misc]


class InputPositions:
    """Positions are added once, to the tokens that enter the encoder."""

    def features(self, images: Tensor, mask: Tensor | None = None) -> Memory:
        """As in the model, with the positions in the tokens."""
        tokens, positions, seen = super().features(images, mask)  # type: ignore[misc]
        return Memory(tokens + positions, None, seen)


KINDS = {"anchors": AnchorDETR, "learned": DETR}
POSITIONS: dict[str, tuple[type, ...]] = {
    "every layer": (),
    "input": (InputPositions,),
    "none": (NoPositions,),
}


def build(kind: str, queries: int, positions: str, seed: int) -> DETR | AnchorDETR:
    """A new model; cases of the same kind and number of queries begin with the same weights."""
    seed_everything(seed)
    bases = (*POSITIONS[positions], KINDS[kind])
    return type(KINDS[kind].__name__, bases, {})(DETRConfig.preset("digits", num_queries=queries))


@functools.cache
def parts(train: int, test: int, seed: int, **scenes: Any) -> tuple[Scenes, Scenes]:
    """Scenes to train with, drawn by the seed, and those that judge, which stay."""
    digits = mnist("test")
    order = torch.randperm(len(digits.labels), generator=torch.Generator().manual_seed(0))
    own = [ImageSet(*(part[rows] for part in digits)) for rows in order.tensor_split([HELD_OUT_DIGITS])]
    seen, unseen = photograph_parts()
    made = (
        digit_scenes(own[1], seen, train, **scenes, seed=1 + seed),
        digit_scenes(own[0], unseen, test, **scenes, seed=0),
    )
    return tuple(Scenes(*(part.to(best_device()) for part in each)) for each in made)


@torch.inference_mode()
def judge(model: DETR | AnchorDETR, scenes: Scenes) -> AveragePrecision:
    """Average precision of the last layer."""
    found = [model(images) for images in scenes.images.split(100)]
    logits, boxes = (torch.cat([layers[-1] for layers in part]).cpu() for part in zip(*found, strict=True))
    size = scenes.images.shape[-1]
    return average_precision(logits, boxes, scenes.labels.cpu(), scenes.boxes.cpu(), size=size)


def learn(
    model: DETR | AnchorDETR,
    seen: Scenes,
    *,
    seed: int,
    batch_size: int,
    steps: int,
    lr: float,
    auxiliary: bool = True,
) -> None:
    """Train in place."""
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=50, schedule="linear", betas=(0.9, 0.98), weight_decay=0.01,
        precision="fp32", log_every=steps, seed=seed,
    )  # fmt: skip
    batches = RandomRows(*seen, batch_size=batch_size, seed=seed)
    fit(model, lambda m, b: set_loss(*m(b[0]), *b[1:], auxiliary=auxiliary).total, batches, recipe)


def one_case(
    *,
    seed: int,
    scenes: dict[str, Any],
    train: int,
    test: int,
    batch_size: int,
    steps: int,
    lr: float,
    kind: str,
    queries: int,
    positions: str,
    auxiliary: bool,
) -> dict[str, Any]:
    """Train one model and judge it on scenes that it has not seen."""
    seen, unseen = parts(train, test, seed, **scenes)
    model = build(kind, queries, positions, seed).to(best_device())
    learn(model, seen, seed=seed, batch_size=batch_size, steps=steps, lr=lr, auxiliary=auxiliary)
    return {"parameters": sum(p.numel() for p in model.parameters()), **judge(model, unseen)._asdict()}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    print(run("detr", CASES, one_case, config=CONFIG))


if __name__ == "__main__":
    main()
