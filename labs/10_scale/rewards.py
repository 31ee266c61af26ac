"""Exercise 10.8: the loss of a reward model that learns from rankings."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def ranking_loss(scores: Tensor, ranks: Tensor) -> Tensor:
    """The mean of -ln σ(better score - worse score) over all pairs of
    answers to one prompt that have different ranks."""
    better = ranks[:, :, None] < ranks[:, None, :]
    margin = (scores[:, :, None] - scores[:, None, :])[better]
    return -F.logsigmoid(margin).sum() / max(1, len(margin))
'''
ex = exercise(
    "10.8", ANSWER, points=8, minutes=10, difficulty=2, reread="sec-reward-model", equation="eq-reward-pairs",
    refuse=("binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss",
            "margin_ranking_loss"),
)  # fmt: skip
LARGE, NOTHING = "scores that are far apart", "all answers equally good"


@ex.maker
def judged(normal, ranks, size=1.0, dtype=torch.float32):
    ranks = torch.tensor(ranks)
    scores = normal(*ranks.shape) - 0.3 * ranks + normal(len(ranks), 1)
    return {"scores": (size * scores).to(dtype), "ranks": ranks}


ex.probe("two prompts of four answers", ranks=[[2, 4, 1, 3], [1, 2, 3, 4]])
ex.probe("some equally good answers", ranks=[[1, 1, 2, 3, 3], [2, 1, 3, 3, 3], [5, 1, 2, 4, 3]])
ex.probe("pairs", ranks=[[1, 2], [2, 1], [1, 2], [1, 1], [2, 1]])
ex.probe("a batch of one", ranks=[[3, 1, 2]])
ex.probe("one answer each", ranks=[[1], [1], [1]])
ex.probe("ranks with holes", ranks=[[10, 7, 0], [5, 5, 40]])
ex.probe("as many prompts as answers", ranks=[[1, 3, 2], [2, 1, 2], [3, 2, 1]])
ex.probe(LARGE, ranks=[[1, 2, 3, 4, 5], [5, 3, 1, 2, 4]], size=300.0)
ex.probe(NOTHING, ranks=[[1, 1, 1], [2, 2, 2]])
ex.probe("double precision", ranks=[[2, 4, 1, 3], [1, 2, 2, 4]], dtype=torch.float64)
ex.probe("half precision", ranks=[[2, 4, 1, 3], [1, 2, 2, 4]], dtype=torch.float16)
ex.probe("numbers with gaps in memory", ranks=[[2, 1, 3], [3, 3, 1]], strided=True)
ex.hidden("seven answers", ranks=[[7, 1, 3, 3, 2, 9, 4], [1, 1, 1, 1, 1, 1, 2], [3, 2, 1, 3, 2, 1, 3]],
          size=2.0)
ex.hidden("one prompt has nothing to compare", ranks=[[1, 1], [1, 2]])
ex.hidden("two answers, the worse first", ranks=[[2, 1]], size=30.0)


@ex.law("a reward has no zero", "Only differences between answers to one prompt count.")
def shifted(run, probe):
    shift = 7 * torch.arange(len(probe.args["scores"]))[:, None]
    return run(probe), run(probe.having("law", scores=probe.args["scores"] + shift))


@ex.law("the order of the answers does not matter", "Ranks say which is better, not places.")
def turned(run, probe):
    both = {name: x.flip(1) for name, x in probe.args.items()}
    return run(probe), run(probe.having("law", **both))


BETTER = "ranks[:, :, None] < ranks[:, None, :]"
MARGIN, MEAN = "(scores[:, :, None] - scores[:, None, :])[better]", "sum() / max(1, len(margin))"
LOSS = f"-F.logsigmoid(margin).{MEAN}"
ex.wrong(
    "rank 1 taken for the worst",
    "Rank 1 is the best answer: the smaller rank must get the larger score.",
    (BETTER, BETTER.replace("<", ">")), (MARGIN, f"-{MARGIN}"), believes="a high rank is good",
)
ex.wrong(
    "equally good answers are compared",
    "Where ranks are equal, nobody said which is better: leave such pairs out.",
    (BETTER, f"({BETTER.replace('<', '<=')}) & ~torch.eye(ranks.shape[1], device=ranks.device).bool()"),
    believes="less or equal is better",
)
ex.wrong(
    "an answer is compared with itself",
    "Its margin is 0 whatever it scores: only pairs with different ranks count.",
    (BETTER, BETTER.replace("<", "<=")), believes="less or equal is better",
)
ex.wrong(
    "answers to different prompts are compared",
    "A rank holds within its prompt: a good answer to a hard question is not better than one to an easy one.",
    source="""
def ranking_loss(scores, ranks):
    scores, ranks = scores.flatten(), ranks.flatten()
    margin = (scores[:, None] - scores)[ranks[:, None] < ranks]
    return -F.logsigmoid(margin).sum() / max(1, len(margin))
""", believes="ranks are grades",
)
ex.wrong(
    "only the best and the worst",
    "Every pair with different ranks teaches something.",
    source="""
def ranking_loss(scores, ranks):
    best, worst = ranks.argmin(1, keepdim=True), ranks.argmax(1, keepdim=True)
    margin = (scores.gather(1, best) - scores.gather(1, worst))[best != worst]
    return -F.logsigmoid(margin).sum() / max(1, len(margin))
""", believes="a pair is chosen and rejected",
)
ex.wrong(
    "only the best against the others",
    "Every pair with different ranks teaches something, also the second against the third.",
    (BETTER, f"({BETTER}) & (ranks == ranks.amin(1, keepdim=True))[:, :, None]"),
    believes="there is one winner",
)
ex.wrong(
    "only neighbours in the ranking",
    "Every pair with different ranks teaches something, also the first against the third.",
    (BETTER, "ranks[:, :, None] + 1 == ranks[:, None, :]"), believes="a ranking is a chain",
)
ex.wrong(
    "weighted by the difference of the ranks",
    "A rank is an order, not a distance: every pair counts once.",
    (LOSS, "-(F.logsigmoid(margin) * (ranks[:, None, :] - ranks[:, :, None])[better]).sum()"
           " / max(1, len(margin))"),
    believes="first against last counts more",
)
ex.wrong(
    "a mean of means",
    "Here every pair counts the same: one mean over all pairs of the batch.",
    source="""
def ranking_loss(scores, ranks):
    better = ranks[:, :, None] < ranks[:, None, :]
    costs = -F.logsigmoid(scores[:, :, None] - scores[:, None, :]) * better
    return (costs.sum((1, 2)) / better.sum((1, 2)).clamp(min=1)).mean().to(scores.dtype)
""", believes="each prompt has its own loss",
)
ex.wrong(
    "the sum over the pairs",
    "A prompt with many answers has many pairs: take the mean.",
    (f".{MEAN}", ".sum()"), believes="a sum is minimised as well",
)
ex.wrong(
    "divided by the number of prompts",
    "The mean runs over the pairs.",
    (MEAN, "sum() / len(scores)"), believes="a mean is over the batch",
)
ex.wrong(
    "divided by all pairs of places",
    "Each pair counts once, and equally good answers make none.",
    (MEAN, "sum() / better.numel()"),
    (MEAN, "sum() / max(1, better.numel() * (ranks.shape[1] - 1) // (2 * ranks.shape[1]))"),
    believes="there are N² pairs",
)
ex.wrong(
    "0/0 when nothing can be compared",
    "A mean over nothing is 0/0: divide by at least one.",
    (f".{MEAN}", ".mean()"), believes="there is always a pair",
    shows=lambda symptom: symptom.stage == "finite" and symptom.case.outcome.tensor.isnan().all(),
)
ex.wrong(
    "the exponential overflows",
    "σ of a very negative margin rounds to 0, and ln 0 is infinite: use logsigmoid or softplus.",
    (LOSS, f"-torch.sigmoid(margin).log().{MEAN}"), (LOSS, f"(1 + (-margin).exp()).log().{MEAN}"),
    believes="a sigmoid, then a logarithm", shows=stops_at(LARGE, "finite"),
)
ex.wrong(
    "the probabilities clipped",
    "Clipping limits the loss and cuts the gradient where it is needed most: use logsigmoid or softplus.",
    (LOSS, f"-torch.sigmoid(margin).clamp(min=1e-7).log().{MEAN}"),
    believes="a small number makes a logarithm safe",
)
ex.wrong(
    "a probability instead of its logarithm",
    "The loss is minus the logarithm of the probability that the better answer wins.",
    (LOSS, f"-torch.sigmoid(margin).{MEAN}"), (LOSS, f"torch.sigmoid(-margin).{MEAN}"),
    believes="what is likely is large",
)
ex.wrong(
    "the margin itself",
    "A margin could grow forever: -ln σ asks for less and less once the order is right.",
    (LOSS, f"-margin.{MEAN}"), believes="the difference is the loss",
)
ex.wrong(
    "a margin of one",
    "That is a hinge loss. Here the margin goes through -ln σ.",
    (LOSS, f"(1 - margin).clamp(min=0).{MEAN}"), believes="a pair needs a margin",
)
ex.wrong(
    "one choice among all",
    "A softmax over all answers picks one winner; here each pair is a choice between two.",
    source="""
def ranking_loss(scores, ranks):
    return F.cross_entropy(scores, ranks.argmin(1)) * (ranks.amin(1) < ranks.amax(1)).any()
""", believes="the best is a class",
)
ex.wrong(
    "bits instead of nats",
    "Losses are in nats here, with the natural logarithm.",
    (LOSS, f"{LOSS} / math.log(2)"), believes="information is counted in bits",
)
ex.wrong(
    "the gradient is cut",
    "",
    (MARGIN, f"{MARGIN}.detach()"),
    believes="a ranking has no gradient",
)
ex.wrong(
    "a mean of means",
    "All pairs count the same, whatever prompt they belong to.",
    source="""
def ranking_loss(scores, ranks):
    losses = []
    for s, r in zip(scores, ranks):
        margin = (s[:, None] - s)[r[:, None] < r]
        if len(margin):
            losses.append(-F.logsigmoid(margin).mean())
    return torch.stack(losses).mean() if losses else 0 * scores.sum()
""", believes="every prompt counts the same",
)
ex.wrong(
    "only the best against the others",
    "Every pair of answers with different ranks is compared, not only those with the best one.",
    source="""
def ranking_loss(scores, ranks):
    margins = []
    for s, r in zip(scores, ranks):
        best = r.argmin()
        margins += [s[best] - s[j] for j in range(len(s)) if r[best] < r[j]]
    return -F.logsigmoid(torch.stack(margins)).mean() if margins else 0 * scores.sum()
""", believes="what matters is the winner",
)
ex.wrong(
    "only neighbours in the ranking",
    "Every pair of answers with different ranks is compared, those far apart too.",
    source="""
def ranking_loss(scores, ranks):
    margins = []
    for s, r in zip(scores, ranks):
        order = r.argsort(stable=True).tolist()
        margins += [s[i] - s[j] for i, j in zip(order, order[1:]) if r[i] < r[j]]
    return -F.logsigmoid(torch.stack(margins)).mean() if margins else 0 * scores.sum()
""", believes="a ranking is a chain",
)
ex.wrong(
    "every pair in both directions",
    "Only the pair with the better answer first counts; the other direction asks for the opposite.",
    ("ranks[:, :, None] < ranks", "ranks[:, :, None] != ranks"), believes="a pair is a pair",
)
ex.wrong(
    "a difference of probabilities",
    "σ is taken of the difference of the scores, not of each score.",
    ("(scores[:, :, None] - scores[:, None, :])",
     "(scores.sigmoid()[:, :, None] - scores.sigmoid()[:, None, :])"),
    believes="scores are probabilities",
)
ex.wrong(
    "weighted by the difference of ranks",
    "All pairs count the same: ranks say which answer is better, not by how much.",
    ("scores[:, None, :])[better]",
     "scores[:, None, :])[better] * (ranks[:, None, :] - ranks[:, :, None])[better]"),
    believes="two ranks apart is twice as good",
)
ex.wrong(
    "the library does the work",
    source="""
def ranking_loss(scores, ranks):
    better = ranks[:, :, None] < ranks[:, None, :]
    margin = (scores[:, :, None] - scores[:, None, :])[better]
    return F.binary_cross_entropy_with_logits(margin, torch.ones_like(margin), reduction="sum") / len(margin)
""", believes="the function is the exercise",
)

ex.right(
    "softplus over the whole table",
    source="""
def ranking_loss(scores, ranks):
    worse = (ranks.unsqueeze(2) > ranks.unsqueeze(1)).to(scores.dtype)
    costs = F.softplus(scores.unsqueeze(2) - scores.unsqueeze(1))
    return torch.einsum("bij,bij->", costs, worse) / worse.sum().clamp(min=1)
""",
)
ex.right(
    "pair by pair",
    source="""
def ranking_loss(scores, ranks):
    total, count = 0 * scores.sum(), 0
    for row, order in zip(scores, ranks.tolist()):
        for i in range(len(order)):
            for j in range(i):
                if order[i] != order[j]:
                    margin = row[i] - row[j] if order[i] < order[j] else row[j] - row[i]
                    total, count = total + torch.logaddexp(torch.zeros_like(margin), -margin), count + 1
    return total / max(count, 1)
""",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("scores.dtype)", "scores.dtype).detach()"),
    of="softplus over the whole table",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ('"bij,bij->", costs, worse', "'bij,bij->', worse, costs"),
    of="softplus over the whole table",
)
ex.right("combinations and the sign of the ranks", source='''
def ranking_loss(scores, ranks):
    i, j = torch.triu_indices(scores.shape[1], scores.shape[1], 1, device=scores.device)
    sign = (ranks[:, j] - ranks[:, i]).sign().to(scores.dtype)
    costs = F.softplus(-sign * (scores[:, i] - scores[:, j])) * sign.abs()
    return costs.sum() / sign.abs().sum().clamp(min=1)
''')
ex.right("torch.where over the table", source='''
def ranking_loss(scores, ranks):
    table = -F.logsigmoid(scores[..., :, None] - scores[..., None, :])
    better = torch.lt(ranks[..., :, None], ranks[..., None, :])
    return torch.where(better, table, 0).sum() / better.sum().clamp(min=1)
''')
ex.right("the places of the pairs", source='''
def ranking_loss(scores, ranks):
    b, i, j = (ranks.unsqueeze(2) < ranks.unsqueeze(1)).nonzero(as_tuple=True)
    if len(b) == 0:
        return (scores * 0).sum()
    return F.softplus(scores[b, j] - scores[b, i]).mean()
''')
ex.right("logsumexp of two scores", source='''
def ranking_loss(scores, ranks):
    first = scores[:, :, None].expand(-1, -1, scores.shape[1])
    both = torch.stack((first, first.mT))
    costs = both.logsumexp(0) - both[0]
    counts = ranks[:, :, None] < ranks[:, None, :]
    return costs.masked_select(counts).sum() / max(counts.sum().item(), 1)
''')
ex.right("a step to the next answer, and the next but one", source='''
def ranking_loss(scores, ranks):
    total, count = 0 * scores.sum(), 0
    for step in range(1, scores.shape[1]):
        ahead = (ranks[:, step:] - ranks[:, :-step]).sign()
        margin = (scores[:, :-step] - scores[:, step:]) * ahead
        total = total - F.logsigmoid(margin)[ahead != 0].sum()
        count = count + (ahead != 0).sum()
    return total / torch.as_tensor(count, device=scores.device).clamp(min=1)
''')
ex.right("a cross-entropy of two classes", source='''
def ranking_loss(scores, ranks):
    losses = []
    for row, order in zip(scores, ranks):
        better, worse = (order[:, None] < order).nonzero().unbind(1)
        logits = torch.stack((row[better], row[worse]), dim=1)
        losses.append(-logits.log_softmax(1)[:, 0])
    losses = torch.cat(losses)
    return losses.sum() / max(len(losses), 1)
''')
