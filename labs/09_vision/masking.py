"""Exercise 9.5: which tokens of a shifted window may attend to each other."""

from pioneers.checks.building import exercise

ANSWER = '''
def shifted_mask(height: int, width: int, size: int, shift: int) -> Tensor:
    """Which tokens of each window may attend to each other,
    boolean (HW/M², M², M²)."""
    row = torch.arange(height) >= height - shift
    column = torch.arange(width) >= width - shift
    label = 2 * row[:, None] + column
    label = label.reshape(height // size, size, width // size, size)
    label = label.transpose(1, 2).reshape(-1, size * size)
    return label[:, :, None] == label[:, None, :]
'''
ex = exercise("9.5", ANSWER, points=8, minutes=12, difficulty=2, reread=("sec-swin-shift", "sec-causal"))

ex.probe("a wide grid", height=6, width=9, size=3, shift=1)
ex.probe("a tall grid", height=10, width=4, size=2, shift=1)
ex.probe("windows that are not shifted", height=6, width=3, size=3, shift=0)
ex.probe("windows of five, shifted by two", height=5, width=10, size=5, shift=2)
ex.probe("windows of three, shifted by two", height=9, width=6, size=3, shift=2)
ex.probe("one window", height=5, width=5, size=5, shift=3)
ex.probe("windows of one token", height=2, width=3, size=1, shift=0)
ex.hidden("windows of seven", height=14, width=21, size=7, shift=3)
ex.hidden("windows of seven, shifted far", height=21, width=7, size=7, shift=6)
ex.hidden("one row of windows", height=2, width=14, size=2, shift=1)


@ex.own
def any_grid(whole):
    size = whole(2, 4)
    return {
        "height": size * whole(2, 3), "width": size * whole(1, 4), "size": size, "shift": whole(1, size - 1),
    }


@ex.law("attention is mutual", "Two tokens are neighbours in the image, or they are not.")
def mutual(run, probe):
    mask = run(probe)
    return mask, mask.mT


@ex.law("only windows at the lower and right edge hold foreign tokens", "The others hold neighbours alone.")
def inner_windows(run, probe):
    mask = run(probe.having("law", height=9, width=12, size=3, shift=1)).reshape(3, 4, 9, 9)[:2, :3]
    return mask, mask | True


LABEL, ROW, COLUMN = "2 * row[:, None] + column", ">= height - shift", ">= width - shift"
CUT = "label.reshape(height // size, size, width // size, size)"
ex.wrong(
    "the mask is the wrong way round",
    "True means: may attend. Tokens with the same label may.",
    ("label[:, :, None] == label[:, None, :]", "label[:, :, None] != label[:, None, :]"),
    believes="True marks what is hidden", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "a mask of numbers", "",
    ("label[:, :, None] == label[:, None, :]",
     "torch.where(label[:, :, None] == label[:, None, :], 0.0, -100.0)"),
    ("label[:, :, None] == label[:, None, :]", "(label[:, :, None] == label[:, None, :]).long()"),
    believes="a mask is added to the scores",
)
ex.wrong(
    "only rows are compared",
    "A window at the right edge holds tokens from both sides of the image: label the columns too.",
    (LABEL, "row[:, None] + 0 * column"), believes="one direction is enough",
)
ex.wrong(
    "only columns are compared",
    "A window at the lower edge holds tokens from top and bottom of the image: label the rows too.",
    (LABEL, "0 * row[:, None] + column"), believes="one direction is enough",
)
ex.wrong(
    "two sides share a label",
    "What came round the lower edge and what came round the right edge both get 1: use 2 · row + column.",
    (LABEL, "row[:, None].long() + column"), (LABEL, "row[:, None] | column"),
    believes="0, 1 and 2 are labels enough",
)
ex.wrong(
    "two kinds of tokens instead of four",
    "Rows and columns come round independently: that makes four kinds, such as 2 · row + column.",
    (LABEL, "row[:, None] & column"), believes="only the corner is foreign",
)
ex.wrong(
    "one agreement is enough",
    "Neighbours come from the same side in both directions: rows and columns must agree.",
    source="""
def shifted_mask(height, width, size, shift):
    row = (torch.arange(height) >= height - shift)[:, None].expand(height, width)
    column = (torch.arange(width) >= width - shift).expand(height, width)
    both = []
    for x in (row, column):
        x = x.reshape(height // size, size, width // size, size).transpose(1, 2).reshape(-1, size * size)
        both.append(x[:, :, None] == x[:, None, :])
    return both[0] | both[1]
""", believes="near in one direction is near",
)
ex.wrong(
    "the first rows and columns came round",
    "The grid moved up and to the left: what left it came in at the lower and the right edge.",
    [(ROW, "< shift"), (COLUMN, "< shift")], believes="what is first was moved",
)
ex.wrong(
    "labels for whole windows",
    "As many rows came round as the grid was shifted by: shift, not M.",
    [(ROW, ">= height - size"), (COLUMN, ">= width - size")], believes="the last windows came round",
)
ex.wrong(
    "always half a window",
    "The shift is a parameter. Half a window is what the authors chose.",
    [(ROW, ">= height - size // 2"), (COLUMN, ">= width - size // 2")], believes="the shift is M/2",
)
ex.wrong(
    "one row and column too many",
    "With a shift of s the last s rows came round: those with an index of at least height - s.",
    [(ROW, "> height - shift - 2"), (COLUMN, "> width - shift - 2")], believes="> is >=",
)
ex.wrong(
    "one row and column too few",
    "With a shift of s the last s rows came round: those with an index of at least height - s.",
    [(ROW, "> height - shift"), (COLUMN, "> width - shift")], believes="> is >=",
)
ex.wrong(
    "the labels are not cut into windows",
    "A reshape leaves the labels in reading order of the grid: cut them as the tokens are cut.",
    (".transpose(1, 2)", ""), believes="a reshape is enough", section="sec-swin-windows",
)
ex.wrong(
    "the labels are shifted once more",
    "They already belong to the shifted grid: cut them into windows with a shift of 0.",
    ("label = 2 * row[:, None] + column",
     "label = (2 * row[:, None] + column).roll((-shift, -shift), dims=(0, 1))"),
    believes="labels are shifted like tokens",
)
ex.wrong(
    "windows numbered column by column",
    "Windows come in reading order: window 1 is to the right of window 0.",
    (".transpose(1, 2)", ".permute(2, 0, 1, 3)"), believes="columns come first", section="sec-swin-windows",
)
ex.wrong(
    "the grid taken for a square",
    "Height and width differ: columns are counted from the width.",
    (COLUMN, ">= height - shift"), believes="images are square",
)
ex.wrong(
    "one mask for all windows",
    "Each window has its own mask: most hold neighbours only.",
    ("return label[:, :, None] == label[:, None, :]",
     "label = label[-1:].expand_as(label)\n    return label[:, :, None] == label[:, None, :]"),
    believes="a mask is a triangle for all",
)
ex.wrong(
    "the library does the work",
    source="""
def shifted_mask(height, width, size, shift):
    from pioneers.layers import shifted_window_mask

    return shifted_window_mask(height, width, size, shift)
""", believes="the package has a function for that",
)

ex.right(
    "numbered as in the authors' code",
    source="""
def shifted_mask(height, width, size, shift):
    label, count = torch.zeros(height, width), 0
    for rows in (slice(0, -size), slice(-size, -shift), slice(height - shift, None)):
        for columns in (slice(0, -size), slice(-size, -shift), slice(width - shift, None)):
            label[rows, columns] = count
            count += 1
    if shift == 0:
        label = torch.zeros(height, width)
    label = label.unfold(0, size, size).unfold(1, size, size).flatten(2).flatten(0, 1)
    return label.unsqueeze(1) - label.unsqueeze(2) == 0
""",
)
ex.right(
    "neighbours have kept their distance",
    source="""
def shifted_mask(height, width, size, shift):
    masks = []
    for top in range(0, height, size):
        for left in range(0, width, size):
            tokens = [(top + i, left + j) for i in range(size) for j in range(size)]
            came = [((r + shift) % height, (c + shift) % width) for r, c in tokens]
            masks.append([
                [a[0] - b[0] == p[0] - q[0] and a[1] - b[1] == p[1] - q[1] for b, q in zip(tokens, came)]
                for a, p in zip(tokens, came)
            ])
    return torch.tensor(masks)
""",
)
ex.equivalent(
    "Any labels will do that differ within a window.",
    ("2 ", "3 "),
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("label.reshape", "label.view"),
)
ex.equivalent(
    "Any labels will do that differ within a window.",
    ("count = torch.zeros(height, ", "count = torch.ones(height, "), (", 0", ", 1"), (", 0", ", -1"),
    ("rows in (slice(0, -size), slice(", "rows in (slice(-size), slice("),
    (", slice(-size, -shift), slice(height", ", slice(-shift), slice(height"),
    ("columns in (slice(0, -size), slice(", "columns in (slice(-size), slice("),
    (", slice(-size, -shift), slice(width", ", slice(-shift), slice(width"), ("+", "-"), ("= 1", "= 2"),
    ("shift == 0", "False"), ("if shift == 0:\n        label = torch.zeros(height, width)", "pass"),
    ("0:", "-1:"), ("label = torch.zeros(height, width)", "pass"),
    ("label = torch.zeros(height, width)", "label = torch.zeros(width, height)"),
    ("label = torch.zeros(height, ", "label = torch.ones(height, "),
    of="numbered as in the authors' code",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("1) - label.unsqueeze(2", "2) - label.unsqueeze(1"),
    of="numbered as in the authors' code",
)
ex.right("rows and columns by themselves", source='''
def shifted_mask(height, width, size, shift):
    def agree(length):
        came = (torch.arange(length) >= length - shift).view(-1, size)
        return came[:, :, None] == came[:, None, :]

    rows, columns = agree(height), agree(width)
    both = rows[:, None, :, None, :, None] & columns[None, :, None, :, None, :]
    return both.reshape(-1, size * size, size * size)
''')
ex.right("both or neither, with exclusive or", source='''
def shifted_mask(height, width, size, shift):
    came = torch.zeros(2, height, width, dtype=torch.bool)
    if shift:
        came[0, -shift:], came[1, :, -shift:] = True, True
    came = came.unfold(1, size, size).unfold(2, size, size).reshape(2, -1, size**2)
    return ~(came.unsqueeze(3) ^ came.unsqueeze(2)).any(0)
''')
ex.right("a matrix product of four kinds", source='''
def shifted_mask(height, width, size, shift):
    row = F.one_hot((torch.arange(height) >= height - shift).long(), 2)
    column = F.one_hot((torch.arange(width) >= width - shift).long(), 2)
    kind = torch.einsum("ha,wb->hwab", row, column).flatten(2).float()
    kind = kind.view(height // size, size, width // size, size, 4).permute(0, 2, 1, 3, 4)
    kind = kind.reshape(-1, size**2, 4)
    return kind @ kind.mT > 0.5
''')
ex.right("window by window", source='''
def shifted_mask(height, width, size, shift):
    r, c = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    label = torch.where(r < height - shift, 0, 1) + torch.where(c < width - shift, 0, 10)
    masks = []
    for band in label.split(size, dim=0):
        for window in band.split(size, dim=1):
            token = window.flatten()
            masks.append(torch.eq(token[None], token[:, None]))
    return torch.stack(masks)
''')
ex.right("the last row and column of windows only", source='''
def shifted_mask(height, width, size, shift):
    down, right = height // size, width // size
    mask = torch.ones(down, right, size, size, size, size, dtype=torch.bool)
    stayed, came = slice(0, size - shift), slice(size - shift, size)
    for a, b in ((stayed, came), (came, stayed)):
        mask[-1, :, a, :, b] = False
        mask[:, -1, :, a, :, b] = False
    return mask.reshape(down * right, size**2, size**2)
''')
ex.right("rolled from the grid before", source='''
def shifted_mask(height, width, size, shift):
    row = torch.arange(height).roll(-shift)
    column = torch.arange(width).roll(-shift)
    kind = torch.stack(torch.broadcast_tensors((row < shift)[:, None], column < shift)).double()
    kind = F.unfold(kind[:, None], size, stride=size).permute(2, 1, 0)
    return torch.cdist(kind, kind) == 0
''')
