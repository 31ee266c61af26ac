"""Exercise 8.10: grouped queries, several heads of queries that share a head of keys and values."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def grouped_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor
) -> Tensor:
    """Attention (B, H, T, Dv) of H heads of queries,
    which share G heads of keys and values."""
    B, H, T, K = q.shape
    grouped = q.unflatten(1, (k.shape[1], -1))
    scores = grouped @ k.unsqueeze(2).mT / K**0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return (weights @ v.unsqueeze(2)).flatten(1, 2)
'''
ex = exercise(
    "8.10", ANSWER, points=8, minutes=12, difficulty=2, reread=("sec-grouped-queries", "sec-scaling"),
    seed=81003,
)


@ex.maker
def shared(normal, B, H, G, T, S, K, V, dtype=torch.float32, size=1.0, seen=0.4, low=False):
    """A mask that is not a triangle, in which every query sees at least one key; ``low`` scores if wished."""
    args = {"q": size * normal(B, H, T, K), "k": normal(B, G, S, K), "v": normal(B, G, S, V)}
    if low:
        args |= {"q": 80 + args["q"] / 100, "k": args["k"] / 100 - 80}
    mask = normal(T, S) < seen
    mask[torch.arange(T), torch.arange(T) * 3 % S] = True
    return {name: x.to(dtype) for name, x in args.items()} | {"mask": mask}


ex.probe("six heads in three groups", B=2, H=6, G=3, T=5, S=7, K=11, V=3)
ex.probe("six heads in two groups", B=3, H=6, G=2, T=7, S=5, K=3, V=13)
ex.probe("one group for all heads", B=2, H=5, G=1, T=3, S=7, K=5, V=11)
ex.probe("as many groups as heads", B=2, H=3, G=3, T=5, S=7, K=7, V=5)
ex.probe("a batch of one, one query", B=1, H=4, G=2, T=1, S=11, K=5, V=3)
ex.probe("very large scores", B=2, H=4, G=2, T=3, S=5, K=7, V=3, size=200.0)
ex.probe("double precision", B=2, H=6, G=3, T=5, S=7, K=5, V=3, dtype=torch.float64)
ex.probe("half precision", B=2, H=4, G=2, T=5, S=7, K=5, V=3, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, H=6, G=3, T=5, S=7, K=3, V=5, strided=True)
ex.probe("scores far below zero", B=1, H=4, G=2, T=3, S=7, K=5, V=3, low=True, dtype=torch.float64)
ex.hidden("as many tokens as heads", B=4, H=4, G=2, T=4, S=4, K=4, V=4)
ex.hidden("ten heads in five groups", B=3, H=10, G=5, T=7, S=3, K=5, V=2)
ex.hidden("everything may be seen", B=2, H=9, G=3, T=5, S=5, K=7, V=11, seen=99.0)


@ex.law("what no query may see does not matter", "Its weight is 0.", section="sec-causal", equation="eq-mask")
def unseen_changed(run, probe):
    mask = probe.args["mask"].clone()
    mask[:, 2], mask[:, 3] = False, True
    k, v = probe.args["k"].clone(), probe.args["v"].clone()
    k[:, :, 2] += 5
    v[:, :, 2] -= 3
    return run(probe.having("law", mask=mask)), run(probe.having("law", mask=mask, k=k, v=v))


GROUPED = "q.unflatten(1, (k.shape[1], -1))"
ex.wrong(
    "neighbouring heads are in different groups",
    "The first H/G heads share the first group, and so on: repeat_interleave does that, repeat does not.",
    [(GROUPED, "q.unflatten(1, (-1, k.shape[1]))"), ("k.unsqueeze(2)", "k.unsqueeze(1)"),
     ("v.unsqueeze(2)", "v.unsqueeze(1)")], believes="head h reads group h mod G",
)
ex.wrong(
    "keys and values paired differently",
    "A head takes keys and values from the same group.",
    source="""
def grouped_attention(q, k, v, mask):
    n = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(n, 1), v.repeat(1, n, 1, 1)
    return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v
""", believes="repeat and repeat_interleave are the same",
)
ex.wrong(
    "only the first group is read",
    "Each group of heads has keys and values of its own.",
    [("k.unsqueeze(2)", "k[:, :1].unsqueeze(2)"), ("v.unsqueeze(2)", "v[:, :1].unsqueeze(2)")],
    believes="shared means shared by all",
)
ex.wrong(
    "the mean of all groups",
    "Keys and values are shared within a group, not averaged over groups.",
    [("k.unsqueeze(2)", "k.mean(1, keepdim=True).unsqueeze(2)"),
     ("v.unsqueeze(2)", "v.mean(1, keepdim=True).unsqueeze(2)")], believes="to share is to average",
)
ex.wrong(
    "the queries of a group are averaged",
    "Every head keeps its own queries and its own output: only keys and values are shared.",
    (GROUPED, f"{GROUPED}.mean(2, keepdim=True).expand(-1, -1, H // k.shape[1], -1, -1)"),
    believes="a group is one head",
)
ex.wrong(
    "one output for each group",
    "Every head has its own output: there are H of them.",
    (GROUPED, f"{GROUPED}[:, :, :1]"), believes="G heads of keys give G outputs",
)
ex.wrong(
    "the heads come out in another order",
    "The output of head h belongs at place h.",
    (".flatten(1, 2)", ".transpose(1, 2).flatten(1, 2)"), believes="the order of heads is free",
)
ex.wrong(
    "H groups are expected",
    "There are fewer heads of keys than of queries: each is read by H/G heads.",
    [(GROUPED, "q"), ("k.unsqueeze(2)", "k"), ("v.unsqueeze(2)", "v"), (".flatten(1, 2)", "")],
    believes="broadcasting does it",
    shows=lambda symptom: symptom.stage == "runs" and "must match the size" in symptom.case.outcome.error,
)
ex.wrong(
    "the scores are not scaled",
    "The scores are divided by the square root of the width of a query.",
    (" / K**0.5", ""), believes="no scale is needed", section="sec-scaling", equation="eq-scaled",
)
ex.wrong(
    "scaled by another width",
    "The scale is the square root of the width K of one query; not of the values, not of all heads.",
    ("K**0.5", "v.shape[-1] ** 0.5"), ("K**0.5", "(K * H) ** 0.5"),
    ("K**0.5", "(K * H // k.shape[1]) ** 0.5"),
    believes="any width will do", section="sec-scaling", equation="eq-scaled",
)
ex.wrong(
    "divided by the width itself",
    "The scale is the square root of the width.",
    ("K**0.5", "K"), believes="the scale is 1/K", section="sec-scaling", equation="eq-scaled",
)
ex.wrong(
    "the mask is the wrong way round",
    "True means that a query may see a key: what is False gets -inf.",
    ("~mask", "mask"), believes="True marks what is hidden", section="sec-causal", equation="eq-mask",
    shows=lambda symptom: symptom.stage in ("finite", "value") and inverted(symptom),
)


def inverted(symptom):
    """Whether every result is what the mask gives when it is read the other way."""
    for case in symptom.cases:
        args = case.probe.args | {"mask": ~case.probe.args["mask"]}
        want = ex.reference(*(x.double() if x.is_floating_point() else x for x in args.values()))
        if not torch.allclose(case.outcome.tensor.double(), want, rtol=0.02, atol=0.02, equal_nan=True):
            return False
    return True


ex.wrong(
    "the mask is ignored",
    "A query may see the keys where the mask is True, and no others.",
    ("scores.masked_fill(~mask, -torch.inf)", "scores"), believes="masks are for GPT",
    section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "weights set to zero after the softmax",
    "Then the weights do not sum to one: hide the scores, before the softmax.",
    ("scores.masked_fill(~mask, -torch.inf).softmax(-1)", "scores.softmax(-1) * mask"),
    believes="zero is hidden", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "the softmax runs over the queries",
    "For each query the weights of the keys sum to one: the softmax runs over the last axis.",
    ("softmax(-1)", "softmax(-2)"), believes="any axis will do", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "a number that half precision does not have",
    "float16 ends at 65504: what must not be seen gets -inf, in every type.",
    ("-torch.inf", "-1e9"), believes="-1e9 is as good as -inf",
    shows=lambda symptom: symptom.stage == "runs" and "overflow" in symptom.case.outcome.error,
    section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "the library does the work",
    source="""
def grouped_attention(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
""", believes="attention is a call",
)
ex.wrong(
    "the library does the work",
    source="""
def grouped_attention(q, k, v, mask):
    from pioneers.layers import attention

    n = q.shape[1] // k.shape[1]
    return attention(q, k.repeat_interleave(n, 1), v.repeat_interleave(n, 1), mask=mask)
""", believes="the package has a function for that",
)
ex.wrong(
    "scores multiplied by the mask",
    "A score of 0 is a score like others and gets a weight: what must not be seen gets -inf.",
    ("scores.masked_fill(~mask, -torch.inf)", "(scores * mask)"), believes="zero is hidden",
    section="sec-causal", equation="eq-mask",
)

ex.right(
    "keys and values repeated",
    source="""
def grouped_attention(q, k, v, mask):
    n = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(n, dim=1), v.repeat_interleave(n, dim=1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return torch.softmax(torch.where(mask, scores, -torch.inf), dim=-1) @ v
""",
)
ex.right(
    "head by head",
    source="""
def grouped_attention(q, k, v, mask):
    n, heads = q.shape[1] // k.shape[1], []
    for h in range(q.shape[1]):
        scores = torch.einsum("btk,bsk->bts", q[:, h], k[:, h // n]) * q.shape[-1] ** -0.5
        weights = torch.softmax(scores.masked_fill(mask.logical_not(), float("-inf")), dim=2)
        heads.append(torch.einsum("bts,bsv->btv", weights, v[:, h // n]))
    return torch.stack(heads, dim=1)
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-2", "2"),
    of="keys and values repeated",
)
ex.right("einsum with an axis for the groups", source='''
def grouped_attention(q, k, v, mask):
    B, H, T, K = q.shape
    G = k.shape[1]
    q = q.reshape(B, G, H // G, T, K)
    scores = torch.einsum("bgntk,bgsk->bgnts", q, k) / math.sqrt(K)
    weights = scores.masked_fill(mask.logical_not(), -math.inf).softmax(dim=-1)
    return torch.einsum("bgnts,bgsv->bgntv", weights, v).reshape(B, H, T, -1)
''')
ex.right("the heads of a group as more queries", source='''
def grouped_attention(q, k, v, mask):
    B, H, T, K = q.shape
    G = k.shape[1]
    rows = q.reshape(B, G, H // G * T, K)
    scores = rows @ k.mT * K**-0.5
    scores = scores.masked_fill(~mask.repeat(H // G, 1), -torch.inf)
    return (F.softmax(scores, dim=-1) @ v).reshape(B, H, T, v.shape[-1])
''')
ex.right("group by group", source='''
def grouped_attention(q, k, v, mask):
    n, out = q.shape[1] // k.shape[1], []
    for g in range(k.shape[1]):
        heads = q[:, g * n : (g + 1) * n]
        scores = heads @ k[:, g : g + 1].transpose(2, 3) / q.shape[3] ** 0.5
        out.append(torch.where(mask, scores, -torch.inf).softmax(3) @ v[:, g : g + 1])
    return torch.cat(out, dim=1)
''')
ex.right("an index that says which group each head has", source='''
def grouped_attention(q, k, v, mask):
    H, G = q.shape[1], k.shape[1]
    group = torch.arange(H, device=q.device) // (H // G)
    scores = torch.matmul(q / math.sqrt(q.shape[-1]), k[:, group].mT)
    weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), -1)
    return torch.matmul(weights, v[:, group])
''')
ex.right("keys and values expanded, then flattened", source='''
def grouped_attention(q, k, v, mask):
    n = q.shape[1] // k.shape[1]
    k = k[:, :, None].expand(-1, -1, n, -1, -1).flatten(1, 2)
    v = v[:, :, None].expand(-1, -1, n, -1, -1).flatten(1, 2)
    bias = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~mask, -torch.inf)
    return ((q @ k.mT) / q.shape[-1] ** 0.5 + bias).softmax(-1) @ v
''')
ex.right("a helper for one head, and the exponentials written out", source='''
def grouped_attention(q, k, v, mask):
    def head(q, k, v):
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
        weights = (scores - scores.amax(-1, keepdim=True).detach()).exp()
        return weights / weights.sum(-1, keepdim=True) @ v

    n = q.shape[1] // k.shape[1]
    pairs = zip(k.unbind(1), v.unbind(1))
    heads = q.split(n, dim=1)
    return torch.cat([head(h, a[:, None], b[:, None]) for h, (a, b) in zip(heads, pairs)], 1)
''')
