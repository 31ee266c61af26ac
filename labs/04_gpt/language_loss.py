"""Exercise 4.2: the loss of a language model. Logits are (B, T, V), targets (B, T); -100 has no target."""

import torch
import torch.nn.functional as F

from pioneers.checks.building import exercise

ANSWER = '''
def lm_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood in nats of targets (B, T) under logits
    (B, T, V); -100 is left out."""
    real = targets != -100
    z, right = logits[real], targets[real]
    nll = z.logsumexp(-1) - z.gather(-1, right[:, None]).squeeze(-1)
    return nll.mean()
'''
ex = exercise(
    "4.2", ANSWER, points=10, minutes=14, difficulty=2, reread="sec-lm-objective", equation="eq-lm-loss",
    refuse=("cross_entropy", "cross_entropy_loss", "nll_loss", "nll_loss_nd"),
)

_ = -100


@ex.maker
def scores(normal, targets, V, size=2.0, dtype=torch.float32, at=None):
    """Logits of a size; where ``at`` says so, that of the token so many behind the target is set."""
    ids = torch.tensor(targets)
    logits = size * normal(*ids.shape, V, dtype=dtype)
    for step, value in (at or {}).items():
        logits.scatter_(-1, (ids[..., None] + step) % V, value)
    return {"logits": logits, "targets": ids}


ex.probe("no padding", targets=[[4, 0, 6], [2, 5, 1]], V=7)
ex.probe("rows of unequal length", targets=[[4, 0, 6, 3], [1, _, _, _], [5, 2, _, _]], V=7)
ex.probe("a row of nothing but padding", targets=[[1, 2, _], [_, _, _]], V=3)
ex.probe("very sure, and right", targets=[[3, 0, 2]], V=5, at={0: 200.0})
ex.probe("very sure, and wrong", targets=[[1, 4, 4], [0, 2, 3]], V=5, at={0: -60.0, 1: 60.0})
ex.probe("padding in front and in the middle", targets=[[_, 3, _, 0, 4]], V=5)
ex.probe("double precision", targets=[[8, 10], [0, _], [3, 7]], V=11, dtype=torch.float64)
ex.probe("numbers with gaps in memory", targets=[[2, _, 1]], V=3, strided=True)
UNEVEN = [[12, 3, _], [0, _, _], [7, 5, 2], [_, _, _], [4, _, _]]
ex.hidden("five rows of unequal length", targets=UNEVEN, V=13, size=3.0)
ex.hidden("very large logits", targets=[[0, 4], [3, _]], V=5, size=500.0)
ex.hidden("a single position", targets=[[6]], V=7, size=1.0)


@ex.law("more padding changes nothing", "Where nothing is asked nothing counts.", on="rows of unequal length")
def longer_padding(run, probe):
    logits, targets = probe.args["logits"], probe.args["targets"]
    longer = {"logits": torch.cat((logits, -9 * logits), dim=1), "targets": F.pad(targets, (0, 4), value=_)}
    return run(probe), run(probe.having("law", **longer))


REAL, NLL, MEAN = "logits[real], targets[real]", "z.logsumexp(-1) - z.gather", "nll.mean()"
ROWS = "nll.split(real.sum(1).tolist())"
SOFTMAX = {"equation": "eq-cross-entropy"}
ex.wrong(
    "a plain number instead of a tensor",
    "item() leaves the graph behind: without a tensor there is nothing to call backward on.",
    (MEAN, "nll.mean().item()"), believes="a loss is a number",
    shows=lambda symptom: symptom.case.outcome.kind in ("float", "int"),
)
ex.wrong(
    "-100 used as an index",
    "-100 is no token: put some token in its place before you look it up, and leave the position out.",
    [(REAL, "logits, targets"), ("right[:, None]", "right[..., None]"), (MEAN, "nll[real].mean()")],
    believes="a target of -100 looks up something harmless",
    shows=lambda symptom: symptom.stage == "runs" and "-100" in symptom.case.outcome.error,
)
ex.wrong(
    "padding scored as a token",
    "Where the target is -100 nothing is asked, so nothing may be added, whatever token is put there.",
    [(REAL, "logits, targets.clamp(min=0)"), ("right[:, None]", "right[..., None]")],
    believes="with a legal token in its place padding is harmless",
)
ex.wrong(
    "padding counted in the mean",
    "Divide by the number of targets that are real, not by B·T: padding would make the loss small.",
    (MEAN, "nll.sum() / targets.numel()"), believes="zeros do not change a mean",
)
ex.wrong(
    "a mean of row means",
    "Every token counts the same: tokens of short rows would weigh more, and an empty row is 0/0.",
    (MEAN, f"torch.stack([row.mean() for row in {ROWS}]).mean()"), believes="every row has a loss of its own",
)
ex.wrong(
    "a mean of row means",
    "Every token counts the same: tokens of short rows would weigh more than those of long ones.",
    (MEAN, f"torch.stack([row.sum() / max(1, len(row)) for row in {ROWS}]).mean()"),
    believes="a mean of means is a mean",
)
ex.wrong(
    "a sum instead of a mean",
    "Divide by the number of real targets, or texts of different length cannot be compared.",
    (MEAN, "nll.sum()"), believes="the loss is a sum",
)
ex.wrong(
    "the minus sign is missing",
    "The loss is the *negative* log-likelihood: training makes it small.",
    (MEAN, "-nll.mean()"), believes="likelihood is what counts",
)
ex.wrong(
    "the logit alone",
    "A logit is no log-probability yet: subtract the logsumexp over the vocabulary.",
    (NLL, "-z.gather"), believes="a logit is a log-probability", **SOFTMAX,
)
ex.wrong(
    "the probability without its logarithm",
    "Maximum likelihood multiplies probabilities, so the loss adds their logarithms.",
    (NLL, "-z.softmax(-1).gather"), believes="the probability itself is the score",
)
ex.wrong(
    "the logarithm of a mean",
    "First the logarithm of each probability, then the mean.",
    [(f"nll = {NLL}", "p = z.softmax(-1).gather"), (MEAN, "-p.mean().log()")],
    believes="average the probability, then take its logarithm",
)
ex.wrong(
    "bits instead of nats",
    "The loss is asked for in nats: the logarithm is the natural one.",
    (MEAN, "nll.mean() / math.log(2)"), believes="information is measured in bits", section="sec-bits",
)
ex.wrong(
    "exp overflows",
    "exp(89) is more than float32 can hold: logsumexp subtracts the largest logit first.",
    ("z.logsumexp(-1)", "z.exp().sum(-1).log()"), believes="the formula can be typed as it is", **SOFTMAX,
)
ex.wrong(
    "the logarithm of a softmax",
    "A probability below 1e-45 is 0 in float32, and its logarithm -inf: use logsumexp or log_softmax.",
    (NLL, "-z.softmax(-1).log().gather"), believes="log and softmax in two steps are the same", **SOFTMAX,
)
ex.wrong(
    "shifted once more",
    "Logits and targets are one step apart already: position t of both belongs together.",
    ("    real =", "    logits, targets = logits[:, :-1], targets[:, 1:]\n    real ="),
    believes="the loss does the shift", section="sec-teacher-forcing", equation="eq-chain-rule",
)
ex.wrong(
    "the softmax runs over positions",
    "At each position the probabilities of the V tokens sum to one: the last axis.",
    [("logits[real]", "logits.log_softmax(1)[real]"), (NLL, "-z.gather")],
    believes="a softmax runs along the text", **SOFTMAX,
)
ex.wrong(
    "the library does the work",
    source="""
def lm_loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
""", believes="torch has this loss",
)
ex.wrong(
    "token 0 is left out",
    "Only -100 marks padding: 0 is a token like any other.",
    ("targets != -100", "targets > 0"), believes="padding is 0 or less",
)

ex.right("log_softmax of the real positions", (NLL, "-z.log_softmax(-1).gather"))
ex.right(
    "position by position",
    source="""
def lm_loss(logits, targets):
    losses = []
    for z, y in zip(logits.flatten(0, 1), targets.flatten()):
        if y != -100:
            losses.append(torch.logsumexp(z, 0) - z[y])
    return torch.stack(losses).mean()
""",
)
ex.right(
    "a one-hot row for each target",
    source="""
def lm_loss(logits, targets):
    one_hot = (targets[..., None] == torch.arange(logits.shape[-1], device=logits.device)).to(logits.dtype)
    return -(one_hot * logits.log_softmax(-1)).sum() / (targets >= 0).sum()
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("(-1) ", "(1) "), ("-1,", "1,"), ("e(-1)", "e(1)"),
)
ex.equivalent(
    "In a sum or mean over everything the additional axis, or the order, does not matter.",
    (".squeeze(-1)", ""), ("e(-1)", "e()"), (".squeeze(-1)", ".squeeze(-2)"),
    (".squeeze(-1)", ".squeeze(-0)"),
)
ex.equivalent(
    "In a sum or mean over everything the additional axis, or the order, does not matter.",
    (".squeeze(-1)", ""), (".squeeze(-1)", ".squeeze(-2)"), (".squeeze(-1)", ".squeeze(-0)"),
    of="log_softmax of the real positions",
)
ex.equivalent(
    "It is the default, or the last axis.",
    ("e(-1)", "e()"),
    of="log_softmax of the real positions",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("(-1).gather", "(1).gather"), ("-1,", "1,"), ("e(-1)", "e(1)"),
    of="log_softmax of the real positions",
)
ex.right("one-dimensional log_softmax picked by index", source='''
def lm_loss(logits, targets):
    keep = (targets != -100).flatten()
    log_p = torch.log_softmax(logits.flatten(0, 1)[keep], dim=1)
    right = targets.flatten()[keep]
    return -log_p[torch.arange(len(right), device=logits.device), right].mean()
''')
ex.right("padding as token 0 with weight 0", source='''
def lm_loss(logits, targets):
    real = targets.ne(-100)
    z = torch.where(real[..., None], logits, 0.0)
    nll = z.logsumexp(-1) - z.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return (nll * real).sum() / real.sum()
''')
ex.right("the sum of exponentials by hand", source='''
def lm_loss(logits, targets):
    real = targets != -100
    z = logits[real]
    z = z - z.amax(dim=-1, keepdim=True)
    log_sum = z.exp().sum(-1).log()
    return (log_sum - z.take_along_dim(targets[real][:, None], 1)[:, 0]).sum() / real.sum()
''')
ex.right("differences to the right logit", source='''
def lm_loss(logits, targets):
    real = (targets != -100).nonzero(as_tuple=True)
    z, right = logits[real], targets[real]
    return (z - z.gather(1, right.view(-1, 1))).logsumexp(dim=1).mean()
''')
ex.right("row by row", source='''
def lm_loss(logits, targets):
    total, count = 0, 0
    for z, y in zip(logits, targets):
        z, y = z[y != -100], y[y != -100]
        total = total - z.log_softmax(-1).gather(1, y[:, None]).sum()
        count = count + len(y)
    return total / count
''')
