"""Exercise 7.3: a learning rate for each arm, chosen by validation alone.

``validation``, ``test`` and ``finished`` are (A, R, S): arms, learning rates, seeds.
"""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def tuned(validation: Tensor, test: Tensor, finished: Tensor) -> Tensor:
    """Test scores (A, S) of each arm at its best rate on validation;
    all inputs are (A, R, S)."""
    means = validation.mean(-1).masked_fill(~finished.all(-1), -torch.inf)
    return test[torch.arange(len(test), device=test.device), means.argmax(-1)]
'''
ex = exercise("7.3", ANSWER, points=9, minutes=12, difficulty=3, reread="sec-vit-data", seed=73)


@ex.maker
def runs(normal, A, R, S, lost=(), dtype=torch.float32, **given):
    """The runs at the places ``lost`` are not finished, though they look like the best."""
    finished = torch.ones(A, R, S, dtype=torch.bool)
    for place in lost:
        finished[place] = False
    validation = normal(A, R, S, dtype=dtype).sigmoid().masked_fill(~finished, 0.99)
    test = normal(A, R, S, dtype=dtype).sigmoid()
    return {"validation": validation, "test": test, "finished": finished} | given


KEPT = [
    [[0.25, 0.5, 0.375], [0.75, 0.0, 0.875], [0.5, 0.25, 0.5]],
    [[0.5, 0.75, 0.625], [0.25, 0.25, 0.5], [0.875, 0.75, 0.875]],
]
TIE = [[[0.5, 0.75], [0.75, 0.5], [0.25, 0.5]], [[0.25, 0.5], [0.5, 0.75], [0.75, 0.5]]]
LOST = ((0, 1, 1), (1, 2, 0))
MANY = ((0, 0, 1), (0, 3, 0), (1, 2, 0), (1, 2, 1), (2, 1, 1), (2, 0, 0))
STEPS = torch.arange(18.0) / 32
ex.probe("five arms, three rates, seven seeds", A=5, R=3, S=7)
ex.probe("as many rates as seeds", A=3, R=5, S=5)
ex.probe("one arm, one rate, one seed", A=1, R=1, S=1)
ex.probe("two arms, eleven rates", A=2, R=11, S=3, dtype=torch.float64)
ex.probe("rates that lost a run", A=2, R=3, S=3, lost=LOST, validation=KEPT, test=STEPS.view(2, 3, 3))
ex.probe("rates that are equally good", A=2, R=3, S=2, validation=TIE)
ex.probe("numbers with gaps in memory", A=3, R=2, S=5, strided=True)
ZERO = {"validation": [[[0.0] * 3] * 2], "test": 4 * STEPS[:6].view(1, 2, 3)}
ex.probe("scores of zero, and a lost run", A=1, R=2, S=3, lost=((0, 0, 1),), **ZERO)
ex.hidden("seven arms", A=7, R=5, S=3)
ex.hidden("many lost runs", A=3, R=4, S=2, lost=MANY)
ex.hidden("one seed", A=2, R=3, S=1)
ex.hidden("two rates", A=5, R=2, S=11, lost=((4, 0, 7),))


@ex.law(
    "the choice does not see the test split", "Turn every test score round, and the same rates are chosen."
)
def blind_to_the_test(run, probe):
    return 1 - run(probe.having("law", test=1 - probe.args["test"])), run(probe)


WHOLE, BEST = ".masked_fill(~finished.all(-1), -torch.inf)", "means.argmax(-1)"
MEANS = f"validation.mean(-1){WHOLE}"
CHOSEN = f"test[torch.arange(len(test), device=test.device), {BEST}]"
ex.wrong(
    "chosen on the test split",
    "A rate that was chosen because it does well on the test images has seen them: choose by validation.",
    ("means = validation", "means = test"), (MEANS, "test.mean(-1)"),
    believes="the best rate is the one that is best on the test images",
)
ex.wrong(
    "chosen on validation and test together",
    "The test split must have no part in the choice, not even half of one.",
    ("validation.mean", "(validation + test).mean"), believes="the more scores, the safer the choice",
)
ex.wrong(
    "the validation scores are returned",
    "They were used to choose, so they flatter; what is reported is the test split's.",
    ("return test[", "return validation["), believes="the scores of the choice are its result",
)
ex.wrong(
    "one learning rate for all arms",
    "An arm tuned with another's rate is tuned less: choose for each arm by itself.",
    (BEST, "means.mean(0).argmax()"), believes="fair means the same rate for all",
)
ex.wrong(
    "another learning rate for each seed",
    "The rate belongs to the arm; chosen anew for each seed it follows the luck of single runs.",
    [(MEANS, "validation.masked_fill(~finished, -torch.inf)"),
     (CHOSEN, "test.gather(1, means.argmax(1, keepdim=True))[:, 0]")],
    [(MEANS, "validation.masked_fill(~finished.all(-1, keepdim=True), -torch.inf)"),
     (CHOSEN, "test.gather(1, means.argmax(1, keepdim=True))[:, 0]")],
    [(MEANS, "validation"), (CHOSEN, "test.gather(1, means.argmax(1, keepdim=True))[:, 0]")],
    believes="every run may have its best rate",
)
ex.wrong(
    "the luckiest run decides",
    "One good seed is luck: the mean over the seeds decides.",
    ("validation.mean", "validation.amax"), believes="the best rate is that of the best run",
)
ex.wrong(
    "the worst rate is chosen",
    "The scores are accuracies, not losses: more is better.",
    [("-torch.inf", "torch.inf"), ("argmax", "argmin")], believes="lower is better",
)
ex.wrong(
    "a lost run is overlooked",
    "A rate at which a run diverges is no rate to publish: it cannot be chosen, however good the rest is.",
    (WHOLE, ""), believes="a run that was lost has some score as well",
)
ex.wrong(
    "a lost run is overlooked",
    "A rate at which a run diverges is no rate to publish: it cannot be chosen, however good the rest is.",
    (MEANS, "(validation * finished).sum(-1) / finished.sum(-1)"),
    believes="the mean of the other runs will do",
)
ex.wrong(
    "a lost rate is marked with zero",
    "Zero is a score too, if a bad one: mark a rate that cannot be chosen with what no score can be.",
    (WHOLE, " * finished.all(-1)"), believes="no score is below zero",
)
ex.wrong(
    "the middle run decides",
    "The median looks at one run of each rate; the mean over the seeds decides.",
    ("validation.mean(-1)", "validation.median(-1).values"), believes="the median is safer",
)
ex.wrong(
    "the last of equally good rates",
    "Of equally good rates the first is chosen, so that there is one right result.",
    (BEST, "means.shape[1] - 1 - means.flip(-1).argmax(-1)"), believes="greater or equal finds the best",
)
ex.wrong(
    "the mean instead of the runs",
    "The paired comparison to come needs the runs themselves: return all seeds, (A, S).",
    (f"{BEST}]", f"{BEST}].mean(-1)"), believes="a table prints means",
)
ex.wrong(
    "a lost run counts as zero",
    "A rate of which a run was lost cannot be chosen at all, however good its mean still is.",
    ("validation.mean(-1).masked_fill(~finished.all(-1), -torch.inf)",
     "validation.where(finished, 0).mean(-1)"),
    believes="a lost run has the score 0",
)
ex.wrong(
    "every arm with the rates of all arms",
    "test[:, best] takes each choice for every arm: pair arm and choice, test[arange(A), best].",
    ("test[torch.arange(len(test), device=test.device), means.argmax(-1)]", "test[:, means.argmax(-1)]"),
    believes="indexing pairs itself up",
)
ex.wrong(
    "every arm reads the rows of the first",
    "A choice counts from the first rate of its own arm: in a long list of all rows, arm a begins at a · R.",
    (CHOSEN, f"test.flatten(0, 1)[{BEST}]"), believes="the number of a rate is the number of a row",
)

ex.right(
    "loops",
    source="""
def tuned(validation, test, finished):
    rows = []
    for v, t, f in zip(validation, test, finished):
        whole = [r for r in range(len(v)) if f[r].all()]
        rows.append(t[max(whole, key=lambda r: v[r].mean().item())])
    return torch.stack(rows)
""",
)
ex.right(
    "sums instead of means, and indexing with a mask of one rate",
    source="""
def tuned(validation, test, finished):
    total = torch.where(finished.all(dim=2), validation.sum(dim=2), -1.0)
    one = F.one_hot(total.argmax(dim=1), total.shape[1]).bool()
    return test[one]
""",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("torch.inf)", "torch.inf).detach()"),
)
ex.equivalent(
    "Accuracies lie between 0 and 1, and there are equally many for each rate.",
    ("validation.mean", "validation.sum"), ("torch.inf", "20.0"), ("torch.inf", "100.0"),
    ("torch.inf", "10000.0"),
)
ex.equivalent(
    "An index on the CPU picks from a tensor on any device.",
    (", device=test.device", ""),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("(-1)]", "(1)]"),
)
ex.equivalent(
    "Accuracies lie between 0 and 1, and there are equally many for each rate.",
    (".mean", ".sum"),
    of="loops",
)
ex.right("gather along the rates", source='''
def tuned(validation, test, finished):
    means = torch.where(finished.all(dim=-1), validation.mean(dim=-1), -torch.inf)
    best = means.argmax(dim=1)[:, None, None].expand(-1, 1, test.shape[2])
    return test.gather(1, best).squeeze(1)
''')
ex.right("one arm after the other, written in place", source='''
def tuned(validation, test, finished):
    out = torch.empty_like(test[:, 0])
    for a in range(test.shape[0]):
        best, score = None, -1.0
        for r in range(test.shape[1]):
            mean = validation[a, r].mean()
            if finished[a, r].all() and mean > score:
                best, score = r, mean
        out[a] = test[a, best]
    return out
''')
ex.right("sorted, stably, and the first taken", source='''
def tuned(validation, test, finished):
    means = validation.mean(2)
    means[~finished.all(2)] = -torch.inf
    order = torch.sort(means, dim=1, descending=True, stable=True).indices
    return torch.take_along_dim(test, order[:, :1, None], dim=1)[:, 0]
''')
ex.right("a lost run makes the mean of its rate infinitely bad", source='''
def tuned(validation, test, finished):
    marked = torch.where(finished, validation, -math.inf)
    best = torch.max(marked.mean(-1), dim=-1).indices
    return torch.stack([rates[r] for rates, r in zip(test, best)])
''')
ex.right("index_select on rates and arms in one row", source='''
def tuned(validation, test, finished):
    A, R, S = validation.shape
    means = validation.sum(-1).div(S).masked_fill(finished.logical_not().any(-1), float("-inf"))
    rows = means.argmax(-1) + R * torch.arange(A, device=means.device)
    return test.reshape(A * R, S).index_select(0, rows)
''')
ex.right("a choice of ones and zeros, as an einsum", source='''
def tuned(validation, test, finished):
    whole = finished.all(-1)
    means = validation.mean(-1) * whole - (~whole).to(validation.dtype)
    choice = torch.zeros_like(means).scatter_(1, means.argmax(1, keepdim=True), 1.0)
    return torch.einsum("ar,ars->as", choice, test)
''')
