"""Names of classes."""

from collections.abc import Sequence


def label_names(labels: Sequence[str], num_classes: int) -> tuple[str, ...]:
    """Check that ``labels`` name the classes, one each in the order of the logits, or are empty.

    Raises:
        ValueError: there are more or fewer of them than classes, or they are not texts.

    Example:
        >>> label_names(["no", "yes"], 2)
        ('no', 'yes')
    """
    if isinstance(labels, str):
        raise ValueError(f"labels must be a list of names, not the text {labels!r}")
    if labels and len(labels) != num_classes:
        raise ValueError(
            f"there are {len(labels)} labels for {num_classes} classes: name each class, in the order of the "
            f"logits, or none"
        )
    if unnamed := [label for label in labels if not isinstance(label, str)]:
        raise ValueError(f"a label is a text, not {unnamed[0]!r}")
    return tuple(labels)
