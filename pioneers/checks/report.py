"""Describe in words what was expected and what was returned."""

import textwrap
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Probe

SHOWN = 6  # numbers of a row that are printed
WHOLE, FRACTIONS = 48, 12  # numbers of a whole-number tensor, and of another, that is printed in full


def shape(x: Tensor) -> str:
    """Return the shape as text, a tuple with non-breaking spaces."""
    return str(tuple(x.shape)).replace(" ", "\N{NO-BREAK SPACE}")


def inputs(probe: Probe) -> str:
    """Describe the arguments of a probe: small tensors in full, others by shape and dtype."""
    return f"Inputs:   {', '.join(_argument(name, x) for name, x in probe.args.items())}"


def _argument(name: str, x: Any) -> str:
    if not isinstance(x, Tensor):
        return f"{name}={x}"
    dtype = str(x.dtype).removeprefix("torch.")
    if x.numel() > (FRACTIONS if x.is_floating_point() else WHOLE):
        return f"{name} {shape(x)} {dtype}"
    return f"{name}={_nested(x.long() if x.dtype == torch.bool else x)} {dtype}"


def _nested(x: Tensor) -> str:
    """Return the numbers of a tensor as nested lists, with the commas of a row not followed by spaces."""
    if not x.dim():
        return _number(x.item())
    return "[" + ",\N{NO-BREAK SPACE}".join(map(_nested, x)) + "]"


def difference(got: Tensor, want: Tensor) -> tuple[str, ...]:
    """Describe the largest difference: its size and place, and the row it is in, expected and returned.

    A single number has no row and is printed as it is. Of whole numbers the first difference is described, as
    the size of a difference between two ids says nothing.
    """
    whole = not want.is_floating_point()
    if whole:
        got, want = got.long(), want.long()
    if not want.dim():
        return (f"Expected: {_number(want.item())}", f"Got:      {_number(got.item())}")
    gap = (got.double() - want.double()).abs().nan_to_num(nan=torch.inf)
    worst = torch.unravel_index((gap > 0).int().argmax() if whole else gap.argmax(), gap.shape)
    place = [int(i) for i in worst]
    row = tuple(place[:-1])
    start = max(0, min(place[-1] - SHOWN // 2, want.shape[-1] - SHOWN))
    where = "".join(f"{i}, " for i in row) + f"{start}:{min(start + SHOWN, want.shape[-1])}"
    window: tuple[int | slice, ...] = (*row, slice(start, start + SHOWN))
    largest = float(gap.max())
    size = f"{largest:.3g}" if largest != float("inf") else "not a number"
    at = f"First difference at {place}: {want[worst]} expected, {got[worst]} received"
    at = at if whole else f"Largest difference: {size}, at {place}"
    count = f"{int((gap > 0).sum())} of {gap.numel()} numbers differ"
    return (
        f"Expected: [{where}] = {_numbers(want[window])}",
        f"Got:      [{where}] = {_numbers(got[window])}",
        f"{at}; {count}",
    )


def _numbers(row: Tensor) -> str:
    return "[" + ", ".join(map(_number, row.tolist())) + "]"


def _number(x: float) -> str:
    """Return four digits of a fraction, or all digits of an integer."""
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def headline(exercise: Exercise) -> str:
    """Return the number of the exercise and its signature."""
    return f"{exercise.key} {exercise.name}({', '.join(exercise.parameters)})"


def wrap(text: str, label: str = "") -> str:
    """Wrap a paragraph at 100 columns, with the label in front and the other lines indented."""
    return textwrap.fill(text, 100, initial_indent=label, subsequent_indent=" " * len(label))
