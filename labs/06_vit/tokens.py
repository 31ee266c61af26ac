"""Exercise 6.4: the class token in front, positions added."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def to_tokens(patches: Tensor, cls_token: Tensor, table: Tensor) -> Tensor:
    """The encoder's input: patches (B, N, D) → (B, 1 + N, D),
    class token first, positions added."""
    cls = cls_token.expand(len(patches), 1, -1)
    return torch.cat([cls, patches], dim=1) + table
'''
ex = exercise(
    "6.4", ANSWER, points=8, minutes=8, difficulty=1, reread="sec-vit-architecture", equation="eq-vit"
)

ex.inputs(patches="B N D", cls_token="D", table="T D")
ex.probe("three images", B=3, N=5, T=6, D=7)
ex.probe("one image", B=1, N=11, T=12, D=5)
ex.probe("one patch", B=2, N=1, T=2, D=3)
ex.probe("as many images as patches", B=5, N=5, T=6, D=3)
ex.probe("double precision", B=2, N=3, T=4, D=7, dtype=torch.float64)
ex.probe("bfloat16", B=2, N=5, T=6, D=3, dtype=torch.bfloat16)
ex.probe("numbers with gaps in memory", B=2, N=3, T=4, D=5, strided=True)
ex.hidden("seven images", B=7, N=7, T=8, D=11)
ex.hidden("one image", B=1, N=7, T=8, D=11)


@ex.law("row 0 is the same for every image", "The class token carries no picture of its own.")
def same_class_token(run, probe):
    first = run(probe)[:, 0]
    return first, first[:1].expand_as(first)


JOINED = "torch.cat([cls, patches], dim=1)"
ex.wrong(
    "the class token behind the patches",
    "It stands in front: row 0 is where the head will read, whatever the number of patches.",
    ("[cls, patches]", "[patches, cls]"), believes="a class token is appended",
)
ex.wrong(
    "the class token has no position",
    "The table has 1 + N rows: row 0 is added to the class token.",
    ("patches], dim=1) + table", "patches + table[1:]], dim=1)"), believes="only patches have a place",
)
ex.wrong(
    "the positions are one place off",
    "Row 0 of the table belongs to the class token, row n to the n-th patch.",
    ("+ table", "+ table.roll(1, 0)"), believes="the first row belongs to the first patch",
)
ex.wrong(
    "no positions",
    "Without the table the model sees a bag of patches.",
    (" + table", ""), believes="the order of the rows tells the place", section="sec-vit-no-positions",
    equation="eq-vit-bag",
)
ex.wrong(
    "the class token added, not put in front",
    "It is a token of its own: the sequence grows by one, to 1 + N.",
    (f"{JOINED} + table", "patches + cls_token + table[1:]"), believes="a class token marks the patches",
)
ex.wrong(
    "the class token added to every token",
    "Only row 0 holds it; the patches keep their own vectors.",
    ("[cls, patches]", "[cls, patches + cls_token]"), believes="a sum spreads the class token",
)
ex.wrong(
    "a class token in the first image only",
    "Every image of the batch gets the same learned vector.",
    ("cls_token.expand(len(patches), 1, -1)", "torch.zeros_like(patches[:, :1])\n    cls[0] = cls_token"),
    believes="one class token, so one row",
)
ex.wrong(
    "the input is overwritten",
    "",
    [("cls = cls_token", "patches += table[1:]\n    cls = (cls_token + table[0])"), (" + table", "")],
    believes="adding in place saves memory",
)
ex.wrong(
    "the gradient is cut",
    "",
    [("cls_token.expand", "nn.Parameter(cls_token).expand"), ("+ table", "+ nn.Parameter(table)")],
    believes="learned means nn.Parameter, here",
)
ex.wrong(
    "another precision comes out",
    source="""
def to_tokens(patches, cls_token, table):
    B, N, D = patches.shape
    tokens = torch.empty(B, 1 + N, D, device=patches.device)
    tokens[:, 0] = cls_token + table[0]
    tokens[:, 1:] = patches + table[1:]
    return tokens
""", believes="an empty tensor is made as it comes",
)
ex.wrong(
    "the library does the work",
    source="""
def to_tokens(patches, cls_token, table):
    from pioneers.layers import LearnedPositions

    positions = LearnedPositions(*table.shape)
    positions.table.data = table
    cls = cls_token.expand(len(patches), 1, -1)
    return torch.cat([cls, patches], dim=1) + positions(len(table))
""", believes="the module from the package is an answer",
)
ex.wrong(
    "vectors multiplied by √D",
    "The translator does that with its word vectors; here the positions are added to vectors as they are.",
    (JOINED, f"{JOINED} * patches.shape[-1] ** 0.5"),
    ("[cls, patches]", "[cls, patches * patches.shape[-1] ** 0.5]"),
    believes="an embedding is scaled before positions are added",
)

ex.right(
    "positions first, each to its own",
    source="""
def to_tokens(patches, cls_token, table):
    cls = (cls_token + table[0])[None, None].repeat(patches.shape[0], 1, 1)
    return torch.cat((cls, patches + table[1:]), dim=1)
""",
)
ex.right(
    "one image at a time",
    source="""
def to_tokens(patches, cls_token, table):
    return torch.stack([torch.vstack([cls_token, image]) + table for image in patches])
""",
)
ex.equivalent(
    "A single number stays, whatever its axes.",
    ("[None, None].repeat", ".repeat"),
    of="positions first, each to its own",
)
ex.right("filled in", source='''
def to_tokens(patches, cls_token, table):
    B, N, D = patches.shape
    z = patches.new_empty(B, N + 1, D)
    z[:, 0] = cls_token
    z[:, 1:] = patches
    return z + table
''')
ex.right("room made by padding", source='''
def to_tokens(patches, cls_token, table):
    z = torch.nn.functional.pad(patches, (0, 0, 1, 0))
    z[:, 0] += cls_token
    return table.unsqueeze(0) + z
''')
ex.right("added to copies of the table", source='''
def to_tokens(patches, cls_token, table):
    z = table.repeat(patches.shape[0], 1, 1)
    z[:, 0] += cls_token
    z[:, 1:] += patches
    return z
''')
ex.right("hstack", source='''
def to_tokens(patches, cls_token, table):
    cls = cls_token.repeat(patches.size(0), 1).unsqueeze(1)
    return torch.add(torch.hstack((cls, patches)), table)
''')
ex.right("place by place", source='''
def to_tokens(patches, cls_token, table):
    columns = [(cls_token + table[0]).expand_as(patches[:, 0])]
    for n, position in enumerate(table[1:]):
        columns.append(patches[:, n] + position)
    return torch.stack(columns, dim=1)
''')
ex.right("where the place is 0", source='''
def to_tokens(patches, cls_token, table):
    place = torch.arange(len(table), device=table.device)[:, None]
    moved = patches[:, (place[:, 0] - 1).clamp(min=0)]
    return torch.where(place == 0, cls_token, moved) + table
''')
