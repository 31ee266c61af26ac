"""Exercise 9.6: which number of a table belongs to a query and a key of a window."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def offset_index(rows: int, columns: int) -> Tensor:
    """The number of the offset between each query and each key
    of a window, int64 (N, N)."""
    n = torch.arange(rows * columns)
    row, column = n // columns, n % columns
    down = row[:, None] - row + rows - 1
    right = column[:, None] - column + columns - 1
    return down * (2 * columns - 1) + right
'''
ex = exercise(
    "9.6", ANSWER, points=8, minutes=11, difficulty=2, reread=("sec-swin-bias", "sec-vit-position-kinds"),
)  # fmt: skip

ex.probe("a wide window", rows=2, columns=5)
ex.probe("a tall window", rows=5, columns=3)
ex.probe("a square window", rows=3, columns=3)
ex.probe("one row", rows=1, columns=7)
ex.probe("one column", rows=3, columns=1)
ex.probe("one token", rows=1, columns=1)
ex.hidden("Swin's window", rows=7, columns=7)
ex.hidden("a very wide window", rows=2, columns=11)
ex.hidden("a very tall window", rows=13, columns=2)
ex.own(lambda whole: {"rows": whole(2, 6), "columns": whole(2, 6)})


@ex.law("the same offset has the same number", "The number knows offsets, not places.")
def same_offset(run, probe):
    index = run(probe.having("law", rows=5, columns=7)).reshape(5, 7, 5, 7)
    return index[1:, 1:, 1:, 1:], index[:-1, :-1, :-1, :-1]


@ex.law("every number of the table is used", "There are (2 · rows - 1)(2 · columns - 1) offsets.")
def all_used(run, probe):
    index = run(probe.having("law", rows=5, columns=3))
    return index.unique(), torch.arange(9 * 5)


DOWN, RIGHT = "row[:, None] - row + rows - 1", "column[:, None] - column + columns - 1"
NUMBER = "down * (2 * columns - 1) + right"
ex.wrong(
    "from query to key",
    "The offset here is query minus key: rows of the result are queries.",
    [(DOWN, "row - row[:, None] + rows - 1"), (RIGHT, "column - column[:, None] + columns - 1")],
    believes="an offset points at the key",
)
ex.wrong(
    "the smallest offset is not zero",
    "Offsets begin at 1 - rows and 1 - columns: add rows - 1 and columns - 1, and they begin at 0.",
    [(DOWN, "row[:, None] - row"), (RIGHT, "column[:, None] - column")],
    believes="a negative index is no harm",
)
ex.wrong(
    "a row has 2 · rows - 1 offsets",
    "One row of the table holds the offsets to the right: there are 2 · columns - 1.",
    ("2 * columns - 1", "2 * rows - 1"), believes="the number of rows multiplies the rows",
)
ex.wrong(
    "a row has as many offsets as columns",
    "Offsets run from 1 - columns to columns - 1: there are 2 · columns - 1 in a row, not as many as places.",
    ("(2 * columns - 1)", "columns"), (NUMBER, "n[:, None] - n + rows * columns - 1"),
    believes="as many offsets as places",
)
ex.wrong(
    "a row has 2 · columns offsets",
    "Zero counts once: there are 2 · columns - 1 offsets in one row.",
    ("(2 * columns - 1)", "(2 * columns)"), believes="twice as many offsets as places",
)
ex.wrong(
    "different offsets share a number",
    "One down and none to the right is another offset than none down and one to the right.",
    (NUMBER, "down + right"), believes="a sum tells them apart",
)
ex.wrong(
    "down and right swapped",
    "The rows of the table come first: the offset down is multiplied.",
    (NUMBER, "right * (2 * rows - 1) + down"), believes="an offset is (x, y)",
)
ex.wrong(
    "only the length of an offset",
    "A key to the left and one to the right have different numbers: no absolute value.",
    [(DOWN, "(row[:, None] - row).abs() + rows - 1"),
     (RIGHT, "(column[:, None] - column).abs() + columns - 1")],
    believes="a distance has no sign",
)
ex.wrong(
    "tokens numbered column by column",
    "Tokens come in reading order: token 1 is to the right of token 0.",
    ("n // columns, n % columns", "n % rows, n // rows"),
    believes="row and column are remainder and quotient",
)
ex.wrong(
    "numbers that are no integers",
    "The result chooses rows of a table: it must be int64.",
    (NUMBER, "(down * (2 * columns - 1) + right).float()"), believes="a number is a float",
    shows=lambda symptom: symptom.stage == "dtype",
)
ex.wrong(
    "a number for each token instead of each pair",
    "A bias belongs to a query and a key: the result is (N, N).",
    [(DOWN, "row"), (RIGHT, "column")], believes="a position is a token's",
)
ex.wrong(
    "the library does the work",
    source="""
def offset_index(rows, columns):
    from pioneers.layers import window_offsets

    return window_offsets(rows)
""", believes="the package has a function for that",
)
ex.wrong(
    "divided by the number of rows",
    "In reading order token n is in row n // columns and column n % columns.",
    ("n // columns, n % columns", "n // rows, n % rows"), believes="rows count rows",
)
ex.wrong(
    "only one of the two offsets begins at zero",
    "Offsets begin at 1 - rows and at 1 - columns: add rows - 1 to the one and columns - 1 to the other.",
    (RIGHT, "column[:, None] - column"), (DOWN, "row[:, None] - row"),
    believes="one shift moves them all",
)

ex.right(
    "as in the authors' code",
    source="""
def offset_index(rows, columns):
    grid = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    places = torch.stack(grid).flatten(1)
    offset = (places[:, :, None] - places[:, None, :]).permute(1, 2, 0).contiguous()
    offset[..., 0] += rows - 1
    offset[..., 1] += columns - 1
    offset[..., 0] *= 2 * columns - 1
    return offset.sum(-1)
""",
)
ex.right(
    "pair by pair",
    source="""
def offset_index(rows, columns):
    places = [(r, c) for r in range(rows) for c in range(columns)]
    table = [(d, e) for d in range(1 - rows, rows) for e in range(1 - columns, columns)]
    return torch.tensor([[table.index((q[0] - k[0], q[1] - k[1])) for k in places] for q in places])
""",
)
ex.equivalent(
    "It is the default.",
    (', indexing="ij"', ""),
    of="as in the authors' code",
)
ex.right("one number for each place", source='''
def offset_index(rows, columns):
    place = torch.arange(rows)[:, None] * (2 * columns - 1) + torch.arange(columns)
    place = place.flatten()
    return place[:, None] - place + place[-1]
''')
ex.right("four axes", source='''
def offset_index(rows, columns):
    r, c = torch.arange(rows), torch.arange(columns)
    down = r[:, None, None, None] - r[None, None, :, None] + rows - 1
    right = c[None, :, None, None] - c[None, None, None, :] + columns - 1
    number = down * (2 * columns - 1) + right
    return number.reshape(rows * columns, rows * columns)
''')
ex.right("written number by number", source='''
def offset_index(rows, columns):
    N = rows * columns
    table = torch.zeros((N, N), dtype=torch.int64)
    for q in range(N):
        for k in range(N):
            down, right = q // columns - k // columns, q % columns - k % columns
            table[q, k] = (down + rows - 1) * (2 * columns - 1) + right + columns - 1
    return table
''')
ex.right("divmod and a matrix product", source='''
def offset_index(rows, columns):
    places = torch.tensor([divmod(n, columns) for n in range(rows * columns)])
    least = torch.tensor([1 - rows, 1 - columns])
    offset = places.unsqueeze(1) - places.unsqueeze(0) - least
    return offset @ torch.tensor([2 * columns - 1, 1])
''')
ex.right("cut out of the table, query by query", source='''
def offset_index(rows, columns):
    table = torch.arange((2 * rows - 1) * (2 * columns - 1)).view(2 * rows - 1, 2 * columns - 1)
    lines = []
    for r in range(rows):
        for c in range(columns):
            part = table[r : r + rows, c : c + columns]
            lines.append(part.flip(0, 1).flatten())
    return torch.stack(lines)
''')
ex.right("blocks of a Kronecker sum", source='''
def offset_index(rows, columns):
    def steps(count):
        return torch.arange(count)[:, None] - torch.arange(count) + count - 1

    ones = torch.ones(rows, rows, dtype=torch.long), torch.ones(columns, columns, dtype=torch.long)
    return (2 * columns - 1) * torch.kron(steps(rows), ones[1]) + torch.kron(ones[0], steps(columns))
''')
