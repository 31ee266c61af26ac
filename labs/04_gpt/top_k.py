"""Exercise 4.4: temperature and top-k, from logits (..., V) to the distribution that is drawn from."""

import torch

from pioneers.checks.building import exercise, stops_at
from pioneers.checks.symptoms import wrong_on
from pioneers.checks.tolerance import close

ANSWER = '''
def top_k_distribution(
    logits: Tensor, k: int, temperature: float = 1.0
) -> Tensor:
    """The probabilities (..., V) of the k most likely tokens at a
    temperature; all others get 0."""
    z = logits / temperature
    limit = z.topk(min(k, z.shape[-1])).values[..., -1:]
    return z.masked_fill(z < limit, -math.inf).softmax(-1)
'''
ex = exercise(
    "4.4", ANSWER, points=9, minutes=12, difficulty=2, reread="sec-sampling", equation="eq-cross-entropy"
)


@ex.maker
def rows(normal, shape=(0,), scale=2.0, shift=0.0, dtype=torch.float32, **given):
    return {"logits": scale * normal(*shape, dtype=dtype) + shift} | given


TIES, LOW = "ties at the limit", "logits lower than any finite fill"
TIED = [[2.0, 0.0, 2.0, 3.0, 2.0, 1.0, -1.0], [1.0, 5.0, 4.0, 4.0, 0.0, 4.0, -2.0]]
ex.probe("three of seven", shape=(3, 7), k=3)
ex.probe("a low temperature", shape=(2, 3, 11), k=5, temperature=0.5)
ex.probe("a high temperature", shape=(2, 5), k=2, temperature=3.0)
ex.probe("one distribution, no batch", shape=(13,), k=4, temperature=0.7)
ex.probe(TIES, logits=TIED, k=3)
ex.probe("all logits far below zero", shape=(2, 7), shift=-30.0, k=3)
ex.probe("k = 1", shape=(3, 5), k=1, temperature=2.0)
ex.probe("k larger than the vocabulary", shape=(2, 5), k=11, temperature=1.5)
ex.probe("double precision", shape=(3, 7), k=2, dtype=torch.float64)
ex.probe("numbers with gaps in memory", shape=(2, 3, 5), k=3, strided=True)
ex.probe(LOW, shape=(2, 7), shift=-30_000.0, k=3)
ex.hidden("four axes", shape=(2, 1, 3, 17), scale=3.0, k=5, temperature=0.8)
ex.hidden("all tokens equally likely", logits=torch.full((3, 7), -4.0), k=2)
ex.hidden("a hot one of a single token", shape=(5, 1), scale=1.0, k=3, temperature=9.0)
ex.hidden("just as many as there are", shape=(2, 11), scale=1.0, shift=-20.0, k=11, temperature=0.25)


@ex.law("the probabilities sum to one", "Something must be drawn.", on="a low temperature")
def sums_to_one(run, probe):
    total = run(probe.having("law", k=4, temperature=0.9)).sum(-1)
    return total, torch.ones_like(total)


@ex.law("half the temperature squares the odds", "The odds become their 1/τ-th power.")
def odds(run, probe):
    logits = torch.tensor([3.0, -1.0, 2.0, 0.5, 1.0])
    plain, cool = (run(probe.having("law", logits=logits, temperature=t)) for t in (1.0, 0.5))
    return cool[0] * plain[2] ** 2, cool[2] * plain[0] ** 2


def too_few_tokens(symptom):
    args = symptom.case.probe.args
    return symptom.stage == "runs" and args["k"] > args["logits"].shape[-1]


def only_at_ties(symptom):
    """Wrong where several tokens are exactly as likely as the k-th one, right everywhere else."""
    others = [case for case in symptom.cases if case.probe.name != TIES]
    return stops_at(TIES, "finite", "value")(symptom) and all(
        close(case.outcome.tensor, case.expected.tensor, case.probe.dtype) for case in others
    )


def only_at_low_logits(symptom):
    return symptom.stage == "value" and wrong_on(LOW)(symptom)


FILTERED, AT_MOST = "z.masked_fill(z < limit, -math.inf)", "min(k, z.shape[-1])"
ex.wrong(
    "k larger than the vocabulary stops it",
    "There are only V tokens to keep: use min(k, V).",
    (AT_MOST, "k"), believes="k is never larger than V", shows=too_few_tokens,
)
ex.wrong(
    "only k numbers come back",
    "The result has a place for each of the V tokens, in the order of the vocabulary: 0 if excluded.",
    [("values[..., -1:]", "values"), (FILTERED, "limit")], believes="topk is the answer",
)
ex.wrong(
    "multiplied by the temperature",
    "The logits are divided by τ: a low temperature makes differences larger.",
    ("/ temperature", "* temperature"), believes="a high temperature makes everything larger",
)
ex.wrong(
    "the temperature is ignored",
    "Divide the logits by τ before the softmax.",
    (" / temperature", ""), believes="temperature is for those who need it",
)
ex.wrong(
    "temperature after the softmax",
    "Probabilities divided by τ no longer sum to one, and their ratios are the old ones.",
    [(" / temperature", ""), (".softmax(-1)", ".softmax(-1) / temperature")],
    believes="temperature acts on probabilities",
)
ex.wrong(
    "not renormalised",
    "What remains must sum to one: set the others to -inf before the softmax, not to 0 after it.",
    (f"{FILTERED}.softmax(-1)", "z.softmax(-1) * (z >= limit)"),
    [("limit =", "values, best ="), (".values[..., -1:]", ""), (f"{FILTERED}.softmax(-1)",
     "torch.zeros_like(z).scatter(-1, best, z.softmax(-1).gather(-1, best))")],
    believes="set the others to zero, done",
)
ex.wrong(
    "a softmax of probabilities",
    "Numbers from 0 to 1 make a nearly even softmax: set logits to -inf, or divide by the sum.",
    (FILTERED, "(z.softmax(-1) * (z >= limit))"),
    (FILTERED, "z.softmax(-1).masked_fill(z < limit, -math.inf)"), believes="a softmax renormalises",
)
ex.wrong(
    "a logit of zero excludes nothing",
    "A logit of 0 is a logit like any other: exp(0) = 1. An excluded token needs -inf.",
    ("-math.inf", "0.0"), believes="an excluded token has the logit 0",
)
ex.wrong(
    "a finite number in place of minus infinity",
    "Where the logits themselves are as low as this number, excluded tokens win: fill with -math.inf.",
    ("-math.inf", "-1e4"), ("-math.inf", "-100"), believes="-1e4 is low enough", shows=only_at_low_logits,
)
ex.wrong(
    "logits in place of probabilities",
    "What is asked for is the distribution that the next token is drawn from: a softmax comes last.",
    (".softmax(-1)", ""), believes="the sampler will do the softmax",
)
ex.wrong(
    "the k-th token is lost",
    "The k-th most likely token is one of k: compare with >=, not with >.",
    ("z < limit", "z <= limit"), believes="larger than the k-th",
)
ex.wrong(
    "one token too many",
    "Counted from 0 the k-th place is k - 1.",
    ("min(k, ", "min(k + 1, "), believes="place k of the ranking is the k-th",
)
ex.wrong(
    "the least likely are kept",
    "Sort downwards: top-k keeps the *most* likely tokens.",
    [("z.topk", "(-z).topk"), ("z < limit", "-z < limit")], believes="sort puts the largest first",
)
ex.wrong(
    "one limit for the whole batch",
    "Each row has its own k-th largest logit: work along the last axis.",
    ("z.topk", "z.flatten().topk"), ("values[..., -1:]", "values.min()"),
    believes="the k largest logits of all",
)
ex.wrong(
    "the k-th different value as the limit",
    "k counts tokens, not values: where several are equally likely, this keeps more than asked for.",
    source="""
def top_k_distribution(logits, k, temperature=1.0):
    z = logits / temperature
    rows = []
    for row in z.reshape(-1, z.shape[-1]):
        values = row.unique().flip(0)
        rows.append(row.masked_fill(row < values[min(k, len(values)) - 1], -math.inf).softmax(-1))
    return torch.stack(rows).reshape(z.shape)
""", believes="equal tokens count once",
)
ex.wrong(
    "a tie is cut at random",
    "Tokens that are as likely as the k-th stay too: compare with its logit instead of with places.",
    [("limit =", "values, best ="), (".values[..., -1:]", ""),
     (FILTERED, "torch.full_like(z, -math.inf).scatter(-1, best, values)")],
    believes="top-k means k tokens and no more", shows=only_at_ties,
)
ex.wrong(
    "the input is overwritten",
    "",
    [("logits / temperature", "logits"),
     (f"return {FILTERED}", "z[z < limit] = -math.inf\n    return (z / temperature)")],
    believes="the caller needs the logits no more",
)
ex.wrong(
    "the library does the work",
    source="""
def top_k_distribution(logits, k, temperature=1.0):
    from pioneers.generation import filter_logits

    return filter_logits(logits, temperature=temperature, top_k=k).softmax(-1)
""", believes="the filter of the package is an answer",
)

ex.right(
    "sorted, and the limit read off",
    (f"topk({AT_MOST}).values[..., -1:]", f"sort(descending=True).values[..., {AT_MOST} - 1, None]"),
)
ex.right(
    "counting how many are larger",
    source="""
def top_k_distribution(logits, k, temperature=1.0):
    larger = (logits[..., None, :] > logits[..., :, None]).sum(-1)
    return (logits / temperature).masked_fill(larger >= k, -math.inf).softmax(-1)
""",
)
ex.right(
    "probabilities, renormalised",
    source="""
def top_k_distribution(logits, k, temperature=1.0):
    p = (logits / temperature).softmax(-1)
    limit = logits.topk(min(k, logits.shape[-1])).values.amin(-1, keepdim=True)
    p = p * (logits >= limit)
    return p / p.sum(-1, keepdim=True)
""",
)
ex.equivalent(
    "The limit has the same axes.",
    ("min(k, z.shape[-1]) - 1, None", "None, min(k, z.shape[-1]) - 1"),
    of="sorted, and the limit read off",
)
ex.right("the limit by kthvalue", source='''
def top_k_distribution(logits, k, temperature=1.0):
    V = logits.shape[-1]
    limit = logits.kthvalue(max(1, V - k + 1), dim=-1, keepdim=True).values
    return torch.where(logits >= limit, logits / temperature, -math.inf).softmax(-1)
''')
ex.right("the softmax by hand", source='''
def top_k_distribution(logits, k, temperature=1.0):
    z = logits / temperature
    top = torch.topk(z, min(k, z.size(-1)), dim=-1).values
    e = (z - top[..., :1]).exp() * (z >= top[..., -1:])
    return e / e.sum(-1, keepdim=True)
''')
ex.right("row by row", source='''
def top_k_distribution(logits, k, temperature=1.0):
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        limit = row.sort().values[-min(k, len(row))]
        rows.append((row / temperature).masked_fill(row < limit, -math.inf).softmax(0))
    return torch.stack(rows).view(logits.shape)
''')
ex.right("an added bias of minus infinity", source='''
def top_k_distribution(logits, k, temperature=1.0):
    k = min(k, logits.shape[-1])
    limit = logits.topk(k, -1)[0].min(-1, keepdim=True)[0]
    bias = torch.zeros_like(logits).masked_fill(logits < limit, -torch.inf)
    return F.softmax((logits + bias) / temperature, dim=-1)
''')
ex.right("ascending order", source='''
def top_k_distribution(logits, k, temperature=1.0):
    V = logits.shape[-1]
    ranked = torch.sort(logits, dim=-1).values
    keep = logits >= ranked[..., max(V - k, 0), None]
    return (logits / temperature).masked_fill(keep.logical_not(), -math.inf).softmax(dim=-1)
''')
