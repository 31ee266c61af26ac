"""Exercise 8.6: ELECTRA's loss, a yes or no at every real token, added to the generator's loss."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def electra_loss(
    generator_loss: Tensor,
    logits: Tensor,
    replaced: Tensor,
    real: Tensor,
    weight: float = 50.0,
) -> Tensor:
    """The generator's loss plus weight times
    the discriminator's, in nats."""
    z, y = logits[real], replaced[real]
    costs = -torch.where(y, F.logsigmoid(z), F.logsigmoid(-z))
    return generator_loss + weight * costs.sum() / max(1, len(costs))
'''
ex = exercise(
    "8.6", ANSWER, points=9, minutes=10, difficulty=2, reread=("sec-replaced-tokens", "sec-mlm-cost"),
    refuse=("binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss"),
)
LARGE, PADDED, NOTHING = "very large logits", "padding that holds infinities", "no real token at all"


@ex.maker
def detector(normal, B, real, T=7, size=1.0, weight=50.0, dtype=torch.float32, elsewhere=None, **given):
    """``real`` holds the number of real tokens of each row; ``elsewhere`` is what the padding holds."""
    logits, labels = size * normal(B, T), normal(B, T) > 0.3
    mask = torch.arange(T) < torch.tensor(real)[:, None]
    if elsewhere is not None:
        logits = logits.masked_fill(~mask, elsewhere)
    args = {"generator_loss": normal().abs().to(dtype), "logits": logits.to(dtype)}
    return args | {"replaced": labels, "real": mask, "weight": weight} | given


ex.probe("three rows of seven, five and two tokens", B=3, real=[7, 5, 2])
ex.probe("another weight", B=3, real=[3, 7, 1], weight=2.5)
ex.probe("a batch of one", B=1, real=[5], weight=1.0)
ex.probe("a single real token, a generator without loss", B=2, real=[1, 0], generator_loss=torch.zeros(()))
ex.probe("a weight of zero", B=2, real=[3, 2], T=5, weight=0.0)
ex.probe(LARGE, B=3, real=[7, 5, 2], size=300.0)
ex.probe(PADDED, B=2, real=[3, 6], elsewhere=torch.inf)
ex.probe(NOTHING, B=2, real=[0, 0], T=3)
ex.probe("double precision", B=3, real=[7, 5, 2], dtype=torch.float64)
ex.probe("half precision", B=3, real=[7, 1, 4], weight=1.0, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, real=[7, 4], strided=True)
ex.hidden("five rows", B=5, real=[11, 1, 3, 0, 7], T=11, weight=7.0)
ex.hidden("minus infinity at the padding", B=2, real=[1, 4], T=5, elsewhere=-torch.inf)
ex.hidden("a single token", B=1, real=[1], T=1, size=30.0)


@ex.law("padding does not count", "Its tokens are neither original nor replaced.")
def other_padding(run, probe):
    changed = torch.where(probe.args["real"], probe.args["logits"], 3.0)
    labels = probe.args["replaced"] ^ ~probe.args["real"]
    return run(probe), run(probe.having("law", logits=changed, replaced=labels))


COSTS = "-torch.where(y, F.logsigmoid(z), F.logsigmoid(-z))"
MEAN = "costs.sum() / max(1, len(costs))"
ex.wrong(
    "0/0 when nothing is real",
    "A mean over nothing is 0/0: divide by at least one.",
    (MEAN, "costs.mean()"), believes="there is always a token", shows=stops_at(NOTHING, "finite", "runs"),
)
ex.wrong(
    "divided by all positions",
    "The mean runs over the real tokens: padding is not counted.",
    (MEAN, "costs.sum() / real.numel()"), believes="a mean is over the whole tensor",
)
ex.wrong(
    "divided by the number of rows",
    "The mean runs over the real tokens, in however many rows they are.",
    (MEAN, "costs.sum() / len(logits)"), believes="a loss is per text",
)
ex.wrong(
    "the sum instead of the mean",
    "A sum grows with the batch, and the weight of 50 was chosen for a mean.",
    (MEAN, "costs.sum()"), believes="the sum is what one minimises",
)
ex.wrong(
    "a mean of means",
    "Short texts would count more: take one mean over all real tokens of the batch.",
    (MEAN, "torch.stack([c.sum() / max(1, len(c)) for c in costs.split(real.sum(1).tolist())]).mean()"),
    believes="each row has its own loss",
)
ex.wrong(
    "padding counted as original",
    "Padding is not a token: leave it out of the sum and of the number.",
    ("z, y = logits[real], replaced[real]", "z, y = logits.flatten(), (replaced & real).flatten()"),
    believes="padding was not replaced, so it is original",
)
ex.wrong(
    "only replaced tokens are asked",
    "ELECTRA learns from every token: the original ones are half of the question.",
    (MEAN, "costs[y].sum() / max(1, int(y.sum()))"), believes="the loss is at the gaps, as in BERT",
    section="sec-masked-lm", equation="eq-mlm",
)
ex.wrong(
    "1 means original",
    "A positive logit says replaced, and replaced is True where it is right to say so.",
    ("where(y, F.logsigmoid(z), F.logsigmoid(-z))", "where(y, F.logsigmoid(-z), F.logsigmoid(z))"),
    believes="a high score is a good token",
)
ex.wrong(
    "only the probability of replaced",
    "An original token costs -log(1 - p): without this half, saying replaced everywhere is best.",
    (COSTS, "-torch.where(y, F.logsigmoid(z), 0)"), (COSTS, "-F.logsigmoid(z)"),
    believes="a loss is -log p",
)
ex.wrong(
    "the exponential overflows",
    "A sigmoid of a large logit rounds to 0 or 1, and log 0 is infinite: use logsigmoid or softplus.",
    (COSTS, "-torch.where(y, torch.sigmoid(z).log(), (1 - torch.sigmoid(z)).log())"),
    (COSTS, "torch.where(y, (1 + (-z).exp()).log(), (1 + z.exp()).log())"),
    believes="a sigmoid, then a logarithm", shows=stops_at(LARGE, "finite"),
)
ex.wrong(
    "the probabilities clipped",
    "Clipping limits the loss and cuts the gradient where it is needed most: use logsigmoid or softplus.",
    (COSTS, "-torch.where(y, torch.sigmoid(z), 1 - torch.sigmoid(z)).clamp(min=1e-7).log()"),
    believes="a small number makes a logarithm safe",
)
ex.wrong(
    "the weight on the wrong loss",
    "The weight belongs to the discriminator, whose loss per token is small.",
    (f"generator_loss + weight * {MEAN}", f"weight * generator_loss + {MEAN}"),
    believes="the generator is the language model",
)
ex.wrong(
    "the weight is ignored",
    "50 is only the default: use the parameter.",
    ("weight * costs", "50.0 * costs"), ("weight * costs", "costs"), believes="both losses count the same",
)
ex.wrong(
    "the generator's loss is forgotten",
    "Both models are trained together, on the sum of both losses.",
    ("generator_loss + weight", "weight"), believes="the generator is fixed",
)
ex.wrong(
    "padding multiplied by zero",
    "Zero times infinity is NaN: select the real tokens, do not multiply.",
    [("z, y = logits[real], replaced[real]", "z, y = logits, replaced"),
     (MEAN, "(costs * real).sum() / real.sum().clamp(min=1)")],
    believes="zero times anything is zero", shows=stops_at(PADDED, "finite", "gradient"),
)
ex.wrong(
    "bits instead of nats",
    "Losses are in nats here, with the natural logarithm.",
    (MEAN, f"{MEAN} / math.log(2)"), believes="information is counted in bits",
)
ex.wrong(
    "the library does the work",
    source="""
def electra_loss(generator_loss, logits, replaced, real, weight=50.0):
    return generator_loss + weight * F.binary_cross_entropy_with_logits(logits[real], replaced[real].float())
""", believes="the function is the exercise",
)
ex.wrong(
    "the weight on both losses",
    "λ multiplies the discriminator's loss alone.",
    ("generator_loss + weight *", "weight * generator_loss + weight *"), believes="λ weighs the whole",
)

ex.right(
    "softplus of the signed logit",
    (COSTS, "F.softplus(torch.where(y, -z, z))"),
)
ex.right(
    "softplus minus the logit of replaced tokens",
    source="""
def electra_loss(generator_loss, logits, replaced, real, weight=50.0):
    zeros = torch.zeros_like(logits)
    z = torch.where(real, logits, zeros)
    costs = torch.where(real, F.softplus(z) - z * replaced, zeros)
    return generator_loss + weight * (costs.sum() / real.sum().clamp(min=1))
""",
)
ex.right(
    "token by token",
    source="""
def electra_loss(generator_loss, logits, replaced, real, weight=50.0):
    total, count = 0 * generator_loss, 0
    for b, t in real.nonzero().tolist():
        z = logits[b, t] if replaced[b, t] else -logits[b, t]
        total = total - F.logsigmoid(z)
        count += 1
    return generator_loss + weight * (total / count if count else total)
""",
)
ex.right("logaddexp with zero", source='''
def electra_loss(generator_loss, logits, replaced, real, weight=50.0):
    z = logits[real]
    sign = 1 - 2 * replaced[real].to(z.dtype)
    costs = torch.logaddexp(sign * z, torch.zeros_like(z))
    return generator_loss + weight * costs.sum() / max(1, z.numel())
''')
ex.right("replaced and original tokens apart", source='''
def electra_loss(generator_loss, logits, replaced, real, weight=50.0):
    wrong, right = logits[real & replaced], logits[real & ~replaced]
    total = F.softplus(-wrong).sum() + F.softplus(right).sum()
    return generator_loss + weight * total / max(1, len(wrong) + len(right))
''')
ex.right("two classes and a log-softmax", source='''
def electra_loss(generator_loss, logits, replaced, real, weight=50.0):
    z = torch.masked_select(logits, real)
    both = torch.stack((torch.zeros_like(z), z), dim=-1).log_softmax(-1)
    picked = both.gather(1, replaced[real].long()[:, None])
    return generator_loss - weight * (picked.sum() / real.sum().clamp(min=1))
''')
ex.right("row by row", source='''
def electra_loss(generator_loss, logits, replaced, real, weight=50.0):
    total, count = logits.new_zeros(()), 0
    for z, y, here in zip(logits, replaced, real):
        z, y = z[here], y[here].to(z.dtype)
        total = total - (y * F.logsigmoid(z) + (1 - y) * F.logsigmoid(-z)).sum()
        count += len(z)
    return generator_loss + weight * total / max(count, 1)
''')
ex.right("where and a helper for the cost of a logit", source='''
def electra_loss(generator_loss, logits, replaced, real, weight=50.0):
    def cost(z):
        return z.clamp(min=0) + torch.log1p(torch.exp(-z.abs()))

    z = torch.where(real, logits, 0)
    costs = torch.where(replaced, cost(-z), cost(z)).masked_fill(~real, 0)
    return torch.add(generator_loss, costs.sum() / max(1, int(real.sum())), alpha=weight)
''')
