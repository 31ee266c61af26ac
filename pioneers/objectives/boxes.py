"""Boxes: their two spellings, and how much two of them overlap.

A box is ``(cx, cy, w, h)``, its centre and its size, or ``(x0, y0, x1, y1)``, two of its corners. x grows to
the right and y downwards, in pixels or as shares of the picture; all functions here work in either.
"""

import torch
from torch import Tensor


def boxes_to_corners(boxes: Tensor) -> Tensor:
    """``boxes (…, 4)`` = (cx, cy, w, h) → corners (x0, y0, x1, y1); :func:`corners_to_boxes` inverts it.

    Example:
        >>> boxes_to_corners(torch.tensor([0.5, 0.5, 0.5, 1.0])).tolist()
        [0.25, 0.0, 0.75, 1.0]
    """
    centre, size = boxes.split(2, dim=-1)
    return torch.cat([centre - size / 2, centre + size / 2], dim=-1)


def corners_to_boxes(corners: Tensor) -> Tensor:
    """``corners (…, 4)`` = (x0, y0, x1, y1) → boxes (cx, cy, w, h).

    Example:
        >>> corners_to_boxes(torch.tensor([0.25, 0.0, 0.75, 1.0])).tolist()
        [0.5, 0.5, 0.5, 1.0]
    """
    low, high = corners.split(2, dim=-1)
    return torch.cat([(low + high) / 2, high - low], dim=-1)


def box_iou(first: Tensor, second: Tensor) -> Tensor:
    """Intersection over union of every box with every other, 0 where both are empty.

    Args:
        first: corners ``(…, Q, 4)``.
        second: corners ``(…, M, 4)``.

    Returns:
        ``(…, Q, M)``, in [0, 1].

    Example:
        >>> box_iou(torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[1.0, 0, 3, 2], [5, 5, 6, 6]]))
        tensor([[0.3333, 0.0000]])
    """
    intersection, union = _overlap(first, second)
    return intersection / union.clamp(min=torch.finfo(union.dtype).tiny)


def generalized_box_iou(first: Tensor, second: Tensor) -> Tensor:
    """IoU minus the share of the smallest box around both that neither covers: Rezatofighi et al. 2019.

    It also tells how far apart two boxes are that do not meet, for which IoU is 0.

    Args:
        first: corners ``(…, Q, 4)``.
        second: corners ``(…, M, 4)``.

    Returns:
        ``(…, Q, M)``, in [-1, 1].

    Example:
        >>> generalized_box_iou(torch.tensor([[0.0, 0, 1, 1]]), torch.tensor([[1.0, 0, 2, 1], [3, 0, 4, 1]]))
        tensor([[ 0.0000, -0.5000]])
    """
    intersection, union = _overlap(first, second)
    low = torch.minimum(first[..., :, None, :2], second[..., None, :, :2])
    high = torch.maximum(first[..., :, None, 2:], second[..., None, :, 2:])
    hull = (high - low).clamp(min=0).prod(dim=-1)  # (…, Q, M)
    tiny = torch.finfo(union.dtype).tiny
    return intersection / union.clamp(min=tiny) - (hull - union) / hull.clamp(min=tiny)


def _overlap(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Areas ``(…, Q, M)`` of the intersection and of the union."""
    low = torch.maximum(first[..., :, None, :2], second[..., None, :, :2])
    high = torch.minimum(first[..., :, None, 2:], second[..., None, :, 2:])
    intersection = (high - low).clamp(min=0).prod(dim=-1)  # (…, Q, M)
    areas = [(corners[..., 2:] - corners[..., :2]).prod(dim=-1) for corners in (first, second)]
    return intersection, areas[0][..., :, None] + areas[1][..., None, :] - intersection
