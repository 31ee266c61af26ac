"""Exercise 2.1: sinusoids. Positions stay below 50, so that angles in float32 are exact enough."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def sinusoids(
    positions: Tensor, d_model: int, base: float = 10000.0
) -> Tensor:
    """The vectors (T, D) of the given positions (T,)."""
    omega = base ** (-torch.arange(0, d_model, 2, device=positions.device) / d_model)
    angles = positions[:, None] * omega
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
'''
ex = exercise(
    "2.1", ANSWER, points=8, minutes=10, difficulty=1, reread="sec-sinusoids", equation="eq-sinusoids"
)

ex.probe("positions 0 to 6", positions=[0, 1, 2, 3, 4, 5, 6], d_model=10)
ex.probe("positions in no order, one of them twice", positions=[31, 0, 7, 7, 12], d_model=6)
ex.probe("one pair", positions=[3, 5, 2], d_model=2)
ex.probe("a single position, 32-bit", positions=torch.tensor([41], dtype=torch.int32), d_model=14)
ex.probe("another base", positions=[5, 11, 2], d_model=10, base=100.0)
ex.hidden("downwards, wide", positions=[43, 29, 11, 2, 1], d_model=26)
ex.hidden("another base", positions=[13, 13, 0], d_model=6, base=37.0)
ex.hidden("a position before the first", positions=[-5, 5], d_model=10)
ex.own(lambda whole: {"positions": whole(0, 99, 5), "d_model": 2 * whole(3, 9)})


@ex.law(
    "the product of two positions depends on their distance alone",
    "Each pair contributes the cosine of the angle between the two.",
    section="sec-distance",
    equation="eq-distance",
)
def distance_alone(run, probe):
    pairs = [torch.tensor(pair) for pair in ([3, 8], [19, 24])]
    here, there = (run(probe.having("law", positions=pair, d_model=22)) for pair in pairs)
    return here[0] @ here[1], there[0] @ there[1]


STEPS = "torch.arange(0, d_model, 2, device=positions.device)"
TABLE = "torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)"
ex.wrong(
    "another type than float32",
    "",
    ("d_model, 2, device", "d_model, 2, dtype=torch.float64, device"), believes="more digits are better",
)
ex.wrong(
    "positions counted from zero",
    "The positions are given, and need not be 0, 1, 2, …: a cache or a packed batch begins elsewhere.",
    ("positions[:, None]", "torch.arange(len(positions))[:, None]"),
    believes="positions are always 0, 1, 2, …",
)
ex.wrong(
    "all sines, then all cosines",
    "Sine and cosine of one frequency are neighbours here: columns 2i and 2i+1.",
    (TABLE, "torch.cat((angles.sin(), angles.cos()), dim=1)"), believes="sines and cosines are two halves",
)
ex.wrong(
    "sine and cosine swapped",
    "The even columns are sines: position 0 is 0, 1, 0, 1, …",
    ("angles.sin(), angles.cos()", "angles.cos(), angles.sin()"), believes="the cosine comes first",
)
ex.wrong(
    "the exponent runs half as fast",
    "The exponent is -2i/D, where i counts pairs: the slowest pair is nearly base times slower.",
    ("0, d_model, 2, device", "d_model // 2, device"), believes="i counts pairs, so no factor is needed",
)
ex.wrong(
    "the exponent runs too fast",
    "The exponent is -2i/D with i = 0, 1, …, D/2-1: torch.arange(0, D, 2) is 2i already.",
    ("(-torch", "(-2 * torch"), believes="the formula says 2i, so multiply by two",
)
ex.wrong(
    "a frequency for each column",
    "Sine and cosine of a pair share one angle; otherwise no rotation moves one position to another.",
    [("0, d_model, 2, device", "d_model, device"),
     (TABLE, "torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())")],
    believes="each column has its own exponent", section="sec-shift", equation="eq-shift-pair",
)
ex.wrong(
    "base is ignored",
    "10000 is only the default: use the parameter base.",
    ("base **", "10000.0 **"), believes="the base is 10000",
)
ex.wrong(
    "one frequency for all pairs",
    "With one frequency all pairs are copies of each other, and positions 0 and 44 nearly coincide.",
    (f"base ** (-{STEPS} / d_model)", "torch.ones(d_model // 2)"), believes="one clock is enough",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    (", device=positions.device", ""), believes="everything lives on the CPU",
)
ex.wrong(
    "the library does the work",
    source="""
def sinusoids(positions, d_model, base=10000.0):
    from pioneers.layers import sinusoidal_table

    return sinusoidal_table(50, d_model, base=base)[positions]
""", believes="a table from the package is an answer",
)
ex.wrong(
    "the exponent without its minus sign",
    "ω falls from 1: base^(-2i/D). Without the minus the clock hands run faster and faster.",
    ("base ** (-torch", "base ** (torch"), believes="frequencies grow",
)
ex.wrong(
    "the exponent ends at exactly 1/base",
    "That is tensor2tensor's version, divided by D/2 - 1; the formula here divides 2i by D.",
    ("torch.arange(0, d_model, 2, device=positions.device) / d_model",
     "torch.arange(d_model // 2, device=positions.device) / max(1, d_model // 2 - 1)"),
    believes="the last frequency is 1/base",
)

ex.right(
    "number by number",
    source="""
def sinusoids(positions, d_model, base=10000.0):
    rows = []
    for t in positions.tolist():
        angles = [t * base ** (-2 * i / d_model) for i in range(d_model // 2)]
        rows.append([f(a) for a in angles for f in (math.sin, math.cos)])
    return torch.tensor(rows, device=positions.device)
""",
)
ex.right(
    "columns filled in, exp and log",
    source="""
def sinusoids(positions, d_model, base=10000.0):
    steps = torch.arange(0, d_model, 2, device=positions.device)
    angles = torch.outer(positions.float(), torch.exp(-steps * math.log(base) / d_model))
    table = torch.zeros(len(positions), d_model, device=positions.device)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table
""",
)
ex.right("columns interleaved by reshape", source='''
def sinusoids(positions, d_model, base=10000.0):
    i = torch.arange(d_model // 2, device=positions.device)
    angles = positions.unsqueeze(1) / base ** (2 * i / d_model)
    pairs = torch.cat((angles.sin().unsqueeze(2), angles.cos().unsqueeze(2)), dim=2)
    return pairs.reshape(len(positions), -1)
''')
ex.right("cosine as a shifted sine", source='''
def sinusoids(positions, d_model, base=10000.0):
    j = torch.arange(d_model, device=positions.device)
    omega = base ** (-(j - j % 2) / d_model)
    return torch.sin(positions[:, None] * omega + (j % 2) * math.pi / 2)
''')
ex.right("where chooses sine or cosine", source='''
def sinusoids(positions, d_model, base=10000.0):
    j = torch.arange(d_model, device=positions.device)
    angles = positions[:, None] * torch.pow(base, -(j // 2 * 2).float() / d_model)
    return torch.where(j % 2 == 0, torch.sin(angles), torch.cos(angles))
''')
ex.right("the exponential of an imaginary number", source='''
def sinusoids(positions, d_model, base=10000.0):
    omega = base ** (-torch.arange(0, d_model, 2, device=positions.device) / d_model)
    turns = torch.polar(torch.ones(1, device=omega.device), positions[:, None] * omega)
    return torch.stack((turns.imag, turns.real), dim=-1).flatten(-2)
''')
ex.right("one column at a time", source='''
def sinusoids(positions, d_model, base=10000.0):
    columns = []
    for i in range(0, d_model, 2):
        angles = positions * base ** (-i / d_model)
        columns += [torch.sin(angles), torch.cos(angles)]
    return torch.stack(columns, dim=1)
''')
ex.right("einsum, in double precision", source='''
def sinusoids(positions, d_model, base=10000.0):
    steps = torch.arange(0, d_model, 2, dtype=torch.float64, device=positions.device)
    angles = torch.einsum("t,i->ti", positions.double(), base ** (-steps / d_model))
    return torch.stack([angles.sin(), angles.cos()], dim=2).view(len(positions), d_model).float()
''')
ex.equivalent(
    "The steps are two wide and d_model is even: the last one is the same.",
    ("d_model,", "d_model - 1,"),
)
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    ("rows, device=positions.device", "rows"),
    of="number by number",
)
