"""Exercise 6.6: a position table for another grid of patches.

``table`` is (1 + rows · columns, D), the class token's row first.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.tolerance import close

Resize = Callable[[Tensor, int, int, int, int], Tensor]


def _resized(
    before: str = "(r s) d -> 1 d r s", after: str = "1 d r s -> (r s) d", turn: bool = False, **how: Any
) -> Resize:
    """The patches' rows resized by other patterns or in another way; the defaults give the reference."""
    settings: dict[str, Any] = {"mode": "bicubic", "align_corners": False} | how

    def resize(table: Tensor, rows: int, columns: int, new_rows: int, new_columns: int) -> Tensor:
        grid = rearrange(table[1:], before, r=rows, s=columns)
        size = (new_columns, new_rows) if turn else (new_rows, new_columns)
        return torch.cat([table[:1], rearrange(F.interpolate(grid, size=size, **settings), after)])

    return resize


def _without_transposition(table: Tensor, rows: int, columns: int, new_rows: int, new_columns: int) -> Tensor:
    grid = table[1:].reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], grid.reshape(new_rows * new_columns, -1)])


def _read_wrongly(table: Tensor, rows: int, columns: int, new_rows: int, new_columns: int) -> Tensor:
    grid = table[1:].reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], grid.flatten(2)[0].T])


def _written_wrongly(table: Tensor, rows: int, columns: int, new_rows: int, new_columns: int) -> Tensor:
    grid = table[1:].T.reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], grid.reshape(new_rows * new_columns, -1)])


def _flat(table: Tensor, rows: int, columns: int, new_rows: int, new_columns: int) -> Tensor:
    line = F.interpolate(table[1:].T[None], size=new_rows * new_columns, mode="linear", align_corners=False)
    return torch.cat([table[:1], line[0].T])


def _class_token_last(table: Tensor, rows: int, columns: int, new_rows: int, new_columns: int) -> Tensor:
    return _resized()(table.roll(1, 0), rows, columns, new_rows, new_columns).roll(-1, 0)


def _forgotten(table: Tensor, rows: int, columns: int, new_rows: int, new_columns: int) -> Tensor:
    return _resized()(table, rows, columns, new_rows, new_columns)[1:]


def _table_probes() -> list[Probe]:
    normal = normals(66)

    def probe(name: str, D: int, old: tuple[int, int], new: tuple[int, int], **more: Any) -> Probe:
        table = normal(1 + old[0] * old[1], D, dtype=more.pop("dtype", torch.float32))
        sizes = {"rows": old[0], "columns": old[1], "new_rows": new[0], "new_columns": new[1]}
        return Probe(name, {"table": table, **sizes}, **more)

    return [
        probe("a wide grid made larger", 7, (2, 3), (5, 4)),
        probe("a tall grid made wide", 5, (5, 2), (3, 7)),
        probe("a square grid made larger", 2, (3, 3), (5, 5)),
        probe("the same size", 3, (2, 5), (2, 5)),
        probe("a smaller grid", 3, (7, 5), (3, 2)),
        probe("one patch", 5, (1, 1), (2, 3)),
        probe("double precision", 3, (3, 2), (4, 5), dtype=torch.float64),
        probe("numbers with gaps in memory", 5, (3, 2), (4, 3), strided=True),
    ]


def _table_law() -> Probe:
    sizes = {"rows": 3, "columns": 5, "new_rows": 4, "new_columns": 2}
    return Probe("law", {"table": normals(661)(16, 7), **sizes})


def _class_row_stays(run: Run) -> tuple[Tensor, Tensor]:
    probe = _table_law()
    return run(probe).tensor[0], probe.args["table"][0]


def _each_channel_alone(run: Run) -> tuple[Tensor, Tensor]:
    probe = _table_law()
    return run(probe).tensor[:, 2:3], run(probe.having("law", table=probe.args["table"][:, 2:3])).tensor


def _only_class_row_wrong(symptom) -> bool:
    """Whether the patches' rows are right in every case."""
    if symptom.stage != "value":
        return False
    pairs = ((case.outcome.tensor[1:], case.expected.tensor[1:], case.probe.dtype) for case in symptom.cases)
    return all(close(*pair) for pair in pairs)


MISTAKES = (
    Mistake(
        "the class token's row is changed",
        "It has no place in the grid: its row goes in front of the new table as it is.",
        shows=_only_class_row_wrong,
    ),
    Mistake(
        "the class token's row is lost",
        "The new table has one row more than patches: the class token's row stays, in front.",
        _forgotten,
    ),
    Mistake(
        "the class token taken for the last row",
        "It stands in front: row 0 is the class token's, and the grid begins at row 1.",
        _class_token_last,
    ),
    Mistake(
        "channels and places mixed up, there and back",
        "interpolate wants (1, D, rows, columns): transpose before it, and transpose back after it.",
        _without_transposition,
    ),
    Mistake(
        "channels and places mixed up",
        "The rows of the table are places: transpose before the reshape, or channels become places.",
        _read_wrongly,
    ),
    Mistake(
        "not transposed back",
        "interpolate gives (1, D, rows, columns): move D to the end before the places become rows again.",
        _written_wrongly,
    ),
    Mistake(
        "rows and columns of the new grid swapped",
        "interpolate takes size=(rows, columns), rows first.",
        _resized(turn=True),
    ),
    Mistake(
        "rows and columns of the old grid swapped",
        "The table is in reading order, so its grid is (rows, columns), rows first.",
        _resized("(s r) d -> 1 d s r"),
    ),
    Mistake(
        "the corners nailed down",
        "align_corners=True stretches the grid between the outermost points; a patch has a width, too.",
        _resized(align_corners=True),
    ),
    Mistake(
        "another interpolation",
        "Bicubic is asked for, as in the paper's code.",
        _resized(mode="bilinear"),
    ),
    Mistake(
        "another interpolation",
        "The nearest row gives several patches the same place: bicubic is asked for.",
        _resized(mode="nearest", align_corners=None),
    ),
    Mistake(
        "smoothed on the way",
        "antialias=True is another filter: no vector of the old table would come back as it was.",
        _resized(antialias=True),
    ),
    Mistake(
        "resized along the reading order",
        "The places form a grid: in one line the end of a row and the start of the next would be neighbours.",
        _flat,
    ),
)

EXERCISES = (
    Exercise(
        key="6.6",
        name="resize_positions",
        parameters=("table", "rows", "columns", "new_rows", "new_columns"),
        points=10,
        section="sec-vit-resize",
        equation="",
        reference=_resized(),
        probes=_table_probes,
        mistakes=MISTAKES,
        properties=(
            Property("the class token's row stays", "It has no place in the grid.", _class_row_stays),
            Property("each channel is resized by itself", "No channel sees another.", _each_channel_alone),
        ),
    ),
)
