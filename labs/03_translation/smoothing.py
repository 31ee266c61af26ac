"""Exercise 3.5: the loss with smoothed labels, in nats per real token. The target -100 marks padding."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def smoothed_loss(
    logits: Tensor, targets: Tensor, smoothing: float = 0.1
) -> Tensor:
    """Cross-entropy with smoothed labels, in nats per real token:
    (B, T, V) and (B, T) → ()."""
    real = targets != -100
    log_p = logits[real].log_softmax(dim=-1)
    of_right = log_p.gather(1, targets[real][:, None])[:, 0]
    return -((1 - smoothing) * of_right + smoothing * log_p.mean(dim=-1)).mean()
'''
LOSSES = ("cross_entropy", "cross_entropy_loss", "linear_cross_entropy")
LOSSES += ("nll_loss", "nll_loss_nd", "nll_loss2d", "kl_div")
ex = exercise(
    "3.5", ANSWER, points=12, minutes=14, difficulty=2, reread="sec-label-smoothing",
    equation="eq-smoothing", refuse=LOSSES,
)


@ex.maker
def predictions(normal, targets, V, size=3, **given):
    """Logits of a given ``size`` for these targets."""
    wanted = torch.tensor(targets)
    return {"logits": size * normal(*wanted.shape, V), "targets": wanted} | given


_ = -100
PADDED = [[3, 6, 1, 2, _], [5, 2, _, _, _], [4, 4, 0, 6, 2]]
ex.probe("three sentences of different lengths", targets=PADDED, V=7)
ex.probe("no padding", targets=[[1, 0, 4], [2, 2, 3]], V=5)
ex.probe("much smoothing", targets=PADDED, V=11, smoothing=0.4)
ex.probe("no smoothing", targets=[[3, 1, _], [0, _, _]], V=5, smoothing=0.0)
ex.probe("one token, one sentence", targets=[[2]], V=3)
ex.probe("a sentence of padding only", targets=[[1, 3, 2], [_, _, _]], V=5, smoothing=0.2)
ex.probe("numbers with gaps in memory", targets=PADDED, V=7, strided=True)
ex.probe("very large logits", targets=PADDED, V=11, size=200)
FOUR = [[_, _, _], [12, 0, _], [5, 5, 5], [1, _, _]]
ex.hidden("a first sentence of padding only", targets=FOUR, V=13, size=4)
ex.hidden("all of it smoothed", targets=FOUR, V=13, size=1, smoothing=1.0)
ex.hidden("a sure model", targets=FOUR, V=13, size=40, smoothing=0.3)


@ex.law("a number added to all logits of a position changes nothing", "The softmax sees differences only.")
def lifted(run, probe):
    logits = probe.args["logits"]
    return run(probe.having("law", logits=logits + 5 * logits[..., :1])), run(probe)


@ex.law("what is predicted in the padding changes nothing", "Nothing is asked there.")
def other_padding(run, probe):
    padding = (probe.args["targets"] == _)[..., None]
    return run(probe.having("law", logits=probe.args["logits"] * (1 - 3 * padding.float()))), run(probe)


ALL = ("logits[real]", "logits")
PICKED, SMOOTH, MEAN = "gather(1, targets[real][:, None])[:, 0]", "smoothing * log_p.mean(dim=-1)", ").mean()"
LOSS = f"(1 - smoothing) * of_right + {SMOOTH}"
ERRORS = ("out of bounds", "non-negative")
ex.wrong(
    "-100 looked up as a token",
    "-100 is no token: put any token in its place (clamp) before gather, and leave it out afterwards.",
    [ALL, (PICKED, "gather(-1, targets[..., None])[..., 0]"), (MEAN, ")[real].mean()")],
    [ALL, (f"log_p.{PICKED}", "(log_p * F.one_hot(targets, logits.shape[-1])).sum(-1)"),
     (MEAN, ")[real].mean()")], believes="the mark is a token like any other, or gather skips it",
    shows=lambda symptom: symptom.stage == "runs" and any(e in symptom.case.outcome.error for e in ERRORS),
)
ex.wrong(
    "the right token gets no share of ε",
    "ε is spread over all V tokens, the right one among them: its target is 1 - ε + ε/V, theirs ε/V.",
    (SMOOTH, "smoothing * (log_p.sum(dim=-1) - of_right) / (logits.shape[-1] - 1)"),
    (SMOOTH, "smoothing * (log_p.mean(dim=-1) - of_right / logits.shape[-1])"),
    believes="the other tokens share ε, or 1 - ε stands in the place of the right one",
)
ex.wrong(
    "padding counts as tokens",
    "The mean is over real tokens: leave the others out of the sum and out of its number.",
    (MEAN, ").sum() / targets.numel()"),
    [ALL, (PICKED, "gather(-1, targets.clamp(min=0)[..., None])[..., 0]")],
    believes="padding is token 0, or has a loss of zero",
)
ex.wrong(
    "the penalty counts the padding",
    "Both parts of the loss are means over real tokens, the average cost of all tokens too.",
    ("log_p.mean(dim=-1)", "logits.log_softmax(dim=-1).mean()"),
    believes="only the first part has to do with targets",
)
ex.wrong(
    "each sentence counts the same",
    "The mean is over tokens: a long sentence has more of them, and more weight.",
    [("return -(", "loss = -("),
     (MEAN, ")\n    return torch.stack([row.mean() for row in loss.split(real.sum(1).tolist())]).mean()")],
    believes="a loss per sentence, then the mean",
)
ex.wrong(
    "a sum over tokens",
    "The loss is a mean per real token, or its size would change with every batch.",
    (MEAN, ").sum()"), believes="every token adds its cost",
)
ex.wrong(
    "a sum over the vocabulary",
    "The second part is ε times the mean cost of the V tokens; a sum is V times as much.",
    ("log_p.mean", "log_p.sum"), believes="ε times the cost of all tokens",
)
ex.wrong(
    "smoothing is ignored",
    "This is the usual cross-entropy: the target here has ε/V on every token.",
    (LOSS, "of_right"), believes="the loss is the usual one",
)
ex.wrong(
    "smoothing always 0.1",
    "0.1 is only the default: use the parameter smoothing.",
    [("(1 - smoothing)", "0.9"), (SMOOTH, "0.1 * log_p.mean(dim=-1)")], believes="ε is 0.1",
)
ex.wrong(
    "the right cost is not reduced",
    "The target is a distribution: what is spread over all tokens is taken from the right one, 1 - ε.",
    ("(1 - smoothing) * ", ""), believes="smoothing comes on top of the loss",
)
ex.wrong(
    "the prediction is smoothed",
    "The target is smoothed, not the prediction: the logarithm is taken of p alone.",
    [("of_right +", "of_right.exp() +"), (f"{SMOOTH}{MEAN}", "smoothing / logits.shape[-1]).log().mean()")],
    believes="the model's probabilities are smoothed",
)
ex.wrong(
    "the softmax is missing",
    "Logits are no probabilities: log p is logits.log_softmax(-1).",
    (".log_softmax(dim=-1)", ""), believes="logits are log-probabilities",
)
ex.wrong(
    "the logarithm is missing",
    "The cost of a token is -log p, not -p.",
    ("log_softmax", "softmax"), believes="the cost of a token is its probability",
)
ex.wrong(
    "softmax over the positions",
    "Each position has a distribution over the vocabulary: the last axis.",
    ("logits[real].log_softmax(dim=-1)", "logits.log_softmax(dim=1)[real]"), believes="the positions compete",
)
ex.wrong(
    "the library does the work",
    "",
    (f"-({LOSS}{MEAN}", "F.cross_entropy(logits[real], targets[real], label_smoothing=smoothing)"),
    [("    real", "    from pioneers.objectives import seq2seq_loss\n\n    real"),
     (f"-({LOSS}{MEAN}", "seq2seq_loss(logits, targets, label_smoothing=smoothing)")],
    believes="the library has it, or a function of the package is an answer",
)
ex.wrong(
    "ε on the wrong term",
    "The right token keeps the share 1 - ε; ε is what is spread.",
    ("((1 - smoothing) * of_right + smoothing *", "(smoothing * of_right + (1 - smoothing) *"),
    believes="ε belongs to the right token",
)
ex.wrong(
    "a mean of sentence means",
    "The mean runs over the tokens of the whole batch: a long sentence counts for more.",
    source="""
def smoothed_loss(logits, targets, smoothing=0.1):
    real = targets != -100
    log_p = logits.log_softmax(-1)
    right = log_p.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    costs = -((1 - smoothing) * right + smoothing * log_p.mean(-1)) * real
    n = real.sum(1)
    return (costs.sum(1) / n.clamp(min=1))[n > 0].mean()
""", believes="every sentence counts the same",
)
ex.wrong(
    "the logarithm of a softmax",
    "A small probability rounds to 0, and ln 0 is infinite: log_softmax never makes the probability.",
    ("log_softmax(dim=-1)", "softmax(dim=-1).log()"), believes="log and softmax are two steps",
)
ex.wrong(
    "token 0 is left out",
    "Only -100 marks padding: 0 is a token.",
    ("targets != -100", "targets > 0"), believes="padding is 0 or less",
)

ex.right("the target as a distribution", source='''
def smoothed_loss(logits, targets, smoothing=0.1):
    real, V = targets != -100, logits.shape[-1]
    q = (1 - smoothing) * F.one_hot(targets[real], V) + smoothing / V
    return -(q * logits[real].log_softmax(-1)).sum(-1).mean()
''')
ex.right("padding as token 0 with weight 0", source='''
def smoothed_loss(logits, targets, smoothing=0.1):
    cost = logits.logsumexp(-1, keepdim=True) - logits
    real = (targets != -100).to(logits.dtype)
    right = cost.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    loss = (1 - smoothing) * right + smoothing * cost.mean(-1)
    return (loss * real).sum() / real.sum()
''')
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    (".log_softmax(dim=-1)", ".log_softmax(dim=1)"), ("=-1))", "=1))"),
)
ex.equivalent(
    "In a sum or mean over everything the additional axis, or the order, does not matter.",
    ("[:, 0]", ""), ("0]", "-1]"), ("(dim=-1))", "())"), ("-1))", "-1, keepdim=True))"),
)
ex.equivalent(
    "The inputs of this exercise have this type only.",
    (
        "-((1 - smoothing) * of_right + smoothing * log_p.mean(dim=-1)).mean",
        "(-((1 - smoothing) * of_right + smoothing * log_p.mean(dim=-1)).mean()).float",
    ),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (
        "1 - smoothing) * F.one_hot(targets[real], V) + smoothing / V",
        "(1 - smoothing) * F.one_hot(targets[real], V) + smoothing / V).detach()",
    ),
    of="the target as a distribution",
)
ex.equivalent(
    "The inputs of this exercise have this type only.",
    (
        "-(q * logits[real].log_softmax(-1)).sum(-1).mean",
        "(-(q * logits[real].log_softmax(-1)).sum(-1).mean()).float",
    ),
    of="the target as a distribution",
)
ex.equivalent(
    "In a sum or mean over everything the additional axis, or the order, does not matter.",
    ("-1).mean", "-1, keepdim=True).mean"),
    of="the target as a distribution",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("(-1))", "(1))"), ("(-1).mean", "(1).mean"),
    of="the target as a distribution",
)
ex.right("cost of each token by logsumexp", source='''
def smoothed_loss(logits, targets, smoothing=0.1):
    real = targets != -100
    z, right = logits[real], targets[real]
    total = torch.logsumexp(z, dim=1)
    sharp = total - z[torch.arange(len(z), device=z.device), right]
    return ((1 - smoothing) * sharp + smoothing * (total - z.mean(1))).mean()
''')
ex.right("sums in place of means", source='''
def smoothed_loss(logits, targets, smoothing=0.1):
    real = targets.ne(-100)
    log_p = F.log_softmax(logits[real], dim=-1)
    right = log_p.gather(-1, targets[real].unsqueeze(-1)).sum()
    rest = log_p.sum() / logits.shape[-1]
    return -((1 - smoothing) * right + smoothing * rest) / real.sum()
''')
ex.right("flattened first", source='''
def smoothed_loss(logits, targets, smoothing=0.1):
    z, t = logits.flatten(0, 1), targets.flatten()
    keep = (t != -100).nonzero().flatten()
    log_p = z.index_select(0, keep).log_softmax(1)
    picked = log_p.take_along_dim(t[keep][:, None], dim=1).squeeze(1)
    return -torch.lerp(picked, log_p.mean(1), smoothing).mean()
''')
ex.right("token by token", source='''
def smoothed_loss(logits, targets, smoothing=0.1):
    losses = []
    for z, t in zip(logits.flatten(0, 1), targets.flatten()):
        if t != -100:
            log_p = z - z.logsumexp(0)
            losses.append(-(1 - smoothing) * log_p[t] - smoothing * log_p.mean())
    return torch.stack(losses).mean()
''')
ex.right("the entropy of a mixture, einsum", source='''
def smoothed_loss(logits, targets, smoothing=0.1):
    V, real = logits.shape[-1], targets != -100
    q = torch.full_like(logits[real], smoothing / V)
    q = q.scatter_add(1, targets[real][:, None], torch.full_like(q[:, :1], 1 - smoothing))
    return -torch.einsum("nv,nv->", q, logits[real].log_softmax(-1)) / len(q)
''')
ex.right("where leaves the padding out", source='''
def smoothed_loss(logits, targets, smoothing=0.1):
    real = targets != -100
    log_p = torch.where(real[..., None], logits, 0.0).log_softmax(-1)
    right = log_p.gather(-1, torch.where(real, targets, 0)[..., None]).squeeze(-1)
    losses = (smoothing - 1) * right - smoothing * log_p.mean(-1)
    return torch.where(real, losses, 0.0).sum() / real.sum()
''')
