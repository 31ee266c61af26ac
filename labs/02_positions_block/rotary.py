"""Exercise 2.3: rotary positions, channel i paired with channel i + K/2.

Angles are asked for in float32: positions of float32 probes stay below 50.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals
from pioneers.checks.symptoms import wrong_only_in_half_precision

ANSWER = '''
def rotary(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each vector of x (..., T, K) by its position;
    channels i and i + K/2 form a plane."""
    half = x.shape[-1] // 2
    theta = base ** (-torch.arange(half, device=x.device) / half)
    angles = positions[:, None] * theta
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
'''
ex = exercise(
    "2.3", ANSWER, points=12, minutes=18, difficulty=3, reread="sec-rope", equation="eq-rope-complex"
)


@ex.maker
def vectors(normal, shape, dtype=torch.float32, **given):
    return {"x": normal(*shape, dtype=dtype), **given}


ex.probe("positions in no order", shape=(2, 3, 5, 14), positions=[17, 0, 31, 3, 7])
ex.probe("no axes in front", shape=(7, 10), positions=[0, 1, 2, 3, 4, 5, 6])
ex.probe("a batch of one, one token", shape=(1, 2, 1, 6), positions=[41])
ex.probe("a single plane", shape=(3, 5, 2), positions=[2, 11, 5, 0, 7])
ex.probe("another base", shape=(2, 3, 10), positions=[5, 0, 13], base=100.0)
ex.probe(
    "bfloat16, positions in the hundreds", shape=(2, 3, 14), positions=[300, 7, 211], dtype=torch.bfloat16,
)
ex.probe("numbers with gaps in memory", shape=(2, 3, 5, 6), positions=[9, 2, 4, 8, 1], strided=True)
ex.hidden("five axes", shape=(2, 1, 3, 7, 22), positions=[5, 3, 5, 41, 0, 1, 13])
ex.hidden("another base", shape=(3, 2, 6), positions=[29, 2], base=37.0)
ex.hidden(
    "float16, positions around a thousand", shape=(5, 2, 10), positions=[1001, 503], dtype=torch.float16,
)


@ex.law("turning changes no length", "Every turn is an orthogonal matrix.")
def keeps_lengths(run, probe):
    x = normals(232)(3, 5, 22)
    turned = run(probe.having("law", x=x, positions=torch.tensor([4, 19, 0, 33, 8])))
    return turned.norm(dim=-1), x.norm(dim=-1)


@ex.law(
    "a score depends on the distance alone",
    "That is the wish from which the rotations were derived.",
    section="sec-rope-derived",
    equation="eq-rope-wish",
)
def distance_alone(run, probe):
    query_and_key, pairs = normals(233)(2, 22), [torch.tensor(pair) for pair in ([9, 4], [27, 22])]
    here, there = (run(probe.having("law", x=query_and_key, positions=pair)) for pair in pairs)
    return here[0] @ here[1], there[0] @ there[1]


APART = ("x[..., :half], x[..., half:]", "x[..., 0::2], x[..., 1::2]")
TURNED = "torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)"
ex.wrong(
    "neighbouring channels paired",
    "Here, as in pioneers, channel i and channel i + K/2 form a plane, not channels 2i and 2i+1.",
    [APART, (TURNED, "torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)")],
    believes="the paper's pairs are everybody's pairs",
)
ex.wrong(
    "two conventions mixed",
    "The channels are paired across the halves, the angles are laid out for neighbours.",
    (TURNED, "x * cos.repeat_interleave(2, -1) + torch.cat((-b, a), -1) * sin.repeat_interleave(2, -1)"),
    believes="any two recipes for RoPE go together",
)
ex.wrong(
    "taken apart one way, put together another",
    "Even and odd channels were taken apart but joined as halves: a turned channel must come back home.",
    APART, believes="the order of channels does not matter afterwards",
)
ex.wrong(
    "turned the other way",
    "Position p turns a plane by plus p θ: the minus stands in the first half.",
    ("angles.sin()", "-angles.sin()"), believes="clockwise is as good as anticlockwise",
)
ex.wrong(
    "a sign is wrong",
    "A rotation is (a cos - b sin, b cos + a sin): exactly one minus. Any other sign changes lengths.",
    ("b * cos + a * sin", "b * cos - a * sin"), ("a * cos - b * sin", "a * cos + b * sin"),
    believes="the two lines have the same sign",
)
ex.wrong(
    "the first half is turned before the second has read it",
    "Both halves need the old a and b: compute both before you write either.",
    (f"return {TURNED}", "a = a * cos - b * sin\n    return torch.cat((a, b * cos + a * sin), dim=-1)"),
    believes="two lines, one after the other",
)
ex.wrong(
    "positions counted from zero",
    "The positions are given: with a cache the first token of x does not stand at 0.",
    ("positions[:, None]", "torch.arange(x.shape[-2])[:, None]"), believes="positions are always 0, 1, 2, …",
)
ex.wrong(
    "the exponent runs half as fast",
    "θ_i is base^(-2i/K), where i counts the K/2 planes; the slowest is nearly base times slower.",
    ("/ half)", "/ x.shape[-1])"), believes="i counts planes, so no factor is needed",
)
ex.wrong(
    "the exponent runs too fast",
    "The exponent is -2i/D with i = 0, 1, …, D/2-1: torch.arange(0, D, 2) is 2i already.",
    ("(-torch", "(-2 * torch"), believes="the formula says 2i, so multiply by two",
)
ex.wrong(
    "one angle for all planes",
    "Each plane has its own angle θ_i, so that near and far can both be told.",
    ("base ** (-torch.arange(half, device=x.device) / half)", "torch.ones(half)"),
    believes="a position is one angle",
)
ex.wrong(
    "base is ignored",
    "10000 is only the default: use the parameter base.",
    ("base **", "10000.0 **"), believes="the base is 10000",
)
ex.wrong(
    "added instead of turned",
    "Sinusoids are added to words; rotary positions multiply the queries and keys.",
    (TURNED, "x + torch.stack((sin, cos), dim=-1).flatten(1)"), believes="positions are something one adds",
)
ex.wrong(
    "angles in half precision",
    "bfloat16 cannot tell 300 from 301: compute the angles in float32, cast only their cosine and sine.",
    ("positions[:, None] * theta", "positions.to(x.dtype)[:, None] * theta.to(x.dtype)"),
    believes="the angles have the type of x", shows=wrong_only_in_half_precision,
)
ex.wrong(
    "another precision comes out",
    "",
    [("cos().to(x.dtype)", "cos()"), ("sin().to(x.dtype)", "sin()")], believes="float32 in, float32 out",
)
ex.wrong(
    "the library does the work",
    source="""
def rotary(x, positions, base=10000.0):
    from pioneers.layers import Rotary

    layer = Rotary(x.shape[-1], max_seq_len=1024, base=base)
    return torch.stack([layer(x[..., t : t + 1, :], start=p)[..., 0, :] for t, p in enumerate(positions)], -2)
""", believes="a layer from the package is an answer",
)

ex.right(
    "complex numbers",
    source="""
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    h = x if x.dtype == torch.float64 else x.float()
    turned = torch.complex(h[..., :half], h[..., half:]) * torch.exp(1j * angles)
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)
""",
)
ex.right(
    "rotate_half, as in most code",
    source="""
def rotary(x, positions, base=10000.0):
    K = x.shape[-1]
    angles = positions[:, None] / base ** (torch.arange(0, K, 2, device=x.device) / K)
    angles = torch.cat((angles, angles), dim=-1)
    rotated = torch.cat((-x[..., K // 2 :], x[..., : K // 2]), dim=-1)
    return x * angles.cos().to(x.dtype) + rotated * angles.sin().to(x.dtype)
""",
)
ex.right("chunks and an outer product", source='''
def rotary(x, positions, base=10000.0):
    K = x.shape[-1]
    theta = 1.0 / base ** (torch.arange(0, K, 2, device=x.device).float() / K)
    angles = torch.outer(positions.float(), theta)
    cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
''')
ex.right("a pair axis and a stack", source='''
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    c, s = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.unflatten(-1, (2, half)).unbind(-2)
    return torch.stack((a * c - b * s, a * s + b * c), dim=-2).flatten(-2)
''')
ex.right("einsum with a matrix for each plane", source='''
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    c, s = angles.cos(), angles.sin()
    turn = torch.stack((torch.stack((c, -s)), torch.stack((s, c)))).to(x.dtype)
    planes = x.reshape(*x.shape[:-1], 2, half)
    return torch.einsum("ijtk,...tjk->...tik", turn, planes).reshape(x.shape)
''')
ex.right("filled in, position by position", source='''
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    theta = base ** (-torch.arange(half, device=x.device) / half)
    out = torch.empty_like(x)
    for t in range(len(positions)):
        cos, sin = (positions[t] * theta).cos().to(x.dtype), (positions[t] * theta).sin().to(x.dtype)
        out[..., t, :half] = x[..., t, :half] * cos - x[..., t, half:] * sin
        out[..., t, half:] = x[..., t, half:] * cos + x[..., t, :half] * sin
    return out
''')
ex.right("the halves rolled past each other", source='''
def rotary(x, positions, base=10000.0):
    K = x.shape[-1]
    j = torch.arange(K, device=x.device)
    angles = positions[:, None] * base ** (-(j % (K // 2)) * 2 / K)
    sign = torch.where(j < K // 2, -1.0, 1.0)
    return x * angles.cos().to(x.dtype) + x.roll(K // 2, -1) * (sign * angles.sin()).to(x.dtype)
''')
ex.right("in float32 inside", source='''
def rotary(x, positions, base=10000.0):
    half = x.size(-1) // 2
    h = x.to(torch.promote_types(x.dtype, torch.float32))
    angles = positions.view(-1, 1) * torch.pow(base, -torch.arange(half, device=x.device) / half)
    a, b = torch.split(h, half, dim=-1)
    turned = (a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin())
    return torch.cat(turned, dim=-1).to(x.dtype)
''')
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (
        "base ** (-torch.arange(half, device=x.device) / half",
        "(base ** (-torch.arange(half, device=x.device) / half)).detach(",
    ),
    ("positions[:, None] * theta", "(positions[:, None] * theta).detach()"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (
        "positions[:, None] * base ** (-torch.arange(half, device=x.device) / half",
        "(positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)).detach(",
    ),
    of="complex numbers",
)
ex.equivalent(
    "Inputs are in float32 or half precision.",
    ("x.dtype == torch.float64", "False"),
    of="complex numbers",
)
