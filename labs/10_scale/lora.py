"""Exercise 10.6: a linear layer with a low-rank adapter, LoRA."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def lora_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    down: Tensor,
    up: Tensor,
    alpha: float,
) -> Tensor:
    """A frozen linear layer plus α/R times its adapter, (B, T, F)."""
    frozen = x @ weight.detach().T + bias.detach()
    return frozen + alpha / len(down) * (x @ down.T @ up.T)
'''
ex = exercise("10.6", ANSWER, points=6, minutes=9, difficulty=1, reread="sec-lora", equation="eq-lora")


@ex.maker
def layer(normal, B, T, D, F, R, alpha=3.0, dtype=torch.float32, size=1.0):
    args = {"x": normal(B, T, D), "weight": normal(F, D), "bias": normal(F)}
    args |= {"down": size * normal(R, D), "up": normal(F, R)}
    return {name: x.to(dtype) / 2 for name, x in args.items()} | {"alpha": alpha}


ex.probe("from five numbers to seven, rank 2", B=3, T=11, D=5, F=7, R=2)
ex.probe("from thirteen numbers to three, rank 5", B=2, T=5, D=13, F=3, R=5, alpha=16.0)
ex.probe("rank 1, a batch of one", B=1, T=3, D=5, F=11, R=1, alpha=0.5)
ex.probe("as many outputs as inputs", B=2, T=3, D=7, F=7, R=3, alpha=5.0)
ex.probe("a rank above the width", B=2, T=7, D=3, F=5, R=11, alpha=2.0)
ex.probe("an adapter that does nothing yet", B=2, T=3, D=5, F=7, R=3, size=0.0)
ex.probe("double precision", B=2, T=3, D=5, F=7, R=2, dtype=torch.float64)
ex.probe("half precision", B=2, T=3, D=5, F=7, R=2, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, T=5, D=3, F=7, R=2, strided=True)
ex.hidden("a square of everything", B=5, T=5, D=5, F=5, R=5, alpha=1.0)
ex.hidden("alpha zero", B=2, T=3, D=7, F=2, R=3, alpha=0.0)
ex.hidden("a negative alpha", B=3, T=2, D=11, F=13, R=7, alpha=-4.0)


@ex.law("merged, it is one linear layer", "x Wᵀ + s (x Aᵀ) Bᵀ = x (W + s B A)ᵀ, whatever the numbers are.")
def merged(run, probe):
    g = probe.args
    weight = g["weight"] + g["alpha"] / len(g["down"]) * g["up"] @ g["down"]
    return run(probe), run(probe.having("law", weight=weight, up=torch.zeros_like(g["up"])))


@ex.law("twice the rank with halves of zeros is half the scale", "The scale is alpha divided by the rank.")
def padded(run, probe):
    g = probe.args
    down = torch.cat((g["down"], torch.zeros_like(g["down"])))
    up = torch.cat((g["up"], g["up"]), 1)
    return run(probe), run(probe.having("law", down=down, up=up, alpha=2 * g["alpha"]))


FROZEN, SCALE = "x @ weight.detach().T + bias.detach()", "alpha / len(down)"
RESULT = "frozen + alpha / len(down) * (x @ down.T @ up.T)"
ex.wrong(
    "alpha is not divided by the rank",
    "The scale is α/R, so that α need not be tuned again when the rank changes.",
    (SCALE, "alpha"), believes="alpha is the scale",
)
ex.wrong(
    "no scale at all",
    "The adapter's output is multiplied by α/R.",
    (f"{SCALE} * ", ""), (SCALE, "1 / len(down)"), believes="the adapter learns its scale",
)
ex.wrong(
    "divided by the root of the rank",
    "That is a later variant (rank-stabilised LoRA). Here it is α/R.",
    (SCALE, "alpha / len(down) ** 0.5"), believes="scales have roots",
)
ex.wrong(
    "divided by another axis",
    "The rank is the short axis that both matrices share: rows of down, columns of up.",
    (SCALE, "alpha / len(up)"), (SCALE, "alpha / down.shape[1]"), believes="any width is the rank",
)
ex.wrong(
    "the rank divided by alpha",
    "α is above the fraction line.",
    (SCALE, "len(down) / alpha"), believes="a large rank needs a large scale",
    shows=lambda symptom: symptom.stage in ("value", "finite") and upside_down(symptom),
)


def upside_down(symptom):
    """Whether every result is what R/α in the place of α/R gives."""
    for case in symptom.cases:
        args = {name: x.double() if hasattr(x, "double") else x for name, x in case.probe.args.items()}
        args["alpha"] = len(args["down"]) ** 2 / args["alpha"]
        if not torch.allclose(case.outcome.tensor.double(), ex.reference(**args), rtol=0.02, atol=0.02):
            return False
    return True


ex.wrong(
    "the scale is fixed",
    "α is a parameter.",
    (SCALE, "16 / len(down)"), (SCALE, "2"), believes="α is 16",
)
ex.wrong(
    "the frozen layer is left out",
    "The adapter is added to what the layer computed before.",
    (RESULT, f"{SCALE} * (x @ down.T @ up.T)"), believes="the adapter replaces the layer",
)
ex.wrong(
    "the adapter is left out",
    "Its output is added to that of the frozen layer.",
    (RESULT, "frozen + 0 * (x @ down.T @ up.T)"), believes="the adapter is for training only",
)
ex.wrong(
    "the frozen layer is scaled too",
    "The scale belongs to the adapter alone: the frozen layer keeps its output.",
    (RESULT, f"{SCALE} * (frozen + x @ down.T @ up.T)"), believes="the scale is for the sum",
)
ex.wrong(
    "the bias is scaled too",
    "The scale belongs to the adapter alone.",
    [(FROZEN, "x @ weight.detach().T"), ("(x @ down.T @ up.T)", "(x @ down.T @ up.T + bias.detach())")],
    believes="the bias comes last",
)
ex.wrong(
    "the bias is left out",
    "The frozen layer has a bias.",
    (FROZEN, "x @ weight.detach().T"), believes="LoRA has no bias",
)
ex.wrong(
    "the bias is added twice",
    "The adapter has no bias.",
    ("(x @ down.T @ up.T)", "F.linear(x @ down.T, up, bias.detach())"),
    [(FROZEN, "x @ weight.detach().T + 2 * bias.detach()")], believes="every linear map has a bias",
)
ex.wrong(
    "a function between the two maps",
    "LoRA's adapter is linear, which is why it can be merged; other adapters have a ReLU here.",
    ("(x @ down.T @ up.T)", "((x @ down.T).relu() @ up.T)"),
    ("(x @ down.T @ up.T)", "(F.gelu(x @ down.T) @ up.T)"), believes="an adapter is a small network",
)
ex.wrong(
    "a product instead of a sum",
    "The adapter's output is added.",
    (RESULT, f"frozen * ({SCALE} * (x @ down.T @ up.T))"),
    (RESULT, f"frozen * (1 + {SCALE} * (x @ down.T @ up.T))"), believes="the adapter scales the layer",
)
ex.wrong(
    "the adapter is subtracted",
    "The adapter's output is added.",
    ("frozen + alpha", "frozen - alpha"), believes="it corrects the layer",
)
ex.wrong(
    "two shapes do not fit",
    "All matrices are stored as in nn.Linear: x @ weight.T in the layer; x @ down.T, then @ up.T, beside it.",
    ("weight.detach().T", "weight.detach()"), believes="x @ W is a layer",
    shows=lambda symptom: symptom.stage == "runs" and "cannot be multiplied" in symptom.case.outcome.error,
)
ex.wrong(
    "down is not trained",
    "Both matrices of the adapter learn; only the layer below it is frozen.",
    ("x @ down.T", "x @ down.detach().T"), believes="a random projection is enough",
    shows=lambda symptom: symptom.stage == "gradient" and symptom.case.outcome.grads.get("down") is None,
)
ex.wrong(
    "nothing reaches the layers below",
    "The weights are frozen, not the input: layers below have adapters that need its gradient.",
    [(FROZEN, "x.detach() @ weight.detach().T + bias.detach()")], believes="frozen means no gradient at all",
    shows=lambda symptom: symptom.stage == "gradient",
)
ex.wrong(
    "the input is overwritten",
    "",
    (f"frozen = {FROZEN}\n    return {RESULT}",
     f"weight += {SCALE} * up @ down\n    return x @ weight.T + bias"),
    believes="merging changes the layer",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    (SCALE, "torch.full((len(up),), alpha / len(down), dtype=x.dtype)"),
    believes="tensors are where they are needed",
)
ex.wrong(
    "the library does the work",
    source="""
def lora_linear(x, weight, bias, down, up, alpha):
    from pioneers.layers import LoRALinear

    layer = LoRALinear(nn.Linear(x.shape[-1], len(up)), rank=len(down), alpha=alpha)
    layer.linear.weight.data, layer.linear.bias.data = weight, bias
    layer.lora_a.data, layer.lora_b.data = down, up
    return layer(x)
""", believes="the package has a function for that",
)
ex.wrong(
    "a division that rounds down",
    "// makes 0 of α/R where α is smaller than the rank: divide with /.",
    (SCALE, "alpha // len(down)"), (SCALE, "int(alpha / len(down))"), believes="sizes are whole numbers",
)

ex.right(
    "merged first",
    source="""
def lora_linear(x, weight, bias, down, up, alpha):
    return F.linear(x, weight + (alpha / down.shape[0]) * torch.matmul(up, down), bias)
""",
)
ex.right(
    "einsum",
    source="""
def lora_linear(x, weight, bias, down, up, alpha):
    base = torch.einsum("btd,fd->btf", x, weight) + bias
    return base + torch.einsum("btd,rd,fr->btf", x, down, up).mul(alpha).div(up.shape[1])
""",
)
ex.right(
    "rank by rank",
    source="""
def lora_linear(x, weight, bias, down, up, alpha):
    out = torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight.T).reshape(*x.shape[:2], -1)
    for row, column in zip(down, up.T):
        out = out + alpha / up.shape[1] * (x * row).sum(-1, keepdim=True) * column
    return out
""",
)
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    ("weight.detach().T", "weight.T"), ("bias.detach()", "bias"),
)
ex.right("two linear layers in a row", source='''
def lora_linear(x, weight, bias, down, up, alpha):
    return F.linear(x, weight, bias) + F.linear(F.linear(x, down), up) * (alpha / down.size(0))
''')
ex.right("the scale inside the adapter", source='''
def lora_linear(x, weight, bias, down, up, alpha):
    scaled = down * (alpha / len(down))
    short = torch.matmul(x, scaled.transpose(0, 1))
    return torch.matmul(x, weight.t()) + torch.matmul(short, up.t()) + bias
''')
ex.right("side by side in one product", source='''
def lora_linear(x, weight, bias, down, up, alpha):
    R = down.shape[0]
    inputs = torch.cat((x, alpha / R * (x @ down.mT)), dim=-1)
    return inputs @ torch.cat((weight, up), dim=1).mT + bias
''')
ex.right("output by output", source='''
def lora_linear(x, weight, bias, down, up, alpha):
    short = x @ down.T
    outputs = []
    for w, b, u in zip(weight, bias, up):
        outputs.append(x @ w + b + (short @ u) * alpha / len(u))
    return torch.stack(outputs, dim=-1)
''')
ex.right("a flat table of tokens", source='''
def lora_linear(x, weight, bias, down, up, alpha):
    tokens = x.flatten(0, 1)
    out = torch.addmm(bias, tokens, weight.T)
    out = torch.addmm(out, torch.mm(tokens, down.T), up.T, alpha=alpha / down.shape[0])
    return out.unflatten(0, x.shape[:2])
''')
