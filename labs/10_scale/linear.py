"""Exercise 10.4: linear attention, whose running sums take the place of a table of scores."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def linear_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention with the weights φ(q)·φ(k),
    φ(x) = elu(x) + 1, (B, H, T, Dv)."""
    q, k = F.elu(q) + 1, F.elu(k) + 1
    memory = (k[..., None] * v[..., None, :]).cumsum(2)
    found = (q[..., None, :] @ memory)[..., 0, :]
    return found / (q * k.cumsum(2)).sum(-1, keepdim=True)
'''
ex = exercise(
    "10.4", ANSWER, points=8, minutes=12, difficulty=3, reread=("sec-cost-kernel", "sec-cost-recurrent"),
    equation="eq-kernel-attention",
)  # fmt: skip
ex.inputs(q="B H T K", k="B H T K", v="B H T V")
ex.probe("two heads, seven tokens", B=3, H=2, T=7, K=5, V=3)
ex.probe("wider values", B=2, H=3, T=5, K=3, V=11)
ex.probe("a batch of one, one token", B=1, H=2, T=1, K=7, V=3)
ex.probe("as many tokens as heads", B=2, H=5, T=5, K=3, V=5)
ex.probe("large numbers", B=2, H=3, T=5, K=7, V=3, scale=5.0)
ex.probe("double precision", B=2, H=2, T=11, K=3, V=5, dtype=torch.float64)
ex.probe("half precision", B=2, H=3, T=5, K=3, V=2, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, H=2, T=7, K=3, V=5, strided=True)
ex.hidden("thirty-one tokens", B=2, H=3, T=31, K=5, V=7)
ex.hidden("one component", B=3, H=1, T=5, K=1, V=2)
ex.hidden("cubes", B=3, H=3, T=3, K=3, V=3)


@ex.law("later tokens change nothing", "A query reads the tokens up to its own.", equation="eq-mask",
        section="sec-causal")
def causal(run, probe):
    later = {name: torch.cat((x[:, :, :3], 1 - x[:, :, 3:]), 2) for name, x in probe.args.items()}
    return run(probe)[:, :, :3], run(probe.having("law", **later))[:, :, :3]


@ex.law("the weights of a query sum to one", "So that a mean of equal values is this value.")
def equal_values(run, probe):
    out = run(probe.having("law", v=torch.ones_like(probe.args["v"])))
    return out, torch.ones_like(out)


PHI = "q, k = F.elu(q) + 1, F.elu(k) + 1"
SUMS, NORM = "(k[..., None] * v[..., None, :]).cumsum(2)", "(q * k.cumsum(2)).sum(-1, keepdim=True)"
ex.wrong(
    "every query sees all tokens",
    "The sums run up to the token of the query: cumsum, not sum.",
    [(SUMS, SUMS.replace("cumsum(2)", "sum(2, keepdim=True)")),
     (NORM, NORM.replace("cumsum(2)", "sum(2, keepdim=True)"))],
    believes="one sum for all queries", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "divided by the weights of all tokens",
    "The denominator has the very tokens of the numerator: those up to the query.",
    (NORM, NORM.replace("cumsum(2)", "sum(2, keepdim=True)")), believes="a norm is a total",
)
ex.wrong(
    "the weights do not sum to one",
    "Divide by the sum of the weights, as the softmax does.",
    (f"found / {NORM}", "found"), believes="a sum is a mixture",
)
ex.wrong(
    "divided by the number of tokens",
    "A mixture is divided by the sum of its weights, which differs from query to query.",
    (NORM, "torch.arange(1, q.shape[2] + 1, device=q.device)[:, None]"), believes="a mean is over tokens",
)
ex.wrong(
    "ReLU instead of elu plus one",
    "ReLU may be 0 in every component, and then a query has no weight to give: φ is elu(x) + 1.",
    (PHI, "q, k = F.relu(q), F.relu(k)"), believes="any positive function will do",
)
ex.wrong(
    "a query does not see its own token",
    "A query sees the tokens up to its own, this one included.",
    [(SUMS, f"{SUMS} - k[..., None] * v[..., None, :]"),
     (NORM, NORM.replace("cumsum(2)", "cumsum(2) - q * k"))],
    believes="only what came before", shows=lambda symptom: symptom.stage == "finite",
    section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "the sums run backwards",
    "The sums begin at the first token: a query must not see what comes later.",
    [(SUMS, "(k[..., None] * v[..., None, :]).flip(2).cumsum(2).flip(2)"),
     (NORM, "(q * k.flip(2).cumsum(2).flip(2)).sum(-1, keepdim=True)")],
    believes="the direction does not matter", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "the sums run over the heads",
    "The tokens are the third axis: heads know nothing of each other.",
    [(SUMS, SUMS.replace("cumsum(2)", "cumsum(1)")), (NORM, NORM.replace("cumsum(2)", "cumsum(1)"))],
    believes="axis 1 is time",
)
ex.wrong(
    "φ is left out",
    "Without φ a weight may be negative, and their sum may be 0.",
    (PHI, "q, k = q, k"), believes="a dot product is a weight",
)
ex.wrong(
    "elu without the one",
    "elu goes down to -1: with the one added, all components are positive.",
    (PHI, "q, k = F.elu(q), F.elu(k)"), believes="φ is elu",
)
ex.wrong(
    "another φ",
    "φ here is elu(x) + 1.",
    (PHI, "q, k = F.relu(q) + 1, F.relu(k) + 1"), (PHI, "q, k = q.exp(), k.exp()"),
    (PHI, "q, k = F.softplus(q), F.softplus(k)"), (PHI, "q, k = q.softmax(-1), k.softmax(-1)"),
    believes="any positive function will do",
)
ex.wrong(
    "φ of the queries only",
    "Keys go through φ as well.",
    (PHI, "q = F.elu(q) + 1"), believes="φ belongs to the query",
)
ex.wrong(
    "φ of the keys only",
    "Queries go through φ as well.",
    (PHI, "k = F.elu(k) + 1"), believes="φ belongs to the memory",
)
ex.wrong(
    "φ of the values",
    "Values stay as they are: they are what is averaged.",
    (PHI, "q, k, v = F.elu(q) + 1, F.elu(k) + 1, F.elu(v) + 1"), believes="φ is for all three",
)
ex.wrong(
    "the scale of the softmax",
    "There is no √K here: φ is applied to queries and keys as they are.",
    (PHI, "q, k = F.elu(q / q.shape[-1] ** 0.25) + 1, F.elu(k / k.shape[-1] ** 0.25) + 1"),
    (PHI, "q, k = F.elu(q / q.shape[-1] ** 0.5) + 1, F.elu(k) + 1"),
    believes="scores are divided by √K", section="sec-scaling", equation="eq-scaled",
)
SOFTMAX = "The weights are products of φ, divided by their sum: no exponential of a dot product."
ex.wrong(
    "a softmax after all",
    SOFTMAX,
    source="""
def linear_attention(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    later = torch.ones(q.shape[2], q.shape[2], device=q.device).bool().triu(1)
    return (q @ k.mT).masked_fill(later, -torch.inf).softmax(-1) @ v
""", believes="attention has a softmax",
)
ex.wrong(
    "a softmax after all",
    SOFTMAX,
    source="""
def linear_attention(q, k, v):
    later = torch.ones(q.shape[2], q.shape[2], device=q.device).bool().triu(1)
    return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(later, -torch.inf).softmax(-1) @ v
""", believes="it is the same function, only faster",
)
ex.wrong(
    "two shapes do not fit",
    "Print those of numerator (B, H, T, Dv) and denominator (B, H, T, 1). Was an axis of 1 kept or lost? "
    "Is the table K × Dv?",
    (SUMS, "(v[..., None] * k[..., None, :]).cumsum(2)"), believes="an outer product has no order",
    shows=lambda symptom: symptom.stage == "runs" and "size" in symptom.case.outcome.error,
)
ex.wrong(
    "a small number in the denominator",
    "φ is positive, so the denominator is never 0, and the weights have to sum to one.",
    (NORM, f"({NORM} + 1e-6)"), (NORM, f"({NORM} + 1e-3)"), (NORM, f"({NORM} + 1e-8)"),
    believes="an epsilon is always good",
)
ex.wrong(
    "the mean of the products over K",
    "The weight is a dot product: a sum over the components in the denominator too.",
    (NORM, NORM.replace("sum(-1", "mean(-1")), believes="a mean does not depend on K",
)
ex.wrong(
    "the key with itself in the denominator",
    "The denominator is the sum of the weights of this query: φ(q) times the sum of φ(k).",
    (NORM, "k.cumsum(2).sum(-1, keepdim=True)"), believes="the keys are normalised",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    source="""
def linear_attention(q, k, v):
    weights = (F.elu(q) + 1) @ (F.elu(k) + 1).mT
    weights = weights.masked_fill(torch.ones(q.shape[2], q.shape[2]).bool().triu(1), 0)
    return weights @ v / weights.sum(-1, keepdim=True)
""", believes="tensors are where they are needed",
)
ex.wrong(
    "a softmax after all",
    SOFTMAX,
    source="""
def linear_attention(q, k, v):
    scores = q @ k.mT
    later = torch.ones(q.shape[2], q.shape[2], device=q.device).bool().triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ v
""", believes="it is the same function, only faster",
)
ex.wrong(
    "zeros under a softmax",
    "A product of 0 is a weight like any other to a softmax; and linear attention has no softmax.",
    source="""
def linear_attention(q, k, v):
    return ((F.elu(q) + 1) @ (F.elu(k) + 1).mT).tril().softmax(-1) @ v
""", believes="tril hides what comes later",
)
ex.wrong(
    "the sums run over the components",
    "The tokens are the third axis, before the table K × Dv: the sums run along them.",
    (SUMS, SUMS.replace("cumsum(2)", "cumsum(-2)")), (SUMS, SUMS.replace("cumsum(2)", "cumsum(-1)")),
    (NORM, NORM.replace("cumsum(2)", "cumsum(-1)")),
    [(SUMS, SUMS.replace("cumsum(2)", "cumsum(-2)")), (NORM, NORM.replace("cumsum(2)", "cumsum(-1)"))],
    believes="the last but one axis is time",
)
ex.wrong(
    "divided by the weight of the own token",
    "The denominator is the sum of all weights of this query: φ(q) times the sum of φ(k) up to it.",
    (NORM, "(q * k).sum(-1, keepdim=True)"), believes="the weights are those of one token",
)

ex.right(
    "with the table, which this method avoids",
    source="""
def linear_attention(q, k, v):
    weights = ((F.elu(q) + 1) @ (F.elu(k) + 1).transpose(-2, -1)).tril()
    return (weights / weights.sum(-1, keepdim=True)) @ v
""",
)
ex.right(
    "token by token, with a state",
    source="""
def linear_attention(q, k, v):
    phi = lambda x: torch.where(x > 0, x + 1, x.clamp(max=0).exp())
    memory, total, rows = 0, 0, []
    for t in range(q.shape[2]):
        query, key = phi(q[:, :, t]), phi(k[:, :, t])
        memory = memory + torch.einsum("bhk,bhv->bhkv", key, v[:, :, t])
        total = total + key
        rows.append(torch.einsum("bhk,bhkv->bhv", query, memory) / (query * total).sum(-1, keepdim=True))
    return torch.stack(rows, dim=2)
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0", "-1"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-2", "2"),
    of="with the table, which this method avoids",
)
ex.right("a helper, and einsum throughout", source='''
def linear_attention(q, k, v):
    def phi(x):
        return F.elu(x) + 1

    memory = torch.einsum("bhtk,bhtv->bhtkv", phi(k), v).cumsum(dim=2)
    found = torch.einsum("bhtk,bhtkv->bhtv", phi(q), memory)
    total = torch.einsum("bhtk,bhtk->bht", phi(q), phi(k).cumsum(dim=2))
    return found / total[..., None]
''')
ex.right("a column of ones beside the values", source='''
def linear_attention(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    values = torch.cat((v, torch.ones_like(v[..., :1])), dim=-1)
    memory = torch.cumsum(k.unsqueeze(-1) * values.unsqueeze(-2), dim=-3)
    both = (q.unsqueeze(-2) @ memory).squeeze(-2)
    return both[..., :-1] / both[..., -1:]
''')
ex.right("component by component", source='''
def linear_attention(q, k, v):
    q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q, k))
    top, bottom = 0, 0
    for i in range(q.shape[-1]):
        query, key = q[..., i : i + 1], k[..., i : i + 1]
        top = top + query * (key * v).cumsum(2)
        bottom = bottom + query * key.cumsum(2)
    return top / bottom
''')
ex.right("a triangle makes the running sums", source='''
def linear_attention(q, k, v):
    T = q.shape[2]
    q, k = F.elu(q).add(1), F.elu(k).add(1)
    lower = torch.ones(T, T, dtype=q.dtype, device=q.device).tril()
    scores = torch.einsum("bhtk,bhsk,ts->bhts", q, k, lower)
    return torch.matmul(scores, v) / torch.matmul(q * (lower @ k), torch.ones_like(q[0, 0, 0]))[..., None]
''')
ex.right("query by query over the tokens so far", source='''
def linear_attention(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    rows = []
    for t in range(q.shape[2]):
        weights = (k[:, :, : t + 1] * q[:, :, t : t + 1]).sum(-1, keepdim=True)
        rows.append((weights * v[:, :, : t + 1]).sum(2) / weights.sum(2))
    return torch.stack(rows, 2)
''')
ex.right("masked logarithms and a softmax", source='''
def linear_attention(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    later = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device).triu(1)
    return (q @ k.mT).log().masked_fill(later, -torch.inf).softmax(-1) @ v
''')
