"""Exercise 3.4: cross-attention of one head, with the padding of the source hidden.

``x`` (B, T, D) is what the decoder has, ``memory`` (B, S, D) what the encoder made, ``lengths`` (B,) its real
tokens. ``w_q`` and ``w_k`` are (D, K), ``w_v`` is (D, K'): values may be wider or narrower than keys.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.symptoms import wrong_only_where
from pioneers.checks.variant import own_seed

ANSWER = '''
def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    lengths: Tensor,
) -> Tensor:
    """One head of cross-attention from x (B, T, D) to memory (B, S, D),
    its padding hidden."""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(k.shape[-1])
    real = torch.arange(memory.shape[1], device=x.device) < lengths[:, None, None]
    return scores.masked_fill(~real, -math.inf).softmax(dim=-1) @ v
'''
ex = exercise(
    "3.4", ANSWER, points=12, minutes=14, difficulty=2, reread="sec-cross-attention", equation="eq-cross"
)


@ex.maker
def sentences(normal, B, T, S, lengths, D=7, K=3, Kv=5, size=1, dtype=torch.float32, low=False, large=1):
    """Streams of decoder and encoder of a given ``size``, matrices of size 1; or all scores are ``low``.

    Padding is multiplied by ``large``.
    """
    args = {"x": size * normal(B, T, D), "memory": size * normal(B, S, D), "w_q": normal(D, K)}
    args |= {"w_k": normal(D, K), "w_v": normal(D, Kv)}
    if low:
        far, apart = (100, 100) if own_seed(1) == 1 else (40, 10)  # a variant may not depend on rounding
        args |= {name: far + args[name] / apart for name in ("x", "memory")}
        args |= {"w_q": args["w_q"].abs(), "w_k": -args["w_k"].abs()}
    args["memory"][torch.arange(S) >= torch.tensor(lengths)[:, None]] *= large
    return {name: x.to(dtype) for name, x in args.items()} | {"lengths": torch.tensor(lengths)}


LOW, LARGE = "all scores far below zero", "padding that holds very large numbers"
LONGER = "a target longer than its source"
ex.probe("three target tokens, five source tokens", B=2, T=3, S=5, lengths=[5, 2])
ex.probe(LONGER, B=2, T=7, S=3, lengths=[1, 3])
ex.probe("as many target tokens as source tokens", B=3, T=5, S=5, lengths=[4, 5, 1])
ex.probe("no padding, a batch of one, one target token", B=1, T=1, S=4, lengths=[4])
ex.probe("double precision", B=2, T=3, S=5, lengths=[3, 5], dtype=torch.float64)
ex.probe("numbers with gaps in memory", B=2, T=3, S=5, lengths=[4, 2], strided=True)
ex.probe(LOW, B=2, T=3, S=5, lengths=[2, 4], low=True, dtype=torch.float64)
ex.probe(LARGE, B=3, T=2, S=5, lengths=[2, 4, 3], large=1e10)
WIDE, F64 = {"D": 11, "K": 5, "Kv": 3}, torch.float64
ex.hidden("keys wider than values", B=3, T=2, S=7, lengths=[1, 7, 4], **WIDE)
ex.hidden("as long as the source, large scores", B=2, T=5, S=5, lengths=[5, 3], size=5, dtype=F64, **WIDE)


@ex.law(
    "cross-attention does not see the order of the memory",
    "A sum does not care about the order of its terms.", on=LONGER,
)
def shuffled(run, probe):
    probe = probe.having("law", lengths=torch.tensor([3, 3]))
    return run(probe.having("law", memory=probe.args["memory"][:, [2, 0, 1]])), run(probe)


@ex.law(
    "what stands in the padding changes nothing", "Padding moves no answer.", section="sec-three-attentions"
)
def other_padding(run, probe):
    padding = torch.arange(5) >= probe.args["lengths"][:, None]
    return run(probe.having("law", memory=probe.args["memory"] + 30 * padding[..., None])), run(probe)


extreme_scores = wrong_only_where(lambda case: case.probe.name in (LOW, LARGE))


def only_at_extremes(symptom):
    return symptom.stage == "value" and extreme_scores(symptom)


MADE, SIZE = "x @ w_q, memory @ w_k, memory @ w_v", "memory.shape[1]"
ZEROED = """    zero = torch.arange(memory.shape[1], device=x.device) >= lengths[:, None]
    memory = memory.masked_fill(zero[..., None], 0.0)
"""
HIDDEN = ".masked_fill(~real, -math.inf)"
MASKS = {"section": "sec-three-attentions"}
ex.wrong(
    "queries and keys exchanged",
    "The decoder asks, the source answers: the result has one row for each target token.",
    [(MADE, "memory @ w_q, x @ w_k, x @ w_v"), (SIZE, "x.shape[1]")],
    [(MADE, "memory @ w_q, x @ w_k, memory @ w_v"), (SIZE, "x.shape[1]")],
    believes="the source asks the target",
)
ex.wrong(
    "the memory is never read",
    "Keys and values come from the memory; made from x this is self-attention, blind to the source.",
    [(MADE, "x @ w_q, x @ w_k, x @ w_v"), (SIZE, "x.shape[1]")], believes="attention is self-attention",
)
ex.wrong(
    "values from the decoder",
    "What is fetched are the source's values: made from x, there are T of them for S weights.",
    ("memory @ w_v", "x @ w_v"), believes="the decoder attends with its own values",
)
ex.wrong(
    "the decoder asks nothing",
    "Queries made from the memory are self-attention in the encoder: the target has no say.",
    ("x @ w_q", "memory @ w_q"), believes="the memory asks and answers",
)
ex.wrong(
    "the padding of the source is seen",
    "Behind its length a source holds padding, and no target token may attend to it.",
    (HIDDEN, ""),
    [("    q, k, v", "    memory = memory[:, : int(lengths.max())]\n    q, k, v"), (HIDDEN, "")],
    believes="in attention all lengths are equal", **MASKS,
)
ex.wrong(
    "padding set to zero",
    "Zero vectors have the score 0, which takes its share of the weights: hide their scores with -inf.",
    [("    q, k, v", f"{ZEROED}    q, k, v"), (HIDDEN, "")], believes="zeros are nothing", **MASKS,
)
ex.wrong(
    "the mask is inverted",
    "True means may attend: fill with -inf where a token is not real.",
    ("~real", "real"), believes="True means hide, as in PyTorch's modules", **MASKS,
)
ex.wrong(
    "one padding token too many",
    "lengths counts the real tokens: the places 0 to lengths - 1, so place < lengths.",
    ("< lengths", "<= lengths"), believes="the length is a place", **MASKS,
)
ex.wrong(
    "a causal mask across",
    "The whole source is known before the first word is written: nothing in it is hidden by causality.",
    ("~real", "~(real & torch.ones_like(scores, dtype=torch.bool).tril())"),
    believes="every attention of a decoder is causal", **MASKS,
)
ex.wrong(
    "masked after the softmax",
    "The padding has already taken its share, so the weights that remain no longer sum to one.",
    (f"{HIDDEN}.softmax(dim=-1)", ".softmax(dim=-1).mul(real)"), believes="weights are masked", **MASKS,
)
ex.wrong(
    "score zero instead of -inf",
    "A score of 0 is a score like any other: exp(0) = 1. Hidden keys need -inf before the softmax.",
    ("-math.inf", "0"), believes="a padding token has no score, so zero", **MASKS,
)
ex.wrong(
    "scaled by the wrong width",
    "The scores are sums over K terms: divide by √K, the width of the keys.",
    ("k.shape[-1]", "v.shape[-1]"), ("k.shape[-1]", "x.shape[-1]"),
    believes="d is the width of what comes out, or of the model",
)
ex.wrong(
    "not scaled",
    "The scores are divided by √K before the softmax.",
    (" / math.sqrt(k.shape[-1])", ""), believes="a score is a dot product",
)
ex.wrong(
    "softmax over the queries",
    "Each target token shares out its attention among the source tokens: the softmax runs over the keys.",
    ("softmax(dim=-1)", "softmax(dim=1)"), believes="the softmax normalises over the words that are written",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    (", device=x.device", ""), believes="everything lives on the CPU",
)
ex.wrong(
    "the library does the work",
    "",
    (f"scores{HIDDEN}.softmax(dim=-1) @ v", "F.scaled_dot_product_attention(q, k, v, attn_mask=real)"),
    [("    q, k, v", "    from pioneers.layers import attention\n\n    q, k, v"),
     (f"scores{HIDDEN}.softmax(dim=-1) @ v", "attention(q, k, v, mask=real)")],
    believes="a fused kernel, or a layer of the package, is an answer",
)
ex.wrong(
    "keys from the decoder",
    "Keys and values both come from the memory; only the queries come from the decoder.",
    ("memory @ w_k", "x @ w_k"), ("memory @ w_k, memory @ w_v", "x @ w_k, x @ w_v"),
    believes="attention has one input",
)
ex.wrong(
    "the mask lacks an axis",
    "The scores are (B, T, S): the lengths need two axes more, one for the queries and one for the keys.",
    ("lengths[:, None, None]", "lengths[:, None]"), believes="broadcasting will find the axes",
)
ex.wrong(
    "masked after the softmax, then renormalised",
    "Padding may hold anything: its scores decide what underflows, so -inf must come before the softmax.",
    ("scores.masked_fill(~real, -math.inf).softmax(dim=-1)",
     "((w := scores.softmax(-1) * real) / w.sum(-1, keepdim=True))"),
    believes="what was taken can be shared out again",
)
ex.wrong(
    "a finite number in place of minus infinity",
    "Some scores are as low as this number, and padding may score as high: fill with -math.inf.",
    ("-math.inf", "-1e4"), ("-math.inf", "-100"),
    *((HIDDEN, f".add(~real * {number})") for number in ("-1e9", "-1e4")),
    believes="-1e9 is as good as minus infinity", shows=only_at_extremes, **MASKS,
)
ex.builds_on("1.3")

ex.right("one sentence at a time, without its padding", source='''
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    out = []
    for z, m, n in zip(x, memory, lengths.tolist()):
        m = m[:n]
        scores = (z @ w_q) @ (m @ w_k).T / math.sqrt(w_k.shape[1])
        out.append(scores.softmax(dim=1) @ (m @ w_v))
    return torch.stack(out)
''')
ex.right("einsum", source='''
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q = torch.einsum("btd,dk->btk", x, w_q) * w_q.shape[1] ** -0.5
    k, v = torch.einsum("bsd,dk->bsk", memory, w_k), torch.einsum("bsd,dv->bsv", memory, w_v)
    hidden = torch.arange(memory.shape[1], device=x.device)[None, None] >= lengths[:, None, None]
    weights = torch.einsum("btk,bsk->bts", q, k).masked_fill(hidden, -torch.inf).softmax(-1)
    return torch.einsum("bts,bsv->btv", weights, v)
''')
ex.right("where and a padding mask of four axes less one", source='''
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    scores = torch.bmm(x @ w_q, (memory @ w_k).transpose(1, 2)) / w_k.size(1) ** 0.5
    places = torch.arange(memory.size(1), device=memory.device).expand(len(x), 1, -1)
    scores = torch.where(places < lengths.view(-1, 1, 1), scores, -torch.inf)
    return torch.bmm(F.softmax(scores, dim=2), memory @ w_v)
''')
ex.right("an added bias of minus infinity", source='''
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    S = memory.shape[1]
    padding = torch.arange(S, device=x.device) >= lengths[:, None]
    bias = torch.zeros(len(x), 1, S, dtype=x.dtype, device=x.device).masked_fill(padding[:, None], -math.inf)
    scores = (x @ w_q) @ (memory @ w_k).mT * w_k.shape[1] ** -0.5 + bias
    return scores.softmax(-1) @ memory @ w_v
''')
ex.right("the softmax by hand", source='''
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    scores = (x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[-1])
    real = (torch.arange(memory.shape[1], device=x.device) < lengths[:, None])[:, None]
    scores = scores.masked_fill(~real, -math.inf)
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return (e @ (memory @ w_v)) / e.sum(-1, keepdim=True)
''')
ex.right("both projections of the queries joined", source='''
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    scores = x @ (w_q @ w_k.T / math.sqrt(w_k.shape[1])) @ memory.mT
    hidden = torch.arange(memory.shape[1], device=x.device)[None, None, :] >= lengths[:, None, None]
    return torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ (memory @ w_v)
''')
ex.right("linear layers, memory along the rows", source='''
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = F.linear(x, w_q.T), F.linear(memory, w_k.T), F.linear(memory, w_v.T)
    real = torch.arange(memory.shape[1], device=x.device)[:, None] < lengths[:, None, None]
    weights = (k @ q.mT / math.sqrt(k.shape[-1])).masked_fill(~real, -math.inf).softmax(1)
    return weights.mT @ v
''')
ex.right("one target token at a time", source='''
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    k, v = memory @ w_k, memory @ w_v
    padding = torch.arange(memory.shape[1], device=x.device) >= lengths[:, None]
    out = []
    for t in range(x.shape[1]):
        scores = (k * (x[:, t] @ w_q)[:, None]).sum(-1) / math.sqrt(w_k.shape[1])
        weights = scores.masked_fill(padding, -math.inf).softmax(-1)
        out.append((weights[..., None] * v).sum(1))
    return torch.stack(out, dim=1)
''')
