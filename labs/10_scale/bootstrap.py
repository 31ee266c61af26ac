"""Exercise 10.5: the exponent of a power law with the interval that a bootstrap gives it.

The resampled rows come from outside, so that there is one right result.
"""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def scaling_exponent(sizes: Tensor, losses: Tensor, rows: Tensor) -> Tensor:
    """The exponent of losses = a · sizes^(-b), and the 95% interval
    that the resamples give it: (3,), b, low, high."""
    x, y = sizes.detach().log(), losses.detach().log()

    def exponent(x: Tensor, y: Tensor) -> Tensor:
        x = x - x.mean(-1, keepdim=True)
        return -(x * y).sum(-1) / x.square().sum(-1)

    low, high = exponent(x[rows], y[rows]).quantile(x.new_tensor([0.025, 0.975]))
    return torch.stack((exponent(x, y), low, high))
'''
ex = exercise(
    "10.5", ANSWER, points=9, minutes=14, difficulty=3, reread="sec-scaling-fit", equation="eq-scaling-law",
)  # fmt: skip


@ex.maker
def runs(normal, sizes, R, M=0, b=0.2, a=5.0, noise=0.1, dtype=torch.float32):
    """``R`` resamples of ``M`` runs each (as many as there are, if 0), none with a single size."""
    sizes = torch.tensor(sizes, dtype=torch.float64)
    count = len(sizes)
    losses = a * sizes**-b * (noise * normal(count, dtype=torch.float64)).exp()
    rows = []
    while len(rows) < R:
        row = (1000 * normal(M or count)).long() % count
        if len(set(sizes[row].tolist())) > 1:
            rows.append(row)
    return {"sizes": sizes.to(dtype), "losses": losses.to(dtype), "rows": torch.stack(rows)}


THREE = [1e3, 1e3, 1e3, 1e4, 1e4, 3e5, 3e5]
ex.probe("seven runs of three sizes", sizes=THREE, R=23)
ex.probe("five sizes, one run each", sizes=[2e3, 7e3, 3e4, 5e4, 9e5], R=11, b=0.07, noise=0.03)
ex.probe("sizes in no order", sizes=[3e4, 1e3, 5e5, 2e4, 8e3, 6e4], R=13, b=0.5, dtype=torch.float64)
ex.probe("losses that grow", sizes=[1e2, 1e3, 1e4, 1e5], R=17, b=-0.3, a=0.1)
ex.probe("two resamples", sizes=[1e3, 5e3, 2e4], R=2)
ex.probe("one resample", sizes=[1e3, 5e3, 2e4, 3e4], R=1, M=3)
ex.probe("resamples of another length", sizes=THREE, R=19, M=11)
ex.probe("double precision", sizes=[1e6, 1e7, 3e7, 1e9, 7e9], R=29, dtype=torch.float64)
ex.probe("numbers with gaps in memory", sizes=[1e3, 3e3, 1e4, 5e4], R=7, strided=True)
ex.probe("a hundred resamples", sizes=THREE, R=101)
ex.hidden("as many resamples as runs", sizes=[1e3, 3e3, 1e4, 5e4, 7e4], R=5)
ex.hidden("a thousand resamples", sizes=[1e3, 1e3, 4e3, 4e3, 9e4, 9e4, 5e5], R=1000, b=0.1)
ex.hidden("small sizes", sizes=[0.5, 2.0, 3.0, 7.0, 7.0], R=41, b=1.3, a=0.5)


@ex.law("another unit of size changes nothing", "In thousands or in millions, a power law has one exponent.")
def unit(run, probe):
    return run(probe), run(probe.having("law", sizes=probe.args["sizes"] / 1000))


@ex.law("an exact power law leaves nothing open", "All resamples then have the same exponent.")
def exact(run, probe):
    sizes = probe.args["sizes"]
    found = run(probe.having("law", losses=3 * sizes**-0.25))
    return found, torch.full_like(found, 0.25)


def leaves_out_rows(symptom):
    """Whether two tensors fit only as long as a resample has as many runs as there are."""
    at, words = symptom.case.probe, ("size mismatch", "must match", "broadcast")
    fails = symptom.stage == "runs" and any(word in symptom.case.outcome.error for word in words)
    return fails and at.args["rows"].shape[1] != len(at.args["sizes"])


LOGS, SLOPE = "sizes.detach().log(), losses.detach().log()", "-(x * y).sum(-1) / x.square().sum(-1)"
CENTRED, BOUNDS = "x = x - x.mean(-1, keepdim=True)", ".quantile(x.new_tensor([0.025, 0.975]))"
INTERVAL = f"low, high = exponent(x[rows], y[rows]){BOUNDS}"
RESULT = "torch.stack((exponent(x, y), low, high))"
ex.wrong(
    "a line through the numbers themselves",
    "A power law is a straight line after taking the logarithm of both axes.",
    (LOGS, "sizes.detach(), losses.detach()"), believes="a fit is a line",
)
ex.wrong(
    "the logarithm of the losses only",
    "That fits an exponential; a power law has a logarithm on both axes.",
    (LOGS, "sizes.detach(), losses.detach().log()"), believes="one logarithm is enough",
)
ex.wrong(
    "the logarithm of the sizes only",
    "That fits a logarithm; a power law has one on both axes.",
    (LOGS, "sizes.detach().log(), losses.detach()"), believes="one logarithm is enough",
)
ex.wrong(
    "the sign of the exponent",
    "In a · sizes^(-b) the minus is written already: b is minus the slope.",
    ("return -(x * y)", "return (x * y)"), believes="the slope is the exponent",
)
ex.wrong(
    "sizes fitted by losses",
    "The errors are in the losses: fit them by the sizes, not the other way round.",
    (f"{CENTRED}\n        return {SLOPE}",
     "y = y - y.mean(-1, keepdim=True)\n        return -y.square().sum(-1) / (x * y).sum(-1)"),
    believes="a line has no direction",
)
ex.wrong(
    "a line through the origin",
    "The factor a is free: take the means off first, or fit an intercept too.",
    (CENTRED, "x = x + 0"), believes="b is all there is to fit",
)
ex.wrong(
    "a line through two runs",
    "Least squares uses every run, not the first and the last.",
    (f"{CENTRED}\n        return {SLOPE}",
     "i, j = x.argmin(-1, keepdim=True), x.argmax(-1, keepdim=True)\n"
     "        return -((y.gather(-1, j) - y.gather(-1, i)) / (x.gather(-1, j) - x.gather(-1, i)))[..., 0]"),
    believes="two points make a line",
)
ex.wrong(
    "sizes and losses resampled apart",
    "A run is a pair: both numbers of a row are taken together.",
    ("y[rows])", "y[rows.flip(1)])"), ("y[rows])", "y[rows.flip(0)])"),
    believes="each column is drawn by itself",
)
ex.wrong(
    "sizes and losses resampled apart",
    "A run is a pair: take both numbers of the rows that were drawn, x[rows] and y[rows].",
    ("x[rows]", "x"), ("x[rows], y[rows]", "x[rows], y"),
    believes="the sizes are always the same", shows=leaves_out_rows,
)
ex.wrong(
    "rows and columns of the resamples exchanged",
    "A row of rows is one resample.",
    ("exponent(x[rows], y[rows])", "exponent(x[rows.T], y[rows.T]).nan_to_num()"),
    believes="a column is a resample",
)
ex.wrong(
    "all resamples in one fit",
    "Each resample has its own exponent: the interval is about how they differ.",
    ("exponent(x[rows], y[rows])", "exponent(x[rows.flatten()], y[rows.flatten()])"),
    believes="more runs, a better fit",
)
ex.wrong(
    "the smallest and the largest",
    "They move outwards with every further resample: take the 2.5% and the 97.5% quantile.",
    ("[0.025, 0.975]", "[0.0, 1.0]"), believes="an interval holds all",
)
ex.wrong(
    "quantiles of 5% and 95%",
    "They leave out 10% in all: 95% lie between the quantiles of 2.5% and 97.5%.",
    ("[0.025, 0.975]", "[0.05, 0.95]"), ("[0.025, 0.975]", "[0.0, 0.95]"), believes="95% is the upper bound",
)
ex.wrong(
    "the quantiles are rounded to a resample",
    "Between two resamples the quantile is interpolated linearly: that is what quantile does by itself.",
    (BOUNDS, ".quantile(x.new_tensor([0.025, 0.975]), interpolation='nearest')"),
    (BOUNDS, ".quantile(x.new_tensor([0.025, 0.975]), interpolation='lower')"),
    (BOUNDS, ".quantile(x.new_tensor([0.025, 0.975]), interpolation='higher')"),
    (BOUNDS, ".sort().values[[int(0.025 * len(rows)), int(0.975 * len(rows))]]"),
    (BOUNDS, ".sort().values[[int(0.025 * len(rows)), math.ceil(0.975 * len(rows)) - 1]]"),
    believes="a quantile is one of the numbers",
)
ex.wrong(
    "1.96 standard deviations",
    "A bootstrap needs no normal distribution: the quantiles of the resamples are the interval.",
    (INTERVAL, "all_ = exponent(x[rows], y[rows])\n    half = 1.96 * all_.std() if len(all_) > 1 else 0\n"
               "    low, high = exponent(x, y) - half, exponent(x, y) + half"),
    (INTERVAL, "all_ = exponent(x[rows], y[rows])\n    half = 1.96 * all_.std(correction=0)\n"
               "    low, high = exponent(x, y) - half, exponent(x, y) + half"),
    (INTERVAL, "all_ = exponent(x[rows], y[rows])\n    half = 1.96 * all_.std(correction=0)\n"
               "    low, high = all_.mean() - half, all_.mean() + half"),
    believes="95% is 1.96 standard deviations",
)
ex.wrong(
    "the error of the mean of the resamples",
    "More resamples do not make the runs more: do not divide by their number.",
    (INTERVAL, "all_ = exponent(x[rows], y[rows])\n"
               "    half = 1.96 * all_.std(correction=0) / len(all_) ** 0.5\n"
               "    low, high = exponent(x, y) - half, exponent(x, y) + half"),
    believes="an interval shrinks with every resample",
)
ex.wrong(
    "the mean of the resamples",
    "The exponent comes from the runs as they are; the resamples give the interval.",
    (RESULT, "torch.stack((exponent(x[rows], y[rows]).mean(), low, high))"),
    (RESULT, "torch.stack((exponent(x[rows], y[rows]).median(), low, high))"),
    believes="the resamples are the data",
)
ex.wrong(
    "the interval first",
    "First the exponent, then the two ends of its interval.",
    (RESULT, "torch.stack((low, exponent(x, y), high))"), believes="numbers are sorted",
)
ex.wrong(
    "the upper end first",
    "The interval goes from its lower end to its upper end.",
    (RESULT, "torch.stack((exponent(x, y), high, low))"), believes="an interval has no order",
)
ex.wrong(
    "the interval is reflected",
    "Return the quantiles as they are, not their reflections about the estimate.",
    (RESULT, "torch.stack((exponent(x, y), 2 * exponent(x, y) - high, 2 * exponent(x, y) - low))"),
    believes="the error has the other sign",
)
ex.wrong(
    "half widths instead of ends",
    "Return the two ends of the interval, not their distances from the exponent.",
    (RESULT, "torch.stack((exponent(x, y), exponent(x, y) - low, high - exponent(x, y)))"),
    believes="an interval is a ±",
)
ex.wrong(
    "the factor instead of the exponent",
    "a says where the line is; b says how steep it is.",
    (f"{CENTRED}\n        return {SLOPE}",
     "c = x - x.mean(-1, keepdim=True)\n        slope = (c * y).sum(-1) / c.square().sum(-1)\n"
     "        return (y.mean(-1) - slope * x.mean(-1)).exp()"),
    believes="the first number of a fit",
)
ex.wrong("a result that is no tensor", "", (RESULT, "(exponent(x, y), low, high)"), believes="a tuple")
ex.wrong(
    "a normal interval instead of the quantiles",
    "The interval is read off the resamples, with torch.quantile: their values need not be normal.",
    ("low, high = exponent(x[rows], y[rows]).quantile(x.new_tensor([0.025, 0.975]))",
     "many = exponent(x[rows], y[rows])\n"
     "    low, high = many.mean() - 1.96 * many.std(), many.mean() + 1.96 * many.std()"),
    ("low, high = exponent(x[rows], y[rows]).quantile(x.new_tensor([0.025, 0.975]))",
     "many, b = exponent(x[rows], y[rows]), exponent(x, y)\n"
     "    low, high = b - 1.96 * many.std(), b + 1.96 * many.std()"),
    believes="an interval is two deviations wide",
)
ex.wrong(
    "a line through the first and the last run",
    "Least squares uses all runs; two of them are at the mercy of their noise, and may have the same size.",
    ("return -(x * y).sum(-1) / x.square().sum(-1)",
     "return -(y[..., -1] - y[..., 0]) / (x[..., -1] - x[..., 0])"),
    believes="two points make a line",
)
ex.wrong(
    "sizes fitted to losses",
    "The squared differences of ln L are made small: divide by the spread of the sizes, not of the losses.",
    ("return -(x * y).sum(-1) / x.square().sum(-1)",
     "y = y - y.mean(-1, keepdim=True)\n        return -(x * y).sum(-1) / y.square().sum(-1)"),
    believes="a line has no direction",
)
ex.wrong(
    "each run counted once",
    "A run that was drawn twice counts twice: that is what makes a resample.",
    ("exponent(x[rows], y[rows])",
     "torch.stack([exponent(x[row.unique()], y[row.unique()]) for row in rows])"),
    believes="a resample is a set of runs",
)
ex.wrong(
    "centred once for all resamples",
    "Each resample is fitted anew: its line has a factor of its own, so take off the resample's own mean.",
    [(LOGS, f"{LOGS}\n    x, y = x - x.mean(), y - y.mean()"), (CENTRED, "x = x + 0")],
    believes="the means are known from all runs",
)
ex.wrong(
    "quantiles that leave out another share",
    "95% lie between the quantiles of 2.5% and 97.5%: as much is left out on either side.",
    ("[0.025, 0.975]", "[0.05, 0.975]"), ("[0.025, 0.975]", "[0.025, 0.95]"),
    ("[0.025, 0.975]", "[0.25, 0.75]"), ("[0.025, 0.975]", "[0.25, 0.975]"),
    ("[0.025, 0.975]", "[0.005, 0.995]"), believes="any two quantiles are an interval",
)

ex.right(
    "least squares with two columns",
    source="""
def scaling_exponent(sizes, losses, rows):
    def slope(x, y):
        columns = torch.stack((torch.ones_like(x), x), dim=1)
        return torch.linalg.lstsq(columns, y[:, None]).solution[1, 0]

    x, y = torch.log(sizes).double(), torch.log(losses).double()
    x = x - x.mean()
    found = torch.stack([-slope(x[row], y[row]) for row in rows]).sort().values
    ends = []
    for share in (0.025, 0.975):
        place = share * (len(found) - 1)
        below = int(place)
        above = min(below + 1, len(found) - 1)
        ends.append(found[below] + (place - below) * (found[above] - found[below]))
    return torch.stack((-slope(x, y), *ends)).to(sizes.dtype)
""",
)
ex.right(
    "polyfit and numpy",
    source="""
def scaling_exponent(sizes, losses, rows):
    import numpy as np

    x, y = np.log2(sizes.detach().numpy()), np.log2(losses.detach().numpy())
    found = [-np.polyfit(x[row], y[row], 1)[0] for row in rows.numpy()]
    low, high = np.percentile(found, [2.5, 97.5])
    return torch.tensor([-np.polyfit(x, y, 1)[0], low, high], dtype=sizes.dtype)
""",
)
ex.right(
    "sums only",
    source="""
def scaling_exponent(sizes, losses, rows):
    def fit(x, y):
        n = len(x)
        return (x.sum() * y.sum() - n * (x * y).sum()) / (n * (x * x).sum() - x.sum() ** 2)

    x, y = sizes.log(), losses.log()
    found = torch.stack([fit(x[row], y[row]) for row in rows])
    return torch.stack((fit(x, y), found.quantile(0.025), found.quantile(0.975)))
""",
)
ex.right(
    "covariance by variance",
    source="""
def scaling_exponent(sizes, losses, rows):
    pairs = [torch.stack((sizes, losses)).log()] + [torch.stack((sizes[r], losses[r])).log() for r in rows]
    slopes = []
    for pair in pairs:
        table = torch.cov(pair)
        slopes.append(-table[0, 1] / table[0, 0])
    slopes = torch.stack(slopes)
    ends = torch.quantile(slopes[1:], torch.tensor([0.025, 0.975], dtype=slopes.dtype))
    return torch.cat((slopes[:1], ends))
""",
)
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    ("sizes.detach().log", "sizes.log"), ("losses.detach().log", "losses.log"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("x - x.mean(-1, keepdim=True", "(x - x.mean(-1, keepdim=True)).detach("),
    ("-(x * y).sum(-1) / x.square().sum(-1", "(-(x * y).sum(-1) / x.square().sum(-1)).detach("),
    ("]))", "])).detach()"), ("h))", "h)).detach()"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("=1)", "=1).detach()"), ("x - x.mean", "(x - x.mean()).detach"),
    ("sizes.dtype)", "sizes.dtype).detach()"),
    of="least squares with two columns",
)
ex.equivalent(
    "The inputs of this exercise have this type only.",
    ("0]", "0].double()"),
    of="least squares with two columns",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0]", "-1]"),
    of="least squares with two columns",
)
ex.equivalent(
    "With a column of ones, or by the difference to the mean, a shift of x does not change the slope.",
    ("x = x - x.mean()", "pass"), (" - x.mean", " + x.mean"), ("x - x.mean()", "x"), ("x.mean", "x.sum"),
    ("x.mean", "x.amax"),
    of="least squares with two columns",
)
ex.right("all resamples behind the runs themselves", source='''
def scaling_exponent(sizes, losses, rows):
    def slope(x, y):
        x, y = x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
        return -torch.einsum("...m,...m->...", x, y) / torch.einsum("...m,...m->...", x, x)

    logs = torch.stack((sizes, losses)).log()
    found = slope(*logs[:, rows]).sort().values
    place = torch.tensor([0.025, 0.975], dtype=found.dtype, device=found.device) * (len(found) - 1)
    low, high = place.floor().long(), place.ceil().long()
    ends = torch.lerp(found[low], found[high], place - low)
    return torch.cat((slope(*logs)[None], ends))
''')
ex.right("the normal equations", source='''
def scaling_exponent(sizes, losses, rows):
    def exponent(n, loss):
        A = torch.stack((torch.ones_like(n), n.log()), dim=-1).double()
        line = torch.linalg.solve(A.mT @ A, A.mT @ loss.log().double()[..., None])
        return -line[..., 1, 0]

    found = exponent(sizes[rows], losses[rows])
    ends = [torch.quantile(found, share) for share in (0.025, 0.975)]
    return torch.stack([exponent(sizes, losses), *ends]).to(sizes.dtype)
''')
ex.right("correlation times a quotient of deviations", source='''
def scaling_exponent(sizes, losses, rows):
    def fit(pair):
        pair = pair.double().log()
        centred = pair - pair.mean(1, keepdim=True)
        deviation = centred.square().mean(1).sqrt()
        correlation = (centred[0] * centred[1]).mean() / deviation.prod().clamp(min=1e-300)
        return -correlation * deviation[1] / deviation[0]

    runs = torch.stack((sizes, losses))
    found = torch.stack([fit(runs[:, row]) for row in rows])
    shares = torch.tensor([0.025, 0.975], dtype=found.dtype)
    return torch.cat((fit(runs).reshape(1), found.quantile(shares))).to(sizes.dtype)
''')
ex.right("the runs counted, not copied", source='''
def scaling_exponent(sizes, losses, rows):
    x, y = sizes.log(), losses.log()
    counts = F.one_hot(rows, len(sizes)).sum(1).to(x.dtype)
    counts = torch.cat((torch.ones_like(counts[:1]), counts))
    middle = (counts @ x) / counts.sum(1)
    away = x - middle[:, None]
    b = -(counts * away * y).sum(1) / (counts * away**2).sum(1)
    return torch.stack((b[0], b[1:].quantile(0.025), b[1:].quantile(0.975)))
''')
