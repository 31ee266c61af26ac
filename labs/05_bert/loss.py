"""Exercise 5.5: the loss of masked language modelling, with logits only where tokens are asked for.

``hidden`` is (B, T, D), ``tokens`` (V, D) the embedding, ``bias`` (V,), and ``targets`` (B, T).
"""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def masked_lm_loss(
    hidden: Tensor, tokens: Tensor, bias: Tensor, targets: Tensor
) -> Tensor:
    """The mean negative log-probability, in nats,
    of the targets that are not -100."""
    asked = targets != -100
    log_p = (hidden[asked] @ tokens.T + bias).log_softmax(-1)
    costs = -log_p.gather(1, targets[asked][:, None])
    return costs.sum() / max(1, len(costs))
'''
ex = exercise(
    "5.5",
    ANSWER,
    points=12,
    minutes=15,
    difficulty=3,
    reread=("sec-masked-lm", "sec-mlm-cost"),
    equation="eq-mlm",
    refuse=("cross_entropy", "nll_loss"),
    seed=552,
)

_ = -100
SOME = [[_, 7, _, 3, 5, _, _], [_, _, 0, _, _, _, _], [_, 4, 6, _, 1, 2, _]]
PADDING, NOTHING, LARGE = "padding that holds infinities", "nothing is asked for", "very large logits"


@ex.maker
def gaps(normal, targets, D, V, size=1.0, dtype=torch.float32, elsewhere=None):
    """Make the inputs; ``hidden`` is ``elsewhere``, if given, at the tokens that are not asked for."""
    wanted = torch.tensor(targets)
    args = {"hidden": size * normal(*wanted.shape, D), "tokens": normal(V, D), "bias": normal(V)}
    if elsewhere is not None:
        rows, value = elsewhere
        args["hidden"][rows] = args["hidden"][rows].masked_fill((wanted[rows] == _)[..., None], value)
    return {name: x.to(dtype) for name, x in args.items()} | {"targets": wanted}


ALL, PADDED = (slice(None), slice(None)), (slice(0, 1), slice(4, None))
ex.probe("three rows, six, one and four gaps", targets=SOME, D=5, V=11)
ex.probe("a batch of one, a single gap", targets=[[_, _, 2, _, _]], D=7, V=3)
ex.probe("every token is asked for", targets=[[1, 0, 2], [4, 4, 3]], D=3, V=5)
ex.probe(LARGE, targets=SOME, D=5, V=11, size=200.0)
ex.probe(NOTHING, targets=[[_, _, _]], D=5, V=7)
ex.probe(
    PADDING, targets=[[_, 7, _, 3, _, _, _], [_, _, 0, 9, 5, 2, _]], D=3, V=13, elsewhere=(PADDED, torch.inf),
)
ex.probe("double precision", targets=SOME, D=5, V=11, dtype=torch.float64)
ex.probe("half precision", targets=SOME, D=5, V=11, size=0.5, dtype=torch.float16)
ex.probe("numbers with gaps in memory", targets=SOME, D=3, V=13, strided=True)
ex.probe("nothing is asked for, in double precision", targets=[[_, _]], D=3, V=5, dtype=torch.float64)
MIXED = [[_, 3, 0, 6, _], [_] * 5, [1, _, _, 0, _]]
ex.hidden("rows with and without gaps", targets=MIXED, D=11, V=7, elsewhere=(ALL, 0.0))
ex.hidden("small differences", targets=[[5, _, 5, 2]], D=3, V=7, size=0.01, elsewhere=(ALL, 0.0))
FAR = {"targets": [[_, _, 4], [0, _, _]], "elsewhere": (ALL, -torch.inf)}
ex.hidden("infinities everywhere else", D=5, V=7, **FAR)
ex.hidden("very large logits", targets=[[6, 0, _], [2, 2, 1]], D=3, V=7, size=500.0, elsewhere=(ALL, 0.0))


@ex.law(
    "what stands where nothing is asked does not matter",
    "Logits are computed at the gaps only.",
    section="sec-mlm-cost",
)
def unasked_changed(run, probe):
    unasked = (probe.args["targets"] == _)[..., None]
    return run(probe), run(probe.having("law", hidden=probe.args["hidden"] + 7 * unasked))


MEAN = "costs.sum() / max(1, len(costs))"
ex.wrong(
    "divided by all positions",
    "The mean runs over the M tokens that are asked for: others are no questions and count for nothing.",
    (MEAN, "costs.sum() / targets.numel()"), believes="a mean is over the whole tensor",
)
ex.wrong(
    "divided by the number of rows",
    "The mean runs over the M tokens that are asked for, however many rows they stand in.",
    (MEAN, "costs.sum() / len(targets)"), believes="a loss is per example",
)
ex.wrong(
    "the sum instead of the mean",
    "The sum grows with the number of gaps, so that two batches cannot be compared: divide by M.",
    (MEAN, "costs.sum()"), believes="the sum is what one minimises",
)
ex.wrong(
    "every row counts the same",
    "A mean of means gives a row with one gap the weight of one with ten: take one mean over all gaps.",
    (MEAN, "torch.stack([r.sum() / max(1, len(r)) for r in costs.split(asked.sum(1).tolist())]).mean()"),
    believes="each row has its own loss",
)
ex.wrong(
    "the sign is missing",
    "A logarithm of a probability is negative: the loss is its mean with a minus.",
    ("-log_p", "log_p"), believes="a loss is a mean of log-probabilities",
)
ex.wrong(
    "bits instead of nats",
    "Losses are in nats here, with the natural logarithm.",
    (MEAN, f"{MEAN} / math.log(2)"), believes="information is counted in bits",
)
ex.wrong(
    "the bias is forgotten",
    "The output matrix is the embedding; its bias is the only part of it that is new.",
    (" + bias", ""), believes="tied means that nothing is new", section="sec-mlm-cost",
)
ex.wrong(
    "token 0 is left out",
    "Only -100 means that nothing is asked; 0 is an id like any other.",
    ("targets != -100", "targets > 0"), believes="0 is padding",
)
ex.wrong(
    "tokens that were not asked for are marked too",
    "Where the target is -100 nothing is asked, and nothing may enter the loss.",
    [("asked = targets != -100", "targets = targets.clamp(min=0)\n    asked = targets >= 0"),
     (MEAN, "costs.mean()")], believes="what is not asked for is token 0",
)
ex.wrong(
    "the softmax runs over positions",
    "At each gap the probabilities of the V tokens sum to one: the softmax runs over the last axis.",
    ("log_softmax(-1)", "log_softmax(0)"), believes="a softmax runs over the first axis",
)
ex.wrong(
    "no logarithm",
    "The loss is the mean of -ln p, which is large for a bad guess, not of -p or of a logit.",
    ("log_softmax", "softmax"), (".log_softmax(-1)", ""), believes="the probability itself is the score",
)
ex.wrong(
    "the exponential overflows",
    "exp of a large logit is infinite, and ln 0 too: use log_softmax or logsumexp.",
    [("log_p = (", "powers = ("),
     (".log_softmax(-1)", ".exp()\n    log_p = (powers / powers.sum(-1, keepdim=True)).log()")],
    believes="a softmax, then a logarithm", shows=stops_at(LARGE, "finite"),
)
ex.wrong(
    "-100 used as an index",
    "-100 is no token: select the places that are asked for before you look up their targets.",
    [("hidden[asked]", "hidden"),
     ("gather(1, targets[asked][:, None])", "gather(-1, targets[..., None])[asked]")],
    believes="gather takes care of -100",
    shows=lambda symptom: symptom.stage == "runs" and "-100" in symptom.case.outcome.error,
    section="sec-mlm-cost",
)
ex.wrong(
    "0/0 when nothing is asked",
    "A batch of short rows may have no gap at all: its loss is 0, not 0/0.",
    (MEAN, "costs.mean()"), believes="there is always a gap", shows=stops_at(NOTHING, "finite", "runs"),
)
ELSEWHERE = "gather(-1, targets.clamp(min=0)[..., None])"
ex.wrong(
    "logits computed for every token",
    "Select the hidden states first: what stands where nothing is asked must not even be looked at.",
    [("hidden[asked]", "hidden"), ("gather(1, targets[asked][:, None])", f"{ELSEWHERE}[asked]")],
    [("hidden[asked]", "hidden"), ("gather(1, targets[asked][:, None])", f"{ELSEWHERE}[..., 0] * asked"),
     ("len(costs)", "asked.sum()")], believes="logits first, choice later",
    shows=stops_at(PADDING, "finite", "gradient"), section="sec-mlm-cost",
)
ex.wrong(
    "the library does the work",
    source="""
def masked_lm_loss(hidden, tokens, bias, targets):
    return F.cross_entropy((hidden @ tokens.T + bias).flatten(0, 1), targets.flatten(), ignore_index=-100)
""", believes="cross_entropy is the exercise",
)
ex.wrong(
    "the library does the work",
    source="""
def masked_lm_loss(hidden, tokens, bias, targets):
    from pioneers import objectives

    return objectives.masked_lm_loss(hidden[targets != -100] @ tokens.T + bias, targets)
""", believes="the package has a function for that",
)

ex.right(
    "logsumexp minus the logit of the target",
    source="""
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets >= 0
    logits = F.linear(hidden[asked], tokens, bias)
    costs = logits.logsumexp(-1) - logits[torch.arange(len(logits)), targets[asked]]
    return costs.sum() / max(1, len(costs))
""",
)
ex.right(
    "gap by gap",
    source="""
def masked_lm_loss(hidden, tokens, bias, targets):
    total, count = hidden.new_zeros(()), 0
    for b, t in (targets != -100).nonzero().tolist():
        logits = tokens @ hidden[b, t] + bias
        total = total - torch.log_softmax(logits, 0)[targets[b, t]]
        count += 1
    return total / count if count else total
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-1)", "1)"),
)
ex.equivalent(
    "A target is -100 or the number of a token.",
    ("0", "-1"),
    of="logsumexp minus the logit of the target",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-1", "1"),
    of="logsumexp minus the logit of the target",
)
ex.right("places in a flat batch", source='''
def masked_lm_loss(hidden, tokens, bias, targets):
    flat = targets.flatten()
    at = (flat != -100).nonzero().squeeze(1)
    logits = hidden.flatten(0, 1).index_select(0, at) @ tokens.mT + bias
    log_p = torch.log_softmax(logits, dim=1)
    return -log_p[torch.arange(len(at)), flat[at]].sum() / max(len(at), 1)
''')
ex.right("einsum and one-hot targets", source='''
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets.ne(-100)
    log_p = F.log_softmax(torch.einsum("md,vd->mv", hidden[asked], tokens) + bias, dim=-1)
    wanted = F.one_hot(targets[asked], len(tokens))
    return -(wanted * log_p).sum() / wanted.sum().clamp(min=1)
''')
ex.right("row by row", source='''
def masked_lm_loss(hidden, tokens, bias, targets):
    costs = []
    for h, wanted in zip(hidden, targets):
        keep = wanted != -100
        logits = torch.addmm(bias, h[keep], tokens.T)
        costs.append(logits.logsumexp(1) - logits.gather(1, wanted[keep].unsqueeze(1)).squeeze(1))
    costs = torch.cat(costs)
    return costs.sum() / max(1, costs.numel())
''')
ex.right("the largest logit taken away first", source='''
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    logits = torch.matmul(hidden[asked], tokens.transpose(0, 1)) + bias
    logits = logits - logits.amax(dim=1, keepdim=True)
    right = torch.take_along_dim(logits, targets[asked][:, None], dim=1)[:, 0]
    return (logits.exp().sum(1).log() - right).sum() / max(1, len(right))
''')
ex.right("the wanted logits by themselves", source='''
def masked_lm_loss(hidden, tokens, bias, targets):
    wanted, h = targets[targets >= 0], hidden[targets >= 0]
    right = (h * tokens[wanted]).sum(-1) + bias[wanted]
    every = torch.logsumexp(h @ tokens.T + bias, dim=-1)
    return torch.sum(every - right) / (len(wanted) or 1)
''')
ex.right("a mean, and a zero if nothing is asked for", source='''
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    if not asked.any():
        return 0 * (tokens.sum() + bias.sum())
    logits = (tokens @ hidden[asked].T).T + bias
    return -logits.log_softmax(-1).gather(-1, targets[asked].view(-1, 1)).mean()
''')
