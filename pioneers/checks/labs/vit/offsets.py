"""Exercise 6.5: relative positions in two dimensions, one value for each offset.

``table`` is (H, 2 · rows - 1, 2 · columns - 1); its middle is the offset zero.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

Steps = Callable[[int, int], tuple[Tensor, Tensor]]


def steps(rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """Rows down and columns to the right from query to key, each (N, N); patches in reading order."""
    row, column = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).T
    return row - row[:, None], column - column[:, None]


def _bias(way: Steps = steps, shift: bool = True) -> Callable[[Tensor, int, int], Tensor]:
    """A bias by other steps; the defaults give the reference."""

    def bias(table: Tensor, rows: int, columns: int) -> Tensor:
        down, right = (x.to(table.device) for x in way(rows, columns))
        return table[:, down + (rows - 1) * shift, right + (columns - 1) * shift]

    return bias


def _by_columns(rows: int, columns: int) -> tuple[Tensor, Tensor]:
    column, row = torch.cartesian_prod(torch.arange(columns), torch.arange(rows)).T
    return row - row[:, None], column - column[:, None]


def _backwards(rows: int, columns: int) -> tuple[Tensor, Tensor]:
    down, right = steps(rows, columns)
    return -down, -right


def _lengths(rows: int, columns: int) -> tuple[Tensor, Tensor]:
    down, right = steps(rows, columns)
    return down.abs(), right.abs()


def _bias_probes() -> list[Probe]:
    normal = normals(65)

    def probe(name: str, H: int, rows: int, columns: int, strided=False, dtype=torch.float32) -> Probe:
        table = normal(H, 2 * rows - 1, 2 * columns - 1, dtype=dtype)
        return Probe(name, {"table": table, "rows": rows, "columns": columns}, strided)

    return [
        probe("a wide grid", 2, 2, 5),
        probe("a tall grid", 3, 5, 3),
        probe("a square grid", 5, 3, 3),
        probe("a single head", 1, 2, 3),
        probe("one row of patches", 2, 1, 5),
        probe("one patch", 3, 1, 1),
        probe("double precision", 2, 3, 2, dtype=torch.float64),
        probe("numbers with gaps in memory", 2, 3, 4, strided=True),
    ]


def _same_offset_same_value(run: Run) -> tuple[Tensor, Tensor]:
    table = normals(651)(2, 2 * 5 - 1, 2 * 7 - 1)
    grid = run(Probe("law", {"table": table, "rows": 5, "columns": 7})).tensor.reshape(2, 5, 7, 5, 7)
    return grid[:, 1:, 1:, 1:, 1:], grid[:, :-1, :-1, :-1, :-1]


def _reading_order(table: Tensor, rows: int, columns: int) -> Tensor:
    middle = (table.shape[1] * table.shape[2]) // 2
    places = torch.arange(rows * columns, device=table.device)
    return table.flatten(1)[:, places - places[:, None] + middle]


def _swapped(table: Tensor, rows: int, columns: int) -> Tensor:
    down, right = (x.to(table.device) for x in steps(rows, columns))
    return table[:, right + columns - 1, down + rows - 1]


MISTAKES = (
    Mistake(
        "the middle of the table forgotten",
        "The offset zero stands in the middle. A negative index is no error: it counts from the end.",
        _bias(shift=False),
    ),
    Mistake(
        "from key to query",
        "An offset leads from the query to the key: key minus query, and the first N is the queries'.",
        _bias(_backwards),
    ),
    Mistake(
        "down and right swapped",
        "The first of the two axes goes down, over rows, and the second to the right, over columns.",
        _swapped,
    ),
    Mistake(
        "only the length of an offset",
        "A patch to the left and one to the right have different values: no absolute value.",
        _bias(_lengths),
    ),
    Mistake(
        "patches numbered column by column",
        "Patches come in reading order: patch 1 stands to the right of patch 0.",
        _bias(_by_columns),
        section="sec-vit-patchify",
    ),
    Mistake(
        "offsets in reading order",
        "One place ahead may be the right neighbour or the first patch of the next row: use two offsets.",
        _reading_order,
    ),
    Mistake(
        "from key to query, and the middle forgotten",
        "An offset is key minus query, and the offset zero stands in the middle of the table.",
        _bias(_backwards, shift=False),
    ),
)

EXERCISES = (
    Exercise(
        key="6.5",
        name="offset_bias",
        parameters=("table", "rows", "columns"),
        points=10,
        section="sec-vit-position-kinds",
        equation="",
        reference=_bias(),
        probes=_bias_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "pairs with the same offset have the same value",
                "The bias knows offsets, not places.",
                _same_offset_same_value,
            ),
        ),
    ),
)
