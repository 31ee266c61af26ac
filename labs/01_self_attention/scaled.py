"""Exercise 1.3: scaled attention as two matrix products.

Axes: T queries, S keys, K the width of queries and keys, V that of values. Sizes are distinct primes.
"""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Scaled attention: q (..., T, K), k (..., S, K),
    v (..., S, V) → (..., T, V)."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ v
'''
ex = exercise(
    "1.3", ANSWER, points=12, minutes=15, difficulty=2, reread="sec-loop-to-matrix", equation="eq-attention",
)


@ex.maker
def vectors(normal, lead, T, S, K, V, size=1.0, dtype=torch.float32):
    """Queries, of this ``size``, keys and values, with the axes ``lead`` in front."""
    q, k, v = (normal(*lead, *axes, dtype=dtype) for axes in ((T, K), (S, K), (S, V)))
    return {"q": size * q, "k": k, "v": v}


ex.probe("d_k differs from d_v", lead=(2,), T=5, S=11, K=7, V=3)
ex.probe("no batch axis", lead=(), T=5, S=3, K=7, V=2)
ex.probe("batch and heads in front", lead=(2, 3), T=5, S=7, K=11, V=13)
ex.probe("a batch of one", lead=(1,), T=3, S=7, K=5, V=2)
ex.probe("very large scores", lead=(2,), T=3, S=5, K=7, V=2, size=300)
ex.probe("double precision", lead=(2,), T=3, S=5, K=7, V=2, dtype=torch.float64)
ex.probe("bfloat16", lead=(2,), T=3, S=5, K=7, V=2, dtype=torch.bfloat16)
ex.probe("numbers with gaps in memory", lead=(2,), T=3, S=5, K=7, V=2, strided=True)
ex.hidden("values wider than keys", lead=(3,), T=7, S=5, K=2, V=13)
ex.hidden("one query", lead=(2, 3), T=1, S=7, K=5, V=11)
ex.hidden("width 1", lead=(2,), T=3, S=5, K=1, V=3)


@ex.law(
    "permuting the tokens permutes the output",
    "Attention has no sense of order: every token is treated alike.",
    on="a batch of one",
    section="sec-equivariance",
)
def permuted(run, probe):
    x, order = probe.args["k"], torch.tensor([3, 0, 6, 1, 5, 2, 4])
    y = x[:, order]
    plain = run(probe.having("law", q=x, k=x, v=x))
    return plain[:, order], run(probe.having("law", q=y, k=y, v=y))


@ex.law("the weights of a query sum to one", "The softmax shares out exactly 1.")
def weights_sum_to_one(run, probe):
    rows = run(probe.having("law", v=torch.eye(11).expand(2, 11, 11))).sum(-1)
    return rows, torch.ones_like(rows)


SCALE, SOFTMAX = " / math.sqrt(q.shape[-1])", "scores.softmax(dim=-1)"
SCALING = {"section": "sec-scaling", "equation": "eq-scaled"}
ex.wrong(
    "not scaled",
    "The variance of a dot product grows with d_k; undivided, the softmax saturates.",
    (SCALE, ""), believes="the scale is a detail", **SCALING,
)
ex.wrong(
    "scaled by the width of the values",
    "The variance that must be undone is that of q·k, a sum over d_k terms; d_v has no part in it.",
    ("q.shape", "v.shape"), believes="every width is the same width", **SCALING,
)
ex.wrong(
    "divided by d_k instead of its root",
    "The standard deviation of q·k is √d_k; dividing by d_k makes every row nearly uniform.",
    (SCALE, " / q.shape[-1]"), believes="dividing by the width is as good as by its root", **SCALING,
)
ex.wrong(
    "scaled after the softmax",
    "Once the softmax has saturated a division cannot help, and the weights no longer sum to one.",
    [(SCALE, ""), (SOFTMAX, f"({SOFTMAX}{SCALE})")], believes="it does not matter where one divides",
    **SCALING,
)
ex.wrong(
    "softmax over the queries",
    "Each query shares out its attention over the keys, the last axis of the scores.",
    ("dim=-1", "dim=-2"), believes="the softmax runs over the queries", equation="eq-softmax",
)
ex.wrong(
    "keys not transposed",
    "q is (T, K) and k is (S, K): their product needs k with its last two axes swapped, (K, S).",
    (".transpose(-2, -1)", ""), believes="matrices multiply as they come",
)
ex.wrong(
    "keys reshaped instead of transposed",
    "A reshape to (K, S) mixes the numbers of different keys: swap the last two axes.",
    ("k.transpose(-2, -1)", "k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])"),
    believes="a reshape to the right shape is right",
)
ex.wrong(
    "the wrong axes are transposed",
    "Swap the last two axes of k, transpose(-2, -1), so that any axes in front stay where they are.",
    ("transpose(-2, -1)", "transpose(0, 1)"), ("transpose(-2, -1)", "transpose(1, 2)"),
    believes="there is always one batch axis",
)
ex.wrong(
    "no softmax",
    "Without the softmax the rows of weights neither stay positive nor sum to one.",
    (SOFTMAX, "scores"), believes="scores are weights", equation="eq-softmax",
)
ex.wrong(
    "the library does the work",
    source="""
def attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
""", believes="a library call is an answer",
)
ex.wrong(
    "multiplied by the root",
    "The scores grow with the width and are divided by √d_k; multiplying makes it worse.",
    (SCALE, " * math.sqrt(q.shape[-1])"), believes="a scale is a factor", **SCALING,
)
ex.wrong(
    "scaled by a number of tokens",
    "d_k is the width of queries and keys, their last axis; the axis before it counts tokens.",
    ("q.shape[-1]", "q.shape[-2]"), ("q.shape[-1]", "k.shape[-2]"), believes="d_k is the number of keys",
    **SCALING,
)
ex.wrong(
    "softmax over another axis",
    "The keys are the last axis of the scores, whatever axes come before it: dim=-1.",
    ("dim=-1", "dim=1"), ("dim=-1", "dim=0"), believes="axis 1 is the second of two", equation="eq-softmax",
)
ex.wrong(
    "all axes of the keys reversed",
    "k.T reverses every axis: swap the last two only, transpose(-2, -1) or k.mT.",
    ("k.transpose(-2, -1)", "k.T"), believes="T transposes matrices",
)

ex.right(
    "einsum",
    source="""
def attention(q, k, v):
    scores = torch.einsum("...tk,...sk->...ts", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("...ts,...sv->...tv", torch.softmax(scores, dim=-1), v)
""",
)
ex.right(
    "one query at a time",
    source="""
def attention(q, k, v):
    rows = []
    for t in range(q.shape[-2]):
        scores = (q[..., t : t + 1, :] * k).sum(-1) / math.sqrt(k.shape[-1])
        weights = torch.nn.functional.softmax(scores, dim=-1)
        rows.append((weights[..., None] * v).sum(-2))
    return torch.stack(rows, dim=-2)
""",
)
ex.right("matmul, queries scaled first", source='''
def attention(q, k, v):
    weights = torch.softmax(torch.matmul(q / math.sqrt(q.size(-1)), k.mT), -1)
    return torch.matmul(weights, v)
''')
ex.right("broadcasting without a matrix product", source='''
def attention(q, k, v):
    scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1) / q.shape[-1] ** 0.5
    weights = torch.nn.functional.softmax(scores, -1)
    return (weights.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2)
''')
ex.right("the softmax by hand", source='''
def attention(q, k, v):
    scores = q @ k.mT * k.shape[-1] ** -0.5
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True) @ v
''')
ex.right("keys along the rows", source='''
def attention(q, k, v):
    scores = k @ q.transpose(-1, -2) / math.sqrt(k.shape[-1])
    return scores.softmax(-2).transpose(-1, -2) @ v
''')
ex.right("shares divided at the end", source='''
def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    e = (scores - scores.max(-1, keepdim=True).values).exp()
    return (e @ v) / e.sum(-1, keepdim=True)
''')
ex.right("one batch axis, bmm", source='''
def attention(q, k, v):
    a, b, c = (t.reshape(-1, *t.shape[-2:]) for t in (q, k, v))
    weights = torch.softmax(torch.bmm(a, b.mT) / math.sqrt(a.shape[2]), dim=2)
    return torch.bmm(weights, c).reshape(*q.shape[:-1], v.shape[-1])
''')
