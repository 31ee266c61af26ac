"""Exercise 6.6: a position table for another grid of patches, the class token's row first."""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals
from pioneers.checks.tolerance import close

ANSWER = '''
def resize_positions(
    table: Tensor, rows: int, columns: int, new_rows: int, new_columns: int
) -> Tensor:
    """A position table (1 + rows·columns, D) for another grid:
    (1 + new_rows·new_columns, D)."""
    grid = table[1:].T.reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], grid.flatten(2)[0].T])
'''
ex = exercise("6.6", ANSWER, points=10, minutes=14, difficulty=2, reread="sec-vit-resize")


@ex.maker
def positions(normal, D, old, new, dtype=torch.float32):
    sizes = {"rows": old[0], "columns": old[1], "new_rows": new[0], "new_columns": new[1]}
    return {"table": normal(1 + old[0] * old[1], D, dtype=dtype), **sizes}


ex.probe("a wide grid made larger", D=7, old=(2, 3), new=(5, 4))
ex.probe("a tall grid made wide", D=5, old=(5, 2), new=(3, 7))
ex.probe("a square grid made larger", D=2, old=(3, 3), new=(5, 5))
ex.probe("the same size", D=3, old=(2, 5), new=(2, 5))
ex.probe("a smaller grid", D=3, old=(7, 5), new=(3, 2))
ex.probe("one patch", D=5, old=(1, 1), new=(2, 3))
ex.probe("double precision", D=3, old=(3, 2), new=(4, 5), dtype=torch.float64)
ex.probe("numbers with gaps in memory", D=5, old=(3, 2), new=(4, 3), strided=True)
ex.probe("as many patches as before, in another shape", D=3, old=(2, 6), new=(3, 4))
ex.probe("as many rows as before", D=3, old=(3, 2), new=(3, 5))
ex.probe("as many columns as before", D=3, old=(2, 5), new=(4, 5))
ex.hidden("both sides larger", D=11, old=(4, 3), new=(7, 5))
ex.hidden("lower and wider", D=2, old=(6, 5), new=(2, 11))

SIZES = {"rows": 3, "columns": 5, "new_rows": 4, "new_columns": 2}


@ex.law("the class token's row stays", "It has no place in the grid.")
def class_row_stays(run, probe):
    table = normals(661)(16, 7)
    return run(probe.having("law", table=table, **SIZES))[0], table[0]


@ex.law("each channel is resized by itself", "No channel sees another.")
def each_channel_alone(run, probe):
    law = probe.having("law", table=normals(661)(16, 7), **SIZES)
    return run(law)[:, 2:3], run(law.having("law", table=law.args["table"][:, 2:3]))


def only_class_row_wrong(symptom):
    """Return whether the patches' rows are right in every case."""
    return symptom.stage == "value" and all(
        close(case.outcome.tensor[1:], case.expected.tensor[1:], case.probe.dtype) for case in symptom.cases
    )


BEFORE, AFTER = "table[1:].T.reshape(1, -1, rows, columns)", "grid.flatten(2)[0].T"
HOW = ', mode="bicubic", align_corners=False'
NOT_BACK = (AFTER, "grid.reshape(new_rows * new_columns, -1)")
ex.wrong(
    "the class token's row is changed",
    "It has no place in the grid: its row goes in front of the new table as it is.",
    ("[table[:1],", "[torch.zeros_like(table[:1]),"), believes="the class token starts anew",
    shows=only_class_row_wrong,
)
ex.wrong(
    "the class token's row is lost",
    "The new table has one row more than patches: the class token's row stays, in front.",
    (f"torch.cat([table[:1], {AFTER}])", AFTER), believes="the class token has no place in the table",
)
ex.wrong(
    "the class token taken for the last row",
    "It stands in front: row 0 is the class token's, and the grid begins at row 1.",
    [("table[1:]", "table[:-1]"), (f"table[:1], {AFTER}", f"{AFTER}, table[-1:]")],
    believes="the class token comes last",
)
ex.wrong(
    "channels and places mixed up, there and back",
    "interpolate wants (1, D, rows, columns): transpose before it, and transpose back after it.",
    [("[1:].T", "[1:]"), NOT_BACK], believes="a reshape brings the channels in front",
)
ex.wrong(
    "channels and places mixed up",
    "The rows of the table are places: transpose before the reshape, or channels become places.",
    ("[1:].T", "[1:]"), believes="only the way back needs a transposition",
)
ex.wrong(
    "not transposed back",
    "interpolate gives (1, D, rows, columns): move D to the end before the places become rows again.",
    NOT_BACK, believes="the way back is a reshape",
)
ex.wrong(
    "rows and columns of the new grid swapped",
    "interpolate takes size=(rows, columns), rows first.",
    ("(new_rows, new_columns)", "(new_columns, new_rows)"), believes="a size is (width, height)",
)
ex.wrong(
    "rows and columns of the old grid swapped",
    "The table is in reading order, so its grid is (rows, columns), rows first.",
    ("-1, rows, columns", "-1, columns, rows"), believes="a grid is (x, y)",
)
ex.wrong(
    "the corners nailed down",
    "align_corners=True stretches the grid between the outermost points; a patch has a width, too.",
    ("align_corners=False", "align_corners=True"), believes="the corners must stay where they are",
)
ex.wrong(
    "another interpolation",
    "Bicubic is asked for, as in the paper's code.",
    ("bicubic", "bilinear"), believes="any smooth interpolation will do",
)
ex.wrong(
    "another interpolation",
    "The nearest row gives several patches the same place: bicubic is asked for.",
    (HOW, ""), believes="interpolate knows what is best",
)
ex.wrong(
    "smoothed on the way",
    "antialias=True is another filter: no vector of the old table would come back as it was.",
    (HOW, f"{HOW}, antialias=True"), believes="smoothing can do no harm",
)
ex.wrong(
    "resized along the reading order",
    "The places form a grid: in one line the end of a row and the start of the next would be neighbours.",
    [(BEFORE, "table[1:].T[None]"), ("(new_rows, new_columns)", "new_rows * new_columns"),
     ("bicubic", "linear")], believes="a table is a line of places",
)

ex.right(
    "unflatten and permute",
    source="""
def resize_positions(table, rows, columns, new_rows, new_columns):
    cls, patches = table.split([1, rows * columns])
    grid = patches.unflatten(0, (rows, columns)).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, (new_rows, new_columns), mode="bicubic")
    return torch.cat([cls, grid[0].permute(1, 2, 0).flatten(0, 1)])
""",
)
ex.right(
    "each channel a picture of its own",
    source="""
def resize_positions(table, rows, columns, new_rows, new_columns):
    pictures = table[1:].T.reshape(-1, 1, rows, columns)
    size = (new_rows, new_columns)
    pictures = F.interpolate(pictures, size=size, mode="bicubic", align_corners=False)
    return torch.cat([table[:1], pictures.flatten(1).T])
""",
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    (".T.reshape", ".T.view"),
)
ex.equivalent(
    "It is the default.",
    ('"bicubic", align_corners=False', "'bicubic'"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0", "-1"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0]", "-1]"),
    of="unflatten and permute",
)
ex.right("channels moved by movedim", source='''
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].reshape(rows, columns, -1).movedim(-1, 0).unsqueeze(0)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.vstack((table[0], grid.squeeze(0).movedim(0, -1).reshape(new_rows * new_columns, -1)))
''')
ex.right("the layer Upsample", source='''
def resize_positions(table, rows, columns, new_rows, new_columns):
    resize = torch.nn.Upsample(size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    channels = table.T[:, 1:].unflatten(1, (rows, columns))
    new = resize(channels[None])[0].flatten(1)
    return torch.cat((table.T[:, :1], new), dim=1).T
''')
ex.right("filled in", source='''
def resize_positions(table, rows, columns, new_rows, new_columns):
    picture = table[1:].mT.contiguous().view(1, table.size(1), rows, columns)
    picture = F.interpolate(picture, (new_rows, new_columns), mode="bicubic")
    new = table.new_empty(1 + new_rows * new_columns, table.size(1))
    new[0] = table[0]
    for r in range(new_rows):
        new[1 + r * new_columns : 1 + (r + 1) * new_columns] = picture[0, :, r].T
    return new
''')
ex.right("a matrix for each side, from the identity", source='''
def resize_positions(table, rows, columns, new_rows, new_columns):
    def matrix(old, new):
        eye = torch.eye(old, dtype=table.dtype, device=table.device)
        return F.interpolate(eye[None, None], (new, old), mode="bicubic", align_corners=False)[0, 0]

    grid = table[1:].unflatten(0, (rows, columns))
    grid = torch.einsum("ur,vc,rcd->uvd", matrix(rows, new_rows), matrix(columns, new_columns), grid)
    return torch.cat((table[:1], grid.flatten(0, 1)))
''')
ex.right("axes moved by einsum", source='''
def resize_positions(table, rows, columns, new_rows, new_columns):
    cls, places = table[:1], table[1:].view(1, rows, columns, table.size(1))
    image = torch.einsum("brcd->bdrc", places)
    image = F.interpolate(image, size=[new_rows, new_columns], mode="bicubic", align_corners=False)
    return torch.cat([cls, torch.einsum("bdrc->brcd", image).reshape(-1, table.size(1))], dim=0)
''')
ex.right("the cubic weights by hand", source='''
def resize_positions(table, rows, columns, new_rows, new_columns):
    def matrix(old, new):
        weights = torch.zeros(new, old, dtype=table.dtype, device=table.device)
        for i in range(new):
            place = (i + 0.5) * old / new - 0.5
            for j in range(math.floor(place) - 1, math.floor(place) + 3):
                t = abs(place - j)
                near, far = 1.25 * t**3 - 2.25 * t**2 + 1, -0.75 * (t**3 - 5 * t**2 + 8 * t - 4)
                weights[i, min(max(j, 0), old - 1)] += near if t <= 1 else far
        return weights

    grid = table[1:].T.reshape(-1, rows, columns)
    grid = matrix(rows, new_rows) @ grid @ matrix(columns, new_columns).T
    return torch.cat((table[:1], grid.flatten(1).T))
''')
