"""Exercise 10.1: which experts a token goes to, and how much each of them counts."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def routing_weights(logits: Tensor, k: int) -> Tensor:
    """How much each expert counts for each token, (B, T, E):
    0 for those that were not chosen."""
    best, expert = logits.topk(k, dim=-1)
    weights = torch.zeros_like(logits)
    return weights.scatter(-1, expert, best.softmax(-1))
'''
ex = exercise(
    "10.1", ANSWER, points=6, minutes=9, difficulty=1, reread=("sec-experts-idea", "sec-experts-build"),
    equation="eq-experts",
)  # fmt: skip
LARGE, LOW = "very large logits", "logits lower than any finite fill"


@ex.maker
def router(normal, B, T, E, k, size=1.0, shift=0.0, dtype=torch.float32):
    return {"logits": (size * normal(B, T, E) + shift).to(dtype), "k": k}


ex.probe("two of five experts", B=3, T=7, E=5, k=2)
ex.probe("three of eleven experts", B=2, T=3, E=11, k=3, size=2.0)
ex.probe("the best expert alone", B=2, T=5, E=3, k=1)
ex.probe("all experts", B=2, T=5, E=3, k=3)
ex.probe("a batch of one, one token", B=1, T=1, E=7, k=4)
ex.probe(LARGE, B=2, T=3, E=5, k=2, size=300.0)
ex.probe("double precision", B=2, T=3, E=7, k=2, dtype=torch.float64)
ex.probe("half precision", B=3, T=5, E=7, k=3, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, T=5, E=7, k=2, strided=True)
ex.probe(LOW, B=2, T=3, E=5, k=2, shift=-30_000.0)
ex.hidden("two of two experts", B=3, T=2, E=2, k=2)
ex.hidden("five of thirteen experts", B=5, T=3, E=13, k=5)
ex.hidden("as many tokens as experts", B=7, T=7, E=7, k=3, size=5.0)


@ex.law("the weights of a token sum to one", "They are the probabilities of a softmax over the chosen ones.")
def sums(run, probe):
    total = run(probe).sum(-1)
    return total, torch.ones_like(total)


@ex.law("a number added to all logits of a token changes nothing", "A softmax sees differences only.")
def shifted(run, probe):
    logits = probe.args["logits"]
    return run(probe), run(probe.having("law", logits=logits + 3 * logits[:, :, :1]))


WEIGHTS, BEST = "best.softmax(-1)", "best, expert = logits.topk(k, dim=-1)"
SCATTER = f"weights.scatter(-1, expert, {WEIGHTS})"
ex.wrong(
    "the weights do not sum to one",
    "The softmax runs over the chosen experts only, or the probabilities are divided by their sum.",
    (WEIGHTS, "logits.softmax(-1).gather(-1, expert)"), believes="a softmax, then the k largest",
)
ex.wrong(
    "every expert counts",
    "Only the k best get a weight; the others are not even computed.",
    (f"return {SCATTER}", "return logits.softmax(-1)"), believes="a router is a softmax",
)
ex.wrong(
    "the worst experts",
    "A large logit says that an expert fits: take the k largest.",
    ("dim=-1)", "dim=-1, largest=False)"), believes="a logit is a cost",
)
ex.wrong(
    "the experts choose their tokens",
    "Each token chooses its experts: topk runs over the last axis. (Other models do it the other way round.)",
    source="""
def routing_weights(logits, k):
    k = min(k, logits.shape[1])
    best, token = logits.topk(k, dim=1)
    return torch.zeros_like(logits).scatter(1, token, best.softmax(1))
""", believes="any axis will do",
)
ex.wrong(
    "the softmax runs over the tokens",
    "The weights of one token sum to one: the softmax runs over its chosen experts, the last axis.",
    (WEIGHTS, "best.softmax(1)"), believes="any axis will do",
)
ex.wrong(
    "zero is hidden",
    "A logit of 0 is a logit like others and gets a share: experts that were not chosen get -inf.",
    (f"return {SCATTER}", "return weights.scatter(-1, expert, best).softmax(-1)"), believes="zero is nothing",
    section="sec-causal", equation="eq-mask",
)
ex.wrong(
    "all chosen experts count alike",
    "How much an expert counts depends on its logit, and this is how the router learns.",
    (WEIGHTS, "torch.full_like(best, 1 / k) + 0 * best"), believes="a choice is a yes or a no",
)
ex.wrong(
    "logits divided by their sum",
    "Logits may be negative, and their sum may be 0: a softmax makes shares of them.",
    (WEIGHTS, "best / best.sum(-1, keepdim=True)"), believes="to normalise is to divide by the sum",
)
ex.wrong(
    "a sigmoid for each expert",
    "Experts compete: a softmax compares the chosen logits.",
    (WEIGHTS, "best.sigmoid()"), (WEIGHTS, "best.sigmoid() / best.sigmoid().sum(-1, keepdim=True)"),
    believes="each expert is asked by itself",
)
ex.wrong(
    "weights in the order of size",
    "A weight belongs at the place of its expert: topk returns these places too, and scatter writes there.",
    (SCATTER, f"F.pad({WEIGHTS}, (0, logits.shape[-1] - k))"), believes="topk keeps the places",
)
ex.wrong(
    "k numbers for each token",
    "The result has a place for every expert, with 0 where it was not chosen.",
    (f"return {SCATTER}", f"return {WEIGHTS}"), believes="only the chosen are returned",
)
ex.wrong(
    "one expert too few",
    "The k-th largest logit is chosen too: compare with >=, or hide what is smaller.",
    (f"return {SCATTER}", "return logits.masked_fill(logits <= best[..., -1:], -torch.inf).softmax(-1)"),
    believes="greater than the k-th",
)
ex.wrong(
    "one limit for the whole batch",
    "Each token has its own k best; a common limit gives some none and others too many.",
    (f"return {SCATTER}",
     "limit = logits.flatten().topk(k * logits.shape[0] * logits.shape[1]).values[-1]\n"
     "    return logits.masked_fill(logits < limit, -torch.inf).softmax(-1).nan_to_num()"),
    believes="the largest logits of all",
)
ex.wrong(
    "always two experts",
    "Two is what Mixtral takes: k is a parameter.",
    (BEST, "best, expert = logits.topk(min(2, logits.shape[-1]), dim=-1)"), believes="k is 2",
)
ex.wrong(
    "the exponential overflows",
    "exp of a large logit is infinite: use softmax, or subtract the largest logit first.",
    (WEIGHTS, "best.exp() / best.exp().sum(-1, keepdim=True)"), believes="the formula is the code",
    shows=stops_at(LARGE, "finite"),
)
ex.wrong(
    "zeros of another type",
    "scatter wants one type: torch.zeros_like takes type and device from the logits.",
    ("torch.zeros_like(logits)", "torch.zeros(logits.shape)"), believes="a zero is a zero",
    shows=lambda symptom: symptom.stage == "runs" and "dtype" in symptom.case.outcome.error,
)
ex.wrong(
    "the gradient is cut",
    "",
    (WEIGHTS, "best.detach().softmax(-1)"), believes="a choice has no gradient",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    source="""
def routing_weights(logits, k):
    chosen = logits.topk(k, dim=-1).indices
    kept = (chosen[..., None] == torch.arange(logits.shape[-1])).any(-2)
    return logits.masked_fill(~kept, -torch.inf).softmax(-1)
""", believes="tensors are where they are needed",
)
ex.wrong(
    "the library does the work",
    source="""
def routing_weights(logits, k):
    from pioneers.layers import attention_weights

    keys = torch.eye(logits.shape[-1]).to(logits)
    return attention_weights(logits, keys, mask=logits >= logits.topk(k).values[..., -1:], scale=1.0)
""", believes="the package has a function for that",
)
ex.wrong(
    "logits as weights",
    "Weights are a softmax over the k chosen logits: positive, and they sum to one.",
    ("best.softmax(-1)", "best"), believes="a logit is a weight",
)
ex.wrong(
    "only the best expert",
    "k says how many experts work on a token, not always one.",
    ("logits.topk(k,", "logits.topk(1,"), believes="a token has one expert",
)
ex.wrong(
    "hidden with a finite number",
    "Logits may be lower than any number you choose: experts that were not chosen get -inf.",
    (f"return {SCATTER}", "return logits.masked_fill(logits < best[..., -1:], -1e4).softmax(-1)"),
    (f"return {SCATTER}", "return logits.masked_fill(logits < best[..., -1:], -100).softmax(-1)"),
    believes="a large negative number is minus infinity", shows=stops_at(LOW, "value"),
    section="sec-causal", equation="eq-mask",
)

ex.right(
    "what is below the k-th is hidden",
    source="""
def routing_weights(logits, k):
    limit = logits.sort(dim=-1, descending=True).values[..., k - 1 : k]
    return logits.masked_fill(logits < limit, float("-inf")).softmax(dim=-1)
""",
)
ex.right(
    "a softmax over all, divided by the sum of the chosen",
    source="""
def routing_weights(logits, k):
    probs = torch.softmax(logits, dim=-1)
    chosen = torch.zeros_like(probs).scatter(-1, probs.topk(k, dim=-1).indices, 1.0)
    return probs * chosen / (probs * chosen).sum(-1, keepdim=True)
""",
)
ex.right(
    "token by token",
    source="""
def routing_weights(logits, k):
    rows = []
    for row in logits.flatten(0, 1):
        order = row.argsort(descending=True)[:k]
        shares = (row[order] - row.max()).exp()
        rows.append(torch.zeros_like(row).index_put((order,), shares / shares.sum()))
    return torch.stack(rows).reshape(logits.shape)
""",
)
ex.equivalent(
    "It is the default, or the last axis.",
    ("k, dim=-1", "k"),
)
ex.equivalent(
    "It is the default, or the last axis.",
    ("dim=-1, descending", "descending"),
    of="what is below the k-th is hidden",
)
ex.right("minus infinity, then the chosen logits", source='''
def routing_weights(logits, k):
    best, expert = logits.topk(k)
    hidden = torch.full_like(logits, -torch.inf)
    return F.softmax(hidden.scatter(2, expert, best), dim=2)
''')
ex.right("one-hot vectors in an einsum", source='''
def routing_weights(logits, k):
    best, expert = torch.topk(logits, k, dim=-1)
    place = F.one_hot(expert, logits.shape[-1]).to(logits.dtype)
    return torch.einsum("btk,btke->bte", best.softmax(-1), place)
''')
ex.right("written in place", source='''
def routing_weights(logits, k):
    order = logits.argsort(dim=-1, descending=True)[..., :k]
    result = torch.zeros_like(logits)
    result.scatter_(-1, order, torch.softmax(logits.gather(-1, order), dim=-1))
    return result
''')
ex.right("sorted back", source='''
def routing_weights(logits, k):
    values, order = logits.sort(dim=-1, descending=True)
    shares = F.pad(values[..., :k].softmax(-1), (0, logits.shape[-1] - k))
    return shares.gather(-1, order.argsort(-1))
''')
ex.right("ranks by counting", source='''
def routing_weights(logits, k):
    rank = (logits.unsqueeze(-2) > logits.unsqueeze(-1)).sum(-1)
    return torch.where(rank < k, logits, -torch.inf).softmax(-1)
''')
