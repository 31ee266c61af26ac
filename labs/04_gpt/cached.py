"""Exercise 4.6: attention of the newest tokens over a key/value cache.

Queries and keys are (B, H, T, K), values (B, H, T, L) with L beside K; the cache holds P earlier tokens.
"""

from itertools import pairwise

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals
from pioneers.checks.symptoms import wrong_on

ANSWER = '''
def cached_attention(
    q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor
) -> Tensor:
    """Causal attention of T new tokens over P earlier ones and themselves,
    (B, H, T, L)."""
    P, T = past_k.shape[2], q.shape[2]
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    seen = torch.ones(T, P + T, device=q.device).tril(P).bool()
    return scores.masked_fill(~seen, -math.inf).softmax(-1) @ v
'''
ex = exercise(
    "4.6", ANSWER, points=14, minutes=20, difficulty=3, reread=("sec-kv-cache", "sec-gpt-heads"),
    equation="eq-kv-cache",
)

ex.inputs(q="B H T K", k="B H T K", v="B H T L", past_k="B H P K", past_v="B H P L")
ex.probe("one new token", B=2, H=3, P=5, T=1, K=7, L=5)
ex.probe("three new tokens at once", B=2, H=3, P=4, T=3, K=5, L=7)
ex.probe("more new tokens than old ones", B=1, H=2, P=2, T=5, K=3, L=3)
ex.probe("an empty cache: the prompt", B=2, H=1, P=0, T=5, K=3, L=7)
ex.probe("a batch of one, one head", B=1, H=1, P=7, T=2, K=5, L=3)
ex.probe("double precision", B=2, H=3, P=5, T=2, K=7, L=3, dtype=torch.float64)
ex.probe("bfloat16", B=2, H=1, P=3, T=2, K=5, L=3, dtype=torch.bfloat16)
ex.probe("numbers with gaps in memory", B=1, H=3, P=2, T=3, K=5, L=7, strided=True)
LOWEST = "all scores far below zero"
EVEN = {"q": 80.0, "k": -80.0, "past_k": -80.0, "v": 0.0, "past_v": 0.0}  # all scores are lower than -10,000


def low_and_loud():
    """Inputs whose scores are all far below zero, and others with a very large one behind query 0."""
    normal = normals(463)
    low = {name: x + normal(2, 1, 3, 5, dtype=torch.float64) / 100 for name, x in EVEN.items()}
    loud = {name: normal(1, 2, 3, 5) for name in low}
    loud["k"][:, :, 2] = 300 * loud["q"][:, :, 0]
    return low, loud


SIZES = {"H": 1, "P": 3, "T": 3, "K": 5, "L": 5}
ex.probe(LOWEST, B=2, drawn=lambda: low_and_loud()[0], **SIZES)
ex.probe(
    "a later key with by far the largest score", B=1, drawn=lambda: low_and_loud()[1], **SIZES | {"H": 2}
)
ex.hidden("a long past", B=1, H=2, P=29, T=1, K=5, L=7)
ex.hidden("a single token, nothing before it", B=2, H=3, P=0, T=1, K=7, L=5)
ex.hidden("two new tokens, one old", B=3, H=1, P=1, T=2, K=11, L=2)


@ex.law(
    "token by token or all at once, the result is the same",
    "Appending a token changes nothing in any earlier position.",
)
def in_pieces(run, probe):
    """Eleven tokens at once, and in pieces of 4, 1, 3, 1 and 2."""
    normal = normals(462)
    q, k, v = normal(2, 3, 11, 5), normal(2, 3, 11, 5), normal(2, 3, 11, 7)

    def step(start, end):
        new = {name: x[:, :, start:end] for name, x in (("q", q), ("k", k), ("v", v))}
        return run(probe.having("law", **new, past_k=k[:, :, :start], past_v=v[:, :, :start]))

    pieces = [step(start, end) for start, end in pairwise([0, 4, 5, 8, 9, 11])]
    return step(0, 11), torch.cat(pieces, dim=2)


CAUSAL = {"section": "sec-causal", "equation": "eq-mask"}


@ex.law(
    "the past does not depend on the future", "A causal mask cuts every path back.",
    on="three new tokens at once", **CAUSAL,
)
def later_changed(run, probe):
    changed = {name: probe.args[name].clone() for name in ("k", "v")}
    for x in changed.values():
        x[:, :, 2] += 10
    return run(probe)[:, :, :2], run(probe.having("law", **changed))[:, :, :2]


def only_at_low_scores(symptom):
    return symptom.stage == "value" and wrong_on(LOWEST)(symptom)


KEYS, VALUES = "torch.cat((past_k, k), dim=2)", "torch.cat((past_v, v), dim=2)"
WEIGHTS = "scores.masked_fill(~seen, -math.inf).softmax(-1)"
ex.wrong(
    "the cache comes back too",
    "What is asked for are the outputs alone; whoever calls has the keys and values already.",
    ("softmax(-1) @ v", "softmax(-1) @ v, k, v"), believes="a step returns the longer cache",
    shows=lambda symptom: symptom.case.outcome.kind in ("tuple", "list"),
)
ex.wrong(
    "only the keys are kept",
    "The weights have a place for each of P + T tokens, and each needs its value: append to both.",
    (VALUES, "v"), believes="a cache is for keys",
)
ex.wrong(
    "aligned top left",
    "The first new token stands at position P, not at 0: it sees the whole cache and itself.",
    (".tril(P)", ".tril()"), believes="tril is the causal mask", section="sec-kv-cache",
)
ex.wrong(
    "the new tokens see each other",
    "Several new tokens at once still come one after another: a later one is hidden from an earlier.",
    (".tril(P)", ""), believes="with a cache no mask is needed", **CAUSAL,
)
ex.wrong(
    "a token does not see itself",
    "The sum runs over s ≤ t: a token's own key and value count too.",
    (".tril(P)", ".tril(P - 1)"), [(".tril(P)", ".tril(P - 1)"), ("-math.inf", "-1e9")],
    believes="the mask hides the diagonal too",
)
ex.wrong(
    "the past is forgotten",
    "The new queries ask all keys, those of the cache too.",
    [("P, T = past_k.shape[2]", "P, T = 0"), (KEYS, "k"), (VALUES, "v")],
    believes="the cache saves the past from being asked",
)
ex.wrong(
    "the new keys are left out",
    "Append first, then attend: the newest token sees itself.",
    [(KEYS, "past_k"), (VALUES, "past_v"), ("T, P + T", "T, P")],
    believes="new queries ask what is in the cache",
)
ex.wrong(
    "the past behind the present",
    "The cache comes first and the new tokens behind it, or the mask meets the wrong keys.",
    [("(past_k, k)", "(k, past_k)"), ("(past_v, v)", "(v, past_v)")],
    believes="a set has no order, so append anywhere",
)
ex.wrong(
    "the newest query only",
    "Each of the T new tokens gets a vector, not the last alone.",
    ("softmax(-1) @ v", "softmax(-1)[:, :, -1:] @ v"), believes="only the newest token matters",
)
ex.wrong(
    "not scaled",
    "The scores are divided by √K with a cache too.",
    (" / math.sqrt(q.shape[-1])", ""), believes="the softmax takes care of the scale", section="sec-scaling",
    equation="eq-scaled",
)
ex.wrong(
    "the mask is inverted",
    "Hide what a query may not see, the keys behind it; here it is the past that is hidden.",
    ("~seen", "seen"), believes="masked_fill fills what stays", **CAUSAL,
)
ex.wrong(
    "a finite number in place of minus infinity",
    "Where the visible scores are as low as this number, the hidden keys win: fill with -math.inf.",
    ("-math.inf", "-1e4"), ("-math.inf", "-100"), believes="-1e4 is low enough", shows=only_at_low_scores,
    **CAUSAL,
)
ex.wrong(
    "masked after the softmax",
    "The hidden keys have already taken their share, so the weights that remain no longer sum to one.",
    (WEIGHTS, "scores.softmax(-1).masked_fill(~seen, 0)"), believes="hidden keys get weight 0", **CAUSAL,
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    (", device=q.device", ""), believes="everything lives on the CPU",
)
ex.wrong(
    "the library does the work",
    "",
    (f"{WEIGHTS} @ v", "F.scaled_dot_product_attention(q, k, v, attn_mask=seen)"),
    believes="torch's attention is an answer",
)
ex.wrong(
    "the old values are thrown away",
    "Keys and values are both kept: what a query finds in the past is the past's values.",
    ("torch.cat((past_v, v), dim=2)", "torch.cat((torch.zeros_like(past_v), v), dim=2)"),
    believes="only keys are compared",
)
ex.wrong(
    "one token too many",
    "With one diagonal more each query sees the token after it.",
    ("tril(P)", "tril(P + 1)"), believes="counting starts one later",
)
ex.wrong(
    "appended along another axis",
    "Tokens are axis 2, behind batch and heads: append there.",
    ("torch.cat((past_k, k), dim=2)", "torch.cat((past_k, k), dim=1)"), believes="axis 1 is time",
    shows=lambda symptom: symptom.stage == "runs" and "Sizes of tensors" in symptom.case.outcome.error,
)
ex.wrong(
    "scaled by the width of the values",
    "The scores are sums over the K components of queries and keys; the values' width has no part in them.",
    ("q.shape[-1]", "v.shape[-1]"), believes="every width is the same width", section="sec-scaling",
    equation="eq-scaled",
)
ex.wrong(
    "softmax over the queries",
    "Each query shares out its attention over the keys, the last axis of the scores.",
    ("softmax(-1)", "softmax(-2)"),
    believes="the softmax runs over the queries", section="sec-loop-to-matrix",
    equation="eq-softmax",
)

ex.right(
    "positions compared",
    source="""
def cached_attention(q, k, v, past_k, past_v):
    k, v = torch.cat((past_k, k), dim=-2), torch.cat((past_v, v), dim=-2)
    T, S = q.shape[-2], k.shape[-2]
    seen = torch.arange(S, device=q.device) <= torch.arange(S - T, S, device=q.device)[:, None]
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("bhts,bhsl->bhtl", scores.masked_fill(~seen, -torch.inf).softmax(-1), v)
""",
)
ex.right(
    "token by token, each on the keys so far",
    source="""
def cached_attention(q, k, v, past_k, past_v):
    out = []
    for t in range(q.shape[2]):
        past_k = torch.cat((past_k, k[:, :, t : t + 1]), dim=2)
        past_v = torch.cat((past_v, v[:, :, t : t + 1]), dim=2)
        scores = q[:, :, t : t + 1] @ past_k.mT / math.sqrt(q.shape[-1])
        out.append(scores.softmax(-1) @ past_v)
    return torch.cat(out, dim=2)
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-2", "2"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("()", "().detach()"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("=-2),", "=2),"), ("v), dim=-2)", "v), dim=2)"), ("[-2],", "[2],"), ("k.shape[-2]", "k.shape[2]"),
    of="positions compared",
)
ex.right("the mask by triu", source='''
def cached_attention(q, k, v, past_k, past_v):
    P, T = past_k.shape[-2], q.shape[-2]
    keys, values = torch.cat([past_k, k], -2), torch.cat([past_v, v], -2)
    later = torch.ones(T, P + T, dtype=torch.bool, device=q.device).triu(P + 1)
    scores = torch.matmul(q / math.sqrt(q.size(-1)), keys.mT)
    return torch.matmul(torch.softmax(scores.masked_fill(later, -math.inf), -1), values)
''')
ex.right("scores of past and new tokens apart", source='''
def cached_attention(q, k, v, past_k, past_v):
    T, P = q.shape[2], past_k.shape[2]
    q = q / math.sqrt(q.shape[-1])
    later = torch.ones(T, T, device=q.device).triu(1).bool()
    scores = torch.cat((q @ past_k.mT, (q @ k.mT).masked_fill(later, -math.inf)), dim=-1)
    weights = scores.softmax(-1)
    return weights[..., :P] @ past_v + weights[..., P:] @ v
''')
ex.right("the softmax by hand", source='''
def cached_attention(q, k, v, past_k, past_v):
    k, v = torch.cat((past_k, k), 2), torch.cat((past_v, v), 2)
    T, S = q.shape[2], k.shape[2]
    place = torch.arange(S, device=q.device)
    scores = torch.where(place <= place[S - T :, None], q @ k.mT / q.shape[-1] ** 0.5, -math.inf)
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (e @ v) / e.sum(-1, keepdim=True)
''')
ex.right("an added bias", source='''
def cached_attention(q, k, v, past_k, past_v):
    P, T = past_k.shape[2], q.shape[2]
    bias = torch.full((T, P + T), -math.inf, dtype=q.dtype, device=q.device).triu(P + 1)
    scores = q @ torch.cat((past_k, k), dim=2).mT / math.sqrt(q.shape[-1]) + bias
    return F.softmax(scores, dim=-1) @ torch.cat((past_v, v), dim=2)
''')
ex.right("all positions of a square, the last rows of it", source='''
def cached_attention(q, k, v, past_k, past_v):
    T = q.shape[2]
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    square = torch.ones(k.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril()
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) * k.shape[-1] ** -0.5
    return scores.masked_fill(~square[-T:], -math.inf).softmax(-1) @ v
''')
ex.right("head by head", source='''
def cached_attention(q, k, v, past_k, past_v):
    P, T = past_k.shape[2], q.shape[2]
    hidden = torch.ones(T, P + T, device=q.device).tril(P) == 0
    heads = []
    for h in range(q.shape[1]):
        keys, values = torch.cat((past_k[:, h], k[:, h]), 1), torch.cat((past_v[:, h], v[:, h]), 1)
        scores = torch.bmm(q[:, h], keys.mT) / math.sqrt(q.shape[-1])
        heads.append(torch.bmm(scores.masked_fill(hidden, -math.inf).softmax(-1), values))
    return torch.stack(heads, dim=1)
''')
