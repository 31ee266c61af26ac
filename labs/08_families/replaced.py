"""Exercise 8.5: ELECTRA's question, tokens sampled for the gaps and which of them are false.

The probabilities are multiples of 1/64, so that their sums are exact in any precision.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import seeded

ANSWER = '''
def replaced_tokens(
    ids: Tensor, gaps: Tensor, probs: Tensor, draws: Tensor
) -> Tensor:
    """What the discriminator reads and which of it is replaced,
    (2, B, T)."""
    reached = probs.cumsum(-1) > draws[:, None]
    samples = reached.int().argmax(-1)
    read = ids.clone()
    read[gaps] = samples
    return torch.stack((read, (read != ids).long()))
'''
ex = exercise(
    "8.5",
    ANSWER,
    points=8,
    minutes=12,
    difficulty=2,
    reread=("sec-replaced-tokens", "sec-masked-lm", "sec-sampling"),
    equation="eq-electra-losses",
)

N, Y = False, True
IDS = [[2, 4, 1, 0, 6, 3], [5, 1, 1, 4, 2, 0], [3, 6, 0, 2, 2, 5]]
GAPS = [[N, Y, N, N, Y, N], [N, N, Y, Y, Y, N], [N] * 6]
SHARES = [[1, 3, 20, 10, 20, 7, 3], [30, 4, 2, 8, 4, 6, 10], [16, 40, 0, 4, 2, 1, 1], [0, 0, 8, 8, 16, 30, 2],
          [2, 2, 4, 40, 8, 0, 8]]  # fmt: skip


@ex.maker
def generator(normal, shares=SHARES, ids=IDS, gaps=GAPS, dtype=torch.float32, **given):
    return {"ids": ids, "gaps": gaps, "probs": torch.as_tensor(shares, dtype=dtype) / 64} | given


ex.probe("five gaps in three rows", draws=[0.7, 0.2, 0.5, 0.3, 0.9])
ex.probe("every sample is the original token", draws=[0.65, 0.8, 0.3, 0.4, 0.1])
ex.probe("draws that equal a sum of probabilities", draws=[0.375, 0.0, 0.25, 0.125, 0.125])
ex.probe(
    "a batch of one, every token a gap",
    ids=[[1, 0, 2]],
    gaps=[[Y, Y, Y]],
    shares=[[16, 16, 32], [32, 16, 16], [48, 8, 8]],
    draws=[0.3, 0.6, 0.1],
)
ex.probe("no gap at all", ids=[[1, 0, 2, 2]], gaps=[[N] * 4], shares=torch.zeros(0, 3), draws=[])
ex.probe(
    "double precision",
    draws=torch.tensor([0.01, 0.99, 0.3, 0.6, 0.9], dtype=torch.float64),
    dtype=torch.float64,
)
ex.probe("numbers with gaps in memory", draws=[0.7, 0.2, 0.5, 0.3, 0.9], strided=True)
FOUR = torch.tensor([[16, 24, 8, 16], [8, 8, 32, 16], [4, 20, 0, 40]])


def many():
    """Draw five rows of four tokens with many gaps."""
    source = seeded(8501)
    ids, gaps = torch.randint(4, (5, 13), generator=source), torch.rand(5, 13, generator=source) < 0.5
    draws = torch.rand(int(gaps.sum()), generator=source)
    return {"ids": ids, "gaps": gaps, "shares": FOUR[torch.arange(len(draws)) % 3], "draws": draws}


ex.hidden("many gaps, four tokens", drawn=many)
ex.hidden(
    "a certain generator",
    ids=[[3, 1, 0]],
    gaps=[[Y, N, Y]],
    shares=[[0, 0, 0, 64], [0, 0, 64, 0]],
    draws=[0.999, 0.0],
)


@ex.own
def other_draws(whole):
    return {"ids": whole(0, 6, 3, 6), "draws": (torch.tensor(whole(0, 63, 5)) + 0.5) / 64}


@ex.law("a token without a gap stays as it is, and is original", "Only gaps are filled.")
def outside_the_gaps(run, probe):
    both, others = run(probe), ~probe.args["gaps"]
    ids = probe.args["ids"][others]
    return both[:, others], torch.stack((ids, torch.zeros_like(ids)))


LABELS, SAMPLES = "(read != ids).long()", "reached.int().argmax(-1)"
ex.wrong(
    "every gap is labelled as replaced",
    "A sample that happens to be the original token is original: compare the tokens.",
    (LABELS, "gaps.long()"),
    believes="a gap was replaced, whatever by",
)
ex.wrong(
    "1 means original",
    "Here 1 says replaced, as in the published weights.",
    (LABELS, "(read == ids).long()"),
    believes="1 is the right token",
)
ex.wrong(
    "only gaps that kept their token are labelled",
    "Replaced are the gaps whose new token differs from the original.",
    (LABELS, "(gaps & (read == ids)).long()"),
    believes="the label says that the generator was right",
)
ex.wrong(
    "the likeliest token instead of a sample",
    "ELECTRA samples: the likeliest token would be right too often, and always wrong in the same way.",
    (SAMPLES, "probs.argmax(-1)"),
    believes="a generator gives its best guess",
)
ex.wrong(
    "a draw that equals the sum",
    "Draws lie in [0, 1): a token is taken when the sum of probabilities up to it is greater than the draw.",
    ("> draws", ">= draws"),
    believes="less than or equal is the same",
)
ex.wrong(
    "the token before the one that was drawn",
    "The sum up to a token includes its own probability.",
    ("probs.cumsum(-1) >", "(probs.cumsum(-1) - probs) >"),
    believes="the sum of those before it",
)
ex.wrong(
    "the token that reaches the draw in another order",
    "The probabilities are summed in the order of the tokens.",
    [
        ("probs.cumsum(-1)", "probs.sort(-1, descending=True)[0].cumsum(-1)"),
        (SAMPLES, "probs.argsort(-1, descending=True).gather(1, reached.int().argmax(-1)[:, None])[:, 0]"),
    ],
    believes="likely tokens first",
)
ex.wrong(
    "probabilities compared one by one",
    "The draw is compared with the sum of the probabilities up to a token, not with one of them.",
    ("probs.cumsum(-1)", "probs"),
    believes="a token whose probability exceeds the draw",
)
ex.wrong(
    "a softmax of probabilities",
    "probs are probabilities already; their softmax is almost uniform.",
    ("probs.cumsum", "probs.softmax(-1).cumsum"),
    believes="a softmax comes before sampling",
)
ex.wrong(
    "one draw for all gaps",
    "Each gap has a draw of its own.",
    ("draws[:, None]", "draws[:1, None]"),
    believes="a draw is for a batch",
)
ex.wrong(
    "gaps filled column by column",
    "The gaps are numbered in reading order, row by row: that is how read[gaps] = samples fills them.",
    ("    read[gaps] = samples\n", "    read.T[gaps.T] = samples.to(read.dtype)\n"),
    believes="the order of the gaps is free",
)
ex.wrong(
    "the original tokens are read",
    "The discriminator reads the samples in place of the gaps.",
    ("stack((read,", "stack((ids,"),
    believes="both models read the text",
)
ex.wrong(
    "labels first",
    "What the discriminator reads comes first, the labels second.",
    (f"(read, {LABELS})", f"({LABELS}, read)"),
    believes="the answer comes before the question",
)
ex.wrong(
    "the input is overwritten",
    "",
    [("read = ids.clone()", "before, read = ids.clone(), ids"), ("read != ids", "read != before")],
    believes="the row belongs to the function",
)
ex.wrong(
    "the comparison turned round",
    "The sample is the first token at which the sum is larger than the draw.",
    ("> draws", "<= draws"), believes="the draw must exceed the sum",
)
ex.wrong(
    "one token too far",
    "The number of tokens whose sum has not passed the draw is the place of the sample: nothing is added.",
    ("reached.int().argmax(-1)", "((~reached).sum(-1) + 1).clamp(max=probs.shape[1] - 1)"),
    believes="places count from 1",
)
ex.wrong(
    "compared with the text after it was overwritten",
    "Put the samples into a copy: the label compares it with the original text.",
    ("ids.clone()", "ids"), believes="a new name is a new tensor",
)

ex.right(
    "counting the sums that the draw has passed",
    ("reached.int().argmax(-1)", "(~reached).sum(-1)"),
)
ex.right(
    "searchsorted and masked_scatter",
    source="""
def replaced_tokens(ids, gaps, probs, draws):
    samples = torch.searchsorted(probs.cumsum(-1), draws[:, None].to(probs.dtype), right=True)[:, 0]
    read = ids.masked_scatter(gaps, samples)
    return torch.stack((read, (gaps & (read != ids)).to(ids.dtype)))
""",
)
ex.right(
    "gap by gap",
    source="""
def replaced_tokens(ids, gaps, probs, draws):
    both = torch.stack((ids, torch.zeros_like(ids)))
    for m, (b, t) in enumerate(gaps.nonzero().tolist()):
        token, total = 0, float(probs[m, 0])
        while total <= draws[m]:
            token += 1
            total += float(probs[m, token])
        both[0, b, t] = token
        both[1, b, t] = token != ids[b, t]
    return both
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("(-1) ", "(1) "), ("x(-1)", "x(1)"),
)
ex.equivalent(
    "Stacked with whole numbers, booleans become 0 and 1.",
    ("(read != ids).long()", "read != ids"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("(-1) ", "(1) "), (".sum(-1)", ".sum(1)"),
    of="counting the sums that the draw has passed",
)
ex.equivalent(
    "Stacked with whole numbers, booleans become 0 and 1.",
    ("(read != ids).long()", "read != ids"),
    of="counting the sums that the draw has passed",
)
ex.right("row by row of the gaps, from lists", source='''
def replaced_tokens(ids, gaps, probs, draws):
    read, n = [], 0
    sums = probs.cumsum(-1).tolist()
    for row, holes in zip(ids.tolist(), gaps.tolist()):
        new = []
        for token, gap in zip(row, holes):
            if gap:
                token = next(v for v, total in enumerate(sums[n]) if total > draws[n])
                n += 1
            new.append(token)
        read.append(new)
    read = torch.tensor(read)
    return torch.stack((read, torch.where(read == ids, 0, 1)))
''')
ex.right("the place of each gap by a running sum", source='''
def replaced_tokens(ids, gaps, probs, draws):
    samples = (probs.cumsum(dim=1) <= draws.unsqueeze(1)).sum(dim=1)
    number = gaps.flatten().cumsum(0).view_as(ids)
    padded = torch.cat((samples.new_zeros(1), samples))
    read = torch.where(gaps, padded[number], ids)
    return torch.stack((read, read.ne(ids).long()))
''')
ex.right("sums as a product with a triangle", source='''
def replaced_tokens(ids, gaps, probs, draws):
    V = probs.shape[-1]
    triangle = torch.ones(V, V, dtype=probs.dtype, device=probs.device).triu()
    passed = torch.einsum("mv,vw->mw", probs, triangle) <= draws[:, None]
    both = torch.stack((ids, torch.zeros_like(ids)))
    both[0, gaps] = passed.sum(1)
    both[1] = both[0] != ids
    return both
''')
ex.right("index_put at the gaps", source='''
def replaced_tokens(ids, gaps, probs, draws):
    b, t = gaps.nonzero(as_tuple=True)
    samples = torch.ge(draws[:, None], probs.cumsum(1)).long().sum(1)
    read = ids.index_put((b, t), samples)
    labels = torch.zeros_like(ids).index_put((b, t), (samples != ids[b, t]).long())
    return torch.cat((read[None], labels[None]))
''')
ex.right("class by class", source='''
def replaced_tokens(ids, gaps, probs, draws):
    samples, total = torch.zeros_like(draws, dtype=torch.long), torch.zeros_like(probs[:, 0])
    for v in range(probs.shape[1]):
        total = total + probs[:, v]
        samples = samples + (total <= draws)
    read = ids.clone()
    read.masked_scatter_(gaps, samples)
    return torch.stack([read, (read - ids).ne(0).to(ids.dtype)])
''')
