"""Exercise 8.8: attention as a method of learning, predictions from the examples of a prompt."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def in_context(x: Tensor, y: Tensor, width: float) -> Tensor:
    """Predict each y (B, N) from its x (B, N, D) and the examples before,
    weighted by their distance; 0 where there is none."""
    square = (x[:, :, None] - x[:, None]).square().sum(-1)
    before = torch.ones_like(square[0], dtype=torch.bool).tril(-1)
    scores = (-square / (2 * width**2)).masked_fill(~before, -torch.inf)
    weights = scores[:, 1:].softmax(-1)
    return F.pad((weights @ y[..., None])[..., 0], (1, 0))
'''
ex = exercise(
    "8.8", ANSWER, points=8, minutes=12, difficulty=3, reread=("sec-attention-regression", "sec-causal"),
    equation="eq-mixture",
)


@ex.maker
def prompts(normal, B, K, D, width, size=1.0, dtype=torch.float32):
    return {"x": size * normal(B, K, D).to(dtype), "y": normal(B, K).to(dtype), "width": width}


ex.probe("three prompts of seven examples", B=3, K=7, D=2, width=0.7)
ex.probe("a wide kernel", B=2, K=5, D=3, width=5.0)
ex.probe("a batch of one, one component", B=1, K=11, D=1, width=0.4)
ex.probe("a single example", B=3, K=1, D=2, width=1.0)
ex.probe("two examples", B=2, K=2, D=5, width=1.3)
ex.probe("examples far away", B=2, K=5, D=2, width=0.05)
ex.probe("double precision", B=3, K=5, D=3, width=0.9, dtype=torch.float64)
ex.probe("half precision", B=2, K=5, D=3, width=1.0, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, K=7, D=3, width=0.8, strided=True)
ex.probe("examples very far away", B=2, K=5, D=2, width=0.002)
ex.hidden("thirteen examples", B=2, K=13, D=7, width=1.5)
ex.hidden("as many prompts as examples", B=5, K=5, D=5, width=1.1)
ex.hidden("a narrow kernel, large inputs", B=3, K=7, D=2, width=0.5, size=10.0)


@ex.law(
    "a prediction does not know its own value",
    "It is made from the examples before it; y is the answer.",
    section="sec-causal", equation="eq-mask",
)
def last_value(run, probe):
    y = probe.args["y"].clone()
    y[:, -1] += 7
    return run(probe), run(probe.having("law", y=y))


@ex.law("the origin does not matter", "Only distances count.")
def shifted(run, probe):
    return run(probe), run(probe.having("law", x=probe.args["x"] + 0.5))


SCORES, TRIL = "-square / (2 * width**2)", ".tril(-1)"
ex.wrong(
    "a prediction sees its own value",
    "The example itself is at distance 0 and has the answer: only the ones before it may be seen.",
    [(TRIL, ".tril()"), ("scores[:, 1:]", "scores"), ("F.pad((", "("), (", (1, 0))", "")],
    [(TRIL, ".tril()")],
    believes="causal means up to and including", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "later examples are seen too",
    "A prompt is read from left to right: only what comes before may be used.",
    (TRIL, ".fill_diagonal_(False)"), believes="every other example helps",
    section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "later examples are seen instead",
    "Rows are questions, columns are examples: the ones before are below the diagonal.",
    [(TRIL, ".triu(1)"), ("scores[:, 1:]", "scores[:, :-1]"), ("(1, 0)", "(0, 1)")],
    believes="columns are questions", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "NaN where there is no example",
    "The first question has nothing to attend to: a softmax over nothing is 0/0. It is asked to be 0.",
    [("scores[:, 1:]", "scores"), ("F.pad((", "("), (", (1, 0))", "")],
    believes="-inf everywhere gives zeros", section="sec-padding", equation="eq-mask",
)
ex.wrong(
    "NaN in the gradient", "",
    [("scores[:, 1:]", "scores"), ("F.pad((", "("), (", (1, 0))", ".nan_to_num()")],
    believes="nan_to_num repairs it",
)
ex.wrong(
    "0/0 where every weight underflows",
    "exp of a large negative number is 0, for all examples at once: softmax subtracts the largest first.",
    ("scores[:, 1:].softmax(-1)",
     "scores[:, 1:].exp() / scores[:, 1:].exp().sum(-1, keepdim=True)"),
    believes="the formula as it is written",
    shows=lambda symptom: symptom.stage == "finite" and symptom.case.probe.name == "examples far away",
)
ex.wrong(
    "a small number in the denominator",
    "Where all weights underflow, a small number added makes the prediction 0 instead of the nearest value.",
    ("scores[:, 1:].softmax(-1)",
     "scores[:, 1:].exp() / (scores[:, 1:].exp().sum(-1, keepdim=True) + 1e-9)"),
    believes="1e-9 makes a division safe",
)
ex.wrong(
    "the distance instead of its square",
    "The kernel is a Gaussian: the exponent holds the square of the distance.",
    ("-square /", "-square.sqrt().nan_to_num() /"), believes="near is a small distance",
)
ex.wrong(
    "the factor 2 is missing",
    "The exponent is -d²/(2h²).",
    ("(2 * width**2)", "width**2"), believes="a Gaussian is exp(-d²/h²)",
)
ex.wrong(
    "width is not squared",
    "The exponent is -d²/(2h²): h is a length, like d.",
    ("width**2", "width"), believes="the width divides",
)
ex.wrong(
    "the sign is missing",
    "Near examples count more: the exponent is negative.",
    (SCORES, "square / (2 * width**2)"), believes="a large score is a large distance",
)
ex.wrong(
    "a dot product instead of a distance",
    "Long keys win a dot product from far away; the kernel asks how near they are.",
    (SCORES, "x @ x.mT / width**2"), believes="similarity is a dot product",
    section="sec-lookup", equation="eq-mixture",
)
ex.wrong(
    "the scale of attention",
    "The width takes the place of √d: there is no other scale.",
    (SCORES, "-square / (2 * width**2 * x.shape[-1] ** 0.5)"), believes="scores are divided by √d",
    section="sec-scaling", equation="eq-scaled",
)
ex.wrong(
    "the mean of the squares over the components",
    "The square of the distance is a sum over the components.",
    (".square().sum(-1)", ".square().mean(-1)"), believes="a mean does not depend on D",
)
ex.wrong(
    "the softmax runs over the questions",
    "For each question the weights of the examples sum to one: the softmax runs over the last axis.",
    ("scores[:, 1:].softmax(-1)", "scores[:, 1:].softmax(1).nan_to_num()"), believes="axis 1 is the examples",
)
ex.wrong(
    "the nearest example only",
    "All examples before count, by their distance; a narrow kernel comes near the nearest neighbour.",
    ("scores[:, 1:].softmax(-1)",
     "F.one_hot(scores[:, 1:].argmax(-1), x.shape[1]).to(x.dtype)"), believes="the nearest is the best",
)
ex.wrong(
    "predictions are one place too early",
    "The first result is the prediction of the first value, which is 0.",
    ("(1, 0)", "(0, 1)"),
    believes="a prediction belongs to its last example",
    section="sec-lm-objective", equation="eq-lm-loss",
)
ex.wrong(
    "weights set to zero after the softmax",
    "Then the weights do not sum to one: hide the scores, before the softmax.",
    (".masked_fill(~before, -torch.inf)\n    weights = scores[:, 1:].softmax(-1)",
     "\n    weights = (scores.softmax(-1) * before)[:, 1:]"),
    believes="zero is hidden", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "a number that half precision does not have",
    "float16 ends at 65504: what must not be seen gets -inf, in every type.",
    ("-torch.inf", "-1e9"), believes="-1e9 is as good as -inf",
    shows=lambda symptom: symptom.stage == "runs" and "overflow" in symptom.case.outcome.error,
    section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    ("torch.ones_like(square[0], dtype=torch.bool)", "torch.ones(x.shape[1], x.shape[1]).bool()"),
    believes="tensors are where they are needed",
)
ex.wrong(
    "the library does the work",
    source="""
def in_context(x, y, width):
    square = -x.square().sum(-1, keepdim=True) / 2
    keys, queries = torch.cat((x, square), -1), torch.cat((x, torch.ones_like(square)), -1)
    mask = torch.ones(x.shape[1], x.shape[1]).bool().tril(-1)
    found = F.scaled_dot_product_attention(queries, keys, y[..., None], attn_mask=mask, scale=width**-2)
    return found[..., 0].nan_to_num()
""", believes="attention is a call",
)
ex.wrong(
    "multiplied by the width",
    "Python works from left to right: a / 2 * h² multiplies by h². Put the denominator in brackets.",
    ("square / (2 * width**2)", "square / 2 * width**2"), believes="all behind the slash is below the line",
)
ex.wrong(
    "the sum of the absolute differences",
    "The distance is Euclidean: its square is the sum of the squares.",
    (".square().sum(-1)", ".abs().sum(-1)"), (".square().sum(-1)", ".abs().sum(-1).square()"),
    believes="distance is the sum along the axes",
)


def falls_to_zero(symptom):
    """Whether some predictions from far away are too near to 0, and no other is wrong."""
    if symptom.stage != "value" or "far away" not in symptom.case.probe.name:
        return False
    got, want = symptom.case.outcome.tensor, symptom.case.expected.tensor
    return bool(((got.abs() < want.abs()) | torch.isclose(got, want, atol=1e-5)).all())


ex.wrong(
    "a small number in the denominator",
    "Where all weights underflow, a small number added makes the prediction 0 instead of the nearest value.",
    ("scores[:, 1:].softmax(-1)",
     "scores[:, 1:].exp() / (scores[:, 1:].exp().sum(-1, keepdim=True) + 1e-7)"),
    ("scores[:, 1:].softmax(-1)",
     "scores[:, 1:].exp() / scores[:, 1:].exp().sum(-1, keepdim=True).clamp(min=1e-7)"),
    ("scores[:, 1:].softmax(-1)",
     "(scores[:, 1:].exp() / scores[:, 1:].exp().sum(-1, keepdim=True)).nan_to_num()"),
    believes="a safe division is enough", shows=falls_to_zero,
)

ex.right(
    "a key with one component more, as in attention",
    source="""
def in_context(x, y, width):
    half = x.square().sum(-1, keepdim=True) / 2
    keys, queries = torch.cat((x, -half), -1), torch.cat((x, torch.ones_like(half)), -1)
    scores = queries @ keys.mT / width**2
    hidden = torch.ones(x.shape[1], x.shape[1], device=x.device).bool().triu()
    hidden[0, 0] = False
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    values = torch.einsum("bqk,bk->bq", weights, y)
    return torch.cat((torch.zeros_like(y[:, :1]), values[:, 1:]), dim=1)
""",
)
ex.right(
    "the empty row repaired before it is used",
    [("scores[:, 1:].softmax(-1)", "scores.softmax(-1).nan_to_num()"), ("F.pad((", "("), (", (1, 0))", "")],
)
ex.right(
    "question by question",
    source="""
def in_context(x, y, width):
    found = [torch.zeros_like(y[:, 0])]
    for k in range(1, x.shape[1]):
        away = (x[:, :k] - x[:, k : k + 1]).pow(2).sum(-1)
        weights = torch.softmax(-away / (2 * width * width), dim=1)
        found.append((weights * y[:, :k]).sum(1))
    return torch.stack(found, dim=1)
""",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    (":, None] - x[", "None] - x[:, "),
)
ex.equivalent(
    "It broadcasts to the same.",
    ("square[0]", "square"), ("[0]", "[-1]"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    (" 0]", " -1]"),
)
ex.equivalent(
    "The product of all components is the sum either way.",
    (".sum(-1, keepdim=True)", ""),
    of="a key with one component more, as in attention",
)
ex.equivalent(
    "The first row is replaced by 0 at the end.",
    ("0]", "-1]"),
    of="a key with one component more, as in attention",
)
ex.right("loops over prompts and questions", source='''
def in_context(x, y, width):
    rows = []
    for points, values in zip(x, y):
        row = [torch.zeros_like(values[0])]
        for k in range(1, len(points)):
            square = ((points[k] - points[:k]) ** 2).sum(-1)
            row.append(torch.softmax(-square / (2 * width**2), 0) @ values[:k])
        rows.append(torch.stack(row))
    return torch.stack(rows)
''')
ex.right("an einsum of the differences", source='''
def in_context(x, y, width):
    off = (x[:, 1:, None] - x[:, None]) / width
    scores = torch.einsum("bqkd,bqkd->bqk", off, off) / -2
    K = x.shape[1]
    seen = torch.ones(K - 1, K, dtype=torch.bool, device=x.device).tril()
    weights = torch.where(seen, scores, -torch.inf).softmax(-1)
    found = torch.einsum("bqk,bk->bq", weights, y)
    return torch.cat((torch.zeros_like(y[:, :1]), found), 1)
''')
ex.right("places compared, and the exponentials written out", source='''
def in_context(x, y, width):
    place = torch.arange(x.shape[1], device=x.device)
    later = place >= place[1:, None]
    scores = -(x[:, 1:, None] - x[:, None]).pow(2).sum(3) / (2 * width * width)
    scores = scores.masked_fill(later, -torch.inf)
    weights = (scores - scores.amax(-1, keepdim=True).detach()).exp()
    found = (weights * y[:, None]).sum(-1) / weights.sum(-1)
    return F.pad(found, (1, 0))
''')
ex.right("written into zeros in place", source='''
def in_context(x, y, width):
    out = torch.zeros_like(y)
    for k in range(1, y.shape[1]):
        off = x[:, k].unsqueeze(1) - x[:, :k]
        scores = off.square().sum(2).neg() / 2 / width**2
        out[:, k] = torch.einsum("bk,bk->b", F.softmax(scores, dim=1), y[:, :k])
    return out
''')
ex.right("an example of value zero in front, which only the first question sees", source='''
def in_context(x, y, width):
    scores = (x.unsqueeze(2) - x.unsqueeze(1)).square().sum(-1) / (-2 * width**2)
    seen = torch.ones_like(scores, dtype=torch.bool).tril(-1)
    first = torch.full_like(scores[..., :1], -torch.inf)
    first[:, 0] = 0
    scores = torch.cat((first, scores.masked_fill(seen.logical_not(), -torch.inf)), -1)
    values = F.pad(y, (1, 0)).unsqueeze(-1)
    return torch.matmul(scores.softmax(-1), values).squeeze(-1)
''')
