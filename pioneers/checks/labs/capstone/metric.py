"""Exercise 7.2: the accuracy of each class that occurs, and their mean, in float32."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom
from pioneers.checks.labs.translation.symptoms import NO_TENSOR, NOT_FLOAT32

UNLABELLED = -100
Share = Callable[[Tensor, Tensor, int], float | None]


def _recall(predictions: Tensor, labels: Tensor, c: int) -> float | None:
    """The share of the images of class c that are called c; None if there are none."""
    mine = labels == c
    return (predictions == c)[mine].double().mean().item() if mine.any() else None


def _scoring(share: Share = _recall) -> Callable[[Tensor, Tensor, int], Tensor]:
    """The mean over classes of a share, on the images that have a label."""

    def class_accuracy(predictions, labels, num_classes) -> Tensor:
        kept = labels != UNLABELLED
        shares = [share(predictions[kept], labels[kept], c) for c in range(num_classes)]
        found = [s for s in shares if s is not None]
        return torch.tensor(sum(found) / len(found))

    return class_accuracy


def _probes() -> list[Probe]:
    def probe(name: str, predictions: list[int], labels: list[int], num_classes: int) -> Probe:
        ids = {"predictions": torch.tensor(predictions), "labels": torch.tensor(labels)}
        return Probe(name, {**ids, "num_classes": num_classes})

    return [
        probe("three classes of unequal size", [0, 0, 0, 1, 1, 0, 2, 1], [0, 0, 0, 0, 0, 1, 2, 1], 3),
        probe("a class that does not occur", [0, 0, 3, 3, 2], [0, 0, 0, 3, 2], 5),
        probe("a class that is only predicted", [0, 1, 1, 2, 2, 0], [0, 0, 2, 2, 2, 0], 3),
        probe("images without a label", [1, 0, 1, 1, 0], [1, -100, 0, 1, -100], 2),
        probe("an image without a label, called the last class", [2, 2, 0], [2, -100, 0], 3),
        probe("one image", [4], [4], 7),
        probe("two images, one wrong", [4, 4], [4, 2], 7),
        probe("everything called 0", [0] * 11, [0] * 7 + [1, 1, 2, 3], 4),
    ]


def _copied_images(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[0]
    ids, zeros = (probe.args[name] for name in ("predictions", "labels")), probe.args["labels"] == 0
    more = {name: torch.cat([x, x[zeros]]) for name, x in zip(("predictions", "labels"), ids, strict=True)}
    return run(probe.having("law", **more)).tensor, run(probe).tensor


def _plain(predictions, labels, num_classes) -> Tensor:
    kept = labels != UNLABELLED
    return (predictions == labels)[kept].float().mean()


def _plain_over_all(predictions, labels, num_classes) -> Tensor:
    return (predictions == labels).float().mean()


def _precision(predictions: Tensor, labels: Tensor, c: int) -> float | None:
    return _recall(labels, predictions, c)


def _f1(predictions: Tensor, labels: Tensor, c: int) -> float | None:
    ours, theirs = predictions == c, labels == c
    both = int(ours.sum() + theirs.sum())
    return 2 * int((ours & theirs).sum()) / both if both else None


def _one_against_the_rest(predictions: Tensor, labels: Tensor, c: int) -> float | None:
    return ((predictions == c) == (labels == c)).double().mean().item()


def _absent(value: float) -> Share:
    def share(predictions: Tensor, labels: Tensor, c: int) -> float:
        found = _recall(predictions, labels, c)
        return value if found is None else found

    return share


def _only_predicted(predictions: Tensor, labels: Tensor, c: int) -> float | None:
    found = _recall(predictions, labels, c)
    return 0.0 if found is None and (predictions == c).any() else found


def _by_unique_labels(predictions, labels, num_classes) -> Tensor:
    return torch.stack([(predictions == c)[labels == c].float().mean() for c in labels.unique()]).mean()


def _found_right(predictions: Tensor, labels: Tensor, c: int) -> float | None:
    return _recall(predictions, labels, c) or None


def _is_nothing_by_nothing(symptom: Symptom) -> bool:
    return symptom.stage == "finite" and bool(symptom.case.outcome.tensor.isnan().all())


MISTAKES = (
    NO_TENSOR,
    NOT_FLOAT32,
    Mistake(
        "zero divided by zero",
        "A class without images has no share: ask whether it occurs before you divide.",
        shows=_is_nothing_by_nothing,
    ),
    Mistake(
        "plain accuracy",
        "A class with many images has more say in it: take the share of each class first, then the mean.",
        _plain,
    ),
    Mistake(
        "plain accuracy",
        "A class with many images has more say in it, and images without a label do not count.",
        _plain_over_all,
    ),
    Mistake(
        "precision instead of recall",
        "Divide by the images that belong to the class, not by those that are called so.",
        _scoring(_precision),
    ),
    Mistake(
        "F1 instead of accuracy",
        "What other classes call c is counted where those images belong, in their own class.",
        _scoring(_f1),
    ),
    Mistake(
        "each class against the rest",
        "Not to be called c is no merit of the many images that are not c: look at the images of c alone.",
        _scoring(_one_against_the_rest),
    ),
    Mistake(
        "a class that does not occur counts as missed",
        "Nobody could have found it: a class without images has no share, and is left out of the mean.",
        _scoring(_absent(0.0)),
    ),
    Mistake(
        "a class that does not occur counts as found",
        "A class without images has no share, not a perfect one: leave it out of the mean.",
        _scoring(_absent(1.0)),
    ),
    Mistake(
        "a class that is only predicted counts as missed",
        "Its images belong to other classes, which have missed them already: it would be counted twice.",
        _scoring(_only_predicted),
    ),
    Mistake(
        "a class that is never right is left out",
        "It has images, and all of them are missed: its share is 0, and 0 belongs to the mean.",
        _scoring(_found_right),
    ),
    Mistake(
        "no label taken for a class",
        "-100 is no class: it says that nothing is asked there, and such images are left out.",
        _by_unique_labels,
    ),
)

EXERCISES = (
    Exercise(
        key="7.2",
        name="class_accuracy",
        parameters=("predictions", "labels", "num_classes"),
        points=8,
        section="sec-vit-training",
        equation="",
        reference=_scoring(),
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "a class given twice counts no more",
                "Every class that occurs has the same say, however many images it has.",
                _copied_images,
            ),
        ),
    ),
)
