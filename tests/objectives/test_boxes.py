"""Boxes against a count of pixels and against torchvision."""

import pytest
import torch

from pioneers.compat import import_torchvision
from pioneers.objectives import box_iou, boxes_to_corners, corners_to_boxes, generalized_box_iou

Q, M, SIDE = 5, 7, 13


def corners(count, seed, *leading):
    """Boxes with whole corners, some of them empty."""
    generator = torch.Generator().manual_seed(seed)
    low, high = torch.randint(SIDE + 1, (2, *leading, count, 2), generator=generator).sort(0).values
    return torch.cat([low, high], -1).float()


def pixels(box):
    x0, y0, x1, y1 = box.int().tolist()
    return {(x, y) for x in range(x0, x1) for y in range(y0, y1)}


def counted(a, b):
    """IoU and generalized IoU of two boxes, by counting pixels."""
    one, other = pixels(a), pixels(b)
    around = pixels(torch.cat([torch.minimum(a[:2], b[:2]), torch.maximum(a[2:], b[2:])]))
    union = len(one | other)
    iou = len(one & other) / union if union else 0.0
    return iou, iou - (len(around) - union) / len(around) if around else iou


def test_overlaps_are_those_of_counted_pixels():
    first, second = corners(Q, 0), corners(M, 1)
    expected = torch.tensor([[counted(a, b) for b in second] for a in first])  # (Q, M, 2)
    torch.testing.assert_close(box_iou(first, second), expected[..., 0])
    torch.testing.assert_close(generalized_box_iou(first, second), expected[..., 1])


def test_overlaps_are_torchvisions():
    ops = import_torchvision().ops
    boxes = torch.rand(2, Q + M, 4, generator=torch.Generator().manual_seed(2)) + 0.1
    for picture in boxes_to_corners(boxes):
        first, second = picture[:Q], picture[Q:]
        torch.testing.assert_close(box_iou(first, second), ops.box_iou(first, second))
        torch.testing.assert_close(generalized_box_iou(first, second), ops.generalized_box_iou(first, second))


def test_the_two_spellings_are_inverse_and_torchvisions():
    ops = import_torchvision().ops
    boxes = torch.rand(3, Q, 4, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(boxes_to_corners(boxes), ops.box_convert(boxes, "cxcywh", "xyxy"))
    torch.testing.assert_close(corners_to_boxes(boxes_to_corners(boxes)), boxes)


def test_pictures_are_compared_one_by_one():
    first, second = corners(Q, 4, 3), corners(M, 5, 3)
    for function in (box_iou, generalized_box_iou):
        rows = [function(a, b) for a, b in zip(first, second, strict=True)]
        torch.testing.assert_close(function(first, second), torch.stack(rows))


@pytest.mark.parametrize("function", [box_iou, generalized_box_iou])
def test_empty_boxes_give_finite_gradients(function):
    empty = torch.full((1, 4), 0.5, requires_grad=True)
    function(empty, torch.full((1, 4), 0.5)).sum().backward()
    assert empty.grad.isfinite().all()


def test_boxes_apart_have_a_slope_only_in_the_generalized_form():
    boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0]], requires_grad=True)
    for function, slopes in ((box_iou, False), (generalized_box_iou, True)):
        (grad,) = torch.autograd.grad(function(boxes, torch.tensor([[3.0, 0, 4, 1]])).sum(), boxes)
        assert bool(grad.any()) == slopes
