"""Exercise 9.3: a grid of tokens, shifted and cut into windows.

M divides both sides of every grid, and the sides are told apart by their lengths.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals

ANSWER = '''
def into_windows(x: Tensor, size: int, shift: int) -> Tensor:
    """Shift the grid up and to the left, then cut it into windows:
    x (B, H, W, D) → (B, HW/M², M², D)."""
    B, H, W, D = x.shape
    x = x.roll((-shift, -shift), dims=(1, 2))
    x = x.reshape(B, H // size, size, W // size, size, D)
    return x.transpose(2, 3).reshape(B, -1, size * size, D)
'''
ex = exercise(
    "9.3", ANSWER, points=7, minutes=9, difficulty=1, reread=("sec-swin-windows", "sec-swin-shift"),
)  # fmt: skip


@ex.maker
def grid(normal, x, size, shift, dtype=torch.float32):
    return {"x": normal(*x, dtype=dtype), "size": size, "shift": shift}


ex.probe("a wide grid", x=(2, 6, 12, 5), size=3, shift=1)
ex.probe("a tall grid", x=(3, 12, 4, 2), size=2, shift=1)
ex.probe("windows that are not shifted", x=(2, 6, 9, 5), size=3, shift=0)
ex.probe("windows of five, shifted by three", x=(2, 10, 15, 3), size=5, shift=3)
ex.probe("one image, one window", x=(1, 5, 5, 3), size=5, shift=2)
ex.probe("every token a window", x=(2, 3, 5, 7), size=1, shift=0)
ex.probe("double precision", x=(2, 9, 6, 5), size=3, shift=2, dtype=torch.float64)
ex.probe("half precision", x=(3, 4, 6, 7), size=2, shift=1, dtype=torch.bfloat16)
ex.probe("numbers with gaps in memory", x=(2, 6, 12, 3), size=3, shift=1, strided=True)
ex.hidden("windows of seven", x=(3, 14, 21, 2), size=7, shift=3)
ex.hidden("as many windows in a column as tokens in a window", x=(2, 9, 18, 3), size=3, shift=2)
ex.hidden("one row of windows", x=(1, 2, 14, 3), size=2, shift=1)


@ex.law("nothing is lost", "Each token has one place in one window, shifted or not.")
def all_tokens(run, probe):
    x = normals(931)(2, 10, 15, 3)
    windows = run(probe.having("law", x=x, size=5, shift=2))
    return windows.flatten().sort().values, x.flatten().sort().values


ROLL, SWAP = "x.roll((-shift, -shift), dims=(1, 2))", "transpose(2, 3)"
SPLIT = "H // size, size, W // size, size"
ex.wrong(
    "a reshape without a transposition",
    "A reshape leaves the tokens in memory order, and cuts rows into strips: bring both counts to the front.",
    (f".{SWAP}", ""), believes="a reshape is enough",
)
ex.wrong(
    "shifted the other way",
    "The grid moves up and to the left: token (shift, shift) comes to the corner. roll moves down by +shift.",
    ("(-shift, -shift)", "(shift, shift)"), believes="a shift goes right and down",
    section="sec-swin-shift",
)
ex.wrong(
    "the shift is forgotten",
    "The grid is moved before it is cut: without it, windows never meet.",
    (ROLL, "x"), believes="windows are always at the same places", section="sec-swin-shift",
)
ex.wrong(
    "shifted in one direction only",
    "The grid moves up and to the left: both axes are rolled.",
    (ROLL, "x.roll(-shift, dims=1)"), (ROLL, "x.roll(-shift, dims=2)"),
    believes="one direction is a shift", section="sec-swin-shift",
)
ex.wrong(
    "one number for two axes",
    "roll wants one shift for each axis: (-shift, -shift).",
    ("(-shift, -shift)", "-shift"), believes="a number holds for all axes",
    shows=lambda symptom: symptom.stage == "runs" and "must align" in symptom.case.outcome.error,
)
ex.wrong(
    "the axes are not named",
    "Without dims, roll moves the numbers as one long row: name the axes of the grid, dims=(1, 2).",
    (ROLL, "x.roll(-shift)"), believes="roll finds the axes by itself", section="sec-swin-shift",
)
ex.wrong(
    "always half a window",
    "The shift is a parameter. Half a window is what the authors chose.",
    ("(-shift, -shift)", "(-(size // 2), -(size // 2))"), believes="the shift is M/2",
    section="sec-swin-shift",
)
ex.wrong(
    "shifted inside each window",
    "The grid is moved as a whole, before it is cut: tokens must cross the old borders.",
    [(ROLL, "x"), (SPLIT + ", D)", SPLIT + ", D).roll((-shift, -shift), dims=(2, 4))")],
    believes="first cut, then shift", section="sec-swin-shift",
)
ex.wrong(
    "zeros come in at the edge",
    "What leaves the grid comes in on the opposite side: no token is lost.",
    (ROLL, "F.pad(x, (0, 0, 0, shift, 0, shift))[:, shift:, shift:]"), believes="a shift is padded",
    section="sec-swin-shift",
)
ex.wrong(
    "windows numbered column by column",
    "Windows come in reading order: window 1 is to the right of window 0.",
    (SWAP, "permute(0, 3, 1, 2, 4, 5)"), believes="columns come first",
)
ex.wrong(
    "tokens of a window column by column",
    "Inside a window too the rows come first.",
    (SWAP, "permute(0, 1, 3, 4, 2, 5)"), believes="inside a window the order is free",
)
ex.wrong(
    "windows of tokens that lie far apart",
    "Split a side into (number of windows, M), in this order: a window is a neighbourhood.",
    [(SPLIT, "size, H // size, size, W // size"), (SWAP, "permute(0, 2, 4, 1, 3, 5)")],
    believes="an axis splits into (inside, outside)",
)
ex.wrong(
    "the numbers of a token torn apart",
    "unfold puts the sides of a window last, behind the D numbers: move the numbers to the end first.",
    source="""
def into_windows(x, size, shift):
    x = x.roll((-shift, -shift), dims=(1, 2))
    B, D = x.shape[0], x.shape[3]
    return x.unfold(1, size, size).unfold(2, size, size).reshape(B, -1, size * size, D)
""", believes="the right shape is the right order",
)
ex.wrong(
    "windows in the axis of images",
    "Keep the axis of images: the windows get an axis of their own, (B, HW/M², M², D).",
    ("reshape(B, -1, size * size, D)", "reshape(-1, size * size, D)"), believes="a window is an image",
)
ex.wrong(
    "windows that keep their two sides",
    "Attention reads sequences: the M × M tokens of a window become one axis.",
    ("reshape(B, -1, size * size, D)", "reshape(B, -1, size, size, D)"), believes="a window is a square",
)
ex.wrong(
    "view on a tensor with gaps",
    "",
    [("x.reshape(B, H", "x.view(B, H"), (f"{SWAP}.reshape", f"{SWAP}.view")],
    believes="view and reshape are the same",
)
ex.wrong(
    "the library does the work",
    source="""
def into_windows(x, size, shift):
    from pioneers.layers import window_partition

    return window_partition(x.roll((-shift, -shift), (1, 2)), size)
""", believes="the package has a function for that",
)
ex.wrong(
    "height and width exchanged",
    "x is (B, H, W, D): the rows are cut first, H // size, then the columns.",
    ("(B, H // size, size, W // size, size, D)", "(B, W // size, size, H // size, size, D)"),
    believes="width comes first",
)

ex.right(
    "window by window",
    source="""
def into_windows(x, size, shift):
    x = torch.roll(torch.roll(x, -shift, 1), -shift, 2)
    windows = []
    for top in range(0, x.shape[1], size):
        for left in range(0, x.shape[2], size):
            windows.append(x[:, top : top + size, left : left + size].flatten(1, 2))
    return torch.stack(windows, dim=1)
""",
)
ex.right(
    "cat and unfold",
    source="""
def into_windows(x, size, shift):
    x = torch.cat((x[:, shift:], x[:, :shift]), dim=1)
    x = torch.cat((x[:, :, shift:], x[:, :, :shift]), dim=2)
    x = x.unfold(1, size, size).unfold(2, size, size)
    return x.permute(0, 1, 2, 4, 5, 3).flatten(3, 4).flatten(1, 2)
""",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("B, H // size", "H // size, B"), (", size, D)", ", D, size)"),
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("x.reshape", "x.view"),
)
ex.right("einsum turns the axes", source='''
def into_windows(x, size, shift):
    B, H, W, D = x.shape
    x = torch.roll(x, shifts=(-shift, -shift), dims=(1, 2))
    x = x.unflatten(1, (H // size, size)).unflatten(3, (W // size, size))
    return torch.einsum("bricjd->brcijd", x).flatten(3, 4).flatten(1, 2)
''')
ex.right("the place of every token", source='''
def into_windows(x, size, shift):
    H, W = x.shape[1:3]
    row = (torch.arange(H, device=x.device) + shift).remainder(H).reshape(-1, 1, size, 1)
    column = (torch.arange(W, device=x.device) + shift).remainder(W).reshape(1, -1, 1, size)
    return x[:, row, column].reshape(len(x), -1, size * size, x.shape[3])
''')
ex.right("split and split again", source='''
def into_windows(x, size, shift):
    x = x.roll(-shift, 1).roll(-shift, 2)
    bands = [band.split(size, dim=2) for band in x.split(size, dim=1)]
    return torch.stack([window.flatten(1, 2) for band in bands for window in band], dim=1)
''')
ex.right("one axis after the other", source='''
def into_windows(x, size, shift):
    B, H, W, D = x.shape
    rows = [(r + shift) % H for r in range(H)]
    columns = [(c + shift) % W for c in range(W)]
    bands = x[:, rows][:, :, columns].reshape(B, H // size, size, W, D).transpose(2, 3)
    bands = bands.reshape(B, H // size, W // size, size, size, D).transpose(3, 4)
    return bands.reshape(B, (H // size) * (W // size), size**2, D)
''')
ex.right("written into an empty result", source='''
def into_windows(x, size, shift):
    B, H, W, D = x.shape
    result = x.new_empty(B, H * W // size**2, size**2, D)
    for r in range(H):
        for c in range(W):
            window = (r // size) * (W // size) + c // size
            result[:, window, r % size * size + c % size] = x[:, (r + shift) % H, (c + shift) % W]
    return result
''')
ex.right("a list of numbers of tokens", source='''
def into_windows(x, size, shift):
    B, H, W, D = x.shape
    number = torch.arange(H * W, device=x.device).view(H, W).roll((-shift, -shift), (0, 1))
    number = number.unfold(0, size, size).unfold(1, size, size)
    tokens = x.reshape(B, H * W, D).index_select(1, number.flatten())
    return tokens.reshape(B, -1, size * size, D)
''')
