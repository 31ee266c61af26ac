"""Exercise 7.6: an interval for the difference of two arms, paired by seed.

``a`` (n,) has the scores of the runs with ``a_seeds`` (n,), ``b`` (m,) those with ``b_seeds`` (m,);
``quantiles[k]`` is the 97.5 % quantile of Student's t with k degrees of freedom.
"""

from functools import partial

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals

ANSWER = '''
def paired_interval(
    a: Tensor,
    a_seeds: Tensor,
    b: Tensor,
    b_seeds: Tensor,
    quantiles: Tensor,
) -> Tensor:
    """The 95% interval (2,) of the mean of a - b over the seeds that both
    have."""
    i, j = (a_seeds[:, None] == b_seeds).nonzero(as_tuple=True)
    d = a[i] - b[j]
    half = quantiles[len(d) - 1] * d.std() / len(d) ** 0.5
    return torch.stack([d.mean() - half, d.mean() + half])
'''
SECTIONS = ("sec-variations", "sec-seed-noise")
ex = exercise("7.6", ANSWER, points=10, minutes=14, difficulty=3, reread=SECTIONS, seed=76)

T = [0.0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145]


@ex.maker
def arms(normal, a_seeds, b_seeds, common=1.0, dtype=torch.float32, **given):
    """Make the scores; a seed moves all arms alike, by ``common`` times a normal number."""
    seeds = torch.tensor(a_seeds), torch.tensor(b_seeds)
    args = {"a_seeds": seeds[0], "b_seeds": seeds[1], "quantiles": torch.tensor(T, dtype=dtype)}
    if given:
        return args | given
    luck = common * normal(100, dtype=torch.float64)
    a, b = (luck[s] + normal(len(s), dtype=torch.float64) / 4 for s in seeds)
    return args | {"a": (a + 0.5).to(dtype), "b": b.to(dtype)}


SEVEN = {"a_seeds": [5, 3, 17, 2, 11, 7, 13], "b_seeds": [2, 17, 13, 5, 7, 3, 11]}
UNEQUAL = "a seed that only one arm has"
ex.probe("five seeds", a_seeds=[0, 1, 2, 3, 4], b_seeds=[0, 1, 2, 3, 4])
ex.probe("seven seeds in another order", **SEVEN)
ex.probe(UNEQUAL, a_seeds=[1, 2, 3, 5, 8], b_seeds=[3, 1, 9, 2, 8, 7], common=3.0)
ex.probe("two common seeds", a_seeds=[4, 6], b_seeds=[6, 4, 1])
ex.probe("double precision", a_seeds=[0, 2, 3], b_seeds=[3, 0, 2], dtype=torch.float64)
ex.probe("numbers with gaps in memory", a_seeds=[1, 3, 4, 6], b_seeds=[6, 3, 4, 1], strided=True)
HIDDEN = {
    "three seeds": ([0, 1, 2], [2, 1, 0]),
    "few in common": ([9, 30, 4, 17, 2], [31, 4, 8, 9, 30, 5, 49]),
    "b has a seed more in front": ([5, 6, 7, 8], [4, 5, 6, 7, 8]),
}


def scores(wanted):
    """Draw the scores of the hidden probes, one after the other up to that of the ``wanted`` name."""
    normal = normals(7601)
    luck = 2 * normal(50)
    for name, (p, q) in HIDDEN.items():
        a, b = luck[p] + normal(len(p)) / 8, luck[q] + normal(len(q)) / 8 - 0.3
        if name == wanted:
            return {"a": a, "b": b}


for name, (p, q) in HIDDEN.items():
    ex.hidden(name, a_seeds=p, b_seeds=q, drawn=partial(scores, name), quantiles=T[:11])


@ex.law(
    "with the arms exchanged the interval changes its sign", "b - a lies between -high and -low.", on=UNEQUAL
)
def exchanged(run, probe):
    g = probe.args
    turned = probe.having("law", a=g["b"], a_seeds=g["b_seeds"], b=g["a"], b_seeds=g["a_seeds"])
    return run(turned), -run(probe).flip(0)


PAIRS, D, STD = "i, j = (a_seeds[:, None] == b_seeds).nonzero(as_tuple=True)", "a[i] - b[j]", "d.std()"
ERROR, ENDS, FREEDOM = "d.std() / len(d) ** 0.5", "d.mean() - half, d.mean() + half", "quantiles[len(d) - 1]"
POOLED = "quantiles[2 * len(d) - 2]"
BOTH = "(a[i].var() + b[j].var()).sqrt()"
ex.wrong(
    "a result that is no tensor",
    "",
    ("torch.stack(", "("), believes="two numbers are an interval",
)
PLACE = "The two lists have their own order, and not all seeds: look for the same seed in both."
ex.wrong(
    "paired by place, not by seed",
    PLACE, (PAIRS, "i = j = slice(min(len(a), len(b)))"), believes="the lists stand in one order",
)
ex.wrong(
    "paired by place, not by seed",
    PLACE, (PAIRS, "n = min(len(a), len(b))\n    i, j = a_seeds.argsort()[:n], b_seeds.argsort()[:n]"),
    believes="sorting puts the seeds side by side",
)
ex.wrong(
    "paired by rank",
    "Sorted scores pair the best run with the best: a pair is two runs of one seed.",
    (D, "a[i].sort().values - b[j].sort().values"), believes="the best stands beside the best",
)
UNPAIRED = "A seed gives both arms the same luck, which cancels in the difference of a pair: take it first."
ex.wrong(
    "unpaired",
    UNPAIRED, (STD, BOTH), [(FREEDOM, POOLED), (STD, BOTH)], believes="two means, two errors",
)
ex.wrong(
    "unpaired",
    UNPAIRED,
    [(ERROR, "(a.var() / len(a) + b.var() / len(b)).sqrt()"),
     (ENDS, "a.mean() - b.mean() - half, a.mean() - b.mean() + half")], believes="use every run there is",
)
ex.wrong(
    "the deviation in the place of the error",
    "The mean of n differences is known √n times better than one of them: divide by √n.",
    (ERROR, STD), believes="the interval is the mean ± the deviation",
)
ex.wrong(
    "divided by n, not by n - 1",
    "The sample deviation divides by n - 1 (Bessel), and the more so the fewer seeds there are.",
    (STD, "d.std(correction=0)"), believes="a deviation divides by n",
)
ex.wrong(
    "the root taken twice",
    "The error is s / √n: the variance is divided by n, the deviation by √n.",
    (" ** 0.5", ""), believes="an error is a deviation divided by n",
)
ex.wrong(
    "n - 1 under the root as well",
    "The deviation has its n - 1 already; the error of a mean of n differences divides by √n.",
    ("len(d) ** 0.5", "(len(d) - 1) ** 0.5"), believes="n - 1 everywhere",
)
ex.wrong(
    "the upper end first",
    "An interval is written from its lower end to its upper end.",
    (ENDS, "d.mean() + half, d.mean() - half"), believes="an interval has no order",
)
ex.wrong(
    "n degrees of freedom",
    "The mean has used up one: n differences leave n - 1.",
    (FREEDOM, "quantiles[len(d)]"), believes="n numbers have n degrees of freedom",
)
ex.wrong(
    "a normal instead of Student's t",
    "1.96 holds for many seeds; with five it makes the interval a third too short: use the quantiles.",
    (FREEDOM, "1.96"), believes="95 % is 1.96",
)
ex.wrong(
    "half of the interval",
    "quantile times error goes to either side of the mean.",
    (FREEDOM, f"{FREEDOM} / 2"), believes="the quantile is the width",
)
ex.wrong(
    "b minus a",
    "The difference asked for is a - b: its sign says which arm leads.",
    (D, "b[j] - a[i]"), believes="the order of a difference does not matter",
)
ex.wrong(
    "middle and half width",
    "Return the two ends, the lower one first.",
    (ENDS, "d.mean(), half"), believes="an interval is a mean and a ±",
)
ex.wrong(
    "the largest difference in the middle",
    "The best seed is luck: in the middle stands the mean of the differences.",
    (ENDS, "d.max() - half, d.max() + half"), believes="the best pair shows what is possible",
)
ex.wrong(
    "compared without pairing",
    "Two means and their own deviations keep the luck of the seeds: subtract seed by seed first.",
    source="""
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    d = a.mean() - b.mean()
    half = quantiles[min(len(a), len(b)) - 1] * (a.var() / len(a) + b.var() / len(b)).sqrt()
    return torch.stack([d - half, d + half])
""", believes="two samples have two means",
)
ex.wrong(
    "all runs counted, not the pairs",
    "k counts the seeds that both arms have: those are the differences there are.",
    ("len(d) ** 0.5", "len(a) ** 0.5"), ("len(d) ** 0.5", "len(b) ** 0.5"),
    (FREEDOM, "quantiles[len(a) - 1]"), (FREEDOM, "quantiles[len(b) - 1]"),
    [(FREEDOM, "quantiles[len(a) - 1]"), ("len(d) ** 0.5", "len(a) ** 0.5")],
    [(FREEDOM, "quantiles[len(b) - 1]"), ("len(d) ** 0.5", "len(b) ** 0.5")],
    believes="n is the number of runs",
)
ex.wrong(
    "common seeds, each arm in its own order",
    "isin says which runs have a partner, not which: sort both by seed, or match them one by one.",
    ("d = a[i] - b[j]", "d = a[torch.isin(a_seeds, b_seeds)] - b[torch.isin(b_seeds, a_seeds)]"),
    believes="what both have is in the same order",
)
ex.wrong(
    "the deviation of one run",
    "The interval is for the mean: t times s over the root of k.",
    ("quantiles[len(d) - 1] * d.std() / len(d) ** 0.5", "d.std()"), believes="plus or minus one deviation",
)
ex.wrong(
    "the variance instead of the deviation",
    "s is the sample deviation, in the unit of the scores: the root of the variance.",
    (STD, "d.var()"), (ERROR, "d.var() / len(d)"), believes="the spread is the variance",
)

ex.right(
    "a dictionary of seeds",
    source="""
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    place = {seed: j for j, seed in enumerate(b_seeds.tolist())}
    pairs = [(i, place[seed]) for i, seed in enumerate(a_seeds.tolist()) if seed in place]
    i, j = torch.tensor(pairs).T
    d = a[i] - b[j]
    half = quantiles[len(d) - 1] * d.std() / len(d) ** 0.5
    return d.mean() + half * torch.tensor([-1.0, 1.0]).to(half)
""",
)
ex.right(
    "both sorted by seed, after what only one has is left out",
    source="""
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    in_a, in_b = torch.isin(a_seeds, b_seeds), torch.isin(b_seeds, a_seeds)
    d = a[in_a][a_seeds[in_a].argsort()] - b[in_b][b_seeds[in_b].argsort()]
    n = len(d)
    error = ((d - d.mean()).square().sum() / (n - 1) / n).sqrt()
    return torch.stack([d.mean() - quantiles[n - 1] * error, d.mean() + quantiles[n - 1] * error])
""",
)
ex.equivalent(
    "Dividing by 1 or -1 is multiplying.",
    (" * torch.tensor", " / torch.tensor"),
    of="a dictionary of seeds",
)
ex.right("two loops over the runs", source='''
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    differences = []
    for x, seed in zip(a, a_seeds):
        for y, other in zip(b, b_seeds):
            if seed == other:
                differences.append(x - y)
    d = torch.stack(differences)
    n = len(differences)
    half = quantiles[n - 1] * d.std() / math.sqrt(n)
    return torch.stack((d.mean() - half, d.mean() + half))
''')
ex.right("a table of all differences, and a mask", source='''
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    d = torch.masked_select(a.unsqueeze(1) - b.unsqueeze(0), a_seeds.unsqueeze(1) == b_seeds.unsqueeze(0))
    error = (d.var() / d.numel()).sqrt()
    reach = error * quantiles[d.numel() - 1]
    return torch.cat(((d.mean() - reach).view(1), (d.mean() + reach).view(1)))
''')
ex.right("a mask that picks the partner as a matrix product", source='''
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    same = (a_seeds[:, None] == b_seeds[None, :]).to(a.dtype)
    partner, has = same @ b, same.sum(1)
    n = int(has.sum())
    mean = ((a - partner) * has).sum() / n
    squares = ((a - partner - mean) ** 2 * has).sum()
    half = quantiles[n - 1] * (squares / (n - 1) / n) ** 0.5
    return mean + torch.stack((-half, half))
''')
ex.right("seeds in common, from the sets", source='''
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    of_a, of_b = a_seeds.tolist(), b_seeds.tolist()
    common = sorted(set(of_a) & set(of_b))
    d = torch.stack([a[of_a.index(seed)] - b[of_b.index(seed)] for seed in common])
    deviation, mean = torch.std_mean(d)
    ends = torch.empty(2, dtype=a.dtype, device=a.device)
    ends[0] = mean - quantiles[len(common) - 1] * deviation / len(common) ** 0.5
    ends[1] = 2 * mean - ends[0]
    return ends
''')
ex.right("the variance of a difference: two variances and twice the covariance", source='''
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    i, j = torch.where(a_seeds[:, None] == b_seeds)
    x, y = a[i].double(), b[j].double()
    n = x.numel()
    together = torch.cov(torch.stack((x, y)))
    variance = together[0, 0] + together[1, 1] - 2 * together[0, 1]
    half = quantiles[n - 1].double() * variance.div(n).sqrt()
    mean = x.mean() - y.mean()
    return torch.stack((mean - half, mean + half)).to(a.dtype)
''')
ex.right("searchsorted in the sorted seeds", source='''
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    ordered, order = b_seeds.sort()
    place = torch.searchsorted(ordered, a_seeds).clamp(max=len(ordered) - 1)
    found = ordered[place] == a_seeds
    d = a[found] - b[order[place[found]]]
    mean = d.sum() / d.shape[0]
    spread = torch.linalg.vector_norm(d - mean) / (d.shape[0] - 1) ** 0.5
    half = spread / d.shape[0] ** 0.5 * quantiles[d.shape[0] - 1]
    return torch.stack((torch.sub(mean, half), torch.add(mean, half)))
''')
