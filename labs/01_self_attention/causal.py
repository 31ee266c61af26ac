"""Exercise 1.4: the causal mask, True = may attend."""

from pioneers.checks.building import exercise

ANSWER = '''
def causal_mask(num_queries: int, num_keys: int) -> Tensor:
    """Boolean mask (T, S): the queries, the last T tokens,
    see what came before."""
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries)
'''
ex = exercise("1.4", ANSWER, points=8, minutes=8, difficulty=1, reread="sec-causal", equation="eq-mask")

ex.probe("as many queries as keys", num_queries=5, num_keys=5)
ex.probe("3 new queries after 4 earlier keys", num_queries=3, num_keys=7)
ex.probe("one new query", num_queries=1, num_keys=5)
ex.probe("a single token", num_queries=1, num_keys=1)
ex.hidden("11 tokens", num_queries=11, num_keys=11)
ex.hidden("2 new queries after 9 earlier keys", num_queries=2, num_keys=11)
ex.own(lambda whole: {"num_queries": whole(2, 6), "num_keys": whole(7, 19)})

SHIFT = "(num_keys - num_queries)"
ex.wrong(
    "True means hidden",
    "In this book, as in PyTorch's fused kernel, True means that the query may attend.",
    ("torch.ones", "~torch.ones"), believes="a mask says what to hide",
)
ex.wrong(
    "aligned top left",
    "Fewer queries than keys means the last tokens: shift the diagonal by num_keys - num_queries.",
    (SHIFT, "()"), believes="the triangle starts in the corner",
)
ex.wrong(
    "a token may not see itself",
    "The diagonal belongs to the mask: without it the first token has nothing to attend to.",
    (SHIFT, "(num_keys - num_queries - 1)"), believes="earlier means strictly earlier",
)
ex.wrong(
    "only the future is visible",
    "The upper triangle lets each token see what comes after it, which is what must be hidden.",
    ("tril", "triu"), believes="upper and lower are easily swapped",
)
ex.wrong(
    "rows are keys",
    "Rows belong to the queries, columns to the keys: the shape is (T, S).",
    (SHIFT, f"{SHIFT}.T"), believes="keys come first",
)
ex.wrong(
    "the diagonal of one example",
    "The diagonal depends on the sizes: it is num_keys - num_queries, for any two numbers.",
    *((SHIFT, f"({d})") for d in (2, 3, 4)), believes="what fits one example fits all",
)
ex.wrong(
    "always square",
    "Keys kept from earlier steps make the mask wider than it is high.",
    [("ones(num_queries, num_keys", "ones(num_queries, num_queries"), (SHIFT, "()")],
    believes="a causal mask is square",
)
ex.wrong(
    "a mask of numbers",
    source="""
def causal_mask(num_queries, num_keys):
    hidden = torch.full((num_queries, num_keys), float("-inf"))
    return hidden.triu(num_keys - num_queries + 1)
""", believes="a mask is something one adds",
)
ex.wrong(
    "one token too many",
    "With one diagonal more each query sees the token after it: the very answer it is asked for.",
    (SHIFT, "(num_keys - num_queries + 1)"), believes="counting starts one later",
)
ex.wrong(
    "the diagonal shifted the other way",
    "The queries are the last tokens: shift to the right, by num_keys - num_queries.",
    (SHIFT, "(num_queries - num_keys)"), believes="the sign of a shift is a convention",
)

ex.right(
    "positions compared",
    source="""
def causal_mask(num_queries, num_keys):
    now = torch.arange(num_queries)[:, None] + num_keys - num_queries
    return torch.arange(num_keys) <= now
""",
)
ex.right(
    "row by row",
    source="""
def causal_mask(num_queries, num_keys):
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for i in range(num_queries):
        mask[i, : num_keys - num_queries + i + 1] = True
    return mask
""",
)
ex.right("what is not above the diagonal", source='''
def causal_mask(num_queries, num_keys):
    return ~torch.ones(num_queries, num_keys, dtype=torch.bool).triu(num_keys - num_queries + 1)
''')
ex.right("the last rows of a square", source='''
def causal_mask(num_queries, num_keys):
    return torch.ones(num_keys, num_keys).tril().bool()[num_keys - num_queries :]
''')
ex.right("a list of lists", source='''
def causal_mask(num_queries, num_keys):
    past = num_keys - num_queries
    return torch.tensor([[s <= t + past for s in range(num_keys)] for t in range(num_queries)])
''')
ex.right("positions of both sides", source='''
def causal_mask(num_queries, num_keys):
    queries = torch.arange(num_keys - num_queries, num_keys).unsqueeze(1)
    return queries >= torch.arange(num_keys).unsqueeze(0)
''')
ex.right("the past and a triangle side by side", source='''
def causal_mask(num_queries, num_keys):
    past = torch.ones(num_queries, num_keys - num_queries)
    return torch.cat((past, torch.tril(torch.ones(num_queries, num_queries))), dim=1) == 1
''')
ex.right("indices of the triangle", source='''
def causal_mask(num_queries, num_keys):
    mask = torch.full((num_queries, num_keys), False)
    t, s = torch.tril_indices(num_queries, num_keys, num_keys - num_queries)
    mask[t, s] = True
    return mask
''')
