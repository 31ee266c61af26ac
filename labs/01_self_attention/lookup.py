"""Exercise 1.2: one soft lookup. S keys, K the width of query and keys, V the width of values."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def look_up(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """One soft lookup: query (K,), keys (S, K), values (S, V) → (V,)."""
    scores = torch.stack([(query * key).sum() for key in keys])
    weights = scores.softmax(0)
    return sum(weight * value for weight, value in zip(weights, values, strict=True))
'''
ex = exercise(
    "1.2", ANSWER, points=8, minutes=10, difficulty=1, reread="sec-lookup", equation="eq-mixture", seed=21,
)


@ex.maker
def entries(normal, K, S, V, size=1.0, dtype=torch.float32):
    """A query of this ``size``, and the entries of a dictionary."""
    query = size * normal(K, dtype=dtype)
    return {"query": query, "keys": normal(S, K, dtype=dtype), "values": normal(S, V, dtype=dtype)}


ex.probe("7 keys of width 5, values of width 3", K=5, S=7, V=3)
ex.probe("width of keys and values equal", K=3, S=5, V=3)
ex.probe("a single key", K=3, S=1, V=5)
ex.probe("very large scores", K=5, S=7, V=2, size=200)
ex.probe("double precision", K=5, S=3, V=2, dtype=torch.float64)
ex.probe("bfloat16", K=3, S=5, V=2, dtype=torch.bfloat16)
ex.probe("numbers with gaps in memory", K=3, S=5, V=2, strided=True)
ex.hidden("11 keys", K=7, S=11, V=5)
ex.hidden("width 1", K=1, S=3, V=2)
ex.hidden("a zero query", K=5, S=7, V=3, size=0)


@ex.law("the order of the entries does not matter", "A lookup is a sum over entries.")
def shuffled(run, probe):
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    entries = {name: probe.args[name][order] for name in ("keys", "values")}
    return run(probe), run(probe.having("law", **entries))


SCORE, SOFTMAX = "(query * key).sum()", "scores.softmax(0)"
MIXTURE = "sum(weight * value for weight, value in zip(weights, values, strict=True))"
ex.wrong(
    "scores used as weights",
    "Raw scores can be negative and do not sum to one; the softmax turns them into shares.",
    (SOFTMAX, "scores"), believes="the scores are the weights", equation="eq-softmax",
)
ex.wrong(
    "hard lookup",
    "Only the best key is used: that is a dictionary, and no gradient reaches the keys.",
    (MIXTURE, "values[scores.argmax()]"), believes="a lookup returns the best match",
)
ex.wrong(
    "keys mixed instead of values",
    "The weights come from the keys, but what they mix is the values.",
    ("zip(weights, values", "zip(weights, keys"), believes="what is compared is also what is returned",
)
ex.wrong(
    "plain average",
    "Every value gets the same weight: the query has no say.",
    (MIXTURE, "values.mean(0)"), believes="a mixture is a mean",
)
ex.wrong(
    "scores divided by their sum",
    "Dividing by the sum leaves negative weights, and a sum near zero blows up: use the softmax.",
    (SOFTMAX, "scores / scores.sum()"), believes="dividing by the sum makes weights", equation="eq-softmax",
)
ex.wrong(
    "distance instead of dot product",
    "The score here is the dot product of query and key, which also grows with their lengths.",
    (SCORE, "-(query - key).norm()"), believes="similar means near", equation="eq-score",
)
ex.wrong(
    "cosine instead of dot product",
    "The score here is the bare dot product: the lengths of query and key count too.",
    (SCORE, "torch.cosine_similarity(query, key, dim=0)"), believes="similar means a small angle",
    equation="eq-score",
)
ex.wrong(
    "scaled too early",
    "This first lookup uses the bare dot product; the division by √d_k comes in exercise 1.3.",
    (SCORE, f"{SCORE} / math.sqrt(len(query))"), believes="attention is always scaled", equation="eq-score",
)
ex.wrong(
    "weights not applied",
    "These are the weights themselves; the answer is the values mixed with them.",
    (MIXTURE, "weights"), believes="the weights are the result",
)
ex.wrong(
    "the gradient is cut",
    "",
    (f"torch.stack([{SCORE} for key in keys])",
     f"torch.tensor([{SCORE}.item() for key in keys], dtype=query.dtype)"),
    believes="a list of numbers makes as good a tensor",
)
ex.wrong(
    "nothing returned",
    "",
    ("return sum", "result = sum"), believes="a function that computes also returns",
)
ex.wrong(
    "no maximum subtracted",
    "exp overflows above 88 in float32: call softmax, which subtracts the largest score first.",
    (SOFTMAX, "scores.exp() / scores.exp().sum()"), believes="the formula can be typed in as it stands",
    equation="eq-softmax",
)
ex.wrong(
    "exponentials that are not divided by their sum",
    "The softmax also divides by the sum of the exponentials, so that the weights sum to one.",
    (SOFTMAX, "scores.exp()"), believes="exp makes weights", equation="eq-softmax",
)
ex.wrong(
    "each score squashed by itself",
    "Weights are shares of one whole: the softmax lets the keys compete, a sigmoid does not.",
    (SOFTMAX, "scores.sigmoid()"), believes="a weight is a number between 0 and 1", equation="eq-softmax",
)
ex.wrong(
    "a mean of products instead of their sum",
    "The dot product is the sum of the products; a mean divides the score by the width.",
    (SCORE, "(query * key).mean()"), believes="a mean is as good as a sum", equation="eq-score",
)

ex.right(
    "as matrix products",
    source="""
def look_up(query, keys, values):
    return (keys @ query).softmax(dim=0) @ values
""",
)
ex.right(
    "a running sum",
    source="""
def look_up(query, keys, values):
    scores = [torch.dot(query, key) for key in keys]
    top = max(scores)
    raised = [torch.exp(score - top) for score in scores]
    result = torch.zeros_like(values[0])
    for e, value in zip(raised, values):
        result = result + e / sum(raised) * value
    return result
""",
)
ex.right("einsum", source='''
def look_up(query, keys, values):
    weights = torch.einsum("k,sk->s", query, keys).softmax(0)
    return torch.einsum("s,sv->v", weights, values)
''')
ex.right("broadcasting", source='''
def look_up(query, keys, values):
    weights = torch.softmax((keys * query).sum(-1), -1)
    return (weights[:, None] * values).sum(0)
''')
ex.right("matrix times vector", source='''
def look_up(query, keys, values):
    return torch.mv(values.T, torch.nn.functional.softmax(torch.mv(keys, query), dim=0))
''')
ex.right("linear layers", source='''
def look_up(query, keys, values):
    return torch.nn.functional.linear(torch.nn.functional.linear(query, keys).softmax(-1), values.T)
''')
ex.right("a row in place of a vector", source='''
def look_up(query, keys, values):
    return ((query[None] @ keys.mT).softmax(dim=1) @ values).squeeze(0)
''')
ex.right("scores filled in, products with a helper", source='''
def look_up(query, keys, values):
    def score(key):
        return torch.inner(query, key)

    scores = query.new_empty(len(keys))
    for i, key in enumerate(keys):
        scores[i] = score(key)
    return torch.tensordot(torch.softmax(scores, 0), values, dims=1)
''')
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0", "-1"),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("weights, values", "values, weights"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0", "-1"),
    of="as matrix products",
)
