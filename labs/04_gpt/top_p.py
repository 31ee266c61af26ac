"""Exercise 4.5: top-p, or nucleus: from logits (..., V) to the distribution that is drawn from."""

import math

import torch

from pioneers.checks.building import exercise
from pioneers.checks.symptoms import wrong_on

ANSWER = '''
def top_p_distribution(logits: Tensor, p: float) -> Tensor:
    """The probabilities (..., V) of the smallest set of most likely tokens
    that reaches p; others get 0."""
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    kept = ranked.cumsum(-1) - ranked < p
    kept = kept.scatter(-1, order, kept)
    return logits.masked_fill(~kept, -math.inf).softmax(-1)
'''
ex = exercise(
    "4.5", ANSWER, points=12, minutes=16, difficulty=3, reread="sec-sampling", equation="eq-cross-entropy"
)


@ex.maker
def rows(normal, shape=(0,), scale=1.5, excluded=(), dtype=torch.float32, **given):
    logits = scale * normal(*shape, dtype=dtype)
    for token in excluded:
        logits[..., token] = -torch.inf
    return {"logits": logits} | given


ex.probe("the most likely tokens up to 0.6", shape=(3, 7), p=0.6)
ex.probe("three axes", shape=(2, 3, 5), p=0.75)
ex.probe("a sure model", shape=(3, 11), scale=8.0, p=0.4)
ex.probe("an open model", shape=(2, 13), scale=0.3, p=0.9)
ex.probe("one distribution, no batch", shape=(11,), p=0.7)
ex.probe("p = 1", shape=(2, 5), p=1.0)
ex.probe("a very small p", shape=(2, 5), p=1e-4)
ex.probe("some tokens excluded before", shape=(2, 7), excluded=(1, 4, 6), p=0.8)
ex.probe("double precision", shape=(3, 7), p=0.55, dtype=torch.float64)
ex.probe("numbers with gaps in memory", shape=(2, 3, 5), p=0.65, strided=True)
LOW = "logits lower than any finite fill"
HALVES = -math.log(2) * torch.tensor([[2, 1, 3, 3]])  # the shares are exactly 1/4, 1/2, 1/8 and 1/8
ex.probe("a sum of exactly p", logits=HALVES, p=0.75)
ex.probe(LOW, logits=[[-30_001.0, -30_000.0, -30_003.0, -30_004.0]], p=0.7)
ex.hidden("four axes", shape=(2, 1, 3, 19), scale=2.0, p=0.85)
ex.hidden("one token has it all", logits=[[0.0, 50.0, 1.0], [9.0, -9.0, 8.0]], p=0.95)
ex.hidden("a vocabulary of one", shape=(3, 1), scale=1.0, p=0.5)


@ex.law(
    "the order of the vocabulary does not matter", "A token is kept for its probability, not for its number.",
    on="one distribution, no batch",
)
def order_of_the_vocabulary(run, probe):
    order = torch.tensor([7, 3, 10, 0, 5, 8, 1, 9, 2, 6, 4])
    return run(probe.having("law", logits=probe.args["logits"][order])), run(probe)[order]


def only_at_low_logits(symptom):
    return symptom.stage == "value" and wrong_on(LOW)(symptom)


RANKED = "ranked, order = logits.softmax(-1).sort(-1, descending=True)"
KEPT = "ranked.cumsum(-1) - ranked < p"
BACK = "    kept = kept.scatter(-1, order, kept)\n"
FIRST = "torch.arange(ranked.shape[-1], device=ranked.device) == 0"
LAST = "-math.inf).softmax(-1)"
ex.wrong(
    "the token that reaches p is dropped",
    "The set must *reach* p: keep a token while those before it, without itself, have less than p.",
    (KEPT, "ranked.cumsum(-1) <= p"), (KEPT, "ranked.cumsum(-1) < p"),
    believes="keep while the sum is at most p",
)
ex.wrong(
    "the token that reaches p is dropped",
    "The set must *reach* p: keep a token while those before it, without itself, have less than p.",
    (KEPT, f"(ranked.cumsum(-1) <= p) | ({FIRST})"),
    believes="keep while the sum is at most p, and the first one always",
)
ex.wrong(
    "one token too many",
    "The token with which the sum reaches p is the last one: nothing behind it stays.",
    (BACK, f"    kept = torch.cat((kept[..., :1], kept[..., :-1]), dim=-1)\n{BACK}"),
    (KEPT, "ranked.cumsum(-1) - ranked <= p"),
    [(", descending=True", ""), (KEPT, "ranked.cumsum(-1) >= 1 - p")], believes="shift the mask, to be sure",
)
ex.wrong(
    "left in the order of likelihood",
    "The result has the order of the vocabulary: bring what you found in the ranking back.",
    (LAST, f"{LAST}.sort(-1, descending=True).values"), believes="the ranking is the result",
)
ex.wrong(
    "places of the ranking used as tokens",
    "The mask belongs to the sorted tokens: scatter it back with the order that sort returns.",
    (BACK, ""), believes="the mask of the ranking fits the logits",
)
ex.wrong(
    "put back with the wrong permutation",
    "Place i of the ranking belongs to token order[i]: that is scatter; gather goes the other way.",
    ("scatter(-1, order, kept)", "gather(-1, order)"), believes="indexing with the order sorts back",
)
ex.wrong(
    "added up in the order of the vocabulary",
    "Sort first: the set is built from the most likely token down.",
    [(RANKED, "ranked = logits.softmax(-1)"), (BACK, "")], believes="cumsum needs no order",
)
ex.wrong(
    "from the least likely up",
    "Sort downwards: the set begins with the most likely token.",
    (", descending=True", ""), believes="sort puts the largest first",
)
ex.wrong(
    "each token judged by itself",
    "p is what the kept tokens have together: add up from the most likely one.",
    (KEPT, "ranked >= p"), (KEPT, "ranked >= 1 - p"), believes="p is a limit for each probability",
)
ex.wrong(
    "logits added up",
    "p is a probability: apply the softmax before you add up.",
    ("logits.softmax(-1).sort", "logits.sort"), believes="logits can be added up as well",
)
ex.wrong(
    "not renormalised",
    "What remains must sum to one: set the others to -inf before the softmax, not to 0 after it.",
    (f"logits.masked_fill(~kept, {LAST}", "logits.softmax(-1) * kept"),
    believes="set the others to zero, done",
)
ex.wrong(
    "a finite number in place of minus infinity",
    "Where the logits themselves are as low as this number, excluded tokens win: fill with -math.inf.",
    ("-math.inf", "-1e4"), ("-math.inf", "-100"), believes="-1e4 is low enough", shows=only_at_low_logits,
)
ex.wrong(
    "a softmax of probabilities",
    "Numbers from 0 to 1 make a nearly even softmax: set logits to -inf, or divide by the sum.",
    (f"logits.masked_fill(~kept, {LAST}", "(logits.softmax(-1) * kept).softmax(-1)"),
    ("logits.masked_fill", "logits.softmax(-1).masked_fill"), believes="a softmax renormalises",
)
ex.wrong(
    "logits in place of probabilities",
    "What is asked for is the distribution that the next token is drawn from: a softmax comes last.",
    (LAST, "-math.inf)"), believes="the sampler will do the softmax",
)
ex.wrong(
    "exponentials that are not probabilities",
    "p is a share of 1: add up the softmax, not exp of the logits.",
    ("ranked.cumsum(-1) - ranked < p",
     "(e := logits.sort(-1, descending=True).values.exp()).cumsum(-1) - e < p"),
    believes="exp makes probabilities",
)
ex.wrong(
    "a share of the largest probability",
    "That is another method, min-p; top-p adds up from the most likely token until p is reached.",
    ("ranked.cumsum(-1) - ranked < p", "ranked >= p * ranked[..., :1]"),
    believes="p is a limit for each token",
)

ex.right(
    "the mask shifted by one place",
    source="""
def top_p_distribution(logits, p):
    ranked, order = logits.sort(-1, descending=True)
    dropped = ranked.softmax(-1).cumsum(-1) >= p
    dropped = torch.cat((torch.zeros_like(dropped[..., :1]), dropped[..., :-1]), dim=-1)
    ranked = ranked.masked_fill(dropped, -math.inf)
    return torch.empty_like(logits).scatter(-1, order, ranked).softmax(-1)
""",
)
ex.right(
    "for each token the mass of those ahead of it",
    source="""
def top_p_distribution(logits, p):
    probabilities = logits.softmax(-1)
    ahead = logits[..., None, :] > logits[..., :, None]
    before = (probabilities[..., None, :] * ahead).sum(-1)
    return logits.masked_fill(before >= p, -math.inf).softmax(-1)
""",
)
ex.right(
    "back by sorting the order",
    source="""
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    kept = ranked * (ranked.cumsum(-1) - ranked < p)
    return (kept / kept.sum(-1, keepdim=True)).gather(-1, order.argsort(-1))
""",
)
ex.equivalent(
    "It is the default, or the last axis.",
    ("-1, descending", "descending"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("kept)", "kept).detach()"),
)
ex.equivalent(
    "It is the default, or the last axis.",
    ("-1, descending", "descending"),
    of="the mask shifted by one place",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("=-1)", "=-1).detach()"),
    of="the mask shifted by one place",
)
ex.equivalent(
    "Every entry is written afterwards.",
    ("torch.empty_like(logits).scatter", "logits.scatter"),
    of="the mask shifted by one place",
)
ex.right("from the least likely up, by what is left above", source='''
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1)
    above = F.pad(ranked.flip(-1).cumsum(-1)[..., :-1], (1, 0)).flip(-1)
    kept = torch.zeros_like(order, dtype=torch.bool).scatter(-1, order, above < p)
    return logits.masked_fill(kept.logical_not(), -math.inf).softmax(-1)
''')
ex.right("counting the tokens that are kept", source='''
def top_p_distribution(logits, p):
    ranked, order = logits.sort(dim=-1, descending=True)
    total = ranked.softmax(-1).cumsum(-1)
    count = (total < p).sum(-1, keepdim=True) + 1
    rank = order.argsort(-1)
    return torch.where(rank < count, logits, -math.inf).softmax(-1)
''')
ex.right("the probabilities of the kept, divided by their sum", source='''
def top_p_distribution(logits, p):
    shares = torch.softmax(logits, -1)
    ranked, order = torch.sort(shares, dim=-1, descending=True)
    before = F.pad(ranked.cumsum(-1)[..., :-1], (1, 0))
    kept = torch.zeros_like(shares).scatter(-1, order, ranked * (before < p))
    return kept / kept.sum(dim=-1, keepdim=True)
''')
ex.right("the smallest kept probability as a limit", source='''
def top_p_distribution(logits, p):
    shares = logits.softmax(-1)
    ranked = shares.sort(-1, descending=True).values
    last = (ranked.cumsum(-1) - ranked < p).sum(-1, keepdim=True) - 1
    return logits.masked_fill(shares < ranked.gather(-1, last), -math.inf).softmax(-1)
''')
ex.right("the mask filled in at the places of the ranking", source='''
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    dropped = torch.empty_like(logits, dtype=torch.bool)
    dropped.scatter_(-1, order, ranked.cumsum(-1) - ranked >= p)
    return torch.where(dropped, torch.full_like(logits, -math.inf), logits).softmax(-1)
''')
