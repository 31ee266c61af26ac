"""Exercise 1.5: attention under a mask, and queries with nothing to attend to. True = may attend."""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.common import has_nan_gradient
from pioneers.checks.rng import seeded
from pioneers.checks.symptoms import wrong_only_where

ANSWER = '''
def masked_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor
) -> Tensor:
    """Attention under a boolean mask (..., T, S);
    a row with no True gives zeros."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0) @ v
'''
ex = exercise("1.5", ANSWER, points=14, minutes=20, difficulty=3, reread="sec-causal", equation="eq-mask")

SCATTERED = torch.tensor([[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 1, 0, 1, 0]]) > 0
EMPTY = SCATTERED & torch.tensor([[True], [False], [True]])
BOTH = torch.stack((SCATTERED, ~SCATTERED))[:, None]
LOUD = "a hidden key with by far the largest score"
ROW = torch.tensor([[True, False, True, True, False, True, False]])


@ex.maker
def vectors(normal, mask, lead=(2,), T=3, S=5, K=7, V=3, dtype=torch.float32, loud=False, low=False):
    """Queries, keys and values; where it is ``loud``, key 1 is like query 0, from which the mask hides it.

    ``low`` makes all scores lower than -15,000.
    """
    q, k, v = (normal(*lead, *axes, dtype=dtype) for axes in ((T, K), (S, K), (S, V)))
    if loud:
        k[:, 1] = 200 * q[:, 0]
    if low:
        q, k = 80 + q / 100, k / 100 - 80
    return {"q": q, "k": k, "v": v, "mask": mask}


def scattered():
    """A mask that is drawn, under which the first sequence sees nothing."""
    mask = torch.rand(5, 1, 3, 7, generator=seeded(1502)) > 0.5
    mask[0] = False
    return {"mask": mask}


ex.probe("a mask that is no triangle", mask=SCATTERED)
ex.probe("one mask per sequence, shared by the heads", mask=BOTH, lead=(2, 3))
ex.probe(LOUD, mask=SCATTERED, loud=True)
ex.probe("a query with nothing to attend to", mask=EMPTY)
ex.probe("everything visible", mask=torch.ones(3, 5).bool(), lead=(1,))
ex.probe("half precision, and a query with nothing to attend to", mask=EMPTY, dtype=torch.float16)
ex.probe("double precision", mask=SCATTERED, dtype=torch.float64)
ex.probe("numbers with gaps in memory", mask=SCATTERED, strided=True)
ex.probe("all visible scores far below zero", mask=SCATTERED, low=True, dtype=torch.float64)
SIZES = {"lead": (5, 2), "T": 3, "S": 7, "K": 11, "V": 13}
ex.hidden("a random mask per sequence", drawn=scattered, **SIZES)
ex.hidden("nothing visible to anybody", mask=torch.zeros(3, 7).bool(), **SIZES)
ex.hidden("bfloat16", drawn=scattered, dtype=torch.bfloat16, **SIZES)
ex.hidden("a mask (1, S)", mask=ROW, **SIZES)


@ex.law("the past does not depend on the future", "A causal mask cuts every path back.")
def future_changed(run, probe):
    k, v = probe.args["k"], probe.args["v"]
    causal = probe.having("law", q=k, mask=torch.ones(5, 5).bool().tril())
    future = (torch.arange(5) >= 3)[:, None]
    changed = causal.having("law", k=k + 10 * k.flip(-1) * future, v=v + 10 * v.flip(-1) * future)
    return run(causal)[:, :3], run(changed)[:, :3]


@ex.law(
    "padding leaves real tokens alone",
    "What stands in hidden positions must not matter.",
    section="sec-padding",
)
def padding_changed(run, probe):
    k, v = probe.args["k"], probe.args["v"]
    mask = torch.arange(5) < torch.tensor([[[3]], [[5]]])
    padded = probe.having("law", q=k, mask=mask)
    return run(padded), run(padded.having("law", k=k + 50 * ~mask.mT, v=v + 50 * ~mask.mT))


def epsilon_in_the_division(symptom):
    """NaN, or wrong where the visible weights are tiny, and elsewhere right in float32."""
    return symptom.stage == "finite" or (symptom.case.probe.name == LOUD and loud_or_precise(symptom))


loud_or_precise = wrong_only_where(
    lambda case: case.probe.name == LOUD or case.probe.dtype in (torch.float16, torch.float64)
)
FILL, ZEROS = "scores.masked_fill(~mask, -math.inf)", "weights.masked_fill(~mask, 0.0)"
UNFILLED = (ZEROS, "weights")
ex.wrong(
    "a finite number in place of minus infinity",
    "Where the visible scores are as low as this number, the hidden keys win: fill with -math.inf.",
    *((FILL, f"scores.masked_fill(~mask, {fill})") for fill in ("-30.0", "-100.0", "-1e4")),
    believes="-1e4 is low enough, and safe in half precision",
)
ex.wrong(
    "masked after the softmax",
    "The hidden keys have already taken their share, so the weights that remain no longer sum to one.",
    (FILL, "scores"), believes="weights can be switched off afterwards",
)
ex.wrong(
    "masked after the softmax, then renormalised",
    "If a hidden key had the largest score, everything visible underflows and the division is 0/0.",
    [(f"{FILL}.softmax(dim=-1)", "scores.softmax(dim=-1) * mask"),
     (ZEROS, "weights / weights.sum(-1, keepdim=True)")], believes="what was taken can be shared out again",
)
ex.wrong(
    "score zero instead of -inf",
    "A score of 0 is a score like any other: exp(0) = 1. Hidden keys need -inf before the softmax.",
    [(FILL, "(scores * mask)"), UNFILLED], believes="a score of zero means no attention",
)
ex.wrong(
    "the mask is inverted",
    "True means may attend: fill where the mask is False.",
    [(FILL, "scores.masked_fill(mask, -math.inf)"), (ZEROS, "weights.masked_fill(mask, 0.0)")],
    [(FILL, "scores.masked_fill(mask, -math.inf)"), UNFILLED], believes="masked_fill fills what stays",
)
ex.wrong(
    "a row of nothing but -inf",
    "A query with nothing to attend to gives exp(-inf)/0 = NaN; its output must be zeros.",
    UNFILLED, believes="there is always something to attend to", section="sec-padding",
)
ex.wrong(
    "a large negative number for every dtype",
    "-1e9 does not exist in half precision, and in an empty row it averages all that is hidden.",
    [("-math.inf", "-1e9"), UNFILLED], ("-math.inf", "-1e9"), (FILL, "(scores + ~mask * -1e9)"),
    [(FILL, "(scores + ~mask * -1e9)"), UNFILLED],
    believes="-1e9 is as good as minus infinity", section="sec-padding",
)
ex.wrong(
    "a large negative number in an empty row",
    "Where all scores are the same large negative number, the softmax averages all that is hidden.",
    [("-math.inf", "torch.finfo(q.dtype).min"), UNFILLED], believes="the lowest number hides everything",
    section="sec-padding",
)
ex.wrong(
    "a small negative number in place of minus infinity",
    "Where visible scores are as low, hidden keys still get a share: only -inf hides them whatever comes.",
    ("-math.inf", "-10"), ("-math.inf", "-20"), believes="twenty below zero is nothing",
)
ex.wrong(
    "the mask is added",
    "Adding a boolean mask adds 0 or 1 to the scores: hidden keys lose a factor e, not everything.",
    [(FILL, "(scores + mask)"), UNFILLED], believes="a mask is added to the scores, whatever it holds",
)
ex.wrong(
    "zero times infinity",
    "0 · (-inf) is NaN, so a product cannot switch -inf on and off: use masked_fill or torch.where.",
    [(FILL, "(scores + (~mask).to(q.dtype) * -math.inf)"), UNFILLED], believes="zero times anything is zero",
)
ex.wrong(
    "not scaled",
    "The scores are still divided by √d_k when a mask is used.",
    (" / math.sqrt(q.shape[-1])", ""), believes="with a mask the scale is no longer needed",
    section="sec-scaling", equation="eq-scaled",
)
ex.wrong(
    "NaN repaired at the end",
    "nan_to_num hides the NaN in the result, but the backward pass still meets it.",
    [(FILL, "(scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf))"),
     (ZEROS, "weights.nan_to_num()")], believes="nan_to_num repairs a NaN", shows=has_nan_gradient,
    section="sec-padding",
)
ex.wrong(
    "softmax over the queries",
    "Each query shares out its attention over the keys, the last axis of the scores.",
    ("dim=-1", "dim=-2"), believes="the softmax runs over the queries", section="sec-loop-to-matrix",
    equation="eq-softmax",
)
ex.wrong(
    "masked after the softmax, an epsilon in the division",
    "Where a hidden key had the largest score the rest has underflowed: fill with -inf before the softmax.",
    *([(f"{FILL}.softmax(dim=-1)", "scores.softmax(dim=-1) * mask"),
       (ZEROS, f"weights / (weights.sum(-1, keepdim=True) + {eps})")] for eps in ("1e-9", "1e-6", "1e-8")),
    believes="an epsilon repairs a division", shows=epsilon_in_the_division,
)
ex.builds_on("1.3")

ex.right(
    "the lowest number, then zeros",
    source="""
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1) * mask
    return weights @ v
""",
)
ex.right(
    "empty rows set aside",
    source="""
def masked_attention(q, k, v, mask):
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = torch.einsum("...tk,...sk->...ts", q, k) / q.size(-1) ** 0.5
    weights = scores.masked_fill(~(mask | empty), float("-inf")).softmax(-1)
    return (weights @ v).masked_fill(empty, 0)
""",
)
ex.right("where, twice", source='''
def masked_attention(q, k, v, mask):
    scores = torch.matmul(q, k.mT) / math.sqrt(q.shape[-1])
    weights = torch.where(mask, scores, -torch.inf).softmax(-1)
    return torch.where(mask, weights, 0.0).to(v.dtype) @ v
''')
ex.right("NaN of empty rows replaced in the weights", source='''
def masked_attention(q, k, v, mask):
    scores = q @ k.mT * q.shape[-1] ** -0.5
    return scores.masked_fill(mask.logical_not(), -math.inf).softmax(-1).nan_to_num(0.0) @ v
''')
ex.right("the softmax by hand", source='''
def masked_attention(q, k, v, mask):
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    top = scores.amax(-1, keepdim=True)
    e = (scores - top.masked_fill(top.isinf(), 0.0)).exp()
    total = e.sum(-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1.0) @ v
''')
ex.right("one query at a time", source='''
def masked_attention(q, k, v, mask):
    mask = mask.expand(*q.shape[:-1], k.shape[-2])
    rows = []
    for t in range(q.shape[-2]):
        seen = mask[..., t, :]
        scores = (q[..., t, None, :] * k).sum(-1) / math.sqrt(k.shape[-1])
        weights = scores.masked_fill(~seen, -math.inf).softmax(-1).masked_fill(~seen, 0)
        rows.append((weights[..., None] * v).sum(-2))
    return torch.stack(rows, -2)
''')
ex.right("an added bias of minus infinity", source='''
def masked_attention(q, k, v, mask):
    bias = torch.zeros_like(mask, dtype=q.dtype).masked_fill(~mask, float("-inf"))
    some = mask.any(-1, keepdim=True)
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + bias.where(some, 0.0)
    return (scores.softmax(-1) @ v).where(some, 0.0)
''')
ex.right("keys along the rows", source='''
def masked_attention(q, k, v, mask):
    hidden = ~mask.mT
    scores = torch.einsum("...sk,...tk->...st", k, q / math.sqrt(q.shape[-1]))
    weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-2).masked_fill(hidden, 0.0)
    return torch.einsum("...st,...sv->...tv", weights, v)
''')
