"""Exercise 2.5: T5's buckets of distances. Both sides are whole numbers."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def distance_bucket(
    relative: Tensor, num_buckets: int, max_distance: int
) -> Tensor:
    """The bucket of each relative position (key minus query),
    for a decoder."""
    distance, exact = (-relative).clamp(min=0), num_buckets // 2
    share = (distance.clamp(min=1) / exact).log() / math.log(max_distance / exact)
    far = exact + ((num_buckets - exact) * share).floor().long()
    return torch.where(distance < exact, distance, far.clamp(max=num_buckets - 1))
'''
ex = exercise("2.5", ANSWER, points=10, minutes=14, difficulty=2, reread="sec-t5", equation="eq-buckets")

BEFORE = -torch.arange(61)
ex.inputs(num_buckets=8, max_distance=32)
ex.probe("the buckets worked by hand in the lecture", relative=BEFORE[:25])
ex.probe("in no order, some keys behind the query", relative=[-31, 3, 0, -7, -12, 1, -5])
ex.probe(
    "a table of two queries and three keys", relative=[[-1, 0, 1], [-2, -1, 0]], num_buckets=4,
    max_distance=11,
)
ex.probe(
    "T5's own sizes, far beyond the largest distance", relative=[-9, -15, -23, -70, -127, -500],
    num_buckets=32, max_distance=128,
)
ex.probe("ten buckets", relative=[-4, -6, -11, -19, -43, -90], num_buckets=10, max_distance=71)
ex.hidden("three axes", relative=[[[-2, 5, -17]], [[0, -61, -8]]], num_buckets=14, max_distance=53)
ex.hidden("two buckets", relative=[-1, 0, 1, -9], num_buckets=2, max_distance=5)
ex.hidden("every distance to 60", relative=BEFORE, num_buckets=12, max_distance=47)
PRIMES = (23, 29, 31, 37, 41, 43, 47)  # of which no distance lies on the edge of a bucket
ex.own(lambda whole: {"relative": whole(-60, 5, 9), "max_distance": PRIMES[whole(0, 6)]})


@ex.law("each distance is sorted by itself", "A table has no say in its entries.")
def any_table(run, probe):
    sizes = {"num_buckets": 6, "max_distance": 13}
    table = torch.arange(11) - torch.arange(6, 11)[:, None]
    rows = [run(probe.having("law", relative=row, **sizes)) for row in table]
    return run(probe.having("law", relative=table, **sizes)), torch.stack(rows)


SHARE = "(distance.clamp(min=1) / exact).log() / math.log(max_distance / exact)"
CHOICE = "torch.where(distance < exact, distance, far.clamp(max=num_buckets - 1))"
ex.wrong(
    "a bucket that is no whole number",
    "A bucket is the row of a table: round down and convert to int64.",
    (".floor().long()", ".floor()"), believes="floor makes an integer",
    shows=lambda symptom: symptom.stage == "dtype" and symptom.case.outcome.tensor.is_floating_point(),
)
ex.wrong(
    "before and behind mixed up",
    "relative is n - m: earlier keys are negative there, and they are the ones to sort.",
    ("(-relative)", "relative"), believes="a relative position is query minus key",
)
ex.wrong(
    "keys behind the query sorted too",
    "A decoder never sees them: they share bucket 0, and all buckets serve the keys before the query.",
    ("(-relative).clamp(min=0)", "relative.abs()"), believes="a distance has no direction",
)
ex.wrong(
    "the buckets of an encoder",
    "A decoder has all buckets for the keys before the query: nothing is halved for those behind it.",
    source="""
def distance_bucket(relative, num_buckets, max_distance):
    half = num_buckets // 2
    exact, distance = max(1, half // 2), relative.abs()
    share = (distance.clamp(min=1) / exact).log() / math.log(max_distance / exact)
    far = exact + ((half - exact) * share).long()
    return torch.where(distance < exact, distance, far.clamp(max=half - 1)) + half * (relative > 0)
""", believes="T5's published code, as its encoder calls it",
)
ex.wrong(
    "all buckets for the far distances",
    "e buckets are taken by the near distances: the far ones share the other num_buckets - e.",
    ("(num_buckets - exact) * share", "num_buckets * share"), believes="there are num_buckets buckets",
)
ex.wrong(
    "near and far share buckets",
    "The far buckets begin behind the near ones: add e.",
    ("exact + ((num", "((num"), believes="each formula counts from 0",
)
ex.wrong(
    "a whole-number division",
    "d/e is a fraction: // rounds it down before its logarithm is taken.",
    ("(distance.clamp(min=1) / exact)", "(distance.clamp(min=exact) // exact)"),
    believes="whole numbers are divided with //",
)
ex.wrong(
    "a bucket too many",
    "Buckets count from 0, so the last of num_buckets has the number num_buckets - 1.",
    ("max=num_buckets - 1", "max=num_buckets"), believes="the last bucket is num_buckets",
)
ex.wrong(
    "no last bucket",
    "From some distance on the formula gives num_buckets and more: the last bucket takes them all.",
    (".clamp(max=num_buckets - 1)", ""), believes="no text is longer than max_distance",
)
ex.wrong(
    "the logarithm for near distances too",
    "Distances below e = num_buckets / 2 have a bucket each; only farther ones share.",
    ("distance < exact, distance", "distance < 1, 0"),
    [("distance < exact, distance", "distance < 1, 0"), (".floor()", "")], believes="one formula is enough",
)
ex.wrong(
    "rounded, not rounded down",
    "The brackets in the equation are a floor: a bucket begins where the share reaches it.",
    (".floor()", ".round()"), believes="a whole number is made by rounding",
)
ex.wrong(
    "a straight line instead of a logarithm",
    "Far buckets grow wider and wider; equal widths waste them on distances that need no telling apart.",
    (SHARE, "(distance - exact) / (max_distance - exact)"), believes="the rest is divided evenly",
)
ex.wrong(
    "a bucket for each distance, then the last",
    "That is clipping, as in Shaw's vectors: half of the buckets are meant for ranges of distances.",
    (CHOICE, "distance.clamp(max=num_buckets - 1)"), believes="beyond the last bucket everything is far",
)
ex.wrong(
    "the logarithm does not begin at e",
    "The far buckets begin at e: it is ln(d/e) over ln(d_max/e).",
    (SHARE, "distance.clamp(min=1).log() / math.log(max_distance)"), believes="the logarithm of the distance",
)

ex.right(
    "number by number",
    source="""
def distance_bucket(relative, num_buckets, max_distance):
    def one(r):
        d, e = max(0, -r), num_buckets // 2
        if d < e:
            return d
        share = math.log(d / e) / math.log(max_distance / e)
        return min(num_buckets - 1, e + math.floor((num_buckets - e) * share))

    return torch.tensor([one(r) for r in relative.flatten().tolist()]).view(relative.shape)
""",
)
ex.right(
    "counting the borders passed",
    source="""
def distance_bucket(relative, num_buckets, max_distance):
    e = num_buckets // 2
    steps = torch.arange(1, num_buckets - e, device=relative.device) / (num_buckets - e)
    borders = e * (max_distance / e) ** steps
    d = (-relative).clamp(min=0)
    return d.clamp(max=e) + (d[..., None] >= borders).sum(-1)
""",
)
ex.right("exact buckets put back with indexing", source='''
def distance_bucket(relative, num_buckets, max_distance):
    d, exact = (-relative).clamp(min=0), num_buckets // 2
    share = torch.log(d.clamp(min=exact) / exact) / math.log(max_distance / exact)
    bucket = exact + (share * (num_buckets - exact)).floor().long()
    bucket = bucket.clamp(max=num_buckets - 1)
    bucket[d < exact] = d[d < exact]
    return bucket
''')
ex.right("arithmetic in place of where", source='''
def distance_bucket(relative, num_buckets, max_distance):
    exact = num_buckets // 2
    d = torch.relu(-relative)
    steps = (d.clamp(min=exact) / exact).log() / math.log(max_distance / exact) * (num_buckets - exact)
    return torch.minimum(d.clamp(max=exact) + steps.long(), torch.full_like(d, num_buckets - 1))
''')
ex.right("a table of all distances", source='''
def distance_bucket(relative, num_buckets, max_distance):
    exact = num_buckets // 2
    table = list(range(exact))
    for d in range(exact, max_distance):
        share = math.log(d / exact) / math.log(max_distance / exact)
        table.append(exact + int((num_buckets - exact) * share))
    table.append(num_buckets - 1)
    table = torch.tensor(table, device=relative.device)
    return table[(-relative).clamp(min=0, max=max_distance)]
''')
ex.right("as in the code of T5", source='''
def distance_bucket(relative, num_buckets, max_distance):
    n = torch.max(-relative, torch.zeros_like(relative))
    max_exact = num_buckets // 2
    is_small = n < max_exact
    large = max_exact + (
        torch.log(n.float() / max_exact) / math.log(max_distance / max_exact) * (num_buckets - max_exact)
    ).clamp(min=0).to(torch.long)
    large = torch.min(large, torch.full_like(large, num_buckets - 1))
    return torch.where(is_small, n, large)
''')
ex.right("a base that is the ratio of neighbouring borders", source='''
def distance_bucket(relative, num_buckets, max_distance):
    exact = num_buckets // 2
    d = relative.neg().clamp(0, max_distance)
    log = torch.log2(d.double() / exact) / math.log2(max_distance / exact)
    far = (exact + log.clamp(min=0) * (num_buckets - exact)).floor().clamp(max=num_buckets - 1)
    return d * (d < exact) + far.long() * (d >= exact)
''')
ex.right("recursion over axes", source='''
def distance_bucket(relative, num_buckets, max_distance):
    if relative.dim():
        return torch.stack([distance_bucket(r, num_buckets, max_distance) for r in relative])
    d, exact = -relative, num_buckets // 2
    if d <= 0:
        return torch.zeros_like(d)
    if d < exact:
        return d
    share = (d / exact).log() / math.log(max_distance / exact)
    return (exact + ((num_buckets - exact) * share).floor().long()).clamp(max=num_buckets - 1)
''')
ex.equivalent(
    "It is used from the distance num_buckets / 2 on only, where it is the same.",
    ("distance.clamp(min=1)", "distance"), ("=1)", "=2)"), ("=1)", "=0)"), (".floor().long", ".long"),
)
ex.equivalent(
    "At the limit itself both sides give the same.",
    ("< ", "<= "),
)
ex.equivalent(
    "At the limit itself both sides give the same.",
    ("< ", "<= "),
    of="number by number",
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    (".view", ".reshape"),
    of="number by number",
)
