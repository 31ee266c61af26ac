"""Exercise 1.8: putting the heads back side by side."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, K) → (B, T, H·K): the heads side by side again."""
    B, H, T, K = x.shape
    return x.transpose(1, 2).reshape(B, T, H * K)
'''
ex = exercise(
    "1.8", ANSWER, points=5, minutes=6, difficulty=1, reread="sec-multihead-preview", equation="eq-multihead",
)

ex.inputs(x="B H T K")
ex.probe("3 heads of width 7", B=2, H=3, T=5, K=7)
ex.probe("a single head", B=2, H=1, T=3, K=5)
ex.probe("heads of width 1", B=3, H=5, T=2, K=1)
ex.probe("a batch of one, double precision", B=1, H=2, T=3, K=5, dtype=torch.float64)
ex.probe("numbers with gaps in memory", B=2, H=5, T=3, K=2, strided=True)
ex.hidden("5 heads of width 11", B=3, H=5, T=2, K=11)


@ex.law("merging undoes splitting", "The two are each other's inverse.")
def undoes_split(run, probe):
    x = probe.args["x"].flatten(2)  # three tokens of width 35
    return run(probe.having("law", x=x.unflatten(-1, (5, 7)).transpose(1, 2))), x


MERGED = "x.transpose(1, 2).reshape(B, T, H * K)"
ex.wrong(
    "reshaped without a transpose",
    "The shape is right but tokens and heads are mixed: bring the head axis next to the width first.",
    (".transpose(1, 2)", ""), believes="a reshape to the right shape is right",
)
ex.wrong(
    "the heads shuffled together",
    "The heads stand side by side: first all numbers of head 0, then all of head 1.",
    ("transpose(1, 2)", "permute(0, 2, 3, 1)"), believes="the order inside the width is free",
)
ex.wrong(
    "the heads averaged",
    "Concatenate the heads; averaging throws away what sets them apart.",
    (MERGED, "x.mean(1)"), believes="heads vote",
)
ex.wrong(
    "the heads added up",
    "Concatenate the heads; W^O does the mixing afterwards.",
    (MERGED, "x.sum(1)"), believes="heads add up",
)
ex.wrong(
    "the tokens merged into the width",
    "It is heads and width that merge, (B, T, H·K); the tokens stay apart.",
    (MERGED, "x.reshape(B, H, T * K)"), believes="the last two axes are the ones to merge",
)
ex.wrong(
    "the batch taken for the heads",
    "Axis 0 is the batch and axis 1 the heads: the rows of the batch stay apart.",
    (MERGED, "torch.cat(list(x), dim=-1)"), believes="the first axis is the heads",
)
ex.wrong(
    "not merged yet",
    "After the swap of axes the last two still have to become one.",
    (".reshape(B, T, H * K)", ""), believes="the swap of axes is all there is to undo",
)
ex.wrong(
    "view on a tensor with gaps",
    "",
    ("reshape", "view"), believes="view and reshape are the same",
)
ex.wrong(
    "another pair of axes swapped",
    "Heads and tokens change places, axes 1 and 2; the numbers of a head stay together.",
    ("transpose(1, 2)", "transpose(2, 3)"), believes="the last two axes are the ones to swap",
)

ex.right(
    "heads concatenated",
    source="""
def merge_heads(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)
""",
)
ex.right(
    "permute and flatten",
    source="""
def merge_heads(x):
    return x.permute(0, 2, 1, 3).flatten(start_dim=2)
""",
)
ex.right("einops", source='''
def merge_heads(x):
    from einops import rearrange

    return rearrange(x, "b h t k -> b t (h k)")
''')
ex.right("einsum", source='''
def merge_heads(x):
    return torch.einsum("bhtk->bthk", x).reshape(x.shape[0], x.shape[2], -1)
''')
ex.right("unbound and joined", source='''
def merge_heads(x):
    return torch.cat(x.unbind(1), -1)
''')
ex.right("movedim and contiguous", source='''
def merge_heads(x):
    B, H, T, K = x.shape
    return x.movedim(1, 2).contiguous().view(B, T, H * K)
''')
ex.right("filled in", source='''
def merge_heads(x):
    B, H, T, K = x.shape
    merged = torch.empty(B, T, H * K, dtype=x.dtype, device=x.device)
    for h in range(H):
        merged[..., h * K : (h + 1) * K] = x[:, h]
    return merged
''')
ex.right("through the transpose", source='''
def merge_heads(x):
    return x.mT.flatten(1, 2).mT
''')
