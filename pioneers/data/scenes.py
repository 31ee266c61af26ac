"""Scenes for detection: real digits on real photographs, with the box of each."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from pioneers.data.embedded import ImageSet, photographs

NO_LABEL = -1  # of the rows that fill up a scene with fewer digits than the others
INK = 0.1  # lighter than this is not part of a digit
PHOTOGRAPH_LIGHT = 0.4  # photographs are darkened to this share, so that white digits stand out
LARGEST_OVERLAP = 0.1  # of two boxes, as a share of the smaller one
TRIES = 20  # places tried for a digit before it is left out


class Scenes(NamedTuple):
    """Images with objects, as one batch; M is the largest number of digits in a scene.

    Attributes:
        images: ``(B, 3, S, S)``, float32 in [0, 1].
        labels: ``(B, M)``, int64: the digits, then -1 for the rest.
        boxes: ``(B, M, 4)``: (cx, cy, w, h) as shares of the scene, 0 for the rest.
    """

    images: Tensor
    labels: Tensor
    boxes: Tensor


def photograph_parts() -> tuple[list[Tensor], list[Tensor]]:
    """Return the left two thirds of both photographs, to train on, and the right thirds, to test on.

    They are :func:`photographs` at half of their size, ``(3, 213, 213)`` and ``(3, 213, 107)``.

    Raises:
        ModuleNotFoundError: the extra ``data`` is not installed.
    """
    small = [F.avg_pool2d(picture, 2) for picture in photographs()]
    return [p[..., :213] for p in small], [p[..., 213:] for p in small]


def digit_scenes(
    digits: ImageSet,
    backgrounds: Sequence[Tensor],
    count: int,
    *,
    size: int = 48,
    heights: tuple[int, int] = (14, 22),
    max_digits: int = 3,
    seed: int = 0,
) -> Scenes:
    """Paste digits, white and at random places, on crops of photographs.

    A box holds its digit tightly: every edge touches ink. Boxes overlap by a tenth of the smaller one at
    most; a digit that finds no place is left out, but the first always has one.

    Args:
        digits: of one channel, for instance :func:`pioneers.data.mnist` or :func:`pioneers.data.digits`.
        backgrounds: photographs ``(3, height, width)``, no smaller than the scenes.
        count: number of scenes.
        size: S, their height and width in pixels.
        heights: least and greatest height of a digit, in pixels.
        max_digits: M; the number in a scene is drawn from 1 to M.
        seed: of everything that is drawn.

    Raises:
        ValueError: a photograph or a scene is too small for what is to be on it.

    Example:
        >>> from pioneers.data import digits
        >>> train, test = digits()
        >>> [tuple(part.shape) for part in digit_scenes(train, [torch.zeros(3, 60, 60)], 5)]
        [(5, 3, 48, 48), (5, 3), (5, 3, 4)]
    """
    smallest = min(side for picture in backgrounds for side in picture.shape[1:])
    if smallest < size or size < heights[1]:
        raise ValueError(f"digits of {heights[1]} do not fit scenes of {size} from photographs of {smallest}")
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=generator))

    images = torch.empty(count, 3, size, size)
    labels = torch.full((count, max_digits), NO_LABEL)
    boxes = torch.zeros(count, max_digits, 4)
    for scene, own_labels, own_boxes in zip(images, labels, boxes, strict=True):
        picture = backgrounds[draw(0, len(backgrounds) - 1)]
        top, left = (draw(0, side - size) for side in picture.shape[1:])
        scene.copy_(PHOTOGRAPH_LIGHT * picture[:, top : top + size, left : left + size])
        corners: list[tuple[int, int, int, int]] = []
        for _ in range(draw(1, max_digits)):
            which = draw(0, len(digits.labels) - 1)
            ink = _resized(digits.images[which, 0], draw(*heights), size)
            for _ in range(TRIES):
                y, x = (draw(0, size - side) for side in ink.shape)
                corner = (x, y, x + ink.shape[1], y + ink.shape[0])
                if all(_overlap(corner, other) <= LARGEST_OVERLAP for other in corners):
                    _paste(scene, ink, corner)
                    own_labels[len(corners)] = digits.labels[which]
                    own_boxes[len(corners)] = _box(corner) / size
                    corners.append(corner)
                    break
    return Scenes(images, labels, boxes)


def _resized(digit: Tensor, height: int, widest: int) -> Tensor:
    """Cut a digit to its ink and scale it to a height in pixels; no row or column at its edges is empty."""
    cut = _cut(digit)
    width = min(max(2, round(cut.shape[1] * height / cut.shape[0])), widest)
    ink = F.interpolate(
        cut[None, None], (height, width), mode="bilinear", antialias=True, align_corners=False
    )[0, 0]
    return _cut(ink.clamp(0, 1))


def _cut(ink: Tensor) -> Tensor:
    ink = ink.where(ink >= INK, 0.0)
    rows, columns = ink.any(1).nonzero()[:, 0], ink.any(0).nonzero()[:, 0]
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _overlap(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> float:
    """Area that two boxes share, as a part of the smaller one."""
    width, height = (max(0, min(a[i + 2], b[i + 2]) - max(a[i], b[i])) for i in (0, 1))
    return width * height / min((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b))


def _paste(scene: Tensor, ink: Tensor, corner: tuple[int, int, int, int]) -> None:
    x0, y0, x1, y1 = corner
    window = scene[:, y0:y1, x0:x1]
    window += ink * (1 - window)


def _box(corner: tuple[int, int, int, int]) -> Tensor:
    x0, y0, x1, y1 = corner
    return torch.tensor([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0])
