"""Exercise 8.9: attention with rotary positions, for queries and keys at given places.

Angles are asked for in float32: positions of float32 probes stay below 50.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals
from pioneers.checks.symptoms import wrong_only_in_half_precision

ANSWER = '''
def rotary_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_positions: Tensor,
    k_positions: Tensor,
    base: float = 10000.0,
) -> Tensor:
    """Causal attention (B, H, T, Dv); queries and keys are turned
    by their positions."""
    half = q.shape[-1] // 2
    theta = base ** (-torch.arange(half, device=q.device) / half)
    turned = []
    for x, positions in ((q, q_positions), (k, k_positions)):
        angles = positions[:, None] * theta
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        turned.append(torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1))
    scores = turned[0] @ turned[1].mT / q.shape[-1] ** 0.5
    later = k_positions > q_positions[:, None]
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ v
'''
ex = exercise(
    "8.9", ANSWER, points=9, minutes=14, difficulty=3, reread=("sec-rope", "sec-six-exchanges"),
    equation="eq-rope-complex",
)


@ex.maker
def heads(normal, B, H, D, V, q_positions, k_positions, dtype=torch.float32, **given):
    T, S = len(q_positions), len(k_positions)
    args = {"q": normal(B, H, T, D), "k": normal(B, H, S, D), "v": normal(B, H, S, V)}
    args = {name: x.to(dtype) for name, x in args.items()}
    return {**args, "q_positions": q_positions, "k_positions": k_positions} | given


ALL = [0, 1, 2, 3, 4]
ex.probe("a whole text", B=2, H=3, D=14, V=7, q_positions=ALL, k_positions=ALL)
ex.probe("one new token, the keys from a cache", B=2, H=3, D=10, V=5, q_positions=[5], k_positions=[*ALL, 5])
ex.probe("two new tokens", B=1, H=2, D=6, V=3, q_positions=[5, 6], k_positions=[*ALL, 5, 6])
ex.probe("keys in no order", B=2, H=1, D=10, V=3, q_positions=[9, 3, 17],
         k_positions=[3, 17, 0, 11, 2, 9, 41])
ex.probe("a window that begins late", B=1, H=3, D=6, V=11, q_positions=[40, 41],
         k_positions=[37, 38, 39, 40, 41])
ex.probe("another base", B=2, H=3, D=10, V=7, q_positions=ALL, k_positions=ALL, base=100.0)
ex.probe("a single plane", B=3, H=2, D=2, V=5, q_positions=[1, 4, 2], k_positions=[0, 4, 1, 2])
ex.probe("half precision, positions in the hundreds", B=2, H=1, D=14, V=3, q_positions=[301, 307],
         k_positions=[300, 301, 211, 307], dtype=torch.bfloat16)
ex.probe("half precision, a short text", B=1, H=3, D=10, V=5, q_positions=[2, 3], k_positions=[1, 2, 3],
         dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, H=3, D=6, V=5, q_positions=ALL, k_positions=ALL, strided=True)
FAR = {"q": torch.full((1, 2, 5, 14), 80.0), "k": torch.full((1, 2, 5, 14), -80.0)}
ex.probe("scores far below zero", B=1, H=2, D=14, V=7, q_positions=ALL, k_positions=ALL, **FAR)
ex.hidden("as many keys as queries, at other places", B=2, H=5, D=22, V=3, q_positions=[7, 8, 9],
          k_positions=[7, 2, 5])
ex.hidden("a base of 37", B=3, H=2, D=10, V=11, q_positions=[29, 2, 2], k_positions=[2, 29, 1, 30], base=37.0)
ex.hidden("float16, positions around a thousand", B=1, H=2, D=10, V=7, q_positions=[1001, 1003],
          k_positions=[1000, 1001, 1002], dtype=torch.float16)


@ex.law("moving everything changes nothing", "A score depends on the distance of query and key alone.",
        section="sec-rope-derived", equation="eq-rope-wish")
def moved(run, probe):
    further = {name: probe.args[name] + 13 for name in ("q_positions", "k_positions")}
    return run(probe), run(probe.having("law", **further))


@ex.law("a cache changes nothing", "The last query sees the same keys, alone or with the others.",
        section="sec-kv-cache", equation="eq-kv-cache")
def cached(run, probe):
    q, places = normals(892)(2, 3, 5, 14), probe.args["q_positions"]
    whole = run(probe.having("law", q=q))
    return whole[:, :, -1:], run(probe.having("law", q=q[:, :, -1:], q_positions=places[-1:]))


BOTH = "((q, q_positions), (k, k_positions))"
TURNED = "torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)"
LATER = "k_positions > q_positions[:, None]"
APART = ("x[..., :half], x[..., half:]", "x[..., 0::2], x[..., 1::2]")
ex.wrong(
    "the keys are not turned",
    "A score depends on the distance only if both are turned, the query and the key.",
    ("turned[1].mT", "k.mT"), believes="the query knows where it is",
)
ex.wrong(
    "the queries are not turned",
    "A score depends on the distance only if both are turned, the query and the key.",
    ("scores = turned[0]", "scores = q"), believes="keys are put in their places",
)
ex.wrong(
    "the values are turned too",
    "Positions belong into the scores: values are what is read, and they stay as they are.",
    [(BOTH, "((q, q_positions), (k, k_positions), (v, k_positions))"),
     ("        angles = positions[:, None] * theta",
      "        half = x.shape[-1] // 2 + x.shape[-1] % 2\n"
      "        theta = base ** (-torch.arange(half, device=x.device) / half)\n"
      "        x = F.pad(x, (0, x.shape[-1] % 2))\n"
      "        angles = positions[:, None] * theta"),
     ("softmax(-1) @ v", "softmax(-1) @ turned[2][..., : v.shape[-1]]")],
    believes="all three are turned",
)
ex.wrong(
    "the queries counted from zero",
    "The positions are given: with a cache the first query is not at position 0.",
    ("(q, q_positions)", "(q, torch.arange(q.shape[2], device=q.device))"),
    believes="positions are 0, 1, 2, …",
    section="sec-kv-cache", equation="eq-kv-cache",
)
ex.wrong(
    "the keys counted from zero",
    "The positions are given: the keys of a window begin where the window begins.",
    ("(k, k_positions)", "(k, torch.arange(k.shape[2], device=q.device))"),
    believes="positions are 0, 1, 2, …",
    section="sec-kv-cache", equation="eq-kv-cache",
)
ex.wrong(
    "the causal mask by place instead of position",
    "A key may be seen if its position is not greater; its place in the tensor says nothing.",
    (LATER, "torch.ones(q.shape[2], k.shape[2], device=q.device).bool().triu(1)"),
    (LATER, "torch.ones(q.shape[2], k.shape[2], device=q.device).bool().triu(1 + k.shape[2] - q.shape[2])"),
    believes="the mask is a triangle", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "no causal mask",
    "A query may see the keys at its own position and before it, none after it.",
    ("scores.masked_fill(later, -torch.inf)", "scores"), believes="positions say enough",
    section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "a query does not see its own position",
    "The key at the query's own position may be seen.",
    (LATER, "k_positions >= q_positions[:, None]"), believes="only what comes before",
    section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "the mask is the wrong way round",
    "What is later is hidden: greater positions get -inf.",
    (LATER, "k_positions < q_positions[:, None]"), (LATER, "k_positions <= q_positions[:, None]"),
    believes="True marks what is seen", section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "neighbouring channels paired",
    "Here, as in Llama's published weights, channel i and channel i + K/2 form a plane, not 2i and 2i+1.",
    [APART, (TURNED, "torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)")],
    APART,
    believes="the paper's pairs are everybody's pairs",
)
ex.wrong(
    "a sign is wrong",
    "A rotation is (a cos - b sin, b cos + a sin): exactly one minus.",
    ("b * cos + a * sin", "b * cos - a * sin"), ("a * cos - b * sin", "a * cos + b * sin"),
    believes="the two lines have the same sign",
)
ex.wrong(
    "query and key turned in opposite directions",
    "Both are turned the same way: then the score holds the difference of the angles, not their sum.",
    (BOTH, "((q, -q_positions), (k, k_positions))"), (BOTH, "((q, q_positions), (k, -k_positions))"),
    believes="one forwards, one backwards",
)
ex.wrong(
    "the exponent runs half as fast",
    "θ_i is base^(-2i/K), where i counts the K/2 planes: the exponent is -i/(K/2).",
    ("/ half)\n", "/ q.shape[-1])\n"), believes="i counts planes, so no factor is needed",
)
ex.wrong(
    "one angle for all planes",
    "Each plane has its own angle θ_i.",
    ("base ** (-torch.arange(half, device=q.device) / half)", "torch.ones(half, device=q.device)"),
    believes="a position is one angle",
)
ex.wrong(
    "base is ignored",
    "10000 is only the default: use the parameter.",
    ("base **", "10000.0 **"), believes="the base is 10000",
)
ex.wrong(
    "the scores are not scaled",
    "The scores are divided by the square root of the width of a query, as in any attention.",
    (" / q.shape[-1] ** 0.5", ""), believes="turning keeps lengths, so no scale is needed",
    section="sec-scaling", equation="eq-scaled",
)
ex.wrong(
    "scaled by another width",
    "The scale is the square root of the width of queries and keys, K; not of the values, not of K/2.",
    ("q.shape[-1] ** 0.5", "v.shape[-1] ** 0.5"), ("q.shape[-1] ** 0.5", "half**0.5"),
    believes="any width will do", section="sec-scaling", equation="eq-scaled",
)
ex.wrong(
    "angles in half precision",
    "bfloat16 cannot tell 300 from 301: compute the angles in float32, cast only their cosine and sine.",
    ("positions[:, None] * theta", "positions.to(x.dtype)[:, None] * theta.to(x.dtype)"),
    believes="the angles have the type of x", shows=wrong_only_in_half_precision,
)
ex.wrong(
    "weights set to zero after the softmax",
    "Then the weights do not sum to one: hide the scores, before the softmax.",
    ("scores.masked_fill(later, -torch.inf).softmax(-1)", "scores.softmax(-1).masked_fill(later, 0)"),
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
    ("torch.arange(half, device=q.device)", "torch.arange(half)"),
    believes="tensors are where they are needed",
)
ex.wrong(
    "the library does the work",
    source="""
def rotary_attention(q, k, v, q_positions, k_positions, base=10000.0):
    from pioneers.layers import Rotary

    layer = Rotary(q.shape[-1], max_seq_len=1024, base=base)
    q = torch.cat([layer(q[:, :, [i]], start=p) for i, p in enumerate(q_positions.tolist())], 2)
    k = torch.cat([layer(k[:, :, [i]], start=p) for i, p in enumerate(k_positions.tolist())], 2)
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(k_positions > q_positions[:, None], -torch.inf)
    return scores.softmax(-1) @ v
""", believes="a layer from the package is an answer",
)
ex.wrong(
    "turned the other way",
    "(a, b) goes to (a cos - b sin, b cos + a sin). Scores come out alike if both are turned so, but not a "
    "cache that was filled the other way.",
    ("a * cos - b * sin, b * cos + a * sin", "a * cos + b * sin, b * cos - a * sin"),
    believes="a sign is a convention",
)
ex.wrong(
    "positions counted from zero",
    "Use the given positions: with a cache the new token stands far from 0.",
    ("positions[:, None] * theta", "torch.arange(len(positions), device=q.device)[:, None] * theta"),
    believes="positions are places in the tensor",
)

ex.right(
    "complex numbers",
    source="""
def rotary_attention(q, k, v, q_positions, k_positions, base=10000.0):
    def turn(x, positions):
        n = x.shape[-1] // 2
        angles = positions[:, None] * base ** (-torch.arange(n, device=x.device) / n)
        h = x if x.dtype == torch.float64 else x.float()
        z = torch.complex(h[..., :n].contiguous(), h[..., n:].contiguous()) * torch.exp(1j * angles)
        return torch.cat((z.real, z.imag), dim=-1).to(x.dtype)

    q, k = turn(q, q_positions), turn(k, k_positions)
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.shape[-1])
    seen = k_positions[None] <= q_positions[:, None]
    return torch.softmax(torch.where(seen, scores, -torch.inf), dim=-1) @ v
""",
)
ex.right(
    "rotate_half, as in most code",
    source="""
def rotary_attention(q, k, v, q_positions, k_positions, base=10000.0):
    K = q.shape[-1]
    theta = 1 / base ** (torch.arange(0, K, 2, device=q.device).float() / K)

    def turn(x, positions):
        angles = torch.outer(positions.float(), theta)
        angles = torch.cat((angles, angles), dim=-1)
        rotated = torch.cat((-x[..., K // 2 :], x[..., : K // 2]), dim=-1)
        return x * angles.cos().to(x.dtype) + rotated * angles.sin().to(x.dtype)

    scores = turn(q, q_positions) @ turn(k, k_positions).transpose(-2, -1) * K**-0.5
    hidden = (k_positions[None, :] - q_positions[:, None]) > 0
    return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v
""",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (
        "base ** (-torch.arange(half, device=q.device) / half",
        "(base ** (-torch.arange(half, device=q.device) / half)).detach(",
    ),
    ("positions[:, None] * theta", "(positions[:, None] * theta).detach()"),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("a * cos - b * sin", "b * sin - a * cos"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (
        "positions[:, None] * base ** (-torch.arange(n, device=x.device) / n",
        "(positions[:, None] * base ** (-torch.arange(n, device=x.device) / n)).detach(",
    ),
    of="complex numbers",
)
ex.equivalent(
    "Inputs are in float32 or half precision.",
    ("x.dtype == torch.float64", "False"),
    of="complex numbers",
)
ex.equivalent(
    "It broadcasts to the same.",
    ("k_positions[None]", "k_positions"),
    of="complex numbers",
)
ex.right("a matrix of rotation for each plane, as an einsum", source='''
def rotary_attention(q, k, v, q_positions, k_positions, base=10000.0):
    def turn(x, positions):
        planes = x.unflatten(-1, (2, -1))
        n = planes.shape[-1]
        angles = positions[:, None] / base ** (torch.arange(n, device=x.device) / n)
        cos, sin = angles.cos(), angles.sin()
        matrix = torch.stack((torch.stack((cos, -sin)), torch.stack((sin, cos)))).to(x.dtype)
        return torch.einsum("ijtp,bhtjp->bhtip", matrix, planes).flatten(-2)

    scores = torch.einsum("bhtd,bhsd->bhts", turn(q, q_positions), turn(k, k_positions))
    scores = (scores / math.sqrt(q.shape[-1])).masked_fill(k_positions > q_positions[:, None], -math.inf)
    return torch.einsum("bhts,bhsv->bhtv", scores.softmax(-1), v)
''')
ex.right("head by head", source='''
def rotary_attention(q, k, v, q_positions, k_positions, base=10000.0):
    half, out = q.shape[-1] // 2, []
    theta = torch.exp(-math.log(base) * torch.arange(half, device=q.device) / half)

    def turn(x, positions):
        angles = torch.outer(positions.to(theta.dtype), theta)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    hidden = k_positions[None] > q_positions[:, None]
    for h in range(q.shape[1]):
        scores = turn(q[:, h], q_positions) @ turn(k[:, h], k_positions).transpose(1, 2)
        weights = (scores / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf).softmax(-1)
        out.append(weights @ v[:, h])
    return torch.stack(out, 1)
''')
ex.right("written into empty tensors in place", source='''
def rotary_attention(q, k, v, q_positions, k_positions, base=10000.0):
    K = q.shape[-1]
    theta = base ** (-2 * torch.arange(K // 2, device=q.device) / K)
    turned = []
    for x, positions in zip((q, k), (q_positions, k_positions)):
        angles = positions.unsqueeze(1) * theta
        cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
        out = torch.empty_like(x)
        out[..., : K // 2] = x[..., : K // 2] * cos - x[..., K // 2 :] * sin
        out[..., K // 2 :] = x[..., K // 2 :] * cos + x[..., : K // 2] * sin
        turned.append(out)
    scores = turned[0] @ turned[1].mT * K**-0.5
    return torch.where(k_positions <= q_positions[:, None], scores, -torch.inf).softmax(-1) @ v
''')
ex.right("queries and keys turned in one tensor", source='''
def rotary_attention(q, k, v, q_positions, k_positions, base=10000.0):
    T, K = q.shape[-2:]
    x, places = torch.cat((q, k), dim=2), torch.cat((q_positions, k_positions))
    angles = places[:, None] * base ** (-torch.arange(K // 2, device=q.device) / (K // 2))
    cos, sin = angles.cos().to(q.dtype).repeat(1, 2), angles.sin().to(q.dtype).repeat(1, 2)
    sign = torch.ones(K, dtype=q.dtype, device=q.device)
    sign[: K // 2] = -1
    x = x * cos + x.roll(K // 2, dims=-1) * sign * sin
    scores = x[:, :, :T] @ x[:, :, T:].mT / K**0.5
    return scores.masked_fill(places[T:] > places[:T, None], -torch.inf).softmax(-1) @ v
''')
ex.right("a mask that is added, and queries scaled first", source='''
def rotary_attention(q, k, v, q_positions, k_positions, base=10000.0):
    def angles(positions):
        n = q.shape[-1] // 2
        return torch.einsum("t,p->tp", positions.float(), base ** (-torch.arange(n, device=q.device) / n))

    def turn(x, angle):
        a, b = x.tensor_split(2, dim=-1)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    queries = turn(q / math.sqrt(q.shape[-1]), angles(q_positions))
    scores = queries @ turn(k, angles(k_positions)).mT
    later = (k_positions > q_positions[:, None]).to(q.device)
    bias = torch.zeros(later.shape, dtype=q.dtype, device=q.device).masked_fill(later, -torch.inf)
    return torch.softmax(scores + bias, -1) @ v
''')
ex.right("the two halves apart, and their scores added", source='''
def rotary_attention(q, k, v, q_positions, k_positions, base=10000.0):
    half = q.shape[-1] // 2
    theta = base ** (-torch.arange(half, device=q.device) / half)

    def turn(x, positions):
        a, b = x.split(half, dim=-1)
        angles = positions[:, None] * theta
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return a * cos - b * sin, b * cos + a * sin

    pairs = zip(turn(q, q_positions), turn(k, k_positions))
    scores = sum(x @ y.mT for x, y in pairs) / (2 * half) ** 0.5
    scores = scores.masked_fill(~(q_positions[:, None] >= k_positions), -torch.inf)
    return F.softmax(scores, dim=-1) @ v
''')
