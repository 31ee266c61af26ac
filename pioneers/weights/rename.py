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
        theirs: a name; ``{}`` stands for the number of a block.
        ours: the names here; several are parts of theirs, one under the other along its output axis.
        transpose: theirs is stored input-first.
        lead: number of axes of size 1 that theirs has in front and ours has not.
    """

    theirs: str
    ours: tuple[str, ...]
    transpose: bool = False
    lead: int = 0


def row(theirs: str, *ours: str, transpose: bool = False, lead: int = 0) -> Rename:
    """A row for one tensor; ``theirs``, ``ours``, ``transpose`` and ``lead`` as in :class:`Rename`."""
    return Rename(theirs, ours, transpose, lead)


def rows(theirs: str, *ours: str, transpose: bool = False) -> list[Rename]:
    """Two rows, for the weight and the bias of the module ``theirs``, whose parts are the modules ``ours``.

    Only the weight is subject to ``transpose``.
    """
    weight = Rename(f"{theirs}.weight", tuple(f"{name}.weight" for name in ours), transpose)
    return [weight, Rename(f"{theirs}.bias", tuple(f"{name}.bias" for name in ours))]


def inside(module: str, table: Sequence[Rename]) -> list[Rename]:
    """The rows of a table for a model of ours that is a module of a larger one."""
    return [replace(rename, ours=tuple(f"{module}.{name}" for name in rename.ours)) for rename in table]


def to_ours(
    theirs: Mapping[str, Tensor], table: Sequence[Rename], *, drop: Collection[str] = ()
) -> dict[str, Tensor]:
    """Rename, split and transpose a checkpoint of theirs into a state dict of ours.

    Args:
        theirs: their state dict.
        table: the rows.
        drop: names of theirs that have no counterpart (tied copies, stored masks), with ``{}`` as above.

    Raises:
        ValueError: a tensor of theirs is not in the table, so it would be lost.

    Example:
        >>> table = [row("h.{}.w", "blocks.{}.weight", transpose=True)]
        >>> ours = to_ours({"h.0.w": torch.zeros(3, 2)}, table)
        >>> {name: tuple(tensor.shape) for name, tensor in ours.items()}
        {'blocks.0.weight': (2, 3)}
    """
    ours: dict[str, Tensor] = {}
    for name, tensor in theirs.items():
        if any(number_in(pattern, name) is not None for pattern in drop):
            continue
        rename, number = _find(table, name)
        tensor = tensor.reshape(tensor.shape[rename.lead :])
        tensor = tensor.T if rename.transpose else tensor
        parts = tensor.chunk(len(rename.ours))
        ours |= {o.format(number): p.contiguous() for o, p in zip(rename.ours, parts, strict=True)}
    return ours


def to_theirs(ours: Mapping[str, Tensor], table: Sequence[Rename]) -> dict[str, Tensor]:
    """The inverse of :func:`to_ours`; dropped tensors are theirs to make again.

    Args:
        ours: our state dict.
        table: the rows.

    Raises:
        ValueError: a tensor of ours is not in the table, so it would be lost.

    Example:
        >>> table = [row("h.{}.w", "blocks.{}.weight", transpose=True)]
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
            theirs[rename.theirs.format(number)] = tensor.reshape((1,) * rename.lead + tensor.shape)
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
    """The block number in a name that fits the pattern ("" where the pattern has none), else None."""
    found = re.fullmatch(re.escape(pattern).replace(r"\{\}", r"(\d+)"), name)
    return None if found is None else "".join(found.groups())
