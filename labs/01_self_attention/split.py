"""Exercise 1.7: splitting the width into heads."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, H·K) → (B, H, T, K);
    head h owns the h-th block of K numbers."""
    B, T, D = x.shape
    return x.reshape(B, T, num_heads, D // num_heads).transpose(1, 2)
'''
ex = exercise(
    "1.7", ANSWER, points=6, minutes=8, difficulty=2, reread="sec-multihead-preview", equation="eq-multihead",
)

ex.inputs(x="B T D")
ex.probe("3 heads of width 7", B=2, T=5, D=21, num_heads=3)
ex.probe("a single head", B=2, T=3, D=5, num_heads=1)
ex.probe("heads of width 1", B=3, T=2, D=5, num_heads=5)
ex.probe("a batch of one, double precision", B=1, T=3, D=10, num_heads=2, dtype=torch.float64)
ex.probe("numbers with gaps in memory", B=2, T=3, D=10, num_heads=5, strided=True)
ex.hidden("5 heads of width 11", B=3, T=2, D=55, num_heads=5)

SWAP, AXES = ".transpose(1, 2)", "num_heads, D // num_heads"
ex.wrong(
    "reshaped without a transpose",
    "The shape is right but tokens and heads are mixed: split the last axis first, then swap axes.",
    (f"B, T, {AXES}){SWAP}", "B, num_heads, T, D // num_heads)"),
    believes="a reshape to the right shape is right",
)
ex.wrong(
    "the width dealt out in turn",
    "Head h owns the h-th block of neighbouring numbers, not every num_heads-th number.",
    (f"{AXES}){SWAP}", "D // num_heads, num_heads).permute(0, 3, 1, 2)"),
    believes="the heads take numbers in turn",
)
ex.wrong(
    "heads that overlap",
    "Each head is K wide, so head h begins at h · K: its block is x[..., h * K : (h + 1) * K].",
    source="""
def split_heads(x, num_heads):
    K = x.shape[-1] // num_heads
    return torch.stack([x[..., h : h + K] for h in range(num_heads)], dim=1)
""", believes="head h begins at h",
)
ex.wrong(
    "heads left behind the tokens",
    "The head axis must come before the tokens, (B, H, T, K), so that each head multiplies T by T.",
    (SWAP, ""), believes="cutting the last axis is enough",
)
ex.wrong(
    "heads folded into the batch",
    "Keep heads and batch apart, (B, H, T, K), so that masks can tell them apart.",
    (SWAP, f"{SWAP}.flatten(0, 1)"), believes="heads are more batch",
)
ex.wrong(
    "number of heads taken for their width",
    "num_heads counts the heads; each is d_model / num_heads wide.",
    (AXES, "D // num_heads, num_heads"), believes="num_heads is the size of a head",
)
ex.wrong(
    "transposed before the split",
    "Once tokens and width are swapped, a reshape cuts across tokens: split the last axis first.",
    (f"x.reshape(B, T, {AXES}){SWAP}", f"x{SWAP}.reshape(B, num_heads, T, D // num_heads)"),
    believes="the order of transpose and split is free",
)

ex.right(
    "slices stacked",
    source="""
def split_heads(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
""",
)
ex.right(
    "einops",
    source="""
def split_heads(x, num_heads):
    from einops import rearrange

    return rearrange(x, "b t (h k) -> b h t k", h=num_heads)
""",
)
ex.right("unflatten", source='''
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
''')
ex.right("permute", source='''
def split_heads(x, num_heads):
    B, T, D = x.shape
    return torch.permute(x.reshape(B, T, num_heads, D // num_heads), (0, 2, 1, 3))
''')
ex.right("slices in a loop", source='''
def split_heads(x, num_heads):
    width = x.shape[-1] // num_heads
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(num_heads)], dim=1)
''')
ex.right("einsum", source='''
def split_heads(x, num_heads):
    return torch.einsum("bthk->bhtk", x.reshape(*x.shape[:2], num_heads, -1))
''')
ex.right("filled in", source='''
def split_heads(x, num_heads):
    B, T, D = x.shape
    K = D // num_heads
    heads = x.new_empty(B, num_heads, T, K)
    for h in range(num_heads):
        heads[:, h] = x[:, :, h * K : h * K + K]
    return heads
''')
ex.right("through the transpose", source='''
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.mT.reshape(B, num_heads, D // num_heads, T).mT
''')
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("x.reshape", "x.view"),
)
