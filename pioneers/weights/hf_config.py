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
    """Make the row of an activation, which has other names there: ``theirs`` and ``default`` of the field.

    Example:
        >>> fields_to_ours({"hidden_act": "gelu_new"}, [activation("hidden_act", "gelu")])
        {'activation': 'gelu_tanh'}
    """
    return Field(
        theirs,
        "activation",
        default,
        to_ours=lambda name, _: _look_up(name, OUR_ACTIVATIONS),
        to_theirs=lambda name, _: _look_up(name, ACTIVATIONS)[0],
    )


def feed_forward_width(
    theirs: str, default: int | None, *, d_model: str, ours: str = "d_ff", our_d_model: str = "d_model"
) -> Field:
    """Make the row of F, where None is 4 D here: ``theirs`` and ``default`` of F, ``d_model`` as D is called.

    ``ours`` and ``our_d_model`` are the names of F and of D here.

    Example:
        >>> row = feed_forward_width("n_inner", None, d_model="n_embd")
        >>> fields_to_ours({"n_embd": 8, "n_inner": 32}, [Field("n_embd", "d_model", 768), row])
        {'d_model': 8, 'd_ff': None}
    """
    return Field(
        theirs,
        ours,
        default,
        to_ours=lambda width, values: None if width == 4 * values[d_model] else width,
        to_theirs=lambda width, settings: 4 * settings[our_d_model] if width is None else width,
    )


def square(theirs: str, ours: str, default: int) -> Field:
    """Make the row ``theirs``, ``ours``, ``default`` of a size that may be a pair of equal numbers there.

    Example:
        >>> fields_to_ours({"patch_size": [16, 16]}, [square("patch_size", "patch_size", 8)])
        {'patch_size': 16}
    """
    return Field(theirs, ours, default, to_ours=lambda size, _: _side(size))


def class_labels(count: str) -> tuple[Field, ...]:
    """Make the rows of the classes: their number, whose name here is ``count``, and their ``labels``.

    Labels that only count (``LABEL_0``, ``LABEL_1``, …) are not names: here they are ``()``.

    Example:
        >>> fields_to_ours({"id2label": {"0": "no", "1": "yes"}}, class_labels("num_classes"))
        {'num_classes': 2, 'labels': ('no', 'yes')}
    """

    def id2label(settings: Mapping[str, Any]) -> dict[str, str]:
        return {str(i): label for i, label in enumerate(settings["labels"] or _numbered(settings[count]))}

    def label2id(settings: Mapping[str, Any]) -> dict[str, int]:
        return {label: int(i) for i, label in id2label(settings).items()}

    def labels(values: Mapping[str, Any]) -> tuple[str, ...]:
        names = _names(values["id2label"])
        return () if names == _numbered(len(names)) else names

    default = dict(enumerate(_numbered(2)))
    return (
        Field(
            "id2label", count, default, lambda value, _: len(_names(value)), lambda _, ours: id2label(ours)
        ),
        Field(
            "id2label", "labels", default, lambda _, values: labels(values), lambda _, ours: id2label(ours)
        ),
        Field("label2id", "labels", None, lambda _, values: labels(values), lambda _, ours: label2id(ours)),
    )


def _look_up(name: Any, table: Mapping[str, Any]) -> Any:
    if name not in table:
        raise ValueError(f"one of {', '.join(table)}")
    return table[name]


def _side(size: Any) -> Any:
    if not isinstance(size, list):
        return size
    if len(set(size)) != 1:
        raise ValueError("a square")
    return size[0]


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"LABEL_{i}" for i in range(count))


def _names(id2label: Any) -> tuple[str, ...]:
    by_id = {str(i): str(name) for i, name in id2label.items()} if isinstance(id2label, dict) else {}
    ids = [str(i) for i in range(len(by_id))]
    if not ids or by_id.keys() != set(ids):
        raise ValueError('labels with the ids "0", "1", "2" and so on, at least one')
    return tuple(by_id[i] for i in ids)


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
