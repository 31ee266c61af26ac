"""Exercise 2.2: the matrix that moves sinusoids from one position to another."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def shift_matrix(
    offset: int, d_model: int, base: float = 10000.0
) -> Tensor:
    """The matrix (D, D) with p_t M = p_(t + offset),
    for the sinusoids of 2.1."""
    angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    rows = torch.stack((angles.cos(), -angles.sin(), angles.sin(), angles.cos()), dim=-1)
    return torch.block_diag(*rows.view(-1, 2, 2))
'''
ex = exercise("2.2", ANSWER, points=8, minutes=12, difficulty=2, reread="sec-shift", equation="eq-shift")

ex.probe("one step, width 6", offset=1, d_model=6)
ex.probe("five steps, width 10", offset=5, d_model=10)
ex.probe("three steps back", offset=-3, d_model=6)
ex.probe("no step", offset=0, d_model=14)
ex.probe("one pair", offset=7, d_model=2)
ex.probe("another base", offset=11, d_model=10, base=100.0)
ex.hidden("many steps, wide", offset=37, d_model=26)
ex.hidden("steps back, another base", offset=-17, d_model=6, base=37.0)
ex.own(lambda whole: {"offset": whole(2, 40), "d_model": 2 * whole(3, 9)})


@ex.law(
    "it moves every position by the same offset", "The matrix knows the offset only, not where it starts."
)
def moves_positions(run, probe):
    angles = torch.tensor([2, 17, 5, 15, 30, 18])[:, None] * 10000.0 ** (-torch.arange(0, 22, 2) / 22)
    before, after = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).split(3)
    return before @ run(probe.having("law", offset=13, d_model=22)), after


@ex.law("two shifts add up", "Four steps and seven steps are eleven steps.")
def steps_add_up(run, probe):
    first, second, both = (run(probe.having("law", offset=k, d_model=6)) for k in (4, 7, 11))
    return first @ second, both


HALVES = "torch.cat([torch.cat([x.diag() for x in half], dim=1) for half in rows.T.split(2)])"
BLOCK = "(angles.cos(), -angles.sin(), angles.sin(), angles.cos())"
ex.wrong(
    "another type than float32",
    "",
    ("d_model, 2)", "d_model, 2, dtype=torch.float64)"), believes="more digits are better",
)
ex.wrong(
    "the shift goes the other way",
    "Positions are rows here and the matrix acts from the right: what you return moves them back.",
    (BLOCK, "(angles.cos(), angles.sin(), -angles.sin(), angles.cos())"), believes="vectors are columns",
)
ex.wrong(
    "the minus sign is missing",
    "The cosine row of the addition theorems has a minus sign; without it the block is no rotation.",
    ("-angles.sin()", "angles.sin()"), believes="both addition theorems have a plus", equation="eq-addition",
)
ex.wrong(
    "the position itself as coefficients",
    "The coefficients are not the vector of position k: the sine row needs cos ωk in its first place.",
    (BLOCK, "(angles.sin(), -angles.cos(), angles.cos(), angles.sin())"),
    believes="the coefficients are the position k", equation="eq-addition",
)
ex.wrong(
    "planes of channels far apart",
    "In the sinusoids of 2.1 a pair is two neighbouring columns, so the blocks lie along the diagonal.",
    ("torch.block_diag(*rows.view(-1, 2, 2))", HALVES), believes="a plane is channel i and channel i + D/2",
)
ex.wrong(
    "one angle for all pairs",
    "Pair i turns by ω_i for each step, the first fast and the last hardly at all.",
    ("base ** (-torch.arange(0, d_model, 2) / d_model)", "torch.ones(d_model // 2)"),
    believes="a step turns every pair alike",
)
ex.wrong(
    "the exponent runs half as fast",
    "The exponent is -2i/D, where i counts pairs: the slowest pair is nearly base times slower.",
    ("0, d_model, 2)", "d_model // 2)"), believes="i counts pairs, so no factor is needed",
    section="sec-sinusoids", equation="eq-sinusoids",
)
ex.wrong(
    "base is ignored",
    "10000 is only the default: use the parameter base.",
    ("base **", "10000.0 **"), believes="the base is 10000", section="sec-sinusoids", equation="eq-sinusoids",
)
ex.wrong(
    "sine and cosine exchanged",
    "A shift by 0 must be the identity: the cosines stand on the diagonal.",
    ("(angles.cos(), -angles.sin(), angles.sin(), angles.cos())",
     "(angles.sin(), angles.cos(), angles.cos(), angles.sin())"), believes="sines come first",
)

ex.right(
    "entry by entry",
    source="""
def shift_matrix(offset, d_model, base=10000.0):
    matrix = torch.zeros(d_model, d_model)
    for j in range(0, d_model, 2):
        angle = offset * base ** (-j / d_model)
        matrix[j, j] = matrix[j + 1, j + 1] = math.cos(angle)
        matrix[j + 1, j] = math.sin(angle)
        matrix[j, j + 1] = -math.sin(angle)
    return matrix
""",
)
ex.right(
    "matrix exponential of a step",
    source="""
def shift_matrix(offset, d_model, base=10000.0):
    omega = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    step = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    return torch.linalg.matrix_exp(offset * torch.block_diag(*omega[:, None, None] * step)).float()
""",
)
ex.right("rotations in a list of blocks", source='''
def shift_matrix(offset, d_model, base=10000.0):
    blocks = []
    for j in range(0, d_model, 2):
        c, s = math.cos(offset * base ** (-j / d_model)), math.sin(offset * base ** (-j / d_model))
        blocks.append(torch.tensor([[c, -s], [s, c]]))
    return torch.block_diag(*blocks)
''')
ex.right("diagonals added", source='''
def shift_matrix(offset, d_model, base=10000.0):
    angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    cos, sin = angles.cos().repeat_interleave(2), angles.sin()
    beside = torch.stack((sin, torch.zeros_like(sin)), dim=1).flatten()[:-1]
    return torch.diag(cos) + torch.diag(beside, -1) - torch.diag(beside, 1)
''')
ex.right("filled in with slices", source='''
def shift_matrix(offset, d_model, base=10000.0):
    angles = offset / base ** (torch.arange(0, d_model, 2) / d_model)
    even, odd = torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)
    matrix = torch.zeros(d_model, d_model)
    matrix[even, even] = matrix[odd, odd] = torch.cos(angles)
    matrix[odd, even] = torch.sin(angles)
    matrix[even, odd] = -torch.sin(angles)
    return matrix
''')
ex.right("complex numbers", source='''
def shift_matrix(offset, d_model, base=10000.0):
    turns = torch.exp(-1j * offset * base ** (-torch.arange(0, d_model, 2) / d_model))
    one, i = torch.eye(2), torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    return torch.block_diag(*[z.real * one + z.imag * i for z in turns])
''')
ex.right("a table of four axes", source='''
def shift_matrix(offset, d_model, base=10000.0):
    half = d_model // 2
    angles = offset * base ** (-torch.arange(half) / half)
    blocks = torch.stack((angles.cos(), -angles.sin(), angles.sin(), angles.cos()), 1).view(half, 2, 2)
    return torch.einsum("hij,hg->higj", blocks, torch.eye(half)).reshape(d_model, d_model)
''')
ex.right("Kronecker products", source='''
def shift_matrix(offset, d_model, base=10000.0):
    angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    return torch.kron(angles.cos().diag(), torch.eye(2)) + torch.kron(angles.sin().diag(), turn)
''')
ex.equivalent(
    "The steps are two wide and d_model is even: the last one is the same.",
    ("d_model,", "d_model - 1,"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-1)", "1)"),
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("rows.view", "rows.reshape"),
)
ex.equivalent(
    "The steps are two wide and d_model is even: the last one is the same.",
    (", d_model, 2", ", d_model - 1, 2"),
    of="entry by entry",
)
