"""The matcher against all permutations, and the set loss against one written with loops."""

import itertools

import pytest
import torch
import torch.nn.functional as F

from pioneers.compat import import_torchvision
from pioneers.objectives import hungarian_match, matching_cost, set_loss

L, B, Q, M, C = 2, 3, 5, 4, 7
COUNTS = (4, 0, 2)  # objects in each picture


@pytest.fixture
def case():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(L, B, Q, C + 1, generator=generator)
    boxes = torch.rand(L, B, Q, 4, generator=generator) * 0.5 + 0.1
    labels = torch.randint(C, (B, M), generator=generator)
    labels[torch.arange(M) >= torch.tensor(COUNTS)[:, None]] = -1
    return logits, boxes, labels, torch.rand(B, M, 4, generator=generator) * 0.5 + 0.1


def giou(a, b):
    ops = import_torchvision().ops
    return ops.generalized_box_iou(*(ops.box_convert(x[None], "cxcywh", "xyxy") for x in (a, b))).squeeze()


def test_the_cost_is_that_of_the_paper(case):
    logits, boxes, labels, targets = case[0][0], case[1][0], *case[2:]
    cost = matching_cost(logits, boxes, labels, targets)
    assert cost.shape == (B, Q, M)
    for i, q, m in itertools.product(range(B), range(Q), range(M)):
        if labels[i, m] >= 0:
            box, target = boxes[i, q], targets[i, m]
            likely = logits[i, q].softmax(-1)[labels[i, m]]
            expected = -likely + 5 * (box - target).abs().sum() - 2 * giou(box, target)
            torch.testing.assert_close(cost[i, q, m], expected)


def test_no_permutation_costs_less(case):
    logits, boxes, labels, targets = case[0][0], case[1][0], *case[2:]
    cost = matching_cost(logits, boxes, labels, targets)
    matched = hungarian_match(logits, boxes, labels, targets)
    for own, found, count in zip(cost, matched, COUNTS, strict=True):
        assert found[count:].tolist() == [-1] * (M - count)
        ways = {
            way: sum(own[q, m] for m, q in enumerate(way)) for way in itertools.permutations(range(Q), count)
        }
        assert tuple(found[:count].tolist()) == min(ways, key=lambda way: float(ways[way]))


def test_rows_that_fill_up_may_stand_anywhere_and_hold_anything(case):
    logits, boxes, labels, targets = case
    order = torch.tensor([3, 1, 0, 2])
    moved = targets.masked_fill((labels < 0)[..., None], 9.0)[:, order]
    torch.testing.assert_close(
        set_loss(logits, boxes, labels[:, order], moved), set_loss(logits, boxes, labels, targets)
    )


def test_more_objects_than_queries_are_refused(case):
    logits, boxes, labels, targets = case
    with pytest.raises(ValueError, match="4 objects in a picture and only 3 queries"):
        hungarian_match(logits[0, :, :3], boxes[0, :, :3], labels, targets)


def by_loops(logits, boxes, labels, targets):
    """The loss of one layer."""
    matched = hungarian_match(logits, boxes, labels, targets)
    wanted = torch.full((B, Q), C)
    l1, overlap = [], []
    for i, m in itertools.product(range(B), range(M)):
        if labels[i, m] >= 0:
            q = matched[i, m]
            wanted[i, q] = labels[i, m]
            l1.append((boxes[i, q] - targets[i, m]).abs().sum())
            overlap.append(1 - giou(boxes[i, q], targets[i, m]))
    classes = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), torch.tensor([1.0] * C + [0.1]))
    return classes, sum(l1) / sum(COUNTS), sum(overlap) / sum(COUNTS)


def test_the_loss_is_the_sum_over_the_layers(case):
    logits, boxes, labels, targets = case
    layers = [by_loops(*layer, labels, targets) for layer in zip(logits, boxes, strict=True)]
    expected = [sum(parts) for parts in zip(*layers, strict=True)]
    loss = set_loss(*case)
    torch.testing.assert_close(list(loss), expected)
    torch.testing.assert_close(loss.total, expected[0] + 5 * expected[1] + 2 * expected[2])
    torch.testing.assert_close(tuple(set_loss(*case, auxiliary=False)), layers[-1])


def test_without_objects_only_the_classes_count(case):
    logits, boxes, labels, targets = case
    loss = set_loss(logits, boxes, torch.full_like(labels, -1), targets)
    assert loss.l1 == loss.giou == 0
    assert loss.total == loss.classes > 0


def test_the_gradient_is_finite_and_reaches_matched_boxes_alone(case):
    logits, boxes, labels, targets = case
    boxes = boxes.clone().requires_grad_()
    set_loss(logits, boxes, labels, targets).total.backward()
    assert boxes.grad.isfinite().all()
    moved = boxes.grad.any(-1)  # (L, B, Q)
    for layer in range(L):
        matched = hungarian_match(logits[layer], boxes[layer], labels, targets)
        for i in range(B):
            assert set(moved[layer, i].nonzero()[:, 0].tolist()) == set(matched[i].tolist()) - {-1}
