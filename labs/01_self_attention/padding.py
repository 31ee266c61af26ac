"""Exercise 1.6: a mask for sequences of different lengths, True = may attend."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    """Boolean mask (B, 1, 1, S) with S = max_len: True for real tokens."""
    positions = torch.arange(max_len, device=lengths.device)
    return (positions < lengths[:, None])[:, None, None, :]
'''
ex = exercise("1.6", ANSWER, points=7, minutes=10, difficulty=2, reread="sec-padding", equation="eq-mask")

ex.probe("three sequences, the longest shorter than max_len", lengths=[2, 5, 3], max_len=7)
ex.probe("the longest fills the row", lengths=[3, 1], max_len=3)
ex.probe("an empty sequence", lengths=[0, 2, 5], max_len=5)
ex.probe("a batch of one, 32-bit lengths", lengths=torch.tensor([3], dtype=torch.int32), max_len=5)
ex.hidden("five sequences", lengths=[7, 1, 11, 0, 4], max_len=13)
ex.hidden("all empty", lengths=[0, 0], max_len=3)
ex.own(lambda whole: {"lengths": whole(0, 9, 4), "max_len": whole(9, 15)})

AXES = "[:, None, None, :]"
ex.wrong(
    "True means hidden",
    "In this book True means that the token may be attended to: real tokens are True, padding False.",
    ("<", ">="), believes="a padding mask marks the padding",
)
ex.wrong(
    "one token too many",
    "Positions count from 0, so the real ones are those with position < length.",
    ("<", "<="), believes="positions count from one",
)
ex.wrong(
    "one token too few",
    "Positions count from 0, so the last real token is at length - 1 and belongs to the sequence.",
    ("lengths[:, None]", "lengths[:, None] - 1"), believes="the last token is the end mark",
)
ex.wrong(
    "no axes for heads and queries",
    "Scores are (B, H, T, S): a mask (B, S) would be paired with the wrong axes; make it (B, 1, 1, S).",
    (AXES, ""), believes="broadcasting will find the axes",
)
ex.wrong(
    "max_len is ignored",
    "Batches are often padded further than their longest sequence: the mask must be max_len wide.",
    ("arange(max_len", "arange(lengths.max()"), believes="the longest sequence sets the width",
)
ex.wrong(
    "padding in front",
    "The padding stands behind the real tokens here, not before them.",
    (AXES, f"{AXES}.flip(-1)"), believes="the last tokens are the real ones",
)
ex.wrong(
    "a mask of numbers",
    source="""
def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, 1, max_len)
    for i, n in enumerate(lengths):
        mask[i, :, :, :n] = 1
    return mask
""", believes="ones and zeros are a mask",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    (", device=lengths.device", ""), believes="everything lives on the CPU",
)
ex.wrong(
    "an axis too few",
    "Scores are (B, H, T, S): the mask needs an axis for the heads and one for the queries, (B, 1, 1, S).",
    (AXES, "[:, None, :]"), believes="one axis more will do",
)

ex.right(
    "row by row",
    source="""
def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, 1, max_len, dtype=torch.bool, device=lengths.device)
    for i, length in enumerate(lengths.tolist()):
        mask[i, ..., :length] = True
    return mask
""",
)
ex.right(
    "positions kept in four axes",
    source="""
def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device).view(1, 1, 1, -1)
    return lengths.view(-1, 1, 1, 1) > positions
""",
)
ex.right("lengths on the left", source='''
def padding_mask(lengths, max_len):
    return lengths[:, None, None, None] > torch.arange(max_len, device=lengths.device)
''')
ex.right("not behind the end", source='''
def padding_mask(lengths, max_len):
    behind = torch.arange(max_len, device=lengths.device).expand(len(lengths), -1) >= lengths.unsqueeze(1)
    return ~behind.unsqueeze(1).unsqueeze(1)
''')
ex.right("counted with cumsum", source='''
def padding_mask(lengths, max_len):
    count = torch.ones(len(lengths), max_len, device=lengths.device).cumsum(-1)
    return (count <= lengths[:, None])[:, None, None]
''')
ex.right("a nested list", source='''
def padding_mask(lengths, max_len):
    rows = [[[[s < n for s in range(max_len)]]] for n in lengths.tolist()]
    return torch.tensor(rows, device=lengths.device)
''')
ex.right("rows of a triangle", source='''
def padding_mask(lengths, max_len):
    table = torch.ones(max_len + 1, max_len, dtype=torch.bool, device=lengths.device).tril(-1)
    return table[lengths.long()].reshape(-1, 1, 1, max_len)
''')
ex.right("stacked, the axes put in at the end", source='''
def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return torch.stack([positions.lt(n) for n in lengths]).view(len(lengths), 1, 1, max_len)
''')
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    ("torch.bool, device=lengths.device", "torch.bool"),
    of="row by row",
)
