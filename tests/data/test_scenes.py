"""Scenes of digits: boxes are tight, overlaps small, photographs of training and test differ."""

import pytest
import torch

from pioneers.data import ImageSet, digit_scenes, digits, photograph_parts, photographs
from pioneers.data.scenes import INK, LARGEST_OVERLAP, PHOTOGRAPH_LIGHT
from pioneers.objectives import boxes_to_corners

SIZE, COUNT, M = 40, 23, 3
BLACK = [torch.zeros(3, SIZE, SIZE)]


@pytest.fixture(scope="module")
def train():
    return digits()[0]


def scenes(train, backgrounds=BLACK, count=COUNT, **changes):
    return digit_scenes(
        train, backgrounds, count, **{"size": SIZE, "heights": (9, 15), "max_digits": M} | changes
    )


def corners(found):
    """Edges of the boxes in pixels, whole numbers."""
    exact = boxes_to_corners(found.boxes) * SIZE
    torch.testing.assert_close(exact, exact.round(), atol=1e-4, rtol=0)
    return exact.round().int()


def test_every_box_holds_ink_up_to_its_edges_and_nothing_else_is_white(train):
    found = scenes(train)
    for image, labels, boxes in zip(found.images, found.labels, corners(found), strict=True):
        outside = image[0].clone()
        for x0, y0, x1, y1 in boxes[labels >= 0].tolist():
            window = image[0, y0:y1, x0:x1] >= INK
            assert all(edge.any() for edge in (window[0], window[-1], window[:, 0], window[:, -1]))
            assert y1 - y0 <= 15
            outside[y0:y1, x0:x1] = 0
        assert not outside.any()


def test_digits_come_first_and_overlap_little(train):
    found = scenes(train)
    counts = (found.labels >= 0).sum(1)
    assert counts.min() >= 1
    assert len(set(counts.tolist())) == M
    for labels, boxes, count in zip(found.labels, corners(found), counts, strict=True):
        assert (labels[:count] >= 0).all()
        assert not boxes[count:].any()
        for i in range(count):
            for j in range(i):
                shared = torch.minimum(boxes[i, 2:], boxes[j, 2:]) - torch.maximum(boxes[i, :2], boxes[j, :2])
                areas = (boxes[[i, j], 2:] - boxes[[i, j], :2]).prod(1)
                assert shared.clamp(min=0).prod() <= LARGEST_OVERLAP * areas.min()


def test_the_label_is_that_of_the_digit_pasted():
    shapes = torch.zeros(2, 1, 8, 8)
    shapes[0, :, 1:7, 2:4], shapes[1, :, 1:7, 1:7] = 1.0, 1.0  # 3 is three times as high as wide, 7 is square
    found = scenes(ImageSet(shapes, torch.tensor([3, 7])))
    real = found.labels >= 0
    slender = found.boxes[real][:, 2] < 0.7 * found.boxes[real][:, 3]
    assert torch.equal(slender, found.labels[real] == 3)


def test_scenes_depend_on_the_seed_alone(train):
    for one, other, new in zip(scenes(train), scenes(train), scenes(train, seed=1), strict=True):
        assert torch.equal(one, other)
        assert not torch.equal(one, new)


def test_where_no_ink_is_the_photograph_is():
    picture = torch.rand(3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    dots = ImageSet(torch.ones(1, 1, 4, 4), torch.zeros(1, dtype=torch.long))
    image = scenes(dots, [picture], 1, max_digits=1).images[0]
    same = (image == PHOTOGRAPH_LIGHT * picture).all(0)
    assert 0.8 * SIZE**2 < same.sum() < SIZE**2
    assert (image[:, ~same] == 1).all()


def test_training_and_test_see_other_parts_of_the_photographs():
    train, test = photograph_parts()
    for left, right, whole in zip(train, test, photographs(), strict=True):
        assert left.shape[2] + right.shape[2] == whole.shape[2] // 2
        torch.testing.assert_close(left[:, 0, -1], whole[:, :2, 424:426].mean((1, 2)))
        torch.testing.assert_close(right[:, 0, 0], whole[:, :2, 426:428].mean((1, 2)))


def test_what_does_not_fit_is_refused(train):
    with pytest.raises(ValueError, match="digits of 15 do not fit scenes of 41 from photographs of 40"):
        scenes(train, size=41)
    with pytest.raises(ValueError, match="digits of 50 do not fit"):
        scenes(train, heights=(9, 50))
