"""Exercise 1.9: multi-head attention from four weight matrices."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def multi_head_attention(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    num_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    """Multi-head self-attention: x (B, T, D) → (B, T, D).

    w_q, w_k, w_v are (D, H·K) and w_o is (H·K, D), each used as ``x @ w``.
    The boolean mask, if any, broadcasts to (B, H, T, T).
    """
    B, T, _ = x.shape
    q, k, v = ((x @ w).reshape(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    heads = scores.softmax(dim=-1) @ v
    return heads.transpose(1, 2).reshape(B, T, -1) @ w_o
'''
ex = exercise(
    "1.9", ANSWER, points=14, minutes=20, difficulty=3, reread="sec-multihead-preview",
    equation="eq-multihead",
)


@ex.maker
def layer(normal, B, T, D, H, K, dtype=torch.float32, low=False, **mask):
    """H heads of width K, with weights that keep the variance of ``x``, and all scores ``low`` if wished."""
    args = {"x": normal(B, T, D, dtype=dtype)}
    args |= {w: normal(D, H * K, dtype=dtype) / D**0.5 for w in ("w_q", "w_k", "w_v")}
    if low:
        args |= {"w_q": 200 * args["w_q"].abs(), "w_k": -200 * args["w_k"].abs(), "x": 1 + args["x"] / 100}
    return args | {"w_o": normal(H * K, D, dtype=dtype) / (H * K) ** 0.5, "num_heads": H} | mask


PADDING = (torch.arange(5) < torch.tensor([[5], [2]]))[:, None, None]
ex.probe("2 heads of width 3", B=2, T=5, D=6, H=2, K=3)
ex.probe("heads that together are wider than the model", B=2, T=5, D=7, H=3, K=5)
ex.probe("a causal mask", B=2, T=5, D=10, H=5, K=2, mask=torch.ones(5, 5).bool().tril())
ex.probe("a padding mask", B=2, T=5, D=6, H=3, K=2, mask=PADDING)
ex.probe("one head, a batch of one", B=1, T=3, D=5, H=1, K=5)
ex.probe("double precision", B=1, T=3, D=6, H=3, K=2, dtype=torch.float64)
ex.probe("numbers with gaps in memory", B=2, T=3, D=10, H=2, K=5, strided=True)
LOWER = torch.ones(5, 5).bool().tril()
EACH = torch.stack((LOWER, LOWER.T, LOWER | LOWER.T))
ex.probe("one mask for each head", B=2, T=5, D=7, H=3, K=2, mask=EACH)
LOWER = torch.ones(7, 7).bool().tril()
ex.hidden("7 heads of width 3", B=2, T=5, D=11, H=7, K=3)
ex.hidden("3 heads, causal", B=1, T=7, D=11, H=3, K=7, mask=LOWER)
EACH = torch.stack((LOWER, LOWER.T, LOWER | LOWER.T))
ex.hidden("one mask per head", B=2, T=7, D=11, H=3, K=7, mask=EACH)
ex.hidden("scores far below zero", B=2, T=7, D=11, H=3, K=5, mask=LOWER, low=True, dtype=torch.float64)


@ex.law(
    "each sequence is treated by itself",
    "A batch is a convenience: a sequence must come out the same alone and among others.",
)
def batch_rows(run, probe):
    return run(probe), torch.cat([run(probe.having("law", x=row[None])) for row in probe.args["x"]])


SCALING = {"section": "sec-scaling", "equation": "eq-scaled"}
ex.wrong(
    "output projection forgotten",
    "Concatenated heads do not meet until W^O mixes them: multiply by w_o at the end.",
    (" @ w_o", ""), believes="concatenating is the end",
)
ex.wrong(
    "a single head",
    "num_heads is not used: one wide head has one set of weights per query, several heads have several.",
    ("num_heads, -1)", "1, -1)"), believes="one wide head is as good as several",
)
ex.wrong(
    "the mask is ignored",
    "When a mask is given, hidden keys must get weight zero.",
    ("    if mask is not None:\n        scores = scores.masked_fill(~mask, -math.inf)\n", ""),
    believes="the mask can wait", section="sec-padding",
)
ex.wrong(
    "scaled by the full width",
    "Each head multiplies vectors of its own width, so divide by √head_dim.",
    ("q.shape[-1]", "w_q.shape[1]"), ("q.shape[-1]", "x.shape[-1]"), believes="d_k is the width of the model",
    **SCALING,
)
ex.wrong(
    "not scaled",
    "Divide the scores of each head by √head_dim.",
    (" / math.sqrt(q.shape[-1])", ""), believes="the scale is a detail", **SCALING,
)
ex.wrong(
    "heads merged without a transpose",
    "Before (B, H, T, K) becomes (B, T, H·K) the head axis must move next to K.",
    ("heads.transpose(1, 2)", "heads"), believes="putting heads side by side is a reshape",
)
ex.wrong(
    "heads split without a transpose",
    "Go from (B, T, D) to (B, T, H, K) to (B, H, T, K): a single reshape mixes tokens and heads.",
    ("(B, T, num_heads, -1).transpose(1, 2)", "(B, num_heads, T, -1)"),
    believes="splitting into heads is a reshape",
)
ex.wrong(
    "keys used as values",
    "The values have a projection of their own, w_v.",
    ("softmax(dim=-1) @ v", "softmax(dim=-1) @ k"), believes="keys and values are one thing",
)
ex.wrong(
    "the library does the work",
    source="""
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    from pioneers.layers import attention as attend

    B, T, _ = x.shape
    q, k, v = [(x @ w).reshape(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v)]
    return attend(q, k, v, mask=mask).transpose(1, 2).reshape(B, T, -1) @ w_o
""", believes="the book's package may be called",
)

ex.builds_on("1.3")
ex.builds_on(
    "1.3 1.5 1.7 1.8",
    source="""
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    q, k, v = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    heads = attention(q, k, v) if mask is None else masked_attention(q, k, v, mask)
    return merge_heads(heads) @ w_o
""",
)
ex.wrong(
    "the heads shuffled together",
    "Head h is the h-th block of neighbouring columns, at the split and at the merge.",
    [("num_heads, -1).transpose(1, 2)", "-1, num_heads).permute(0, 3, 1, 2)"),
     ("heads.transpose(1, 2)", "heads.permute(0, 2, 3, 1)")], believes="split and merge need only agree",
)
ex.wrong(
    "queries and keys exchanged",
    "Rows of the scores are queries: q k^T, and the softmax over the keys.",
    ("q @ k.transpose(-2, -1)", "k @ q.transpose(-2, -1)"), ("(w_q, w_k, w_v)", "(w_k, w_q, w_v)"),
    believes="a dot product is symmetric", section="sec-loop-to-matrix", equation="eq-attention",
)
ex.wrong(
    "values and keys exchanged",
    "Queries meet keys, and what is mixed is the values.",
    ("(w_q, w_k, w_v)", "(w_q, w_v, w_k)"), believes="the order of the projections is free",
)
ex.wrong(
    "the width of a head taken from the model",
    "Together the heads may be wider than the model: a head is as wide as w_q has columns, over num_heads.",
    ("(B, T, num_heads, -1)", "(B, T, num_heads, x.shape[-1] // num_heads)"),
    ("math.sqrt(q.shape[-1])", "math.sqrt(x.shape[-1] / num_heads)"), believes="head_dim is D / H",
)
ex.wrong(
    "one mask for all heads",
    "The mask broadcasts to (B, H, T, T): it may differ from head to head, and from text to text.",
    ("~mask,", "~(mask if mask.dim() == 2 else mask[:, :1]),"),
    ("~mask,", "~(mask if mask.dim() == 2 else mask[:, 0][:, None]),"), believes="heads share a mask",
)

ex.right(
    "one head after the other",
    source="""
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    size = w_q.shape[1] // num_heads
    heads = []
    for h in range(num_heads):
        part = slice(h * size, (h + 1) * size)
        scores = (x @ w_q[:, part]) @ (x @ w_k[:, part]).mT / size**0.5
        if mask is not None:
            every = mask.expand(x.shape[0], num_heads, x.shape[1], x.shape[1])
            scores = scores.masked_fill(~every[:, h], float("-inf"))
        heads.append(scores.softmax(-1) @ (x @ w_v[:, part]))
    return torch.cat(heads, dim=-1) @ w_o
""",
)
ex.right(
    "einsum with the heads in the weights",
    source="""
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    q, k, v = (
        torch.einsum("btd,dhk->bhtk", x, w.reshape(w.shape[0], num_heads, -1)) for w in (w_q, w_k, w_v)
    )
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    out = torch.einsum("bhts,bhsk->bhtk", scores.softmax(-1), v)
    return torch.einsum("bhtk,hkd->btd", out, w_o.reshape(num_heads, -1, w_o.shape[-1]))
""",
)
ex.right("methods and matmul, heads by permute", source='''
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    B, T, D = x.shape

    def heads(w):
        return torch.matmul(x, w).view(B, T, num_heads, w.shape[1] // num_heads).permute(0, 2, 1, 3)

    q, k, v = heads(w_q), heads(w_k), heads(w_v)
    scores = torch.matmul(q, k.permute(0, 1, 3, 2)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    out = torch.matmul(torch.softmax(scores, -1), v).permute(0, 2, 1, 3).contiguous()
    return torch.matmul(out.view(B, T, -1), w_o)
''')
ex.right("one product for q, k and v", source='''
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    B, T, _ = x.shape
    qkv = x @ torch.cat((w_q, w_k, w_v), dim=1)
    q, k, v = qkv.reshape(B, T, 3, num_heads, -1).permute(2, 0, 3, 1, 4)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ w_o
''')
ex.right("what each head adds to the output", source='''
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    out = 0
    hidden = None if mask is None else ~mask.expand(len(x), num_heads, x.shape[1], x.shape[1])
    parts = [w.chunk(num_heads, dim=1) for w in (w_q, w_k, w_v)]
    for h, (a, b, c, o) in enumerate(zip(*parts, w_o.chunk(num_heads), strict=True)):
        scores = (x @ a) @ (x @ b).mT / math.sqrt(a.shape[1])
        if hidden is not None:
            scores = scores.masked_fill(hidden[:, h], -math.inf)
        out = out + scores.softmax(-1) @ (x @ c) @ o
    return out
''')
ex.right("an added bias of minus infinity", source='''
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    q, k, v = ((x @ w).unflatten(-1, (num_heads, -1)).movedim(2, 1) for w in (w_q, w_k, w_v))
    scores = q @ k.mT * k.shape[-1] ** -0.5
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=x.dtype, device=x.device)
        scores = scores + bias.masked_fill(~mask, -math.inf)
    return (torch.nn.functional.softmax(scores, dim=-1) @ v).movedim(1, 2).flatten(-2) @ w_o
''')
ex.right("sequence by sequence", source='''
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    T = x.shape[1]
    if mask is None:
        mask = torch.ones(T, T, dtype=torch.bool, device=x.device)
    mask = mask.expand(len(x), num_heads, T, T)
    out = []
    for row, seen in zip(x, mask):
        q, k, v = ((row @ w).reshape(T, num_heads, -1).transpose(0, 1) for w in (w_q, w_k, w_v))
        scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~seen, -math.inf)
        out.append((scores.softmax(-1) @ v).transpose(0, 1).reshape(T, -1) @ w_o)
    return torch.stack(out)
''')
ex.right("the softmax by hand, linear layers", source='''
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    projected = (torch.nn.functional.linear(x, w.T) for w in (w_q, w_k, w_v))
    q, k, v = (torch.stack(h.chunk(num_heads, -1), 1) for h in projected)
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    heads = (e @ v) / e.sum(-1, keepdim=True)
    return torch.nn.functional.linear(torch.cat(heads.unbind(1), -1), w_o.T)
''')
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("w).reshape(B", "w).view(B"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-2", "2"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("1])", "1]).detach()"),
    of="one head after the other",
)
