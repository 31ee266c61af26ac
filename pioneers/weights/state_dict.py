"""Checkpoints of other libraries ↔ ours, by tables of names that are read in both directions."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rename:
    """One row of a table: a tensor of theirs, and the tensor or tensors of ours that hold the same numbers.

    Args:
        theirs: a name; ``{}`` is replaced by the number of a block.
        ours: the names here; of several, theirs is the concatenation along the output axis. An empty one is
            a part that the other side never uses and ours does not have; written as 0. It is not the first.
        transpose: theirs is stored input-first.
        leading_ones: number of leading axes of size 1 that theirs has and ours does not.
        extra_rows: number of first rows that theirs has, never uses, and ours does not have; written as 0.
        by_head: of several, theirs has all parts of the first head first, then those of the second head.
        head_axis: theirs has an axis for the heads, the last but one.
    """

    theirs: str
    ours: tuple[str, ...]
    transpose: bool = False
    leading_ones: int = 0
    extra_rows: int = 0
    by_head: bool = False
    head_axis: bool = False


def param(theirs: str, *ours: str, **how: Any) -> Rename:
    """Make one row: ``theirs``, ``ours`` and, in ``how``, the rest of :class:`Rename`."""
    return Rename(theirs, ours, **how)


def linear(theirs: str, *ours: str, transpose: bool = False) -> list[Rename]:
    """Make the rows of the weight and the bias of ``theirs``, whose parts are the modules ``ours``.

    Only the weight is subject to ``transpose``. A norm or a convolution is written in the same way.
    """
    weight = Rename(f"{theirs}.weight", tuple(f"{name}.weight" for name in ours), transpose)
    return [weight, Rename(f"{theirs}.bias", tuple(f"{name}.bias" for name in ours))]


def prefixed(module: str, table: Sequence[Rename]) -> list[Rename]:
    """Put ``module`` in front of our names in a ``table``: our model is a module of a larger one.

    Example:
        >>> [row.ours for row in prefixed("bert", linear("pooler.dense", "pooler"))]
        [('bert.pooler.weight',), ('bert.pooler.bias',)]
    """
    return [
        replace(rename, ours=tuple(f"{module}.{name}" if name else "" for name in rename.ours))
        for rename in table
    ]


def to_ours(
    theirs: Mapping[str, Tensor], table: Sequence[Rename], *, drop: Collection[str] = (), num_heads: int = 1
) -> dict[str, Tensor]:
    """Rename, split and transpose a checkpoint of theirs into a state dict of ours.

    Args:
        theirs: their state dict.
        table: the rows.
        drop: names of theirs that have no counterpart (tied copies, stored masks); ``{}`` is any number.
        num_heads: H, for rows with heads.

    Raises:
        ValueError: a tensor of theirs is not in the table, so it would be lost.

    Example:
        >>> table = [param("h.{}.w", "blocks.{}.weight", transpose=True)]
        >>> ours = to_ours({"h.0.w": torch.zeros(3, 2)}, table)
        >>> {name: tuple(tensor.shape) for name, tensor in ours.items()}
        {'blocks.0.weight': (2, 3)}
    """
    ours: dict[str, Tensor] = {}
    for name, tensor in theirs.items():
        if any(number_in(pattern, name) is not None for pattern in drop):
            continue
        rename, number = _find(table, name)
        tensor = tensor.reshape(tensor.shape[rename.leading_ones :])
        tensor = tensor[rename.extra_rows :] if rename.extra_rows else tensor
        tensor = tensor.flatten(-2) if rename.head_axis else tensor
        tensor = tensor.T if rename.transpose else tensor
        if rename.by_head:
            tensor = _regroup(tensor, num_heads, len(rename.ours))
        parts = tensor.chunk(len(rename.ours)) if len(rename.ours) > 1 else (tensor,)  # a number has no axis
        ours |= {o.format(number): p.contiguous() for o, p in zip(rename.ours, parts, strict=True) if o}
    return ours


def to_theirs(
    ours: Mapping[str, Tensor], table: Sequence[Rename], *, num_heads: int = 1
) -> dict[str, Tensor]:
    """Invert :func:`to_ours`; tensors that it dropped are not made again.

    Args:
        ours: our state dict.
        table: the rows.
        num_heads: H, for rows with heads.

    Raises:
        ValueError: a tensor of ours is not in the table, so it would be lost.

    Example:
        >>> table = [param("h.{}.w", "blocks.{}.weight", transpose=True)]
        >>> theirs = to_theirs({"blocks.0.weight": torch.zeros(2, 3)}, table)
        >>> {name: tuple(tensor.shape) for name, tensor in theirs.items()}
        {'h.0.w': (3, 2)}
    """
    theirs: dict[str, Tensor] = {}
    used: set[str] = set()
    for rename in table:
        numbers = [number_in(rename.ours[0], name) for name in ours]
        for number in [n for n in numbers if n is not None]:
            names = [name.format(number) for name in rename.ours]
            used.update(names)
            tensor = ours[names[0]]
            if len(names) > 1:
                tensor = torch.cat([ours[name] if name else torch.zeros_like(tensor) for name in names])
            if rename.by_head:
                tensor = _regroup(tensor, len(names), num_heads)
            tensor = tensor.T.contiguous() if rename.transpose else tensor
            tensor = tensor.unflatten(-1, (num_heads, -1)) if rename.head_axis else tensor
            unused = tensor.new_zeros(rename.extra_rows, *tensor.shape[1:])
            tensor = torch.cat([unused, tensor]) if rename.extra_rows else tensor
            theirs[rename.theirs.format(number)] = tensor.reshape((1,) * rename.leading_ones + tensor.shape)
    lost = sorted(ours.keys() - used)
    if lost:
        raise ValueError(f"{len(lost)} tensors have no name on the other side, first {lost[0]!r}")
    return theirs


def _regroup(tensor: Tensor, outer: int, inner: int) -> Tensor:
    """(outer · inner · K, …) → (inner · outer · K, …): what was counted last is counted first."""
    return tensor.unflatten(0, (outer, inner, -1)).transpose(0, 1).flatten(0, 2)


def _find(table: Sequence[Rename], name: str) -> tuple[Rename, str]:
    for rename in table:
        number = number_in(rename.theirs, name)
        if number is not None:
            return rename, number
    raise ValueError(f"the checkpoint holds {name!r}, which this model does not have")


def number_in(pattern: str, name: str) -> str | None:
    """Find the block number in a name that fits the pattern, "" if there is none; None if it does not fit."""
    found = re.fullmatch(re.escape(pattern).replace(r"\{\}", r"(\d+)"), name)
    return None if found is None else "".join(found.groups())


def check_tensors(given: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Compare the tensors of a checkpoint with those that a model has.

    Raises:
        ValueError: tensors are missing, left over, or of another shape.
    """
    problems = []
    if missing := sorted(expected.keys() - given.keys()):
        problems.append(f"lacks {_first(missing)}")
    if surplus := sorted(given.keys() - expected.keys()):
        problems.append(f"holds {_first(surplus)}, which the model here does not have")
    for name in sorted(given.keys() & expected.keys()):
        if given[name].shape != expected[name].shape:
            problems.append(
                f"holds {name} of shape {tuple(given[name].shape)} where its configuration asks for "
                f"{tuple(expected[name].shape)}"
            )
            break
    if problems:
        raise ValueError(f"the checkpoint {', and '.join(problems)}")


def _first(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more tensors"
