"""Exercise 6.5: relative positions in two dimensions, one value for each offset.

The middle of ``table`` is the offset zero.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals
from pioneers.checks.symptoms import wrong_only_where

ANSWER = '''
def offset_bias(table: Tensor, rows: int, columns: int) -> Tensor:
    """One value for each head, query and key:
    table (H, 2·rows - 1, 2·columns - 1) → (H, N, N)."""
    n = torch.arange(rows * columns, device=table.device)
    row, column = n // columns, n % columns
    down, right = row - row[:, None], column - column[:, None]
    return table[:, down + rows - 1, right + columns - 1]
'''
ex = exercise("6.5", ANSWER, points=10, minutes=16, difficulty=3, reread="sec-vit-position-kinds")


@ex.maker
def values(normal, H, rows, columns, dtype=torch.float32):
    table = normal(H, 2 * rows - 1, 2 * columns - 1, dtype=dtype)
    return {"table": table, "rows": rows, "columns": columns}


ex.probe("a wide grid", H=2, rows=2, columns=5)
ex.probe("a tall grid", H=3, rows=5, columns=3)
ex.probe("a square grid", H=5, rows=3, columns=3)
ex.probe("a single head", H=1, rows=2, columns=3)
ex.probe("one row of patches", H=2, rows=1, columns=5)
ex.probe("one patch", H=3, rows=1, columns=1)
ex.probe("double precision", H=2, rows=3, columns=2, dtype=torch.float64)
ex.probe("numbers with gaps in memory", H=2, rows=3, columns=4, strided=True)
ex.hidden("seven rows", H=3, rows=7, columns=2)
ex.hidden("one column", H=2, rows=5, columns=1)


@ex.law("pairs with the same offset have the same value", "The bias knows offsets, not places.")
def same_offset(run, probe):
    table = normals(651)(2, 2 * 5 - 1, 2 * 7 - 1)
    bias = run(probe.having("law", table=table, rows=5, columns=7)).reshape(2, 5, 7, 5, 7)
    return bias[:, 1:, 1:, 1:, 1:], bias[:, :-1, :-1, :-1, :-1]


def is_no_square(case):
    return case.probe.args["rows"] != case.probe.args["columns"]


PLACES, OFFSETS = "n // columns, n % columns", "row - row[:, None], column - column[:, None]"
BACKWARDS = (OFFSETS, "row[:, None] - row, column[:, None] - column")
COPIED = "torch.tensor(table.tolist(), dtype=table.dtype, device=table.device)"
INDEX = "down + rows - 1, right + columns - 1"
ex.wrong(
    "the middle of the table forgotten",
    "The offset zero stands in the middle. A negative index is no error: it counts from the end.",
    (INDEX, "down, right"), believes="an offset is an index",
)
ex.wrong(
    "from key to query",
    "An offset leads from the query to the key: key minus query, and the first N is the queries'.",
    BACKWARDS, believes="an offset is query minus key",
)
ex.wrong(
    "down and right swapped",
    "The first of the two axes goes down, over rows, and the second to the right, over columns.",
    (INDEX, "right + columns - 1, down + rows - 1"), believes="an offset is (x, y)",
)
ex.wrong(
    "only the length of an offset",
    "A patch to the left and one to the right have different values: no absolute value.",
    (INDEX, "down.abs() + rows - 1, right.abs() + columns - 1"), believes="a distance has no sign",
)
ex.wrong(
    "patches numbered column by column",
    "Patches come in reading order: patch 1 stands to the right of patch 0.",
    (PLACES, "n % rows, n // rows"), believes="row and column are remainder and quotient",
    section="sec-vit-patchify",
)
ex.wrong(
    "offsets in reading order",
    "One place ahead may be the right neighbour or the first patch of the next row: use two offsets.",
    (f"table[:, {INDEX}]", "table.flatten(1)[:, n - n[:, None] + table[0].numel() // 2]"),
    believes="patches stand in a line",
)
ex.wrong(
    "from key to query, and the middle forgotten",
    "An offset is key minus query, and the offset zero stands in the middle of the table.",
    [BACKWARDS, (INDEX, "down, right")], believes="query minus key, and Python counts from the end anyway",
)
ex.wrong(
    "the gradient is cut",
    "",
    (f"table[:, {INDEX}]", f"{COPIED}[:, {INDEX}]"), believes="numbers are read out one by one",
)
ex.wrong(
    "axes in another order",
    "",
    (f"table[:, {INDEX}]", f"table.permute(1, 2, 0)[{INDEX}]"), believes="the heads come last",
)
ex.wrong(
    "divided by the number of rows",
    "In reading order patch n is in row n // columns and column n % columns.",
    ("n // columns, n % columns", "n // rows, n % rows"), believes="rows count rows",
)
ex.wrong(
    "a row has as many offsets as columns",
    "In a flat table a row is 2 · columns - 1 long: offsets run from 1 - columns to columns - 1.",
    (f"table[:, {INDEX}]", "table.flatten(1)[:, (down + rows - 1) * columns + right + columns - 1]"),
    believes="as many offsets as places",
)
ex.wrong(
    "right for square grids only",
    "Rows and columns are mixed up somewhere: patch n is in row n // columns and column n % columns.",
    [(PLACES, "n // rows, n % rows"), ("down + rows", "down.clamp(1 - rows, rows - 1) + rows"),
     ("right + columns", "right.clamp(1 - columns, columns - 1) + columns")],
    believes="rows and columns are alike", shows=wrong_only_where(is_no_square),
)

ex.right(
    "a Cartesian product of rows and columns",
    source="""
def offset_bias(table, rows, columns):
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).to(table.device)
    down, right = (places - places[:, None]).unbind(-1)
    return table[:, down + rows - 1, right + columns - 1]
""",
)
ex.right(
    "a window of the table for each query",
    source="""
def offset_bias(table, rows, columns):
    windows = [
        table[:, rows - 1 - r : 2 * rows - 1 - r, columns - 1 - c : 2 * columns - 1 - c].flatten(1)
        for r in range(rows)
        for c in range(columns)
    ]
    return torch.stack(windows, dim=1)
""",
)
ex.equivalent(
    "An index on the CPU picks from a tensor on any device.",
    ("columns, device=table.device", "columns"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("table.device)", "table.device).detach()"),
    of="a Cartesian product of rows and columns",
)
ex.equivalent(
    "An index on the CPU picks from a tensor on any device.",
    (".to(table.device)", ""), ("table.device", ""),
    of="a Cartesian product of rows and columns",
)
ex.right("four loops", source='''
def offset_bias(table, rows, columns):
    N = rows * columns
    bias = table.new_empty(len(table), N, N)
    for q in range(N):
        for k in range(N):
            down, right = k // columns - q // columns, k % columns - q % columns
            bias[:, q, k] = table[:, rows - 1 + down, columns - 1 + right]
    return bias
''')
ex.right("one index into a flat table", source='''
def offset_bias(table, rows, columns):
    H, _, width = table.shape
    n = torch.arange(rows * columns, device=table.device)
    place = n // columns * width + n % columns
    middle = (rows - 1) * width + columns - 1
    index = place - place.unsqueeze(1) + middle
    return table.flatten(1).index_select(1, index.flatten()).reshape(H, len(n), len(n))
''')
ex.right("all windows, turned round", source='''
def offset_bias(table, rows, columns):
    windows = table.unfold(1, rows, 1).unfold(2, columns, 1)
    return windows.flip(1, 2).flatten(3).flatten(1, 2)
''')
ex.right("rows and columns broadcast apart", source='''
def offset_bias(table, rows, columns):
    r, c = torch.arange(rows, device=table.device), torch.arange(columns, device=table.device)
    down, right = rows - 1 + r - r[:, None], columns - 1 + c - c[:, None]
    bias = table[:, down[:, None, :, None], right[None, :, None, :]]
    return bias.reshape(-1, rows * columns, rows * columns)
''')
ex.right("einsum with one-hot offsets", source='''
def offset_bias(table, rows, columns):
    def offsets(n):
        at = torch.arange(n, device=table.device)
        return F.one_hot(at - at[:, None] + n - 1, 2 * n - 1).to(table.dtype)

    bias = torch.einsum("huv,rsu,cdv->hrcsd", table, offsets(rows), offsets(columns))
    return bias.flatten(3).flatten(1, 2)
''')
ex.right("a meshgrid, head by head", source='''
def offset_bias(table, rows, columns):
    at = [torch.arange(n, device=table.device) for n in (rows, columns)]
    row, column = (x.reshape(-1) for x in torch.meshgrid(*at, indexing="ij"))
    down, right = row[None, :] - row[:, None], column[None, :] - column[:, None]
    return torch.stack([head[rows - 1 + down, columns - 1 + right] for head in table])
''')
