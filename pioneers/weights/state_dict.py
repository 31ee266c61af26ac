"""Checkpoints of other libraries ↔ ours, by tables of names that are read in both directions."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rename:
    """One row of a table: a tensor of theirs, and the tensor or tensors of ours that hold the same numbers.

    Args:
        theirs: a name; ``{}`` is replaced by the number of a block.
        ours: the names here; of several, theirs is the concatenation along the output axis.
        transpose: theirs is stored input-first.
        leading_ones: number of leading axes of size 1 that theirs has and ours does not.
    """

    theirs: str
    ours: tuple[str, ...]
    transpose: bool = False
    leading_ones: int = 0


def param(theirs: str, *ours: str, transpose: bool = False, leading_ones: int = 0) -> Rename:
    """Make one row: ``theirs``, ``ours``, ``transpose`` and ``leading_ones`` of :class:`Rename`."""
    return Rename(theirs, ours, transpose, leading_ones)


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
    return [replace(rename, ours=tuple(f"{module}.{name}" for name in rename.ours)) for rename in table]


def to_ours(
    theirs: Mapping[str, Tensor], table: Sequence[Rename], *, drop: Collection[str] = ()
) -> dict[str, Tensor]:
    """Rename, split and transpose a checkpoint of theirs into a state dict of ours.

    Args:
        theirs: their state dict.
        table: the rows.
        drop: names of theirs that have no counterpart (tied copies, stored masks); ``{}`` is any number.

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
        tensor = tensor.T if rename.transpose else tensor
        parts = tensor.chunk(len(rename.ours))
        ours |= {o.format(number): p.contiguous() for o, p in zip(rename.ours, parts, strict=True)}
    return ours


def to_theirs(ours: Mapping[str, Tensor], table: Sequence[Rename]) -> dict[str, Tensor]:
    """Invert :func:`to_ours`; tensors that it dropped are not made again.

    Args:
        ours: our state dict.
        table: the rows.

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
            tensor = torch.cat([ours[name] for name in names])
            tensor = tensor.T.contiguous() if rename.transpose else tensor
            theirs[rename.theirs.format(number)] = tensor.reshape((1,) * rename.leading_ones + tensor.shape)
    lost = sorted(ours.keys() - used)
    if lost:
        raise ValueError(f"{len(lost)} tensors have no name on the other side, first {lost[0]!r}")
    return theirs


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
