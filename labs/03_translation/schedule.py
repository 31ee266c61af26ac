"""Exercise 3.6: the learning rate of the paper. Updates are whole numbers from 1 on, the result float32."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def learning_rate(
    updates: Tensor, d_model: int, warmup_steps: int
) -> Tensor:
    """The paper's learning rate at each of the updates (N,),
    the first of which is 1."""
    s = updates.float()
    return d_model**-0.5 * torch.minimum(s**-0.5, s * warmup_steps**-1.5)
'''
ex = exercise("3.6", ANSWER, points=6, minutes=6, difficulty=1, reread="sec-warmup", equation="eq-noam")

BASE = [1, 400, 3999, 4000, 4001, 100_000]
ex.probe("the base model, on both sides of its peak", updates=BASE, d_model=512, warmup_steps=4000)
ex.probe("in no order, an update twice", updates=[13, 2, 13, 29, 1], d_model=7, warmup_steps=11)
ex.probe("a single update", updates=[5], d_model=3, warmup_steps=17)
ex.probe("a warm-up of one update", updates=[1, 2, 3], d_model=11, warmup_steps=1)
ex.hidden("wide", updates=[300_000, 1, 3999, 4001], d_model=1024, warmup_steps=4000)
ex.hidden("32 bits", updates=torch.arange(1, 30, dtype=torch.int32), d_model=3, warmup_steps=13)
ex.own(lambda whole: {"updates": whole(1, 999, 5), "d_model": whole(3, 99), "warmup_steps": whole(5, 500)})


@ex.law("the peak is at s = w", "There the line meets the curve.", equation="eq-noam-peak")
def peak(run, probe):
    rates = run(probe.having("law", updates=torch.arange(1, 60), d_model=5, warmup_steps=23))
    return rates.argmax(), torch.tensor(22)


@ex.law("behind the peak the warm-up is forgotten", "The decay does not depend on w: all curves end as one.")
def one_tail(run, probe):
    probe = probe.having("law", updates=torch.arange(41, 53), d_model=5, warmup_steps=23)
    return run(probe), run(probe.having("law", warmup_steps=7))


FACTOR, FALL, RISE = "d_model**-0.5 * ", "(s**-0.5", "s * warmup_steps**-1.5"
SMALLER = f"torch.minimum{FALL}, {RISE})"
ex.wrong(
    "a result that is no tensor",
    "",
    (f"{FACTOR}{SMALLER}", f"({FACTOR}{SMALLER}).tolist()"), believes="a list of rates",
)
ex.wrong(
    "another type than float32",
    "",
    ("float()", "double()"), believes="more digits are better",
)
ex.wrong(
    "the larger of the two",
    "The smaller of the two: the line before the peak, the curve after it.",
    ("minimum", "maximum"), believes="the peak is a maximum",
)
ex.wrong(
    "no warm-up",
    "This is the decay alone, largest at the first update, when gradients mean least.",
    (SMALLER, "s**-0.5"), believes="the rate falls from the beginning",
)
ex.wrong(
    "no decay",
    "Behind the peak at s = w the rate falls like the inverse square root of s.",
    (SMALLER, "warmup_steps**-0.5 * (s / warmup_steps).clamp(max=1)"),
    believes="after the warm-up the rate stays",
)
ex.wrong(
    "no decay",
    "The line rises for ever: behind the peak at s = w the rate falls like the inverse square root of s.",
    (SMALLER, RISE), believes="the rate rises",
)
ex.wrong(
    "updates counted from 0",
    "The updates given here are 1, 2, 3, … already, as in the paper: nothing is to be added.",
    ("float()", "float() + 1"), believes="computers count from 0",
)
ex.wrong(
    "the updates are ignored",
    "Use the numbers in updates: they need not be 1, 2, 3, ….",
    ("updates.float()", "torch.arange(1, len(updates) + 1).float()"), believes="updates are 1, 2, 3, …",
)
ex.wrong(
    "one branch for all updates",
    "Each update lies before the peak or behind it: choose one by one, with torch.minimum or torch.where.",
    *((SMALLER, f"({RISE} if {s} <= warmup_steps else s**-0.5)") for s in ("s.max()", "s[0]")),
    believes="a schedule is in its warm-up or is not",
)
ex.wrong(
    "multiplied by the root of the width",
    "A wider model takes shorter steps: the factor is D^(-1/2).",
    (FACTOR, "d_model**0.5 * "), believes="the minus of the first exponent is overlooked",
)
ex.wrong(
    "the width is ignored",
    "The factor D^(-1/2) is missing: a wider model takes shorter steps.",
    (FACTOR, ""), believes="only the shape matters",
)
ex.wrong(
    "the peak is 1",
    "This is the factor on a peak of one's own choice; the paper's own peak is (D w)^(-1/2).",
    (f"{FACTOR}{SMALLER}", "torch.minimum((warmup_steps / s) ** 0.5, s / warmup_steps)"),
    believes="the schedule of pioneers is the schedule of the paper", equation="eq-noam-peak",
)
ex.wrong(
    "the wrong slope",
    "The line must meet the curve at s = w, where s · w^(-3/2) is w^(-1/2).",
    (RISE, "s / warmup_steps"), ("-1.5", "-0.5"), believes="a line from 0 to 1, or -1/2 in both exponents",
)
ex.wrong(
    "the width inside the minimum",
    "D^(-1/2) multiplies the whole minimum: both branches, the rising one too.",
    ("d_model**-0.5 * torch.minimum(s**-0.5, s * warmup_steps**-1.5)",
     "torch.minimum(d_model**-0.5 * s**-0.5, s * warmup_steps**-1.5)"),
    believes="a factor belongs to its neighbour",
)

ex.right("a line up to w, the root behind it", source='''
def learning_rate(updates, d_model, warmup_steps):
    s = updates.float()
    rate = torch.where(updates < warmup_steps, s * warmup_steps**-1.5, s**-0.5)
    return rate / math.sqrt(d_model)
''')
ex.right("a list of numbers", source='''
def learning_rate(updates, d_model, warmup_steps):
    rates = [d_model**-0.5 * min(s**-0.5, s * warmup_steps**-1.5) for s in updates.tolist()]
    return torch.tensor(rates, device=updates.device)
''')
ex.equivalent(
    "torch does the conversion by itself.",
    ("updates.float()", "updates"),
)
ex.equivalent(
    "torch does the conversion by itself.",
    ("updates.float()", "updates"),
    of="a line up to w, the root behind it",
)
ex.equivalent(
    "At the limit itself both sides give the same.",
    ("< ", "<= "),
    of="a line up to w, the root behind it",
)
ex.right("torch.pow and min", source='''
def learning_rate(updates, d_model, warmup_steps):
    s = updates.to(torch.float32)
    return torch.min(torch.pow(s, -0.5), torch.mul(s, warmup_steps**-1.5)) * d_model**-0.5
''')
ex.right("rsqrt", source='''
def learning_rate(updates, d_model, warmup_steps):
    s = updates.float()
    return torch.minimum(s.rsqrt(), s / (warmup_steps * math.sqrt(warmup_steps))) / math.sqrt(d_model)
''')
ex.right("stacked, then the smaller", source='''
def learning_rate(updates, d_model, warmup_steps):
    s = updates.float()
    both = torch.stack((1 / s.sqrt(), s * warmup_steps**-1.5))
    return both.amin(dim=0) / d_model**0.5
''')
ex.right("relative to the peak", source='''
def learning_rate(updates, d_model, warmup_steps):
    r = updates.float() / warmup_steps
    peak = (d_model * warmup_steps) ** -0.5
    return peak * torch.where(r < 1, r, r.rsqrt())
''')
ex.right("one update at a time", source='''
def learning_rate(updates, d_model, warmup_steps):
    def rate(s):
        return s * warmup_steps**-1.5 if s < warmup_steps else s**-0.5

    return torch.stack([d_model**-0.5 * rate(s) for s in updates.float()])
''')
ex.right("logarithms, in double precision", source='''
def learning_rate(updates, d_model, warmup_steps):
    log_s = updates.double().log()
    exponent = torch.minimum(-log_s / 2, log_s - 1.5 * math.log(warmup_steps)) - math.log(d_model) / 2
    return exponent.exp().float()
''')
