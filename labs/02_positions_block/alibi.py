"""Exercise 2.4: ALiBi, a bias that falls with the distance in a straight line."""

from pioneers.checks.building import exercise

ANSWER = '''
def alibi_bias(num_heads: int, num_queries: int, num_keys: int) -> Tensor:
    """ALiBi's bias (H, T, S);
    the queries are the last T of the S positions."""
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)
    queries = torch.arange(num_keys - num_queries, num_keys)
    distances = (queries[:, None] - torch.arange(num_keys)).abs()
    return -slopes[:, None, None] * distances
'''
ex = exercise("2.4", ANSWER, points=9, minutes=12, difficulty=2, reread="sec-alibi", equation="eq-alibi")

ex.probe("2 heads, 5 tokens", num_heads=2, num_queries=5, num_keys=5)
ex.probe("8 heads", num_heads=8, num_queries=3, num_keys=3)
ex.probe("3 new queries after 4 earlier keys", num_heads=4, num_queries=3, num_keys=7)
ex.probe("one new query", num_heads=2, num_queries=1, num_keys=5)
ex.probe("12 heads", num_heads=12, num_queries=2, num_keys=3)
ex.probe("a single head", num_heads=1, num_queries=3, num_keys=5)
ex.probe("16 heads", num_heads=16, num_queries=2, num_keys=3)
ex.hidden("32 heads", num_heads=32, num_queries=5, num_keys=5)
ex.hidden("2 new queries after 11 earlier keys", num_heads=4, num_queries=2, num_keys=13)
ex.own(lambda whole: {"num_heads": 2 ** whole(1, 4), "num_queries": whole(2, 5), "num_keys": whole(6, 11)})


@ex.law(
    "pairs at the same distance have the same bias",
    "The bias is constant along diagonals.",
    section="sec-relative",
    equation="eq-bias",
)
def same_distance_same_bias(run, probe):
    bias = run(probe.having("law", num_heads=4, num_queries=5, num_keys=11))
    return bias[:, 1:, 1:], bias[:, :-1, :-1]


DISTANCES = "(queries[:, None] - torch.arange(num_keys)).abs()"
HEADS = "torch.arange(1, num_heads + 1)"
ex.wrong(
    "another type than float32",
    "",
    (HEADS, "torch.arange(1, num_heads + 1, dtype=torch.float64)"), believes="more digits are better",
)
ex.wrong(
    "far keys rewarded",
    "The bias is a penalty: minus the slope times the distance.",
    ("-slopes", "slopes"), believes="far away is a large number",
)
ex.wrong(
    "keys behind the query rewarded",
    "The distance is |m - n|: without the bars keys behind the query get a positive bias.",
    (".abs()", ""), believes="keys always come before their query",
)
ex.wrong(
    "keys behind the query rewarded",
    "The distance is |m - n|: without the bars keys on one side of the query get a positive bias.",
    (DISTANCES, "torch.arange(num_keys) - queries[:, None]"), believes="a distance is n - m",
)
ex.wrong(
    "keys behind the query cost nothing",
    "The distance counts on both sides; hiding what lies behind the query is the mask's work.",
    (".abs()", ".clamp(min=0)"), believes="the bias is causal by itself",
)
ex.wrong(
    "a causal mask in the bias",
    "The bias tells distances, on both sides; hiding what lies behind the query is the mask's work.",
    ("return -slopes[:, None, None] * distances",
     "later = torch.arange(num_keys) > queries[:, None]\n"
     "    return (-slopes[:, None, None] * distances).masked_fill(later, -math.inf)"),
    believes="the bias hides the future",
)
ex.wrong(
    "aligned top left",
    "Fewer queries than keys means the last tokens: query 0 stands at num_keys - num_queries.",
    ("num_keys - num_queries, num_keys", "num_queries"), believes="the first query is the first token",
)
ex.wrong(
    "slopes that do not know the number of heads",
    "The slope of head h is 2^(-8h/H): the last one is 2^-8 for any H.",
    (f"(-8 * {HEADS} / num_heads)", f"-{HEADS}"), believes="the slopes are 1/2, 1/4, 1/8, …",
)
ex.wrong(
    "heads counted from zero",
    "h runs from 1 to H, so the first slope is 2^(-8/H) and the last 2^-8.",
    (HEADS, "torch.arange(num_heads)"), believes="counting begins at zero",
)
ex.wrong(
    "slopes in reverse order",
    "The first head is the steepest.",
    ("-slopes", "-slopes.flip(0)"), believes="the last head looks nearest",
)
ex.wrong(
    "one slope for all heads",
    "Each head has its own slope: some look near, some far.",
    (HEADS, "torch.full((num_heads,), num_heads)"), believes="all heads look equally far",
    equation="eq-reach",
)
ex.wrong(
    "axes in another order",
    "",
    ("-slopes[:, None, None] * distances", "-distances[..., None] * slopes"),
    believes="heads are the last axis",
)
ex.wrong(
    "the library does the work",
    source="""
def alibi_bias(num_heads, num_queries, num_keys):
    from pioneers import layers

    return layers.alibi_bias(num_heads, num_queries, num_keys)
""", believes="a function from the package is an answer",
)
ex.wrong(
    "the quotient of the exponent rounded",
    "8h/H is no whole number when there are more than 8 heads: divide with /, not with //.",
    ("(-8 * torch.arange(1, num_heads + 1) / num_heads)",
     "(-(8 // num_heads) * torch.arange(1, num_heads + 1))"),
    ("-8 * torch.arange(1, num_heads + 1) / num_heads",
     "-max(1, 8 // num_heads) * torch.arange(1, num_heads + 1)"),
    ("(-8 * torch.arange(1, num_heads + 1) / num_heads)",
     "(-8 * torch.arange(1, num_heads + 1) // num_heads)"), believes="8 divided by H is whole",
)
ex.wrong(
    "every distance measured from the last token",
    "The distance is that of this query to the key. (Measured from the end, each row is off by a constant, "
    "which a softmax would forgive; the bias itself is asked for.)",
    (DISTANCES, "(num_keys - 1 - torch.arange(num_keys)).expand(num_queries, num_keys)"),
    believes="one row of distances is enough",
)

ex.right(
    "entry by entry",
    source="""
def alibi_bias(num_heads, num_queries, num_keys):
    bias = torch.zeros(num_heads, num_queries, num_keys)
    for h in range(num_heads):
        for i in range(num_queries):
            for n in range(num_keys):
                distance = abs(num_keys - num_queries + i - n)
                bias[h, i, n] = -distance * 2 ** (-8 * (h + 1) / num_heads)
    return bias
""",
)
ex.right(
    "einsum, the last rows of a square",
    source="""
def alibi_bias(num_heads, num_queries, num_keys):
    places = torch.arange(num_keys, dtype=torch.float32)
    square = -(places[:, None] - places).abs()
    slopes = (2 ** (-8 / num_heads)) ** torch.arange(1, num_heads + 1)
    return torch.einsum("h,ts->hts", slopes, square[num_keys - num_queries :])
""",
)
ex.right("a table indexed by the distance", source='''
def alibi_bias(num_heads, num_queries, num_keys):
    slopes = torch.tensor([2.0 ** (-8 * h / num_heads) for h in range(1, num_heads + 1)])
    table = -slopes[:, None] * torch.arange(num_keys)
    queries = torch.arange(num_keys - num_queries, num_keys)
    return table[:, (queries[:, None] - torch.arange(num_keys)).abs()]
''')
ex.right("an outer product by broadcasting", source='''
def alibi_bias(num_heads, num_queries, num_keys):
    past = num_keys - num_queries
    distance = torch.abs(torch.arange(num_queries).view(-1, 1) + past - torch.arange(num_keys).view(1, -1))
    slopes = torch.exp2(-8.0 * torch.arange(1, num_heads + 1) / num_heads).view(-1, 1, 1)
    return slopes * -distance
''')
ex.right("the slopes as powers of the first", source='''
def alibi_bias(num_heads, num_queries, num_keys):
    first = 2 ** (-8 / num_heads)
    slopes = torch.full((num_heads,), first).cumprod(0)
    keys, queries = torch.arange(num_keys), torch.arange(num_keys)[-num_queries:, None]
    return slopes[:, None, None] * torch.minimum(keys - queries, queries - keys)
''')
ex.right("head by head", source='''
def alibi_bias(num_heads, num_queries, num_keys):
    keys = torch.arange(num_keys).float()
    distance = torch.cdist(keys[num_keys - num_queries :, None], keys[:, None])
    return torch.stack([-distance * 2 ** (-8 * (h + 1) / num_heads) for h in range(num_heads)])
''')
ex.right("rows shifted by a window", source='''
def alibi_bias(num_heads, num_queries, num_keys):
    ramp = -torch.arange(1 - num_keys, num_keys).abs()
    square = ramp.unfold(0, num_keys, 1).flip(0)[num_keys - num_queries :]
    slopes = 256.0 ** (-torch.arange(1, num_heads + 1) / num_heads)
    return slopes[:, None, None] * square
''')
ex.right("a list of lists", source='''
def alibi_bias(num_heads, num_queries, num_keys):
    rows = [[-abs(i - n) for n in range(num_keys)] for i in range(num_keys - num_queries, num_keys)]
    slopes = [2 ** (-8 * h / num_heads) for h in range(1, num_heads + 1)]
    return torch.tensor([[[slope * n for n in row] for row in rows] for slope in slopes])
''')
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("queries[:, None] - torch.arange(num_keys)", "torch.arange(num_keys) - queries[:, None]"),
)
ex.equivalent(
    "Every entry is written afterwards.",
    ("torch.zeros", "torch.ones"),
    of="entry by entry",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("num_keys - num_queries + i - n", "n - (num_keys - num_queries + i)"),
    of="entry by entry",
)
