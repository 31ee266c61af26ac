"""Exercise 9.4: windows become a grid again, and it moves back."""

import re

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals

ANSWER = '''
def out_of_windows(windows: Tensor, height: int, shift: int) -> Tensor:
    """Join the windows, then move the grid back:
    windows (B, HW/M², M², D) → (B, H, W, D)."""
    B, _, tokens, D = windows.shape
    size = math.isqrt(tokens)
    x = windows.reshape(B, height // size, -1, size, size, D)
    x = x.transpose(2, 3).reshape(B, height, -1, D)
    return x.roll((shift, shift), dims=(1, 2))
'''
ex = exercise(
    "9.4", ANSWER, points=7, minutes=9, difficulty=2, reread=("sec-swin-windows", "sec-swin-shift"),
)  # fmt: skip


@ex.maker
def pieces(normal, windows, height, shift, dtype=torch.float32):
    return {"windows": normal(*windows, dtype=dtype), "height": height, "shift": shift}


ex.probe("a wide grid, 2 × 8 windows", windows=(2, 16, 9, 5), height=6, shift=1)
ex.probe("a tall grid, 6 × 2 windows", windows=(3, 12, 4, 2), height=12, shift=1)
ex.probe("windows that were not shifted", windows=(2, 6, 9, 5), height=6, shift=0)
ex.probe("windows of five, shifted by three", windows=(2, 6, 25, 3), height=10, shift=3)
ex.probe("one image, one window", windows=(1, 1, 25, 3), height=5, shift=2)
ex.probe("every token a window", windows=(2, 15, 1, 7), height=3, shift=0)
ex.probe("double precision", windows=(2, 6, 9, 5), height=9, shift=2, dtype=torch.float64)
ex.probe("half precision", windows=(3, 6, 4, 7), height=4, shift=1, dtype=torch.bfloat16)
ex.probe("numbers with gaps in memory", windows=(2, 8, 9, 3), height=6, shift=1, strided=True)
ex.hidden("windows of seven", windows=(3, 6, 49, 2), height=14, shift=3)
ex.hidden("4 × 4 windows", windows=(2, 16, 9, 3), height=12, shift=2)
ex.hidden("one row of windows", windows=(1, 7, 4, 3), height=2, shift=1)


@ex.law("there and back", "A token of window 0 comes back to where the shift had taken it from.")
def corner_found(run, probe):
    windows = normals(941)(2, 6, 25, 3)
    grid = run(probe.having("law", windows=windows, height=10, shift=3))
    return grid[:, 3:8, 3:8].flatten(1, 2), windows[:, 0]


def asked(symptom):
    """Return the shape that a reshape could not make; empty if something else failed."""
    found = re.search(r"shape '\[(.*)\]' is invalid for input", symptom.case.outcome.error)
    return [int(x) for x in found[1].split(",")] if symptom.stage == "runs" and found else []


def is_square(symptom):
    shape = asked(symptom)
    if symptom.stage == "shape":
        shape = list(symptom.case.outcome.tensor.shape)
    return len(shape) > 3 and shape[1] == shape[2]


def counts_height_in_windows(symptom):
    shape = asked(symptom)
    return len(shape) == 6 and shape[1] == symptom.case.probe.args["height"]


ROLL, SPLIT = ".roll((shift, shift), dims=(1, 2))", "B, height // size, -1, size, size, D"
ex.wrong(
    "a reshape without a transposition",
    "Bring the rows of a window next to the rows of windows before you join them.",
    ("transpose(2, 3).", ""), believes="a reshape is enough",
)
ex.wrong(
    "the grid is not moved back",
    "The blocks before and after expect every token at its own place: undo the shift.",
    (ROLL, ""), believes="the shift stays", section="sec-swin-shift",
)
ex.wrong(
    "shifted once more",
    "On the way in the grid moved up and to the left, so it moves down and to the right on the way back.",
    ("(shift, shift)", "(-shift, -shift)"), believes="the same roll undoes itself", section="sec-swin-shift",
)
ex.wrong(
    "moved back in one direction only",
    "The grid moved up and to the left: undo both.",
    (ROLL, ".roll(shift, dims=1)"), (ROLL, ".roll(shift, dims=2)"),
    believes="one direction is a shift", section="sec-swin-shift",
)
ex.wrong(
    "one number for two axes",
    "roll wants one shift for each axis: (shift, shift).",
    ("(shift, shift)", "shift"), believes="a number holds for all axes",
    shows=lambda symptom: symptom.stage == "runs" and "must align" in symptom.case.outcome.error,
)
ex.wrong(
    "always half a window",
    "The shift is a parameter. Half a window is what the authors chose.",
    ("(shift, shift)", "(size // 2, size // 2)"), believes="the shift is M/2", section="sec-swin-shift",
)
ex.wrong(
    "moved back before the windows are joined",
    "Join the windows first: the grid moves as a whole, and tokens cross the borders of windows.",
    [(ROLL, ""), ("size, size, D)", "size, size, D).roll((shift, shift), dims=(3, 4))")],
    believes="the order of the two steps is free", section="sec-swin-shift",
)
ex.wrong(
    "windows numbered column by column",
    "Windows come in reading order: window 1 is to the right of window 0.",
    [(SPLIT, "B, -1, height // size, size, size, D"),
     ("transpose(2, 3)", "permute(0, 2, 3, 1, 4, 5)")], believes="columns come first",
)
ex.wrong(
    "tokens of a window column by column",
    "Inside a window the rows come first.",
    ("transpose(2, 3)", "permute(0, 1, 4, 2, 3, 5)"), believes="inside a window the order is free",
)
ex.wrong(
    "height counted in windows",
    "height is that of the grid in tokens: there are height / M rows of windows.",
    ("height // size", "height"), believes="height is the number of rows of windows",
    shows=counts_height_in_windows,
)
ex.wrong(
    "the grid taken for a square",
    "The grid has height / M rows of windows, and in each of them as many as are left: use -1.",
    [(SPLIT, "B, math.isqrt(windows.shape[1]), -1, size, size, D"),
     ("reshape(B, height, -1, D)", "reshape(B, math.isqrt(windows.shape[1]) * size, -1, D)")],
    believes="images are square",
)
ex.wrong(
    "as many columns as rows",
    "The grid need not be a square: W = n·M²/H, for n windows.",
    (SPLIT, "B, height // size, height // size, size, size, D"),
    [(SPLIT, "B, math.isqrt(windows.shape[1]), math.isqrt(windows.shape[1]), size, size, D"),
     ("reshape(B, height, -1, D)", "flatten(3, 4).flatten(1, 2)")],
    ("reshape(B, height, -1, D)", "reshape(B, height, height, D)"),
    believes="the width is the height", shows=is_square,
)
ex.wrong(
    "sizes that do not fit",
    "Is the grid taken to be square, or M wrong? W = n·M²/H, for n windows.",
    ("size = math.isqrt(tokens)", "size = tokens"), ("size = math.isqrt(tokens)", "size = tokens // 2"),
    believes="M is the number of tokens", shows=asked,
)
ex.wrong(
    "view on a tensor with gaps",
    "",
    [("windows.reshape", "windows.view"), (".reshape(B, height, -1", ".view(B, height, -1")],
    believes="view and reshape are the same",
)
ex.wrong(
    "the library does the work",
    source="""
def out_of_windows(windows, height, shift):
    from pioneers.layers import window_merge

    return window_merge(windows, height).roll((shift, shift), (1, 2))
""", believes="the package has a function for that",
)
ex.wrong(
    "the windows moved instead of the grid",
    "Join the windows first; the shift counts tokens of the grid, not windows.",
    [("x = windows.reshape", "windows = windows.roll(shift, 1)\n    x = windows.reshape"),
     (".roll((shift, shift), dims=(1, 2))", "")], believes="windows are what was shifted",
)
ex.wrong(
    "what leaves the grid is lost",
    "What leaves the grid on one side comes in on the opposite one: roll does that, padding does not.",
    ("x.roll((shift, shift), dims=(1, 2))",
     "F.pad(x, (0, 0, shift, 0, shift, 0))[:, :height, : x.shape[2]]"),
    believes="moving leaves zeros behind", section="sec-swin-shift",
)

ex.right(
    "window by window",
    source="""
def out_of_windows(windows, height, shift):
    B, count, tokens, D = windows.shape
    size = round(tokens**0.5)
    columns = count * size // height
    rows = []
    for r in range(height // size):
        row = [windows[:, r * columns + c].reshape(B, size, size, D) for c in range(columns)]
        rows.append(torch.cat(row, dim=2))
    return torch.roll(torch.cat(rows, dim=1), (shift, shift), (1, 2))
""",
)
ex.right(
    "the place of every token in the grid",
    source="""
def out_of_windows(windows, height, shift):
    B, count, tokens, D = windows.shape
    size = int(tokens**0.5)
    width = count * tokens // height
    row = (torch.arange(height, device=windows.device) - shift) % height
    column = (torch.arange(width, device=windows.device) - shift) % width
    window = row[:, None] // size * (width // size) + column // size
    token = row[:, None] % size * size + column % size
    return windows[:, window, token]
""",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("B, height // size", "height // size, B"), ("size, D", "D, size"),
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("windows.reshape", "windows.view"),
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    (".reshape", ".view"),
    of="window by window",
)
ex.right("einsum turns the axes", source='''
def out_of_windows(windows, height, shift):
    size = math.isqrt(windows.shape[2])
    x = windows.unflatten(2, (size, size)).unflatten(1, (height // size, -1))
    x = torch.einsum("brcijd->bricjd", x).flatten(3, 4).flatten(1, 2)
    return torch.roll(x, shifts=(shift, shift), dims=(1, 2))
''')
ex.right("moved back by cat", source='''
def out_of_windows(windows, height, shift):
    B, count, tokens, D = windows.shape
    size = next(m for m in range(1, tokens + 1) if m * m == tokens)
    x = windows.reshape(B, height // size, count * size // height, size, size, D)
    x = x.permute(0, 1, 3, 2, 4, 5).reshape(B, height, count * tokens // height, D)
    for axis in (1, 2):
        cut = x.shape[axis] - shift
        x = torch.cat((x.narrow(axis, cut, shift), x.narrow(axis, 0, cut)), dim=axis)
    return x
''')
ex.right("written into an empty grid", source='''
def out_of_windows(windows, height, shift):
    B, count, tokens, D = windows.shape
    size, width = math.isqrt(tokens), count * tokens // height
    grid = windows.new_empty(B, height, width, D)
    for n in range(count):
        top, left = n // (width // size) * size, n % (width // size) * size
        grid[:, top : top + size, left : left + size] = windows[:, n].unflatten(1, (size, size))
    return grid.roll(shift, 1).roll(shift, 2)
''')
ex.right("the inverse of the numbers of tokens", source='''
def out_of_windows(windows, height, shift):
    B, count, tokens, D = windows.shape
    size, width = math.isqrt(tokens), count * tokens // height
    number = torch.arange(height * width, device=windows.device).view(height, width)
    number = number.roll((-shift, -shift), (0, 1)).unfold(0, size, size).unfold(1, size, size)
    flat = windows.flatten(1, 2).index_select(1, number.flatten().argsort())
    return flat.unflatten(1, (height, width))
''')
ex.right("F.fold lays the windows side by side", source='''
def out_of_windows(windows, height, shift):
    B, count, tokens, D = windows.shape
    size, width = math.isqrt(tokens), count * tokens // height
    columns = windows.permute(0, 3, 2, 1).reshape(B, D * tokens, count)
    grid = F.fold(columns, (height, width), kernel_size=size, stride=size)
    return grid.permute(0, 2, 3, 1).roll((shift, shift), dims=(1, 2))
''')
ex.right("columns first, then rows", source='''
def out_of_windows(windows, height, shift):
    size = int(windows.shape[2] ** 0.5)
    squares = windows.unflatten(2, (size, size)).unbind(1)
    columns = len(squares) * size // height
    bands = [torch.cat([squares[n] for n in range(c, len(squares), columns)], 1) for c in range(columns)]
    x = torch.cat(bands, dim=2)
    rows = [(r - shift) % x.shape[1] for r in range(x.shape[1])]
    return x[:, rows][:, :, [(c - shift) % x.shape[2] for c in range(x.shape[2])]]
''')
