"""Exercise 10.2: the loss that keeps experts equally busy."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def balance_loss(
    logits: Tensor, real: Tensor, alpha: float = 0.01
) -> Tensor:
    """α E times the sum over the experts of their share of the
    tokens times their mean probability."""
    z = logits[real]
    E = z.shape[-1]
    share = F.one_hot(z.argmax(-1), E).to(z.dtype).mean(0)
    probability = z.softmax(-1).mean(0)
    return alpha * E * (share * probability).sum()
'''
ex = exercise(
    "10.2", ANSWER, points=8, minutes=11, difficulty=2, reread="sec-experts-balance", equation="eq-balance",
)  # fmt: skip
PADDED, LARGE = "padding that holds infinities", "very large logits"


@ex.maker
def router(normal, B, real, E, T=7, size=1.0, alpha=1.0, dtype=torch.float32, elsewhere=None, liked=0.0):
    """``real`` holds the number of real tokens of each row; expert 1 is ``liked`` more than the others."""
    logits = size * normal(B, T, E)
    logits[..., 1 % E] += liked
    mask = torch.arange(T) < torch.tensor(real)[:, None]
    if elsewhere is not None:
        logits = logits.masked_fill(~mask[..., None], elsewhere)
    return {"logits": logits.to(dtype), "real": mask, "alpha": alpha}


ex.probe("five experts, three rows of seven, five and two tokens", B=3, real=[7, 5, 2], E=5)
ex.probe("an expert that nearly all tokens choose", B=2, real=[7, 4], E=3, liked=2.0)
ex.probe("a small alpha", B=2, real=[3, 6], E=5, alpha=0.25)
ex.probe("more experts than tokens", B=2, real=[3, 1], T=3, E=11, alpha=2.0)
ex.probe("a batch of one, one token", B=1, real=[1], T=1, E=5)
ex.probe("a single expert", B=2, real=[3, 2], T=3, E=1)
ex.probe(LARGE, B=2, real=[5, 7], E=3, size=300.0)
ex.probe(PADDED, B=2, real=[2, 6], E=5, elsewhere=torch.inf)
ex.probe("double precision", B=3, real=[7, 5, 2], E=5, dtype=torch.float64)
ex.probe("half precision", B=2, real=[7, 5], E=3, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, real=[7, 4], E=5, strided=True)
ex.hidden("as many tokens as experts", B=1, real=[7], E=7, alpha=0.5)
ex.hidden("a row without a real token", B=3, real=[0, 5, 3], E=3, alpha=3.0)
ex.hidden("minus infinity at the padding", B=2, real=[4, 1], E=7, elsewhere=-torch.inf)
ex.hidden("many tokens", B=5, real=[31, 17, 29, 3, 11], T=31, E=13, size=2.0)


@ex.law("padding does not count", "Nobody reads it, so that its experts are not busy.")
def other_padding(run, probe):
    changed = probe.args["logits"].masked_fill(~probe.args["real"][..., None], 5.0)
    changed[..., 0] = torch.where(probe.args["real"], probe.args["logits"][..., 0], 9.0)
    return run(probe), run(probe.having("law", logits=changed))


@ex.law("the numbers of the experts do not matter", "Experts may be listed in any order.")
def turned(run, probe):
    return run(probe), run(probe.having("law", logits=probe.args["logits"].flip(-1)))


@ex.law("equally probable experts cost alpha", "Each probability is 1/E, and the shares sum to one.")
def even(run, probe):
    loss = run(probe.having("law", logits=1e-5 * probe.args["logits"]))
    return loss, torch.full_like(loss, probe.args["alpha"])


SHARE, PROB = "F.one_hot(z.argmax(-1), E).to(z.dtype).mean(0)", "z.softmax(-1).mean(0)"
RESULT = "alpha * E * (share * probability).sum()"
ex.wrong(
    "the factor E is missing",
    "At balance share and probability are 1/E each: without the factor, more experts would cost less.",
    ("alpha * E *", "alpha *"), believes="a sum of products is enough",
)
ex.wrong(
    "the factor is the number of tokens",
    "N in the paper is the number of experts, here E.",
    ("alpha * E *", "alpha * len(z) *"), believes="N is the number of tokens",
)
ex.wrong(
    "alpha is ignored",
    "0.01 is only the default: use the parameter.",
    ("alpha * E", "0.01 * E"), ("alpha * E", "E"), believes="alpha comes later",
)
ex.wrong(
    "probabilities instead of shares",
    "The share counts tokens by their best expert, whatever its probability was.",
    ("share * probability", "probability * probability"), believes="both are means of the probabilities",
)
ex.wrong(
    "shares instead of probabilities",
    "A count has no gradient: the mean probability is the half that the router can learn from.",
    ("share * probability", "share * share + 0 * probability"), believes="busy is busy",
)
ex.wrong(
    "padding is counted",
    "Only real tokens count, in the shares and in the probabilities.",
    ("z = logits[real]", "z = logits.flatten(0, 1).nan_to_num()"), believes="every position is a token",
)
ex.wrong(
    "divided by all positions",
    "Both means run over the real tokens.",
    [(SHARE, f"{SHARE} * len(z) / real.numel()"), (PROB, f"{PROB} * len(z) / real.numel()")],
    believes="a mean is over the whole tensor",
)
ex.wrong(
    "a loss for each row",
    "Shares are counted over the whole batch: two rows may like different experts.",
    source="""
def balance_loss(logits, real, alpha=0.01):
    losses = []
    for row, mask in zip(logits, real):
        z = row[mask]
        share = F.one_hot(z.argmax(-1), z.shape[-1]).to(z.dtype).mean(0)
        losses.append(alpha * z.shape[-1] * (share * z.softmax(-1).mean(0)).sum())
    return torch.stack(losses).mean()
""", believes="each text is balanced by itself",
)
ex.wrong(
    "a product for each token",
    "First the two means, then their product: the mean of the products is another number.",
    (RESULT, "alpha * E * (F.one_hot(z.argmax(-1), E) * z.softmax(-1)).sum(-1).mean() + 0 * share.sum()"),
    believes="a mean of products is a product of means",
)
ex.wrong(
    "sums instead of means",
    "Shares and probabilities are means over the tokens, or a large batch would cost more.",
    [(SHARE, SHARE.replace("mean", "sum")), (PROB, PROB.replace("mean", "sum"))],
    believes="the number of tokens of each expert",
)
ex.wrong(
    "the softmax runs over the tokens",
    "At each token the probabilities of the experts sum to one: the softmax runs over the last axis.",
    ("z.softmax(-1)", "z.softmax(0)"), believes="any axis will do",
)
ex.wrong(
    "logits instead of probabilities",
    "The mean of the logits has no scale: a softmax comes first.",
    ("z.softmax(-1)", "z"), believes="a logit is a probability",
)
ex.wrong(
    "the worst expert is counted",
    "A token goes to the expert with the largest logit.",
    ("argmax", "argmin"), believes="a logit is a cost",
)
ex.wrong(
    "the experts are counted over the tokens",
    "Each token has one best expert: argmax runs over the last axis.",
    (SHARE, "F.one_hot(z.argmax(0) % E, E).to(z.dtype).mean(0)"), believes="any axis will do",
)
ex.wrong(
    "the distance from balance",
    "That is 0 at balance and is another loss: this one is alpha there, and only its gradient counts.",
    (RESULT, "alpha * E * (share - probability).square().sum()"),
    (RESULT, "alpha * E * (probability - 1 / E).square().sum() + 0 * share.sum()"),
    believes="a loss is 0 when all is well",
)
ex.wrong(
    "the product of the sums",
    "Both sum to one: multiply expert by expert, then sum.",
    (RESULT, "alpha * E * share.sum() * probability.sum()"), believes="sum, then multiply",
)
ex.wrong(
    "the mean of whole numbers",
    "one_hot returns int64, which has no mean: convert it to the type of the logits.",
    (".to(z.dtype).mean(0)", ".mean(0)"), believes="a mean works for all numbers",
    shows=lambda symptom: symptom.stage == "runs" and "mean()" in symptom.case.outcome.error,
)
ex.wrong(
    "infinite padding reaches the loss",
    "Only tokens where real is True count: select them first. Do not multiply by zero: 0 · ∞ is NaN.",
    source="""
def balance_loss(logits, real, alpha=0.01):
    E, n = logits.shape[-1], real.sum()
    share = (F.one_hot(logits.argmax(-1), E) * real[..., None]).sum((0, 1)) / n
    probability = (logits.softmax(-1) * real[..., None]).sum((0, 1)) / n
    return alpha * E * (share.to(logits.dtype) * probability).sum()
""", believes="zero times anything is zero", shows=stops_at(PADDED, "finite", "gradient"),
)
ex.wrong(
    "the exponential overflows",
    "exp of a large logit is infinite: use softmax.",
    ("z.softmax(-1)", "(z.exp() / z.exp().sum(-1, keepdim=True))"), believes="the formula is the code",
    shows=stops_at(LARGE, "finite"),
)
ex.wrong(
    "the gradient is cut",
    "",
    (PROB, "z.detach().softmax(-1).mean(0)"), believes="a count has no gradient",
)
ex.wrong(
    "the library does the work",
    source="""
def balance_loss(logits, real, alpha=0.01):
    from pioneers.objectives import balance_loss as theirs

    return alpha * theirs(logits, mask=real)
""", believes="the package has a function for that",
)
ex.wrong(
    "one sum instead of a mean",
    "Shares and probabilities are both means over the tokens: one of them is a sum here, .sum(0) "
    "for .mean(0).",
    ("to(z.dtype).mean(0)", "to(z.dtype).sum(0)"), ("z.softmax(-1).mean(0)", "z.softmax(-1).sum(0)"),
    believes="a count is a share",
)

ex.right(
    "bincount",
    source="""
def balance_loss(logits, real, alpha=0.01):
    z = logits[real]
    n, E = z.shape
    counts = torch.bincount(z.argmax(dim=1), minlength=E)
    return alpha * E / n**2 * torch.dot(counts.to(z.dtype), torch.softmax(z, dim=1).sum(0))
""",
)
ex.right(
    "a constant for each token",
    source="""
def balance_loss(logits, real, alpha=0.01):
    z = logits[real]
    best = z.max(-1).indices
    share = torch.stack([(best == e).to(z.dtype).mean() for e in range(z.shape[-1])])
    return (alpha * z.shape[-1] * torch.einsum("ne,e->n", z.softmax(-1), share)).mean()
""",
)
ex.right(
    "expert by expert",
    source="""
def balance_loss(logits, real, alpha=0.01):
    z, total = logits[real], 0
    best, probs = z.argmax(1).tolist(), (z - z.logsumexp(1, keepdim=True)).exp()
    for e in range(z.shape[1]):
        total = total + best.count(e) / len(best) * probs[:, e].mean()
    return alpha * z.shape[1] * total
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-1]", "1]"), ("(-1),", "(1),"), ("(-1).mean", "(1).mean"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("z.dtype).mean(0)", "z.dtype).mean(0).detach()"),
)
ex.equivalent(
    "In a sum or mean over everything the additional axis, or the order, does not matter.",
    ("z.dtype).mean(0)", "z.dtype).mean(0, keepdim=True)"), ("-1),", "-1, keepdim=True),"),
    ("1).mean(0)", "1).mean(0, keepdim=True)"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("E)", "E).detach()"),
    of="bincount",
)
ex.right("expected by one product", source='''
def balance_loss(logits, real, alpha=0.01):
    z = logits[real]
    best = F.one_hot(z.argmax(1), z.shape[1]).to(z.dtype)
    table = best.T @ z.softmax(1)
    chosen = best.sum(0)
    return alpha * z.shape[1] * (chosen @ table.sum(0)) / len(z) ** 2
''')
ex.right("padding filled with zeros", source='''
def balance_loss(logits, real, alpha=0.01):
    n, E = real.sum(), logits.shape[-1]
    z = logits.masked_fill(~real.unsqueeze(-1), 0)
    weight = real.to(logits.dtype) / n
    share = torch.einsum("bt,bte->e", weight, F.one_hot(z.argmax(-1), E).to(z.dtype))
    probability = torch.einsum("bt,bte->e", weight, z.softmax(-1))
    return E * alpha * share.dot(probability)
''')
ex.right("the probability of each token's own expert", source='''
def balance_loss(logits, real, alpha=0.01):
    flat, mask = logits.flatten(0, 1), real.flatten()
    z = flat[mask.nonzero().squeeze(1)]
    best = z.topk(1, dim=1).indices[:, 0]
    probability = F.log_softmax(z, dim=1).exp().mean(0)
    return alpha * len(probability) * probability[best].mean()
''')
ex.right("counted with index_add", source='''
def balance_loss(logits, real, alpha=0.01):
    z = logits[real]
    ones = torch.ones_like(z[:, 0])
    counts = torch.zeros_like(z[0]).index_add(0, z.max(1).indices, ones)
    return (counts / len(z) * z.softmax(1).mean(0)).mean() * alpha * z.shape[1] ** 2
''')
ex.right("row by row", source='''
def balance_loss(logits, real, alpha=0.01):
    E, count = logits.shape[-1], 0
    chosen = hoped = torch.zeros(E, dtype=logits.dtype, device=logits.device)
    for row, mask in zip(logits, real):
        z = row[mask]
        chosen = chosen + (z == z.amax(-1, keepdim=True)).to(z.dtype).sum(0)
        hoped = hoped + z.softmax(-1).sum(0)
        count = count + mask.sum()
    return alpha * E * (chosen / count * (hoped / count)).sum()
''')
