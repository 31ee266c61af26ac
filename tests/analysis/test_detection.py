"""COCO's average precision, against one that is written out for all classes and thresholds."""

import json

import pytest
import torch

from pioneers.analysis import average_precision, coco_dataset, coco_results
from pioneers.objectives import box_iou, boxes_to_corners

B, Q, M, C, SIZE = 17, 6, 4, 3, 60


def made_up(seed=0, noise=0.006):
    """Scenes, and detections that are right here and there."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(-1, C, (B, M), generator=generator)
    targets = torch.rand(B, M, 4, generator=generator) * 0.4 + 0.3
    logits = torch.randn(B, Q, C + 1, generator=generator)
    boxes = torch.rand(B, Q, 4, generator=generator) * 0.4 + 0.3
    boxes[:, :M] = targets + noise * torch.randn(B, M, 4, generator=generator)
    likely = labels.clamp(min=0)[..., None]
    logits[:, :M].scatter_add_(2, likely, torch.full(likely.shape, 2.0))
    return logits, boxes, labels, targets


def by_hand(logits, boxes, labels, targets, threshold):
    """Mean over the classes of the precision at 101 recalls: Lin et al. 2014."""
    scores, classes = logits.softmax(-1)[..., :-1].max(-1)
    overlap = box_iou(boxes_to_corners(boxes), boxes_to_corners(targets))
    averages = []
    for c in range(C):
        number = int((labels == c).sum())
        found = (classes == c).nonzero().tolist()
        found.sort(key=lambda at: -float(scores[at[0], at[1]]))
        taken, right = set(), []
        for i, q in found:
            free = [m for m in range(M) if labels[i, m] == c and (i, m) not in taken]
            best = max(free, key=lambda m: float(overlap[i, q, m]), default=None)
            hit = best is not None and overlap[i, q, best] >= threshold
            right.append(hit)
            taken |= {(i, best)} if hit else set()
        hits = torch.tensor(right).cumsum(0)
        precision, recall = hits / torch.arange(1, len(right) + 1), hits / number
        reached = [precision[recall >= r / 100 - 1e-9] for r in range(101)]
        averages.append(sum(float(p.max()) if len(p) else 0.0 for p in reached) / 101)
    return sum(averages) / C


def test_it_is_the_area_under_the_curve_of_precision_and_recall():
    pytest.importorskip("pycocotools")
    case = made_up()
    got = average_precision(*case, size=SIZE)
    expected = [by_hand(*case, 0.5 + 0.05 * i) for i in range(10)]
    assert 0.1 < expected[-1] < expected[0] < 0.9
    assert got.at50 == pytest.approx(expected[0], abs=1e-4)
    assert got.at75 == pytest.approx(expected[5], abs=1e-4)
    assert got.mean == pytest.approx(sum(expected) / 10, abs=1e-4)


def test_a_perfect_detector_has_precision_one_and_a_blind_one_zero():
    pytest.importorskip("pycocotools")
    _, _, labels, targets = made_up()
    sure = 20.0 * torch.nn.functional.one_hot(labels.where(labels >= 0, C), C + 1)
    assert average_precision(sure, targets, labels, targets, size=SIZE) == (1.0, 1.0, 1.0)
    aside = targets + torch.tensor([5.0, 0, 0, 0])
    assert average_precision(sure, aside, labels, targets, size=SIZE) == (0.0, 0.0, 0.0)


def test_the_format_is_json_and_counts_in_pixels():
    logits, boxes, labels, targets = made_up()
    truth = json.loads(json.dumps(coco_dataset(labels, targets, SIZE, C)))
    assert len(truth["images"]) == B
    assert [a["id"] for a in truth["annotations"]] == list(range(1, 1 + int((labels >= 0).sum())))
    first = truth["annotations"][0]
    row = int((labels[first["image_id"]] >= 0).nonzero()[0, 0])
    cx, cy, w, h = (SIZE * targets[first["image_id"], row]).tolist()
    assert first["bbox"] == pytest.approx([cx - w / 2, cy - h / 2, w, h], abs=1e-4)
    assert first["area"] == pytest.approx(w * h, abs=1e-2)
    found = json.loads(json.dumps(coco_results(logits, boxes, SIZE)))
    assert len(found) == B * Q
    assert {entry["category_id"] for entry in found} == set(range(C))
    best = logits.softmax(-1)[..., :-1].max(-1).values.flatten().tolist()
    assert [entry["score"] for entry in found] == pytest.approx(best)
