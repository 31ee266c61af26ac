"""Positions of a ViT: none, in one dimension, in two, or relative.

    PIONEERS_DATA=folder make experiments NAME=vit_positions

Vectors are added at the input only, before every block, or before every block from one shared table; relative
positions are values added to the scores of every block. Dosovitskiy et al. 2021, appendix D.4, in small.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import run
from experiments.common_mnist import accuracy, cost, mnist_parts, train
from experiments.vit_convnet import shifted_accuracy
from pioneers.data import ImageSet
from pioneers.device import seed_everything
from pioneers.layers import (
    FeedForward,
    MultiHeadAttention,
    PatchEmbedding,
    Stack,
    TransformerBlock,
    init_weights,
)

CONFIG = {
    "images": 7000,
    "patch_size": 7,
    "d_model": 32,
    "num_layers": 3,
    "num_heads": 4,
    "steps": 300,
    "batch_size": 64,
    "lr": 9e-3,
    "weight_decay": 0.05,
}
IMAGE_SIZE = 28
SPREAD = 10.0  # deviation of relative values at the start; of 1, 3, 6 and 10 the best on validation images
CASES: dict[str, dict[str, Any]] = {"none, input": {"kind": "none", "place": "input"}}
CASES |= {
    f"{kind}, {place}": {"kind": kind, "place": place}
    for kind in ("1-D", "2-D")
    for place in ("input", "every", "shared")
}
CASES |= {
    f"{kind}, {place}": {"kind": kind, "place": place, "spread": SPREAD}
    for kind, place in (("relative 1-D", "every"), ("relative 2-D", "every"), ("relative 2-D", "shared"))
}
CASES["relative 2-D, every, from zero"] = {"kind": "relative 2-D", "place": "every", "spread": 0.0}


class Nowhere(nn.Module):
    """Tells nothing."""

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        """x as it came, and no bias."""
        return x, None


class AddedPositions(nn.Module):
    """A learned vector for each of the ``side²`` places, or half of one for each row and each column.

    The class token gets none: its own vector already says which token it is.

    Args:
        side: patches in a row.
        d_model: D.
        axes: 1 for a vector per place, 2 for row and column.
    """

    def __init__(self, side: int, d_model: int, axes: int) -> None:
        super().__init__()
        shape = (side**2, d_model) if axes == 1 else (2, side, d_model // 2)
        self.table = nn.Parameter(torch.randn(shape) * d_model**-0.5)

    def vectors(self) -> Tensor:
        """(N, D), row by row."""
        if self.table.ndim == 2:
            return self.table
        rows, columns = self.table
        side = len(rows)
        return torch.cat([rows.repeat_interleave(side, 0), columns.repeat(side, 1)], dim=-1)

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        """``x (B, 1 + N, D)`` with the vectors added, and no bias."""
        return x + F.pad(self.vectors(), (0, 0, 1, 0)), None


class RelativePositions(nn.Module):
    """A learned value per head and offset from query to key; those of the class token stay zero.

    Args:
        side: patches in a row.
        num_heads: H.
        axes: 1 for the offset in reading order, 2 for that of rows and that of columns.
        spread: deviation of the values at the start.
    """

    index: Tensor

    def __init__(self, side: int, num_heads: int, axes: int, spread: float) -> None:
        super().__init__()
        steps = torch.cartesian_prod(torch.arange(side), torch.arange(side))
        if axes == 1:
            steps = torch.arange(side**2)[:, None]
        offset = steps - steps[:, None]  # (N, N, axes): key minus query
        offset = offset - offset.amin(dim=(0, 1))
        width = int(offset.max()) + 1
        self.register_buffer(
            "index", sum(o * width**i for i, o in enumerate(offset.unbind(-1))), persistent=False
        )
        self.table = nn.Parameter(spread * torch.randn(width**axes, num_heads))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x as it came, and the bias ``(H, 1 + N, 1 + N)``."""
        return x, F.pad(self.table[self.index].permute(2, 0, 1), (1, 0, 1, 0))


def positions(make: Callable[[], nn.Module], place: str, num_layers: int) -> nn.ModuleList:
    """Make the positions of each block; blocks that share them have the same module."""
    if place == "every":
        return nn.ModuleList(make() for _ in range(num_layers))
    first = make()
    return nn.ModuleList([first] + (num_layers - 1) * [first if place == "shared" else Nowhere()])


class PositionedViT(nn.Module):
    """A ViT that may be told before every block where its patches are.

    Args:
        patch_size: P.
        d_model: D.
        num_layers: number of blocks.
        num_heads: H.
        kind: ``"none"``, ``"1-D"``, ``"2-D"``, ``"relative 1-D"`` or ``"relative 2-D"``.
        place: ``"input"``, ``"every"`` or ``"shared"``.
        spread: deviation of relative values at the start.
    """

    def __init__(
        self,
        *,
        patch_size: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        kind: str,
        place: str,
        spread: float = 0.0,
    ) -> None:
        super().__init__()
        self.patch = PatchEmbedding(IMAGE_SIZE, patch_size, in_channels=1, d_model=d_model)
        self.cls_token = nn.Parameter(torch.empty(d_model).normal_(std=0.02))
        side, axes = IMAGE_SIZE // patch_size, 2 if kind.endswith("2-D") else 1
        make: Callable[[], nn.Module] = partial(AddedPositions, side, d_model, axes)
        if kind == "none":
            make = Nowhere
        elif kind.startswith("relative"):
            make = partial(RelativePositions, side, num_heads, axes, spread)
        self.positions = positions(make, place, num_layers)
        blocks = [
            TransformerBlock(MultiHeadAttention(d_model, num_heads), FeedForward(d_model))
            for _ in range(num_layers)
        ]
        self.stack = Stack(blocks, nn.LayerNorm(d_model))
        self.head = nn.Linear(d_model, 10)
        init_weights(self, std=d_model**-0.5)

    def forward(self, images: Tensor) -> Tensor:
        """Images ``(B, 1, 28, 28)`` → logits ``(B, 10)``."""
        patches = self.patch(images)  # (B, N, D)
        x = torch.cat([self.cls_token.expand(len(images), 1, -1), patches], dim=1)  # (B, 1 + N, D)
        for position, block in zip(self.positions, self.stack.blocks, strict=True):
            x, bias = position(x)
            x = block(x, bias=bias)
        return self.head(self.stack.norm(x)[:, 0])


def one_case(
    *,
    seed: int,
    images: int,
    patch_size: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    kind: str,
    place: str,
    spread: float = 0.0,
    **recipe: Any,
) -> dict[str, Any]:
    """Train one model; its accuracy on test images and on the same moved by two and by four pixels."""
    parts = mnist_parts(images, seed)
    seed_everything(seed)
    sizes = {"patch_size": patch_size, "d_model": d_model, "num_layers": num_layers, "num_heads": num_heads}
    model = PositionedViT(**sizes, kind=kind, place=place, spread=spread)
    parameters = cost(model)["parameters"]
    train(model, parts.train, seed, **recipe)
    few = ImageSet(*(part[:500] for part in parts.test))
    shifted = [accuracy(model, few), *(shifted_accuracy(model, few, pixels) for pixels in (2, 4))]
    return {"parameters": parameters, "accuracy": accuracy(model, parts.test), "shifted": shifted}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("vit_positions", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()
