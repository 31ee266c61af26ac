"""Set prediction: which query answers for which object, and the loss of the pairs.

Carion et al. 2020, section 3.1.

Axes: L decoder layers, B pictures, Q queries, M objects (pictures with fewer are filled up), C classes.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from pioneers.extras import import_extra
from pioneers.objectives.boxes import boxes_to_corners, generalized_box_iou

NO_LABEL = -1  # of the rows that fill up a picture with fewer than M objects
L1_WEIGHT, GIOU_WEIGHT, NO_OBJECT_WEIGHT = 5.0, 2.0, 0.1  # section A.4


class SetLoss(NamedTuple):
    """The three parts of the loss, summed over the decoder layers, before they are weighted.

    Attributes:
        classes: cross-entropy of all queries, those without an object weighted by 0.1.
        l1: sum of the distances of the four numbers of a box, per object.
        giou: 1 - GIoU, per object.
    """

    classes: Tensor
    l1: Tensor
    giou: Tensor

    @property
    def total(self) -> Tensor:
        """The weighted sum ``classes + 5 l1 + 2 giou``, which is minimised."""
        return self.classes + L1_WEIGHT * self.l1 + GIOU_WEIGHT * self.giou


def matching_cost(logits: Tensor, boxes: Tensor, labels: Tensor, targets: Tensor) -> Tensor:
    """What it costs to let each query answer for each object: ``-p + 5 L1 - 2 GIoU``, ``(B, Q, M)``.

    Equation (1) and section A.4 there: p is the probability of the object's class. The columns of rows that
    only fill up mean nothing.

    Args:
        logits: ``(B, Q, C + 1)``, the last for no object.
        boxes: ``(B, Q, 4)``, as (cx, cy, w, h).
        labels: ``(B, M)``, -1 in rows that only fill up.
        targets: ``(B, M, 4)``, as (cx, cy, w, h).

    Example:
        >>> box = torch.full((1, 1, 4), 0.5)
        >>> matching_cost(torch.zeros(1, 1, 2), box, torch.tensor([[0]]), box)
        tensor([[[-2.5000]]])
    """
    wanted = labels.clamp(min=0)[:, None].expand(-1, logits.shape[1], -1)  # (B, Q, M)
    probability = logits.softmax(dim=-1).gather(2, wanted)  # (B, Q, M)
    distance = torch.cdist(boxes, targets, p=1)  # (B, Q, M)
    overlap = generalized_box_iou(boxes_to_corners(boxes), boxes_to_corners(targets))  # (B, Q, M)
    return -probability + L1_WEIGHT * distance - GIOU_WEIGHT * overlap


@torch.no_grad()
def hungarian_match(logits: Tensor, boxes: Tensor, labels: Tensor, targets: Tensor) -> Tensor:
    """The queries ``(B, M)`` that answer for the objects, so that all pairs together cost least.

    No query answers for two objects; Kuhn 1955, as SciPy computes it. Rows that only fill up get -1.

    Args:
        logits: ``(B, Q, C + 1)``.
        boxes: ``(B, Q, 4)``.
        labels: ``(B, M)``, -1 in rows that only fill up.
        targets: ``(B, M, 4)``.

    Raises:
        ValueError: a picture has more objects than there are queries.
        ModuleNotFoundError: the extra ``data`` (SciPy) is not installed.

    Example:
        >>> boxes = torch.tensor([[[0.2, 0.2, 0.1, 0.1], [0.8, 0.8, 0.1, 0.1]]])
        >>> hungarian_match(torch.zeros(1, 2, 4), boxes, torch.tensor([[3, -1]]), boxes.flip(1))
        tensor([[ 1, -1]])
    """
    assign = import_extra("scipy.optimize", "data").linear_sum_assignment
    real = labels != NO_LABEL  # (B, M)
    if real.sum(dim=1).max() > logits.shape[1]:
        raise ValueError(f"{int(real.sum(1).max())} objects in a picture and only {logits.shape[1]} queries")
    costs = matching_cost(logits.float(), boxes.float(), labels, targets.float()).cpu().numpy()
    matched = torch.full(labels.shape, NO_LABEL)
    for row, cost, columns in zip(matched, costs, real.cpu().numpy(), strict=True):
        query, column = assign(cost[:, columns])  # in the order of the queries
        row[torch.from_numpy(columns)] = torch.from_numpy(query[column.argsort()])
    return matched.to(labels.device)


def set_loss(
    logits: Tensor, boxes: Tensor, labels: Tensor, targets: Tensor, *, auxiliary: bool = True
) -> SetLoss:
    """The loss of a set of predictions: match, then classify and place. Equation (2) there.

    Every decoder layer is matched and judged by itself, as if it were the last.

    Args:
        logits: ``(L, B, Q, C + 1)``, the last for no object.
        boxes: ``(L, B, Q, 4)``, as (cx, cy, w, h) in [0, 1].
        labels: ``(B, M)``, -1 in rows that only fill up.
        targets: ``(B, M, 4)``.
        auxiliary: whether layers before the last count, too.

    Raises:
        ValueError: a picture has more objects than there are queries.

    Example:
        >>> box = torch.full((1, 1, 1, 4), 0.5)
        >>> set_loss(torch.zeros(1, 1, 1, 2), box, torch.tensor([[0]]), box[0]).total
        tensor(0.6931)
    """
    if not auxiliary:
        logits, boxes = logits[-1:], boxes[-1:]
    layers, (batch, queries, outputs) = len(logits), logits.shape[1:]
    logits, boxes = logits.float().flatten(0, 1), boxes.float().flatten(0, 1)  # (L · B, Q, …)
    labels, targets = labels.repeat(layers, 1), targets.repeat(layers, 1, 1)  # (L · B, M, …)
    matched = hungarian_match(logits, boxes, labels, targets)  # (L · B, M)
    row, column = (matched != NO_LABEL).nonzero(as_tuple=True)
    query = matched[row, column]
    wanted = torch.full((layers * batch, queries), outputs - 1, device=logits.device)
    wanted[row, query] = labels[row, column]
    weight = torch.ones(outputs, device=logits.device)
    weight[-1] = NO_OBJECT_WEIGHT
    each = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), weight, reduction="none")
    by_layer = each.view(layers, -1).sum(1) / weight[wanted].view(layers, -1).sum(1)  # (L,)
    found, true = boxes[row, query], targets[row, column]  # (pairs, 4)
    objects = max(len(row) // layers, 1)
    overlap = generalized_box_iou(
        boxes_to_corners(found)[:, None], boxes_to_corners(true)[:, None]
    )  # (pairs, 1, 1)
    return SetLoss(by_layer.sum(), (found - true).abs().sum() / objects, (1 - overlap).sum() / objects)
