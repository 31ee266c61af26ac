"""Exercise 6.9: attention rollout, from the class token, which comes first, back to the patches."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def rollout(weights: Tensor, residual: float = 0.5) -> Tensor:
    """Shares of the patches in the class token:
    weights (L, B, H, T, T) → (B, N)."""
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights.mean(2):
        mixed = (residual * eye + (1 - residual) * layer) @ mixed
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
'''
ex = exercise(
    "6.9", ANSWER, points=11, minutes=16, difficulty=3, reread="sec-vit-rollout", equation="eq-rollout"
)
ex.shares = ("weights",)


@ex.maker
def maps(normal, L, B, H, N, sharp=2.0, dtype=torch.float32, **given):
    weights = (sharp * normal(L, B, H, 1 + N, 1 + N, dtype=torch.float64)).softmax(-1)
    return {"weights": weights.to(dtype), **given}


ex.probe("three layers", L=3, B=2, H=5, N=7)
ex.probe("two layers, much kept", L=2, B=3, H=2, N=5, residual=0.8)
ex.probe("four layers, nothing kept", L=4, B=2, H=3, N=5, residual=0.0)
ex.probe("one layer, one image, one head", L=1, B=1, H=1, N=3)
ex.probe("one patch", L=2, B=3, H=2, N=1)
ex.probe("sharp weights", L=3, B=2, H=3, N=11, sharp=5.0)
ex.probe("double precision", L=3, B=2, H=2, N=5, dtype=torch.float64)
ex.probe("numbers with gaps in memory", L=2, B=2, H=3, N=5, strided=True)
ex.hidden("five layers, little kept", L=5, B=2, H=3, N=5, sharp=1.0, residual=0.1)
ex.hidden("one head, thirteen patches", L=2, B=3, H=1, N=13, sharp=3.0)


@ex.law("the shares sum to one", "They say where all of the picture came from.")
def sum_to_one(run, probe):
    shares = run(probe)
    return shares.sum(-1), torch.ones(len(shares))


@ex.law(
    "a layer in which every token looks at itself changes nothing", "Its matrix is the identity."
)
def a_silent_layer(run, probe):
    weights = probe.args["weights"]
    idle = torch.eye(weights.shape[-1]).expand_as(weights[:1])
    longer = torch.cat([weights[:2], idle, weights[2:]])
    return run(probe.having("law", weights=longer)), run(probe)


LAYER, READ = "(residual * eye + (1 - residual) * layer)", "mixed[:, 0, 1:]"
SCALED = "shares / shares.sum(-1, keepdim=True)"
ex.wrong(
    "the first layer on the left",
    "A later layer acts on what the earlier ones made: its matrix stands on the left.",
    (f"{LAYER} @ mixed", f"mixed @ {LAYER}"), believes="matrices stand in the order of the layers",
)
ex.wrong(
    "the residual forgotten",
    "A layer adds to the stream: a share of each token stays where it was.",
    (LAYER, "layer"), believes="a layer only averages",
)
ex.wrong(
    "kept and brought mixed up",
    "residual is the share of the identity; attention has the rest.",
    (LAYER, "(residual * layer + (1 - residual) * eye)"), believes="residual is the share of attention",
)
ex.wrong(
    "residual is ignored",
    "One half is only the default: use the parameter residual.",
    (LAYER, "0.5 * (eye + layer)"), believes="it is one half in the paper",
)
ex.wrong(
    "the identity in full",
    "Only the share residual of it: the rows of each layer's matrix sum to one.",
    ("(residual * eye", "(eye"), believes="the stream is kept as a whole",
)
ex.wrong(
    "the last layer only",
    "Tokens of the last layer are mixtures already: multiply all layers.",
    ("weights.mean(2)", "weights[-1:].mean(2)"), believes="the last layer has seen everything",
)
ex.wrong(
    "layers added, not multiplied",
    "Each layer mixes what the one before has mixed: a product of matrices.",
    [("mixed = eye\n", "mixed = 0\n"), ("@", "+")], believes="the layers add up",
)
ex.wrong(
    "layers multiplied entry by entry",
    "Layers follow one another as matrices do: @, not *.",
    [("mixed = eye\n", "mixed = 1\n"), ("@", "*")], believes="a product is *",
)
ex.wrong(
    "the largest head instead of the mean",
    "The heads are averaged, so that the rows still sum to one.",
    ("mean(2)", "amax(2)"), ("weights.mean(2)", "F.normalize(weights.amax(2), p=1, dim=-1)"),
    believes="the strongest head decides",
)
ex.wrong(
    "heads summed",
    "The mean of the heads has rows that sum to one; their sum outweighs what the stream keeps.",
    ("mean(2)", "sum(2)"), believes="the heads of a layer add up",
)
ex.wrong(
    "each head rolled out by itself",
    "The next layer reads the sum of all heads: average the heads in each layer, then multiply.",
    [(".mean(2)", ""), (READ, "mixed.mean(1)[:, 0, 1:]")], believes="a head reads its own output",
)
ex.wrong(
    "a column instead of the row",
    "Row 0 says what the class token is made of; column 0 says where the class token went.",
    (READ, "mixed[:, 1:, 0]"), believes="what is in a token stands in its column",
)
ex.wrong(
    "every token asked",
    "The head reads the class token alone: row 0, not the mean of all rows.",
    (READ, "mixed[:, :, 1:].mean(1)"), believes="the picture is in all tokens together",
)
ex.wrong(
    "the class token's own share kept",
    "The result has an entry for each patch: leave out column 0.",
    (READ, "mixed[:, 0]"), believes="the class token is a patch too",
)
ex.wrong(
    "shares that do not sum to one",
    "Without the class token's own share the rest sums to less than one: divide by the sum.",
    (SCALED, "shares"), believes="the shares sum to one already",
)
ex.wrong(
    "a softmax of shares",
    "Shares are made to sum to one by dividing: a softmax would make them nearly equal.",
    (SCALED, "shares.softmax(-1)"), believes="only a softmax makes shares",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    (", device=weights.device", ""), believes="an identity matrix lives nowhere in particular",
)
ex.wrong(
    "the library does the work",
    source="""
def rollout(weights, residual=0.5):
    from pioneers.analysis import attention_rollout

    shares = attention_rollout(list(weights))[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""", believes="the function from the package is an answer",
)
ex.wrong(
    "a layer is missing",
    "The product has a matrix for each of the L layers, from the first to the last.",
    [("mixed = eye\n", "mixed = eye.expand_as(weights[0, :, 0])\n"), ("mean(2)", "mean(2)[1:]")],
    [("mixed = eye\n", "mixed = eye.expand_as(weights[0, :, 0])\n"), ("mean(2)", "mean(2)[:-1]")],
    believes="the identity is the first layer",
)
ex.wrong(
    "one sum for all images",
    "The shares of each image sum to one: divide by the sum over its own patches, the last axis.",
    (SCALED, "shares / shares.sum()"), believes="a sum needs no axis",
)
ex.wrong(
    "normalised over the images",
    "The shares of each image sum to one: divide by the sum over its own patches, the last axis.",
    ("sum(-1, keepdim", "sum(0, keepdim"), believes="any axis will do",
)

ex.right(
    "one row, from the last layer to the first",
    source="""
def rollout(weights, residual=0.5):
    L, B, H, T, _ = weights.shape
    row = torch.zeros(B, 1, T, dtype=weights.dtype, device=weights.device)
    row[:, :, 0] = 1
    for layer in weights.flip(0):
        row = residual * row + (1 - residual) * row @ layer.mean(dim=1)
    return row[:, 0, 1:] / row[:, 0, 1:].sum(dim=-1, keepdim=True)
""",
)
ex.right(
    "each image by itself",
    source="""
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = residual * eye + (1 - residual) * weights.mean(2)
    products = []
    for image in mixed.unbind(1):
        product = eye
        for layer in image:
            product = layer @ product
        products.append(product[0, 1:] / product[0, 1:].sum())
    return torch.stack(products)
""",
)
ex.right(
    "both parts added layer by layer",
    source="""
def rollout(weights, residual=0.5):
    A = weights.mean(2)
    mixed = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device).expand_as(A[0])
    for layer in A:
        mixed = residual * mixed + (1 - residual) * torch.bmm(layer, mixed)
    return F.normalize(mixed[:, 0, 1:], p=1, dim=-1)
""",
)
ex.right("each layer made to sum to one again", source='''
def rollout(weights, residual=0.5):
    T = weights.shape[-1]
    eye = torch.eye(T, dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        a = residual * eye + (1 - residual) * layer.mean(1)
        mixed = a / a.sum(-1, keepdim=True) @ mixed
    return mixed[:, 0, 1:] / mixed[:, 0, 1:].sum(-1, keepdim=True)
''')
ex.right("divided by what the class token leaves", source='''
def rollout(weights, residual=0.5):
    T = weights.shape[-1]
    mixed = torch.eye(T, dtype=weights.dtype, device=weights.device)
    for layer in weights.mean(2):
        mixed = residual * mixed + (1 - residual) * layer @ mixed
    return mixed[:, 0, 1:] / (1 - mixed[:, :1, 0])
''')
ex.equivalent(
    "Weights are square: as many keys as queries.",
    ("1]", "2]"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-1,", "1,"),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("B, 1", "1, B"),
    of="one row, from the last layer to the first",
)
ex.equivalent(
    "All rows of it are alike, and the result is divided by its sum.",
    (" 1,", " 2,"), ("= 1", "= 2"), ("row[:, 0, 1:] ", "row[:, -1, 1:] "),
    ("row[:, 0, 1:].sum", "row[:, -1, 1:].sum"),
    of="one row, from the last layer to the first",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-1", "1"),
    of="one row, from the last layer to the first",
)
ex.right("reduce over a list of matrices", source='''
def rollout(weights, residual=0.5):
    from functools import reduce

    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    layers = torch.lerp(weights.mean(2), eye, residual)
    first = reduce(lambda earlier, later: later @ earlier, layers)[:, 0]
    return first[:, 1:] / first[:, 1:].sum(1, keepdim=True)
''')
ex.right("einsum of the class token's row with all heads", source='''
def rollout(weights, residual=0.5):
    H = weights.shape[2]
    row = F.one_hot(torch.zeros(weights.shape[1], dtype=torch.long), weights.shape[-1]).to(weights)
    for layer in reversed(weights.unbind(0)):
        row = residual * row + torch.einsum("bt,bhts->bs", row, layer) * (1 - residual) / H
    patches = row[:, 1:]
    return patches / torch.einsum("bn->b", patches).unsqueeze(1)
''')
ex.right("the diagonal in place, the product from the left", source='''
def rollout(weights, residual=0.5):
    layers = (1 - residual) * weights.sum(dim=2) / weights.shape[2]
    layers.diagonal(dim1=-2, dim2=-1).add_(residual)
    product = layers[-1]
    for n in range(len(layers) - 2, -1, -1):
        product = torch.bmm(product, layers[n])
    _, shares = product[:, 0].tensor_split([1], dim=-1)
    return shares.div(shares.sum(dim=-1, keepdim=True))
''')
