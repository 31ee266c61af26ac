"""Exercise 6.8: the attention distance of each head, in pixels.

The class token comes first in ``weights``; every query gives some weight to patches.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.symptoms import wrong_only_where

ANSWER = '''
def attention_distance(
    weights: Tensor, columns: int, patch_size: int
) -> Tensor:
    """Mean distance in pixels from query to key:
    weights (B, H, 1 + N, 1 + N) → (H,)."""
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = patch_size * torch.stack((n // columns, n % columns), dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).sum(-1).mean(dim=(0, 2))
'''
ex = exercise(
    "6.8", ANSWER, points=10, minutes=14, difficulty=2, reread="sec-vit-distance",
    equation="eq-attention-distance",
)
ex.shares = ("weights",)


@ex.maker
def attention(normal, B, H, grid, patch_size, sharp=1.0, dtype=torch.float32):
    """Weights of patches in a ``grid`` of (rows, columns)."""
    T = 1 + grid[0] * grid[1]
    weights = (sharp * normal(B, H, T, T, dtype=torch.float64)).softmax(-1).to(dtype)
    return {"weights": weights, "columns": grid[1], "patch_size": patch_size}


ex.probe("a wide grid", B=2, H=3, grid=(2, 5), patch_size=7)
ex.probe("a tall grid", B=3, H=2, grid=(5, 3), patch_size=2)
ex.probe("a square grid", B=2, H=5, grid=(3, 3), patch_size=16)
ex.probe("one image, one head", B=1, H=1, grid=(2, 3), patch_size=5)
ex.probe("one row of patches", B=2, H=3, grid=(1, 7), patch_size=3)
ex.probe("sharp weights, patches of one pixel", B=2, H=3, grid=(3, 2), patch_size=1, sharp=4.0)
ex.probe("numbers with gaps in memory", B=2, H=3, grid=(2, 3), patch_size=5, strided=True)
ex.probe("double precision", B=2, H=3, grid=(3, 2), patch_size=3, dtype=torch.float64)
ex.hidden("seven columns", B=3, H=2, grid=(2, 7), patch_size=13, sharp=2.0)
ex.hidden("one column", B=2, H=5, grid=(5, 1), patch_size=2)


@ex.law("what the class token gets changes nothing", "The distance is that among patches.")
def blind_to_class_token(run, probe):
    rest = probe.args["weights"][..., 1:]
    weights = torch.cat((torch.full_like(rest[..., :1], 0.5), rest / 2 / rest.sum(-1, keepdim=True)), dim=-1)
    return run(probe.having("law", weights=weights)), run(probe)


@ex.law("a head that looks at its own patch only has distance 0", "It goes nowhere.")
def own_patch(run, probe):
    weights = torch.eye(7).expand(2, 3, 7, 7)
    return run(probe.having("law", weights=weights, columns=2, patch_size=11)), torch.zeros(3)


def is_no_square(case):
    return case.probe.args["weights"].shape[-1] - 1 != case.probe.args["columns"] ** 2


SCALED, PLACES = "shares / shares.sum(-1, keepdim=True)", "(n // columns, n % columns)"
LENGTH, MEAN = "torch.cdist(centres, centres)", ".sum(-1).mean(dim=(0, 2))"
ex.wrong(
    "shares that do not sum to one",
    "Without the class token a row sums to less than one: divide it by its sum.",
    (f"    shares = {SCALED}\n", ""), believes="rows sum to one anyway",
)
ex.wrong(
    "normalised over the queries",
    "Each query's weights sum to one: divide by the sum over the last axis, the keys.",
    ("sum(-1, keepdim", "sum(-2, keepdim"), believes="a column sums to one",
)
ex.wrong(
    "a second softmax",
    "The weights are shares already: divide them by their sum.",
    (SCALED, "shares.softmax(-1)"), believes="only a softmax makes shares",
)
ex.wrong(
    "the class token taken for the last one",
    "It stands in front: leave out row 0 and column 0.",
    ("1:, 1:]", ":-1, :-1]"), believes="the class token comes last",
)
ex.wrong(
    "counted in patches",
    "The distance is asked for in pixels: neighbouring centres are patch_size apart.",
    ("patch_size * ", ""), believes="a step is a step",
)
ex.wrong(
    "steps along rows and columns",
    "The straight line between two centres: the root of the sum of squares.",
    ("cdist(centres, centres)", "cdist(centres, centres, p=1)"), believes="distance is rows plus columns",
)
ex.wrong(
    "the root forgotten",
    "The distance is the root of the sum of squares: squared, far keys count far too much.",
    (LENGTH, "(centres[:, None] - centres).square().sum(-1)"), believes="the sum of squares is the distance",
)
ex.wrong(
    "distance along the reading order",
    "Patches n and n + 1 may stand at opposite ends of the grid: find row and column of each.",
    (PLACES, "(n,)"), believes="patches stand in a line", section="sec-vit-patchify",
)
ex.wrong(
    "patches numbered column by column",
    "Patches come in reading order: patch n is in row n // columns and column n % columns.",
    (PLACES, "(n % (len(n) // columns), n // (len(n) // columns))"),
    believes="row and column are remainder and quotient", section="sec-vit-patchify",
)
ex.wrong(
    "summed over the queries",
    "The distance of a head is a mean over its queries and images.",
    (MEAN, ".sum((-1, -2)).mean(0)"), believes="every query adds its distance",
)
ex.wrong(
    "the mean over the keys",
    "The shares are the weights of the mean over keys: sum their products, do not divide by N again.",
    (MEAN, ".mean(dim=(0, 2, 3))"), believes="a mean divides by the number of keys",
)
ex.wrong(
    "one number for all heads",
    "Heads differ, and that is what is to be seen: one distance for each.",
    ("dim=(0, 2)", ""), believes="a layer has one distance",
)
ex.wrong(
    "one number for each image",
    "The mean is over images as well: the result is (H,).",
    ("dim=(0, 2)", "-1"), believes="every image has its own distances",
)
ex.wrong(
    "the input is overwritten",
    "",
    ("shares = shares / ", "shares /= "), believes="dividing in place saves memory",
)
ex.wrong(
    "summed over queries and images",
    "The distance is the mean over queries and images: otherwise it grows with their number.",
    (".mean(dim=(0, 2))", ".sum(dim=(0, 2))"),
    believes="a sum is as good as a mean",
)
ex.wrong(
    "a square grid taken for granted",
    "The grid has `columns` columns; it need not be a square.",
    ("n // columns, n % columns", "n // math.isqrt(len(n)), n % math.isqrt(len(n))"),
    believes="images are square",
)
ex.wrong(
    "one sum for all queries",
    "Scale the weights of each query by themselves: one that looks much at the class token counts as well.",
    (SCALED, "shares / shares.sum((-2, -1), keepdim=True) * shares.shape[-1]"),
    (SCALED, "shares / shares.sum((0, 2, 3), keepdim=True) * shares[:, 0, 0].numel()"),
    believes="a weighted mean has one sum of weights",
)
ex.wrong(
    "a square grid taken for granted",
    "The grid has `columns` columns; it need not be a square.",
    ("n // columns, n % columns", "n // round(len(n) ** 0.5), n % round(len(n) ** 0.5)"),
    ("n // columns, n % columns", "n // math.ceil(len(n) ** 0.5), n % math.ceil(len(n) ** 0.5)"),
    believes="images are square", shows=wrong_only_where(is_no_square),
)

ex.right(
    "rows and columns apart",
    source="""
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    down, right = n // columns - (n // columns)[:, None], n % columns - (n % columns)[:, None]
    steps = (down.square() + right.square()).to(weights.dtype).sqrt()
    return patch_size * torch.einsum("bhqk,qk->h", shares, steps) / (len(weights) * len(n))
""",
)
ex.right(
    "a loop over queries",
    source="""
def attention_distance(weights, columns, patch_size):
    N = weights.shape[-1] - 1
    places = [(n // columns * patch_size, n % columns * patch_size) for n in range(N)]
    total = 0
    for q in range(N):
        row = weights[:, :, 1 + q, 1:]
        lengths = weights.new_tensor([math.dist(places[q], place) for place in places])
        total = total + (row * lengths).sum(-1) / row.sum(-1)
    return total.mean(0) / N
""",
)
ex.right("divided by what the class token leaves", source='''
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:] / (1 - weights[:, :, 1:, :1])
    n = torch.arange(shares.shape[-1], device=weights.device)
    row, column = n // columns, n % columns
    steps = (row[:, None] - row) ** 2 + (column[:, None] - column) ** 2
    pixels = patch_size * steps.to(weights.dtype).sqrt()
    return torch.einsum("bhqk,qk->h", shares, pixels) / (len(n) * len(weights))
''')
ex.equivalent(
    "Weights are square: as many keys as queries.",
    ("1]", "2]"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (
        "patch_size * torch.stack((n // columns, n % columns), dim=1).to(weights.dtype",
        "(patch_size * torch.stack((n // columns, n % columns), dim=1).to(weights.dtype)).detach(",
    ),
)
ex.equivalent(
    "In a sum or mean over everything the additional axis, or the order, does not matter.",
    ("-1)", "-2)"),
)
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    (", device=weights.device", ""),
    of="rows and columns apart",
)
ex.equivalent(
    "Weights are square: as many keys as queries.",
    ("1]", "2]"),
    of="rows and columns apart",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("n // columns - (n // columns)[:, None]", "(n // columns)[:, None] - n // columns"),
    ("n % columns - (n % columns)[:, None]", "(n % columns)[:, None] - n % columns"),
    of="rows and columns apart",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("t()", "t().detach()"),
    of="rows and columns apart",
)
ex.right("normalize and hypot", source='''
def attention_distance(weights, columns, patch_size):
    shares = F.normalize(weights[..., 1:, 1:], p=1, dim=-1)
    n = torch.arange(shares.shape[-1], device=weights.device)
    row, column = (n // columns).to(weights.dtype), (n % columns).to(weights.dtype)
    pixels = patch_size * torch.hypot(row - row[:, None], column - column[:, None])
    return (shares * pixels).sum(dim=(0, 2, 3)) / shares[:, 0, :, 0].numel()
''')
ex.right("head by head", source='''
def attention_distance(weights, columns, patch_size):
    def centre(n):
        return patch_size * (n // columns), patch_size * (n % columns)

    N = weights.shape[-1] - 1
    steps = weights.new_tensor([[math.dist(centre(q), centre(k)) for k in range(N)] for q in range(N)])
    reach = []
    for head in weights[:, :, 1:, 1:].unbind(1):
        reach.append(((head * steps).sum(-1) / head.sum(-1)).mean())
    return torch.stack(reach)
''')
ex.right("places as complex numbers", source='''
def attention_distance(weights, columns, patch_size):
    seen = weights[:, :, 1:, 1:]
    n = torch.arange(seen.shape[-1], device=weights.device)
    place = torch.complex((n % columns).to(weights.dtype), (n // columns).to(weights.dtype))
    steps = (place - place[:, None]).abs()
    return patch_size * (torch.einsum("bhqk,qk->bhq", seen, steps) / seen.sum(3)).mean(2).mean(0)
''')
ex.right("a norm of differences, tensordot", source='''
def attention_distance(weights, columns, patch_size):
    patches = weights[:, :, 1:, 1:].clone()
    patches /= patches.sum(dim=3, keepdim=True)
    rows = patches.shape[-1] // columns
    grid = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).to(weights) * patch_size
    lengths = torch.linalg.vector_norm(grid[:, None] - grid, dim=-1)
    return torch.tensordot(patches.mean(0), lengths, dims=2) / (rows * columns)
''')
ex.right("keys on a grid, query by query", source='''
def attention_distance(weights, columns, patch_size):
    B, H, N = weights.shape[0], weights.shape[1], weights.shape[2] - 1
    keys = weights[:, :, 1:, 1:].unflatten(3, (-1, columns))
    down = torch.arange(N // columns, device=weights.device)[:, None]
    right = torch.arange(columns, device=weights.device)
    total = weights.new_zeros(B, H)
    for q in range(N):
        squares = (down - q // columns) ** 2 + (right - q % columns) ** 2
        steps = patch_size * squares.to(weights.dtype).sqrt()
        total += (keys[:, :, q] * steps).sum((2, 3)) / keys[:, :, q].sum((2, 3))
    return total.sum(0) / (B * N)
''')
