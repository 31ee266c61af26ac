"""Exercise 1.1: a softmax that does not overflow, along any axis."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def softmax(x: Tensor, dim: int) -> Tensor:
    """Turn scores into positive shares that sum to one along ``dim``."""
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)
'''
ex = exercise(
    "1.1", ANSWER, points=10, minutes=12, difficulty=1, reread="sec-lookup", equation="eq-softmax",
    refuse=("softmax", "log_softmax", "softmin", "logsumexp", "logaddexp", "safe_softmax"),
)


@ex.maker
def scores(normal, shape, dim, size=1.0, shift=0.0, dtype=torch.float32):
    """Normal numbers times ``size`` plus ``shift``."""
    return {"x": size * normal(*shape, dtype=dtype) + shift, "dim": dim}


FAR_APART = torch.tensor([[0.0, 1000.0, -1000.0, 0.0, 500.0], [-1000.0, 0.0, 0.0, -500.0, -1000.0]])
ex.probe("dim is not the last axis", shape=(3, 5, 7), dim=1)
ex.probe("a negative dim, four axes", shape=(2, 3, 5, 7), dim=-3)
ex.probe("scores around 1000", shape=(5, 7), dim=1, size=20, shift=1000)
ex.probe(
    "rows on very different scales", shape=(3, 7), dim=-1, shift=torch.tensor([[-900.0], [0.0], [900.0]]),
)
APART = torch.tensor([0.0, 1000.0, -1000.0])
ex.probe("scores 1000 apart in one row, the largest not the first", shape=(2, 3), dim=1, shift=APART)
ex.probe("double precision", shape=(5, 3), dim=0, dtype=torch.float64)
ex.probe("bfloat16", shape=(3, 7), dim=0, dtype=torch.bfloat16)
ex.probe("a single number", shape=(1,), dim=0)
ex.probe("numbers with gaps in memory", shape=(3, 5), dim=0, strided=True)
ex.probe("scores of one row 1000 apart", shape=(2, 5), dim=1, shift=FAR_APART)
ex.probe("scores around -3000, close together", shape=(3, 5), dim=1, shift=-3000)
ex.hidden("the first of four axes", shape=(3, 2, 7, 5), dim=0)
ex.hidden("scores around -2000", shape=(11, 3), dim=-2, size=50, shift=-2000)
ex.hidden("half precision, scores around 60", shape=(3, 5), dim=1, shift=60, dtype=torch.float16)
ex.hidden("columns far apart", shape=(7, 3), dim=0, shift=torch.tensor([-700.0, 0.0, 700.0]))


@ex.law("each slice along dim sums to one", "A softmax shares out exactly 1.")
def sums_to_one(run, probe):
    total = run(probe.having("law", x=30 * probe.args["x"])).sum(1)
    return total, torch.ones_like(total)


@ex.law("adding a constant changes nothing", "exp(c) cancels in the fraction.")
def ignores_shift(run, probe):
    return run(probe), run(probe.having("law", x=probe.args["x"] + 2))


TOP, SUM = "x.amax(dim, keepdim=True)", "e.sum(dim, keepdim=True)"
RAISED = f"(x - {TOP}).exp()"
ex.wrong(
    "no maximum subtracted",
    "exp overflows above 88 in float32; subtract the largest score first, which changes nothing else.",
    (RAISED, "x.exp()"), believes="the formula can be typed in as it stands",
)
ex.wrong(
    "dim is ignored",
    "The sum runs over the last axis whatever dim says.",
    [("x.amax(dim", "x.amax(-1"), ("e.sum(dim", "e.sum(-1")], ("e.sum(dim", "e.sum(-1"),
    believes="the softmax always runs over the last axis",
)
ex.wrong(
    "a negative dim taken for the last axis",
    "A negative dim counts from the end: -1 is the last axis, -2 the one before it.",
    ("    e = (", "    dim = x.dim() - 1 if dim < 0 else dim\n    e = ("), believes="negative means last",
)
ex.wrong(
    "one maximum for the whole tensor",
    "A row far below the overall maximum underflows to zeros, and 0/0 is NaN: take the one along dim.",
    (TOP, "x.max()"), believes="any maximum will do",
)
ex.wrong(
    "one sum for the whole tensor",
    "Each slice along dim must sum to one by itself, not all together.",
    [(TOP, "x.max()"), (SUM, "e.sum()")], believes="the whole tensor is one distribution",
)
ex.wrong(
    "the reduced axis is lost",
    "Without keepdim=True the maximum or the sum has one axis fewer, and broadcasting pairs the wrong ones.",
    (SUM, "e.sum(dim)"), [(TOP, "x.amax(dim)"), (SUM, "e.sum(dim)")],
    believes="a reduced axis pairs itself up again",
)
ex.wrong(
    "divided without exp",
    "Dividing by the sum alone leaves negative weights; exp makes them positive first.",
    (RAISED, "x"), believes="normalising means dividing by the sum",
)
ex.wrong(
    "the logarithm of the softmax",
    "These are log-probabilities.",
    [(RAISED, f"x - {TOP}"), (f"e / {SUM}", "e - e.exp().sum(dim, keepdim=True).log()")],
    believes="log-probabilities are what one works with",
)
ex.wrong(
    "the input is overwritten",
    "",
    (f"e = {RAISED}", f"x -= {TOP}\n    e = x.exp()"),
    believes="working in place saves memory and harms nobody",
)
ex.wrong(
    "another precision comes out",
    "",
    ("    e = (", "    x = x.float()\n    e = ("), believes="everything is float32",
)
ex.wrong(
    "the gradient is cut",
    "",
    ("    e = (", "    x = x.detach()\n    e = ("), believes="NumPy is the same thing",
)
ex.wrong(
    "another number than the maximum subtracted",
    "Only the largest score of each slice makes the largest exponent 0: any other leaves exp to overflow.",
    (TOP, "x.mean(dim, keepdim=True)"), (TOP, "x.median(dim, keepdim=True).values"),
    (TOP, "x.select(dim, 0).unsqueeze(dim)"), (TOP, "x.amin(dim, keepdim=True)"),
    believes="any number of the right size will do",
)
ex.wrong(
    "large scores cut off",
    "Scores above the limit become equal, and their differences are lost: subtract the largest instead.",
    (f"x - {TOP}", "x.clamp(max=80)"), (f"x - {TOP}", "x.clamp(-50, 50)"),
    believes="a clamp stops an overflow",
)
ex.wrong(
    "divided by the maximum",
    "Subtracting a number leaves the fraction as it is; dividing the scores changes all shares.",
    (f"x - {TOP}", f"x / {TOP}"), believes="large numbers are divided",
)
ex.wrong(
    "both values and places of the maximum",
    "max(dim) returns a pair, values and indices: take .values, or use amax.",
    (TOP, "x.max(dim, keepdim=True)"), believes="max returns the largest number",
    shows=lambda symptom: symptom.stage == "runs" and "return_types.max" in symptom.case.outcome.error,
)
ex.wrong(
    "digits lost in a large sum",
    "x minus a log-sum-exp of about the same size keeps few digits: subtract the maximum from x first.",
    [(f"e = {RAISED}", f"top = {TOP}\n    e = (x - top).exp()"),
     ("e / e.sum(dim, keepdim=True)", "(x - (top + e.sum(dim, keepdim=True).log())).exp()")],
    believes="the order of a subtraction does not matter",
)

ex.right(
    "slice by slice",
    source="""
def softmax(x, dim):
    slices = x.unbind(dim)
    top = torch.stack(slices, dim).max(dim).values.detach()
    raised = [(piece - top).exp() for piece in slices]
    total = sum(raised)
    return torch.stack([piece / total for piece in raised], dim)
""",
)
ex.right(
    "in logarithms",
    source="""
def softmax(x, dim):
    shifted = x - x.max(dim=dim, keepdim=True).values
    return torch.exp(shifted - shifted.exp().sum(dim=dim, keepdim=True).log())
""",
)
ex.right("functions of torch instead of methods", source='''
def softmax(x, dim):
    e = torch.exp(torch.sub(x, torch.amax(x, dim, keepdim=True)))
    return torch.div(e, torch.sum(e, dim, keepdim=True))
''')
ex.right("the axis moved to the end and back", source='''
def softmax(x, dim):
    x = x.movedim(dim, -1)
    e = (x - x.max(-1, keepdim=True).values).exp()
    return (e / e.sum(-1, keepdim=True)).movedim(-1, dim)
''')
ex.right("the lost axis put back by hand", source='''
def softmax(x, dim):
    top, _ = torch.max(x, dim)
    e = torch.exp(x - top.unsqueeze(dim))
    return e / e.sum(dim).unsqueeze(dim)
''')
ex.right("the largest by sorting, the reciprocal of the sum", source='''
def softmax(x, dim):
    e = (x - x.sort(dim, descending=True).values.narrow(dim, 0, 1)).exp()
    return e * e.sum(dim, keepdim=True).reciprocal()
''')
ex.right("row by row of a matrix", source='''
def softmax(x, dim):
    moved = x.transpose(dim, -1)
    rows = []
    for row in moved.reshape(-1, x.shape[dim]):
        e = torch.exp(row - row.max())
        rows.append(e / e.sum())
    return torch.stack(rows).reshape(moved.shape).transpose(dim, -1)
''')
ex.right("in place on a tensor of its own", source='''
def softmax(x, dim):
    result = torch.empty_like(x)
    result.copy_(x)
    result = result - result.amax(dim, keepdim=True)
    result.exp_()
    return result.div(result.sum(dim, keepdim=True))
''')
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    (".values.detach()", ".values"),
    of="slice by slice",
)
