"""Average precision of detections, as COCO defines it."""

import contextlib
import io
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pioneers.extras import import_extra


class AveragePrecision(NamedTuple):
    """Mean average precision over the classes, in [0, 1].

    Attributes:
        at50: a detection is right from an IoU of 0.5 on.
        at75: from 0.75 on.
        mean: mean over the thresholds 0.5, 0.55, …, 0.95, COCO's own measure.
    """

    at50: float
    at75: float
    mean: float


def coco_dataset(labels: Tensor, boxes: Tensor, size: int, num_classes: int) -> dict[str, Any]:
    """Describe scenes in COCO's format, as its JSON files hold them: Lin et al. 2014.

    Args:
        labels: ``(B, M)``, from 0 on, -1 for no object.
        boxes: ``(B, M, 4)``: (cx, cy, w, h) as shares of the scene.
        size: height and width of the scenes in pixels.
        num_classes: C.

    Example:
        >>> labels, boxes = torch.tensor([[7, -1]]), torch.tensor([[[0.5, 0.5, 0.25, 0.5], [0.0] * 4]])
        >>> coco_dataset(labels, boxes, 48, 10)["annotations"][0]["bbox"]
        [18.0, 12.0, 12.0, 24.0]
    """
    annotations: list[dict[str, Any]] = []
    corners = _xywh(boxes, size)
    for image, row in (labels >= 0).nonzero().tolist():
        x, y, w, h = corners[image, row].tolist()
        entry = {"image_id": image, "category_id": int(labels[image, row]), "bbox": [x, y, w, h]}
        annotations.append({"id": len(annotations) + 1, **entry, "area": w * h, "iscrowd": 0})
    return {
        "info": {},
        "images": [{"id": i, "width": size, "height": size} for i in range(len(labels))],
        "annotations": annotations,
        "categories": [{"id": i, "name": str(i)} for i in range(num_classes)],
    }


def coco_results(logits: Tensor, boxes: Tensor, size: int) -> list[dict[str, Any]]:
    """Describe detections in COCO's format: for every query the best class but "no object", and its score.

    Args:
        logits: ``(B, Q, C + 1)``, the last for "no object".
        boxes: ``(B, Q, 4)``: (cx, cy, w, h) as shares of the scene.
        size: height and width of the scenes in pixels.

    Example:
        >>> found = coco_results(torch.tensor([[[0.0, 9, 0]]]), torch.tensor([[[0.5, 0.5, 0.25, 0.5]]]), 48)
        >>> found[0]["category_id"], found[0]["bbox"], round(found[0]["score"], 2)
        (1, [18.0, 12.0, 12.0, 24.0], 1.0)
    """
    scores, classes = logits.float().softmax(-1)[..., :-1].max(-1)  # (B, Q)
    corners = _xywh(boxes.float(), size).tolist()
    return [
        {"image_id": image, "category_id": category, "bbox": box, "score": score}
        for image, rows in enumerate(zip(classes.tolist(), corners, scores.tolist(), strict=True))
        for category, box, score in zip(*rows, strict=True)
    ]


def average_precision(
    logits: Tensor, boxes: Tensor, labels: Tensor, targets: Tensor, *, size: int
) -> AveragePrecision:
    """Judge detections by COCO's own code, ``pycocotools``.

    Args:
        logits: ``(B, Q, C + 1)``, the last for "no object".
        boxes: ``(B, Q, 4)``: (cx, cy, w, h) as shares of the scene.
        labels: ``(B, M)``, -1 for no object.
        targets: ``(B, M, 4)``.
        size: height and width of the scenes in pixels.

    Raises:
        ModuleNotFoundError: the extra ``data`` (pycocotools) is not installed.

    Example:
        >>> box, logits = torch.full((1, 1, 4), 0.5), torch.tensor([[[9.0, 0, 0]]])
        >>> average_precision(logits, box, torch.tensor([[0]]), box, size=48).at50
        1.0
    """
    coco = import_extra("pycocotools.coco", "data").COCO
    evaluator = import_extra("pycocotools.cocoeval", "data").COCOeval
    truth = coco()
    truth.dataset = coco_dataset(labels, targets, size, logits.shape[-1] - 1)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does
        truth.createIndex()
        judged = evaluator(truth, truth.loadRes(coco_results(logits, boxes, size)), "bbox")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    mean, at50, at75 = (round(float(judged.stats[i]), 9) for i in range(3))  # 1 is 1 - ε there
    return AveragePrecision(at50, at75, mean)


def _xywh(boxes: Tensor, size: int) -> Tensor:
    """Left upper corner and size in pixels."""
    return torch.cat([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., 2:]], dim=-1) * size
