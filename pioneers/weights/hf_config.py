"""Configurations as Hugging Face writes them ↔ ours, by tables of fields that are read in both directions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A value and all the fields it came with → the value on the other side; a ValueError names what is possible.
Convert = Callable[[Any, Mapping[str, Any]], Any]

# Names of the same function: ours, then those it has on the other side.
ACTIVATIONS = {
    "gelu_tanh": ("gelu_new", "gelu_pytorch_tanh", "gelu_fast"),
    "gelu": ("gelu",),
    "gelu_sigmoid": ("quick_gelu",),
    "relu": ("relu",),
    "swish": ("silu", "swish"),
}
OUR_ACTIVATIONS = {theirs: ours for ours, names in ACTIVATIONS.items() for theirs in names}


def _unchanged(value: Any, _: Mapping[str, Any]) -> Any:
    return value


@dataclass(frozen=True)
class Field:
    """One row of a table: a field of theirs, and ours that says the same.

    Args:
        theirs: its name on the other side.
        ours: the name here; None if our model has no such choice, so that theirs must be ``default``.
        default: what it means there to leave it out.
        to_ours: converts their value; it is also given all of their fields in the table.
        to_theirs: converts ours; it is also given all of our settings.
    """

    theirs: str
    ours: str | None
    default: Any
    to_ours: Convert = _unchanged
    to_theirs: Convert = _unchanged


def activation(theirs: str, default: str) -> Field:
    """Make the row of an activation, which has other names there."""

    def to_ours(name: Any, _: Mapping[str, Any]) -> str:
        if name not in OUR_ACTIVATIONS:
            raise ValueError(f"one of {', '.join(OUR_ACTIVATIONS)}")
        return OUR_ACTIVATIONS[name]

    def to_theirs(name: Any, _: Mapping[str, Any]) -> str:
        if name not in ACTIVATIONS:
            raise ValueError(f"one of {', '.join(ACTIVATIONS)}")
        return ACTIVATIONS[name][0]

    return Field(theirs, "activation", default, to_ours, to_theirs)


def feed_forward_width(theirs: str, default: int | None, *, d_model: str) -> Field:
    """Make the row of F, where None is 4 D here; ``d_model`` is the name of D on the other side."""

    def to_ours(width: Any, values: Mapping[str, Any]) -> Any:
        return None if width == 4 * values[d_model] else width

    def to_theirs(width: Any, settings: Mapping[str, Any]) -> Any:
        return 4 * settings["d_model"] if width is None else width

    return Field(theirs, "d_ff", default, to_ours, to_theirs)


def square(theirs: str, ours: str, default: int) -> Field:
    """Make the row of a size that may be a pair there, of two equal numbers."""

    def to_ours(size: Any, _: Mapping[str, Any]) -> Any:
        if not isinstance(size, list):
            return size
        if len(set(size)) != 1:
            raise ValueError("a square")
        return size[0]

    return Field(theirs, ours, default, to_ours)


def class_labels(count: str) -> tuple[Field, ...]:
    """Make the rows of the classes: their number, whose name here is ``count``, and their ``labels``.

    Labels that only count (``LABEL_0``, ``LABEL_1``, …) are no names: here they are ``()``.
    """

    def names(id2label: Any, _: Mapping[str, Any]) -> tuple[str, ...]:
        ids = [str(number) for number in range(len(id2label))] if isinstance(id2label, dict) else []
        if not ids or {str(key) for key in id2label} != set(ids):
            raise ValueError('labels with the ids "0", "1", "2" and so on, at least one')
        return tuple(str({str(key): name for key, name in id2label.items()}[number]) for number in ids)

    def to_labels(id2label: Any, values: Mapping[str, Any]) -> tuple[str, ...]:
        labels = names(id2label, values)
        return () if labels == _numbered(len(labels)) else labels

    def to_id2label(_: Any, settings: Mapping[str, Any]) -> dict[str, str]:
        return {str(i): label for i, label in enumerate(settings["labels"] or _numbered(settings[count]))}

    def to_label2id(_: Any, settings: Mapping[str, Any]) -> dict[str, int]:
        return {label: int(i) for i, label in to_id2label(_, settings).items()}

    default = dict(enumerate(_numbered(2)))
    return (
        Field("id2label", count, default, lambda value, values: len(names(value, values)), to_id2label),
        Field("id2label", "labels", default, to_labels, to_id2label),
        Field(
            "label2id", "labels", None, lambda _, values: to_labels(values["id2label"], values), to_label2id
        ),
    )


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"LABEL_{i}" for i in range(count))


def fields_to_ours(values: Mapping[str, Any], table: Sequence[Field]) -> dict[str, Any]:
    """Convert a ``config.json`` of theirs into our settings.

    Fields outside the table say nothing about the numbers a model computes (names, training, generation).

    Raises:
        ValueError: a field asks for what our model cannot do; the message names it.
    """
    given = {field.theirs: values.get(field.theirs, field.default) for field in table}
    ours: dict[str, Any] = {}
    for field in table:
        value = given[field.theirs]
        if field.ours is None:
            if value != field.default:
                raise _cannot(field, value, f"{field.default!r}")
            continue
        try:
            here = field.to_ours(value, given)
        except ValueError as error:
            raise _cannot(field, value, str(error)) from error
        if ours.setdefault(field.ours, here) != here:
            raise _cannot(field, value, f"{ours[field.ours]!r} like its other values of {field.ours}")
    return ours


def fields_to_theirs(
    settings: Mapping[str, Any], defaults: Mapping[str, Any], table: Sequence[Field]
) -> dict[str, Any]:
    """Convert our ``settings``, whose ``defaults`` are given too: the inverse of :func:`fields_to_ours`.

    Raises:
        ValueError: a setting of ours has no name on the other side.
    """
    known = {field.ours for field in table}
    for name, value in settings.items():
        if name not in known and value != defaults.get(name):
            raise _no_counterpart(name, value, f", only {defaults.get(name)!r} has")
    theirs: dict[str, Any] = {}
    for field in table:
        if field.ours is None:
            theirs[field.theirs] = field.default
            continue
        try:
            theirs[field.theirs] = field.to_theirs(settings[field.ours], settings)
        except ValueError as error:
            raise _no_counterpart(field.ours, settings[field.ours], f", only {error} has") from error
    return theirs


def _cannot(field: Field, value: Any, only: str) -> ValueError:
    return ValueError(f"its configuration has {field.theirs}={value!r}; the model here can only be {only}")


def _no_counterpart(name: str, value: Any, only: str) -> ValueError:
    return ValueError(
        f"{name}={value!r} has no counterpart in Hugging Face's model{only}: "
        f"keep the model in our own format with save_pretrained"
    )
