"""Exercise 7.5: mean and sample deviation of the runs of each arm.

``scores`` and ``finished`` are (A, S), arms and seeds; where a run is not finished its score means nothing.
"""

import torch

from pioneers.checks.building import exercise, stops_at
from pioneers.checks.rng import normals
from pioneers.checks.symptoms import wrong_on

ANSWER = '''
def summary(scores: Tensor, finished: Tensor) -> Tensor:
    """Mean and sample deviation (A, 2) of the finished runs:
    scores and finished are (A, S)."""
    rows = []
    for row, done in zip(scores, finished, strict=True):
        x = row[done]
        variance = ((x - x.mean()) ** 2).sum() / (len(x) - 1)
        rows.append(torch.stack([x.mean(), variance.sqrt()]))
    return torch.stack(rows)
'''
READY = ("std", "var", "std_mean", "var_mean", "cov")
ex = exercise(
    "7.5", ANSWER, points=6, minutes=8, difficulty=2, reread="sec-variations", refuse=READY, seed=75,
)

CLOSE, NO_NUMBER = "scores in percent, close together", "lost runs, their scores no number"


@ex.maker
def runs(normal, A=0, S=0, lost=(), junk=0.0, dtype=torch.float32, **given):
    """Make the scores of the runs; a ``lost`` run has ``junk`` for a score."""
    finished = torch.ones(A, S, dtype=torch.bool)
    for place in lost:
        finished[place] = False
    scores = normal(A, S, dtype=dtype).sigmoid().masked_fill(~finished, junk)
    return {"scores": scores, "finished": finished} | given


ex.probe("three arms, five seeds", A=3, S=5)
ex.probe("as many arms as seeds", A=5, S=5)
ex.probe("one arm, two seeds", A=1, S=2)
ex.probe("lost runs, their scores zero", A=3, S=7, lost=((0, 1), (0, 6), (2, 0)))
ex.probe("lost runs, their scores something else", A=2, S=5, lost=((0, 0), (1, 2), (1, 3), (1, 4)), junk=7.0)
ex.probe("double precision", A=2, S=3, dtype=torch.float64)
ex.probe("numbers with gaps in memory", A=3, S=5, strided=True)
ex.probe(NO_NUMBER, A=2, S=5, lost=((0, 3), (1, 0), (1, 1)), junk=torch.nan)
PERCENT = [[90.25, 90.5, 90.125, 90.375], [71.5, 71.25, 71.625, 71.375]]
ex.probe(CLOSE, scores=PERCENT, finished=[[True] * 4, [True] * 3 + [False]])


def hidden():
    """Draw seven arms, seven arms that lost runs here and there, and eleven seeds."""
    normal = normals(7501)
    mostly = normal(7, 5) < 1.2
    mostly[:, :2] = True
    return (
        {"scores": normal(7, 3), "finished": torch.ones(7, 3, dtype=torch.bool)},
        {"scores": normal(7, 5).where(mostly, -3.0), "finished": mostly},
        {"scores": normal(2, 11).sigmoid(), "finished": normal(2, 11) > -0.5},
    )


ex.hidden("seven arms", drawn=lambda: hidden()[0])
ex.hidden("lost here and there", drawn=lambda: hidden()[1])
ex.hidden("eleven seeds", drawn=lambda: hidden()[2])


@ex.law(
    "mean and deviation follow the unit",
    "Scores three times as large and two higher have a mean three times as large and two higher, "
    "and a deviation three times as large.",
)
def shifted(run, probe):
    moved = probe.having("law", scores=3 * probe.args["scores"] + 2)
    return run(moved), 3 * run(probe) + torch.tensor([2.0, 0.0])


WIDTH, MIDDLE, SQUARES = "variance.sqrt()", "[x.mean(),", "((x - x.mean()) ** 2).sum()"
ex.wrong(
    "divided by n, not by n - 1",
    "The mean is taken from the same runs and lies too near to them: divide by n - 1 (Bessel).",
    ("(len(x) - 1)", "len(x)"), believes="the deviation is the root of the mean square",
)
ex.wrong(
    "the standard error instead of the deviation",
    "Divided by √n it says how well the mean is known; asked is how far two runs lie apart.",
    (WIDTH, "(variance / len(x)).sqrt()"), believes="± is the standard error",
)
ex.wrong(
    "the variance instead of the deviation",
    "The deviation is its root, in the unit of the scores.",
    (WIDTH, "variance"), believes="the spread is the variance",
)
ex.wrong(
    "the range instead of the deviation",
    "The range grows with the number of runs; the deviation settles.",
    (WIDTH, "x.max() - x.min()"), believes="the spread is from the worst to the best",
)
ex.wrong(
    "the best run is reported",
    "The best of several seeds is luck, and better the more one tries: the mean.",
    (MIDDLE, "[x.max(),"), believes="a model is as good as its best run",
)
ex.wrong(
    "the median instead of the mean",
    "What is asked is the mean: published tables print it, and intervals are about it.",
    (MIDDLE, "[x.median(),"), believes="the median is safer",
)
LOST = "What stands where a run was lost is no score: leave those places out before anything is computed."
ex.wrong(
    "lost runs are counted",
    LOST, ("row[done]", "row"), believes="every place holds a run",
)
ex.wrong(
    "lost runs are counted",
    LOST, ("row[done]", "row * done"),
    [("x = row[done]", "x, n = row * done, done.sum()\n        mean = x.sum() / n"), (MIDDLE, "[mean,"),
     (f"{SQUARES} / (len(x) - 1)", "((x - mean) ** 2).sum() / (n - 1)")],
    [("x = row[done]", "x, n = row.masked_fill(~done, 0), done.sum()\n        mean = x.sum() / n"),
     (MIDDLE, "[mean,"), (f"{SQUARES} / (len(x) - 1)", "((x - mean) ** 2).sum() / (n - 1)")],
    ("row[done]", "row.masked_fill(~done, 0)"),
    believes="zeros do no harm in a sum",
)
ex.wrong(
    "divided by the places, not by the finished runs",
    "n counts the finished runs of the arm; the places of lost ones do not count.",
    ("len(x) - 1", "len(row) - 1"), believes="n is the number of places",
)
ex.wrong(
    "the mean distance instead of the deviation",
    "The deviation is the root of the mean square: far runs weigh more.",
    (WIDTH, "(x - x.mean()).abs().mean()"), believes="a deviation is a mean distance",
)
ex.wrong(
    "one deviation for all arms",
    "Every arm has its own: some train more evenly than others.",
    (WIDTH, f"(lambda x: {SQUARES} / (len(x) - 1))(scores[finished]).sqrt()"),
    believes="there is one deviation",
)
ex.wrong(
    "means over arms, not over seeds",
    "Axis 0 counts arms, axis 1 seeds: there is a row for each arm.",
    ("zip(scores, finished,", "zip(scores.T, finished.T,"), believes="a row is a seed",
)
ex.wrong(
    "the library does the work",
    "",
    (WIDTH, "x.std()"), believes="the ready function is an answer",
)
ex.wrong(
    "only NaN is left out",
    "Which runs were lost is in `finished`: where it is False an ordinary number may stand as well.",
    ("row[done]", "row[~row.isnan()]"), believes="a lost run is NaN",
)
ex.wrong(
    "a lost score multiplied by zero",
    "0 · NaN is NaN: pick the finished scores, or replace the others with torch.where before you compute.",
    source="""
def summary(scores, finished):
    w = finished.to(scores.dtype)
    n = w.sum(1, keepdim=True)
    mean = (scores * w).sum(1, keepdim=True) / n
    squares = ((scores - mean) ** 2 * w).sum(1, keepdim=True)
    return torch.cat([mean, (squares / (n - 1)).sqrt()], dim=1)
""", believes="zero times anything is zero", shows=wrong_on(NO_NUMBER),
)
ex.wrong(
    "the mean of the squares minus the square of the mean",
    "Of two large numbers that are nearly equal only rounding is left: subtract the mean first, then square.",
    (f"{SQUARES} / (len(x) - 1)", "((x * x).sum() - len(x) * x.mean() ** 2).clamp(min=0) / (len(x) - 1)"),
    (f"{SQUARES} / (len(x) - 1)", "((x**2).mean() - x.mean() ** 2) * len(x) / (len(x) - 1)"),
    believes="the two formulas are the same", shows=stops_at(CLOSE, "finite", "value"),
)

ex.right(
    "without a loop",
    source="""
def summary(scores, finished):
    n = finished.sum(1, keepdim=True)
    mean = scores.masked_fill(~finished, 0).sum(1, keepdim=True) / n
    off = (scores - mean).masked_fill(~finished, 0)
    return torch.cat([mean, (off.square().sum(1, keepdim=True) / (n - 1)).sqrt()], dim=1)
""",
)
ex.right(
    "by the differences of all pairs of runs",
    (f"{SQUARES} / (len(x) - 1)", "(x[:, None] - x).square().sum() / (2 * len(x) * (len(x) - 1))"),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("x - x.mean()", "x.mean() - x"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("finished.sum(1, keepdim=True)", "finished.sum(1, keepdim=True).detach()"),
    of="without a loop",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("scores - mean", "mean - scores"),
    of="without a loop",
)
ex.right("the mean of the squares minus the square of the mean, in double precision", source='''
def summary(scores, finished):
    x = torch.where(finished, scores, 0).double()
    n = finished.sum(1)
    mean = x.sum(1) / n
    variance = (x.square().sum(1) - n * mean.square()) / (n - 1)
    return torch.stack((mean, variance.sqrt()), dim=1).to(scores.dtype)
''')
ex.right("written into a tensor in place", source='''
def summary(scores, finished):
    out = scores.new_zeros(len(scores), 2)
    for a in range(len(scores)):
        x = scores[a, finished[a]]
        out[a, 0] = x.mean()
        out[a, 1] = torch.sqrt(((x - x.mean()) ** 2).sum() / (x.numel() - 1))
    return out
''')
ex.right("the length of what is left of the mean", source='''
def summary(scores, finished):
    rows = []
    for row, done in zip(scores, finished):
        x = torch.masked_select(row, done)
        rows += [x.mean(), torch.linalg.vector_norm(x - x.mean()) / (len(x) - 1) ** 0.5]
    return torch.stack(rows).reshape(-1, 2)
''')
ex.right("products of each row with itself, as an einsum", source='''
def summary(scores, finished):
    w = finished.to(scores.dtype)
    x = scores.where(finished, 0)
    mean = torch.einsum("as,as->a", x, w) / w.sum(-1)
    off = (x - mean[:, None]) * w
    deviation = (torch.einsum("as,as->a", off, off) / (w.sum(-1) - 1)) ** 0.5
    return torch.stack((mean, deviation), -1)
''')
ex.right("Welford's sums, run by run", source='''
def summary(scores, finished):
    rows = []
    for row, done in zip(scores.unbind(), finished.unbind()):
        n, mean, squares = 0, row.new_zeros(()), row.new_zeros(())
        for x in row[done]:
            n += 1
            step = x - mean
            mean = mean + step / n
            squares = squares + step * (x - mean)
        rows.append(torch.stack((mean, torch.sqrt(squares / (n - 1)))))
    return torch.stack(rows)
''')
ex.right("nanmean, which leaves out what was lost", source='''
def summary(scores, finished):
    x = scores.masked_fill(~finished, torch.nan)
    n = finished.sum(1)
    mean = x.nanmean(1, keepdim=True)
    off = torch.where(finished, scores, mean) - mean
    return torch.column_stack((mean, (off.norm(dim=1) ** 2 / (n - 1)).sqrt()))
''')
