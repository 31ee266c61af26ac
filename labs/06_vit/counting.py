"""Exercise 6.7: parameters and multiply-adds of a ViT for several patch sizes.

All inputs and results are whole numbers; the counts go beyond what float32 can hold exactly.
"""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def vit_costs(
    patch_sizes: Tensor, height: int, width: int, channels: int,
    d_model: int, num_layers: int, num_classes: int,
) -> Tensor:
    """Parameters and multiply-adds for each patch side (K,): (K, 2),
    int64."""
    P, D = patch_sizes, d_model
    N = (height // P) * (width // P)
    T = N + 1
    patch_matrix = channels * P**2 * D
    blocks = num_layers * (12 * D**2 + 13 * D)
    parameters = (patch_matrix + D) + D + T * D + blocks + 2 * D + (D + 1) * num_classes
    work = N * patch_matrix + num_layers * (12 * T * D**2 + 2 * T**2 * D) + D * num_classes
    return torch.stack((parameters, work), dim=1)
'''
ex = exercise(
    "6.7", ANSWER, points=9, minutes=14, difficulty=2, reread=("sec-vit-parameters", "sec-vit-patch-size"),
    equation="eq-vit-parameters",
)


@ex.maker
def model(normal, patch_sizes, image, d_model, num_layers, num_classes):
    """``image`` is (height, width, channels)."""
    sizes = dict(zip(("height", "width", "channels"), image, strict=True))
    sizes |= {"d_model": d_model, "num_layers": num_layers, "num_classes": num_classes}
    return {"patch_sizes": patch_sizes, **sizes}


BASE = {"image": (224, 224, 3), "d_model": 768, "num_layers": 12, "num_classes": 1000}
HUGE = {"d_model": 1280, "num_layers": 32}
SMALL = "a small model, a wide image"
ex.probe("ViT-B with patches of 32, 16 and 8 pixels", patch_sizes=[32, 16, 8], **BASE)
ex.probe("ViT-H with patches of 14 and 8 pixels", patch_sizes=[14, 8], **BASE | HUGE)
ex.probe(SMALL, patch_sizes=[2, 6, 1], image=(12, 30, 5), d_model=14, num_layers=3, num_classes=7)
TALL = {"image": (35, 15, 2), "d_model": 6, "num_layers": 1, "num_classes": 11}
ex.probe("one patch size, a tall image, one block", patch_sizes=[5], **TALL)
TINY = {"image": (7, 7, 1), "d_model": 10, "num_layers": 2, "num_classes": 3}
ex.probe("the whole image one patch", patch_sizes=[7], **TINY)
ex.hidden("ViT-H at 518 pixels", patch_sizes=[14, 7, 37], image=(518, 518, 3), **HUGE, num_classes=21843)
WIDE = {"image": (10, 70, 2), "d_model": 22, "num_layers": 5, "num_classes": 3}
ex.hidden("a very wide image", patch_sizes=[5, 10, 2, 1], **WIDE)


@ex.own
def any_model(whole):
    image = 6 * whole(1, 5), 6 * whole(1, 5), whole(1, 4)
    sizes = {"d_model": 2 * whole(3, 20), "num_layers": whole(1, 5), "num_classes": whole(2, 20)}
    return {"patch_sizes": [2, 3, 6], "image": image, **sizes}


@ex.law("each further block costs the same", "Blocks are alike.", on=SMALL)
def blocks_add_up(run, probe):
    two, three, four = (run(probe.having("law", num_layers=L)) for L in (2, 3, 4))
    return three - two, four - three


def is_fraction(symptom):
    return symptom.stage == "dtype" and symptom.case.outcome.tensor.is_floating_point()


def is_rounded(symptom):
    """Right to the seven digits of float32, and not beyond."""
    pairs = ((case.outcome.tensor.double(), case.expected.tensor.double()) for case in symptom.cases)
    return symptom.stage == "value" and all(torch.allclose(*pair, rtol=1e-6, atol=0) for pair in pairs)


BLOCK, SCORES = "(12 * T * D**2 + 2 * T**2 * D)", "2 * T**2 * D"
LAST_NORM = (" + 2 * D + (D", " + (D")
COST = {"section": "sec-vit-patch-size", "equation": "eq-vit-cost"}
TOKENS = {"section": "sec-vit-pixels", "equation": "eq-vit-patches"}
ex.wrong(
    "a count that is no whole number",
    "Use // where you divide, and keep whole numbers: the result is int64.",
    ("(height // P) * (width // P)", "height * width / P**2"), believes="a quotient may have a fraction",
    shows=is_fraction,
)
ex.wrong(
    "counted in single precision",
    "float32 has seven digits, and the counts have more: stay with int64 all the way.",
    [("P, D = patch_sizes,", "P, D = patch_sizes.float(),"),
     ("(height // P) * (width // P)", "(height / P) * (width / P)"), ("dim=1)", "dim=1).round().long()")],
    believes="a conversion at the end removes a fraction", shows=is_rounded,
)
ex.wrong(
    "the class token forgotten",
    "T = N + 1: the class token has a vector, a row of the table, and goes through every block.",
    [("T = N + 1", "T = N"), (") + D + T", ") + T")], believes="T is the number of patches",
)
ex.wrong(
    "the class token costs nothing",
    "It goes through every block as the patches do: T = N + 1 tokens.",
    (BLOCK, "(12 * N * D**2 + 2 * N**2 * D)"), believes="the class token is free",
)
ex.wrong(
    "two vectors of D numbers are missing",
    "The class token and its row of the position table, or gain and bias of the last LayerNorm.",
    LAST_NORM, believes="nothing stands between the last block and the head",
)
ex.wrong(
    "a vector of D numbers is missing",
    "The class token, its row of the position table (1 + N rows), or the bias of the patch matrix.",
    ("+ T * D +", "+ N * D +"), believes="the class token has no place",
)
ex.wrong(
    "biases forgotten",
    "The patch matrix, the head, and all six linear maps of a block have a bias.",
    [("(patch_matrix + D)", "patch_matrix"), ("13 * D", "4 * D"), ("(D + 1) * num", "D * num")],
    believes="a linear map is its matrix",
)
ex.wrong(
    "norms forgotten",
    "Each LayerNorm has a gain and a bias, 2 D numbers: two in a block, one after the last.",
    [("13 * D", "9 * D"), LAST_NORM], believes="a norm has nothing to learn",
)
ex.wrong(
    "scores without their use",
    "T² D multiply-adds make the scores, and as many mix the values with them.",
    (SCORES, "T**2 * D"), believes="attention is its scores", **COST,
)
ex.wrong(
    "attention without pairs",
    "Every token looks at every token: this part grows with T², not with T.",
    (SCORES, "2 * T * D"), believes="every token costs the same", **TOKENS,
)
ex.wrong(
    "the last block cut short",
    "The lecture's models save most of their last block; here every block is counted in full.",
    (f"num_layers * {BLOCK}", f"(num_layers - 1) * {BLOCK} + 2 * T * D**2 + 10 * D**2 + 2 * T * D"),
    believes="the cost is that of the lecture's models", **COST,
)
ex.wrong(
    "square images only",
    "Height and width are given: the grid has height/P rows and width/P columns.",
    ("(width // P)", "(height // P)"), believes="images are square", **TOKENS,
)
ex.wrong(
    "colours forgotten",
    "A patch has C P² numbers: the patch matrix reads every channel.",
    ("channels * P**2", "P**2"), believes="a patch has P² numbers",
)
ex.wrong(
    "one block only",
    "There are L blocks with weights of their own.",
    [("num_layers * (12 * D", "(12 * D"), ("num_layers * (12 * T", "(12 * T")],
    believes="all blocks are one block",
)
ex.wrong(
    "a vector of D numbers is missing",
    "",
    ("(D + 1) * num_classes", "D * num_classes + num_classes - D"), believes="a term is easily lost",
)
ex.wrong(
    "the biases and norms of the blocks forgotten",
    "A block has 12D² weights, 9D biases and two LayerNorms of 2D numbers each: 12D² + 13D.",
    ("12 * D**2 + 13 * D", "12 * D**2"), believes="matrices are all there is",
)
ex.wrong(
    "the norms of the blocks forgotten",
    "Each block has two LayerNorms, with a gain and a bias each: 4D numbers more.",
    ("12 * D**2 + 13 * D", "12 * D**2 + 9 * D"), believes="a norm has nothing to learn",
)
ex.wrong(
    "the biases of the blocks forgotten",
    "Every linear map has a bias: D for each of the four of attention, 4D and D in the feed-forward network.",
    ("12 * D**2 + 13 * D", "12 * D**2 + 4 * D"), believes="linear maps have no bias",
)
ex.wrong(
    "the head's bias forgotten",
    "The head is a linear map with a bias: (D + 1) numbers for each class.",
    ("(D + 1) * num_classes", "D * num_classes"), believes="the head is a matrix",
)
ex.wrong(
    "the head reads every token",
    "The head reads one vector, that of the class token.",
    ("+ D * num_classes\n", "+ T * D * num_classes\n"), believes="all tokens are classified",
)
ex.wrong(
    "no class token among the tokens",
    "The class token has a position and takes part in every block: T = N + 1.",
    ("T = N + 1", "T = N"), believes="tokens are patches",
)
ex.wrong(
    "scores between patches only",
    "The class token is a query and a key as well: T² scores, not N².",
    ("2 * T**2 * D", "2 * N**2 * D"), believes="attention is between patches",
)
ex.wrong(
    "operations instead of multiply-adds",
    "A multiply-add is counted once here, though it is two operations.",
    ("(parameters, work)", "(parameters, 2 * work)"), believes="a product costs two operations",
)

ex.right(
    "a loop with Python's whole numbers",
    source="""
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    rows = []
    for P in patch_sizes.tolist():
        T = 1 + (height // P) * (width // P)
        linear = [(channels * P * P, d_model)] + num_layers * (
            4 * [(d_model, d_model)] + [(d_model, 4 * d_model), (4 * d_model, d_model)]
        )
        linear += [(d_model, num_classes)]
        tokens = [T - 1] + [T] * (6 * num_layers) + [1]
        vectors = 1 + T + 2 * (2 * num_layers + 1)
        parameters = sum(a * b + b for a, b in linear) + vectors * d_model
        work = sum(n * a * b for n, (a, b) in zip(tokens, linear)) + 2 * num_layers * T * T * d_model
        rows.append([parameters, work])
    return torch.tensor(rows, device=patch_sizes.device)
""",
)
ex.right(
    "column by column",
    source="""
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D = patch_sizes, d_model
    N = height * width // P**2
    T = N + 1
    costs = torch.empty(len(P), 2, dtype=torch.int64, device=P.device)
    costs[:, 0] = D * (channels * P**2 + N + 5) + num_classes * (D + 1) + D * num_layers * (12 * D + 13)
    costs[:, 1] = D * (num_layers * T * (12 * D + 2 * T) + height * width * channels + num_classes)
    return costs
""",
)
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    ("rows, device=patch_sizes.device", "rows"),
    of="a loop with Python's whole numbers",
)
ex.right("a helper for a linear map", source='''
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    def linear(a, b):
        return a * b + b

    D, N = d_model, (height // patch_sizes) * (width // patch_sizes)
    norm = 2 * D
    block = 2 * norm + 4 * linear(D, D) + linear(D, 4 * D) + linear(4 * D, D)
    embedding = linear(channels * patch_sizes**2, D) + D + (N + 1) * D
    parameters = embedding + num_layers * block + norm + linear(D, num_classes)
    attention = 4 * (N + 1) * D * D + 2 * (N + 1) * (N + 1) * D
    work = N * channels * patch_sizes**2 * D + num_layers * (attention + 8 * (N + 1) * D * D)
    return torch.stack([parameters, work + D * num_classes], dim=-1)
''')
ex.right("one patch size at a time, in a helper", source='''
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    def costs(P):
        D, pixels = d_model, channels * P * P
        T = 1 + height // P * (width // P)
        fixed = D + 2 * D + num_classes * (D + 1)
        parameters = fixed + (pixels + 1 + T) * D + num_layers * (12 * D * D + 13 * D)
        return parameters, (T - 1) * pixels * D + num_layers * 2 * T * D * (6 * D + T) + D * num_classes

    return torch.tensor(list(map(costs, patch_sizes.tolist())))
''')
ex.right("block by block, in place", source='''
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    D = d_model
    rows = torch.div(height, patch_sizes, rounding_mode="floor")
    N = rows * torch.div(width, patch_sizes, rounding_mode="floor")
    costs = torch.zeros_like(patch_sizes)[:, None].repeat(1, 2)
    costs[:, 0] += channels * patch_sizes.square() * D + D + D + (N + 1) * D
    costs[:, 1] += N * channels * patch_sizes.square() * D
    for _ in range(num_layers):
        costs[:, 0] += 12 * D * D + 13 * D
        costs[:, 1] += 12 * (N + 1) * D * D + 2 * (N + 1).square() * D
    costs[:, 0] += 2 * D + D * num_classes + num_classes
    costs[:, 1] += D * num_classes
    return costs
''')
ex.right("lists of parts", source='''
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    result = []
    for P in patch_sizes:
        N, D = int(height // P) * int(width // P), d_model
        parts = [channels * int(P) ** 2 * D + D, D, (N + 1) * D, 2 * D, D * num_classes + num_classes]
        parts += num_layers * [2 * D, 4 * D * D + 4 * D, 2 * D, 8 * D * D + 5 * D]
        products = [N * channels * int(P) ** 2 * D, D * num_classes]
        for _ in range(num_layers):
            products += 4 * [(N + 1) * D * D] + 2 * [(N + 1) ** 2 * D] + 2 * [(N + 1) * D * 4 * D]
        result.append(torch.tensor([sum(parts), sum(products)]))
    return torch.stack(result)
''')
ex.right("powers of the number of tokens", source='''
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    L, D, image = num_layers, d_model, height * width * channels
    T = 1 + image // (channels * patch_sizes**2)
    fixed = 4 * D + L * D * (12 * D + 13) + num_classes * (D + 1)
    parameters = fixed + D * (T + channels * patch_sizes**2)
    work = (2 * L * D * T + 12 * L * D**2) * T + D * (image + num_classes)
    return torch.cat((parameters[:, None], work[:, None]), dim=1)
''')
ex.right("shapes of all matrices", source='''
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    D, P = d_model, patch_sizes
    N = height // P * (width // P)
    T = N + 1
    maps = [(N, channels * P * P, D), (1, D, num_classes)]
    vectors = [D, T * D, D, D]
    products = []
    for _ in range(num_layers):
        maps += [(T, D, D)] * 4 + [(T, D, 4 * D), (T, 4 * D, D)]
        vectors += [D] * 4
        products += [T * D * T, T * T * D]
    parameters = sum(b * c + c for _, b, c in maps) + sum(vectors)
    return torch.stack((parameters, sum(a * b * c for a, b, c in maps) + sum(products))).T
''')
