"""Exercise 10.7: weights rounded to a few bits, with a scale for each output channel."""

import torch

from pioneers.checks.building import exercise, stops_at
from pioneers.checks.symptoms import breaks, wrong_only_in_half_precision

ANSWER = '''
def rounded_weight(weight: Tensor, bits: int = 8) -> Tensor:
    """The weight (F, D) after rounding to whole numbers of so many
    bits, with a scale for each output channel."""
    most = 2 ** (bits - 1) - 1
    exact = weight.detach().double()
    scale = exact.abs().amax(1, keepdim=True) / most
    codes = (exact / scale.masked_fill(scale == 0, 1)).round()
    return (codes * scale).to(weight.dtype)
'''
ex = exercise(
    "10.7", ANSWER, points=8, minutes=11, difficulty=2, reread="sec-quantised", equation="eq-absmax",
)  # fmt: skip
NOTHING = "a channel of zeros"


@ex.maker
def matrix(normal, F, D, bits=8, size=1.0, dtype=torch.float32, lean=0.0, zeros=(), shape=None):
    """Normal weights whose channels differ in size; none is near a half step, where rounding could differ."""
    weight = (normal(F, D, dtype=torch.float64) + lean) * size
    weight = (weight * torch.linspace(0.5, 3, F, dtype=torch.float64)[:, None]).to(dtype).double()
    most = 2 ** (bits - 1) - 1
    for _ in range(20):
        steps = weight / weight.abs().amax(1, keepdim=True) * most
        near = (steps.abs() % 1 - 0.5).abs() < 0.004
        weight = torch.where(near, weight * 1.03, weight).to(dtype).double()
    weight[list(zeros)] = 0
    return {"weight": weight.to(dtype), "bits": bits}


ex.probe("seven channels of eleven weights", F=7, D=11)
ex.probe("four bits", F=5, D=13, bits=4)
ex.probe("three bits, more channels than weights", F=11, D=3, bits=3)
ex.probe("two bits", F=3, D=17, bits=2)
ex.probe("weights that are mostly negative", F=5, D=7, lean=-1.5)
ex.probe("weights that are all positive", F=3, D=7, lean=5.0, bits=5)
ex.probe("small weights", F=3, D=11, size=0.003)
ex.probe("very large weights", F=5, D=3, size=1e4)
ex.probe(NOTHING, F=5, D=7, zeros=(1, 4))
ex.probe("one weight", F=1, D=1, bits=3)
ex.probe("as many channels as weights", F=7, D=7, bits=4)
ex.probe("double precision", F=5, D=7, dtype=torch.float64)
ex.probe("half precision", F=13, D=59, size=8.0, dtype=torch.float16)
ex.probe("numbers with gaps in memory", F=7, D=5, bits=4, strided=True)
ex.hidden("many weights", F=31, D=101, bits=5)
ex.hidden("all channels are zeros", F=3, D=5, zeros=(0, 1, 2))
ex.hidden("seven bits, half precision", F=17, D=23, bits=7, size=3.0, dtype=torch.float16)


@ex.law("what is rounded already stays as it is", "It consists of whole multiples of the same scale.")
def twice(run, probe):
    once = run(probe)
    return once, run(probe.having("law", weight=once))


@ex.law("a channel does not notice the others", "Each has a scale of its own.")
def apart(run, probe):
    weight = probe.args["weight"]
    factor = torch.ones(len(weight), 1)
    factor[1] = 64
    return factor * run(probe), run(probe.having("law", weight=factor * weight))


@ex.law("another unit changes nothing", "A channel of tiny weights is rounded as well as any other.")
def unit(run, probe):
    return run(probe), 2**20 * run(probe.having("law", weight=probe.args["weight"] / 2**20))


MOST, SCALE = "2 ** (bits - 1) - 1", "exact.abs().amax(1, keepdim=True) / most"
CODES, EXACT = "(exact / scale.masked_fill(scale == 0, 1)).round()", "weight.detach().double()"
ex.wrong(
    "one scale for the whole matrix",
    "A channel with small weights would get a few steps only: each output channel has its own scale.",
    ("amax(1, keepdim=True)", "max()"), believes="a matrix has a scale",
)
ex.wrong(
    "a scale for each input",
    "A row of weight is an output channel: its largest number is taken along the row, axis 1.",
    ("amax(1, keepdim=True)", "amax(0, keepdim=True)"), believes="a channel is a column",
)
ex.wrong(
    "one step too many",
    "With 8 bits, whole numbers go from -127 to 127 here; 128 would not fit.",
    (MOST, "2 ** (bits - 1)"), believes="eight bits end at 128",
)
ex.wrong(
    "a bit for the sign is forgotten",
    "One of the bits is the sign: 8 bits reach up to 127, not 255.",
    (MOST, "2**bits - 1"), believes="eight bits end at 255",
)
ex.wrong(
    "always eight bits",
    "bits is a parameter.",
    (MOST, "127"), believes="int8 is int8",
)
ex.wrong(
    "the bits are the largest number",
    "With b bits the largest whole number is 2 to the power of b - 1, minus 1.",
    (MOST, "2 * bits - 1"), believes="a bit is a step",
    shows=lambda symptom: symptom.stage == "value" and counted_in_bits(symptom),
)
CUT = "A number between two steps goes to the nearer one: round, do not cut."
ex.wrong(
    "cut off instead of rounded",
    CUT,
    (CODES, CODES.replace("round()", "trunc()")), (CODES, CODES.replace("round()", "to(torch.int8)")),
    believes="int() rounds",
)
ex.wrong(
    "always rounded down or up",
    CUT,
    (CODES, CODES.replace("round()", "floor()")), (CODES, CODES.replace("round()", "ceil()")),
    (CODES, CODES.replace(").round()", " + 0.5).trunc()")), believes="rounding is floor",
)
ex.wrong(
    "the largest number instead of the largest size",
    "A negative weight may be the largest in size: take absolute values first.",
    (".abs().amax(1, keepdim=True)", ".amax(1, keepdim=True)"),
    [(".abs().amax(1, keepdim=True)", ".amax(1, keepdim=True)"), (CODES, f"{CODES}.clamp(-most, most)")],
    believes="the maximum is the range",
)
ex.wrong(
    "the distance between smallest and largest",
    "Here the steps are symmetric about 0, so that a weight of 0 stays 0.",
    (SCALE, "(exact.amax(1, keepdim=True) - exact.amin(1, keepdim=True)) / (2 * most + 1)"),
    [(SCALE, "(exact.amax(1, keepdim=True) - exact.amin(1, keepdim=True)) / (2 * most + 1)"),
     (CODES, "((exact - exact.amin(1, keepdim=True)) / scale.masked_fill(scale == 0, 1)).round()"),
     ("codes * scale", "codes * scale + exact.amin(1, keepdim=True)")],
    believes="a range is from the smallest to the largest",
)
ex.wrong(
    "the mean size instead of the largest",
    "Weights above the scale would have no step: the largest one sets it.",
    (".amax(1, keepdim=True)", ".mean(1, keepdim=True)"),
    ("exact.abs().amax(1, keepdim=True)", "exact.square().mean(1, keepdim=True).sqrt()"),
    believes="a typical weight sets the scale",
)
ex.wrong(
    "outliers are cut off",
    "Here no weight is clipped: the largest one is a step too.",
    [(SCALE, "3 * exact.square().mean(1, keepdim=True).sqrt() / most"),
     (CODES, f"{CODES}.clamp(-most, most)")],
    believes="three standard deviations are enough",
)
ex.wrong(
    "the scale is rounded too",
    "The scale keeps its digits here. (In a file it may have 16 bits.)",
    (SCALE, f"({SCALE}).half().double()"), (SCALE, f"({SCALE}).bfloat16().double()"),
    believes="a scale has 16 bits",
)
ex.wrong(
    "the codes are returned",
    "The whole numbers are what is stored; the layer computes with code times scale.",
    ("codes * scale", "codes"), believes="the codes are the weights",
)
ex.wrong(
    "the scale is applied twice",
    "Divide by the scale to get the codes, multiply by it once to get back.",
    ("codes * scale", "codes * scale**2"), ("codes * scale", "codes / scale.masked_fill(scale == 0, 1)"),
    believes="back is like forth",
)
ex.wrong(
    "0/0 in a channel of zeros",
    "A channel of zeros has the scale 0: divide it by something else.",
    (CODES, "(exact / scale).round()"), believes="a largest number is above 0",
    shows=stops_at(NOTHING, "finite"),
)
ex.wrong(
    "a small number is added to the scale",
    "That shifts all codes of a channel whose weights are small themselves: treat 0 alone.",
    (SCALE, f"{SCALE} + 1e-6"), (SCALE, "exact.abs().amax(1, keepdim=True).clamp(min=0.01) / most"),
    believes="an epsilon is always good",
)
ex.wrong(
    "computed in half precision",
    "float16 has three digits: a quotient near a half step goes to the wrong side. Compute in double.",
    (EXACT, "weight.detach()"), believes="the type of the weights is good enough",
    shows=wrong_only_in_half_precision,
)
ex.wrong(
    "another precision comes out",
    "",
    ("(codes * scale).to(weight.dtype)", "(codes * scale).float()"), believes="weights are float32",
)
ex.wrong(
    "the input is overwritten",
    "",
    ("return (codes * scale).to(weight.dtype)", "return weight.copy_(codes * scale)"),
    believes="the layer gets the new weights",
)
ex.wrong(
    "the library does the work",
    source="""
def rounded_weight(weight, bits=8):
    from pioneers.layers import dequantize, quantize

    return dequantize(quantize(weight, bits=bits), bits=bits).to(weight.dtype)
""", believes="the package has a function for that",
)


def counted_in_bits(symptom):
    """Whether every result is what the largest number 2 · bits - 1 gives."""
    for case in symptom.cases:
        weight, most = case.probe.args["weight"].double(), 2 * case.probe.args["bits"] - 1
        scale = weight.abs().amax(1, keepdim=True) / most
        want = (weight / scale).nan_to_num().round() * scale
        if not torch.allclose(case.outcome.tensor.double(), want, rtol=0.02, atol=0.02):
            return False
    return True
ex.wrong(
    "the range from smallest to largest",
    "The scale is the largest absolute weight divided by m: the grid is symmetric around 0.",
    ("exact.abs().amax(1, keepdim=True) / most",
     "(exact.amax(1, keepdim=True) - exact.amin(1, keepdim=True)) / (2 * most)"),
    believes="a range has two ends",
)
ex.wrong(
    "a small number added to the scale",
    "Rows of very small weights are rounded as any other: replace a scale of exactly 0, and leave the rest.",
    ("scale.masked_fill(scale == 0, 1)", "(scale + 1e-8)"),
    ("scale.masked_fill(scale == 0, 1)", "scale.clamp(min=1e-8)"),
    ("scale.masked_fill(scale == 0, 1)", "(scale + 1e-5)"), believes="an epsilon is always good",
)
ex.wrong(
    "a lower limit for the scale",
    "Rows of very small weights are rounded as well as any other: replace a scale of exactly 0, and only 0.",
    (SCALE, f"({SCALE}).clamp(min=1e-8)"), (SCALE, f"({SCALE}).clamp(min=1e-7)"),
    believes="what is very small is zero", shows=breaks("another unit changes nothing"),
)

ex.right(
    "channel by channel",
    source="""
def rounded_weight(weight, bits=8):
    rows = []
    for row in weight.detach().double():
        largest = max(row.max(), -row.min())
        steps = 2 ** (bits - 1) - 1
        rows.append(row if largest == 0 else torch.round(row * steps / largest) * largest / steps)
    return torch.stack(rows).to(weight)
""",
)
ex.right(
    "with int8 in between",
    source="""
def rounded_weight(weight, bits=8):
    most = (1 << (bits - 1)) - 1
    w = weight.to(torch.float64)
    largest = torch.linalg.vector_norm(w, ord=torch.inf, dim=-1)
    largest = torch.where(largest > 0, largest, torch.ones_like(largest))
    codes = torch.floor(w / largest[:, None] * most + 0.5).to(torch.int8)
    return torch.einsum("fd,f->fd", codes.to(w.dtype), largest / most).to(weight.dtype)
""",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("2 ** (bits - 1) - 1", "1 - 2 ** (bits - 1)"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("e()", "e().detach()"),
    ("exact.abs().amax(1, keepdim=True) / most", "(exact.abs().amax(1, keepdim=True) / most).detach()"),
    ("d()", "d().detach()"), ("weight.dtype)", "weight.dtype).detach()"),
)
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    ("weight.detach().double", "weight.double"),
)
ex.equivalent(
    "Codes of 0 stay 0.",
    (" 1))", " 2))"),
)
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    ("weight.detach().double", "weight.double"),
    of="channel by channel",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("))", ")).detach()"), ("weight)", "weight).detach()"),
    of="channel by channel",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("2 ** (bits - 1) - 1", "1 - 2 ** (bits - 1)"),
    of="channel by channel",
)
ex.right("a helper for one row, and stack", source='''
def rounded_weight(weight, bits=8):
    def channel(row):
        scale = row.abs().max() / (2 ** (bits - 1) - 1)
        return torch.round(row / scale) * scale if scale > 0 else row

    return torch.stack([channel(row) for row in weight.detach().double()]).type_as(weight)
''')
ex.right("NaN repaired", source='''
def rounded_weight(weight, bits=8):
    w = weight.double()
    scale = torch.amax(torch.abs(w), dim=1, keepdim=True).div(2 ** (bits - 1) - 1)
    codes = torch.round(w / scale).nan_to_num(nan=0.0)
    return codes.mul(scale).to(weight.dtype)
''')
ex.right("plain Python", source='''
def rounded_weight(weight, bits=8):
    most, rows = 2 ** (bits - 1) - 1, []
    for row in weight.tolist():
        scale = max(map(abs, row)) / most
        rows.append([round(x / scale) * scale if scale else 0.0 for x in row])
    return torch.tensor(rows, dtype=torch.float64).to(weight.dtype)
''')
ex.right("sign and size apart", source='''
def rounded_weight(weight, bits=8):
    w = weight.detach().to(torch.float64)
    size, most = w.abs(), 2 ** (bits - 1) - 1
    scale = size.max(dim=1, keepdim=True).values / most
    codes = (size / torch.where(scale > 0, scale, 1.0) + 0.5).floor()
    return (w.sign() * codes * scale).to(weight.dtype)
''')
ex.right("written in place, only rows that are not zeros", source='''
def rounded_weight(weight, bits=8):
    w = weight.detach().double().clone()
    used = w.abs().sum(1) > 0
    largest = torch.maximum(w.amax(1), -w.amin(1))[:, None] / (2 ** (bits - 1) - 1)
    w[used] = (w[used] / largest[used]).round_() * largest[used]
    return w.to(weight.dtype)
''')
ex.right("the rest is taken away", source='''
def rounded_weight(weight, bits=8):
    w = weight.detach().double()
    scale = F.normalize(w, p=math.inf, dim=1, eps=1e-300)
    steps = scale * (2 ** (bits - 1) - 1)
    largest = torch.linalg.norm(w, ord=math.inf, dim=1, keepdim=True)
    rest = steps - torch.round(steps)
    return (w - rest * largest / (2 ** (bits - 1) - 1)).to(weight.dtype)
''')
