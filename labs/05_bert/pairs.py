"""Exercise 5.6: pairs for next-sentence prediction. Sentences are numbered through."""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import seeded

ANSWER = '''
def sentence_pairs(
    document: Tensor, coins: Tensor, draws: Tensor
) -> Tensor:
    """Pairs (P, 3) of sentence numbers with their labels: 0 = B follows A,
    1 = B comes from elsewhere."""
    of, pairs = document.tolist(), []
    for i in range(len(of) - 1):
        if of[i] != of[i + 1]:
            continue
        if coins[i] < 0.5:
            pairs.append([i, i + 1, 0])
        else:
            others = [j for j, d in enumerate(of) if d != of[i]]
            pairs.append([i, others[int(draws[i] * len(others))], 1])
    return torch.tensor(pairs)
'''
ex = exercise("5.6", ANSWER, points=11, minutes=15, difficulty=2, reread="sec-nsp", equation="eq-nsp")

COINS = [0.7, 0.3, 0.6, 0.9, 0.1, 0.8, 0.2, 0.95, 0.55, 0.4]
DRAWS = [0.31, 0.77, 0.05, 0.96, 0.42, 0.88, 0.63, 0.92, 0.12, 0.5]
ex.inputs(document=[4, 4, 4, 1, 1, 7, 2, 2, 2, 2], coins=COINS, draws=DRAWS)
ex.probe("four documents, one of a single sentence")
ex.probe("all pairs from elsewhere", coins=[0.9] * 10)
ex.probe("all pairs true", coins=[0.1] * 10)
ex.probe("the same draws downwards", coins=COINS[::-1], draws=DRAWS[::-1])
ex.probe(
    "coins of exactly one half", document=[0, 0, 5, 5, 5], coins=[0.5] * 5, draws=[0.0, 0.9, 0.0, 0.0, 0.4],
)
LONG = [11, 11, 3, 3, 3, 3, 3, 29, 0, 0, 0, 5, 8, 8, 8, 8, 8]


def chance():
    """Coins and draws for 17 sentences."""
    return dict(zip(("coins", "draws"), torch.rand(2, 17, generator=seeded(5601)), strict=True))


def turned():
    """The same draws with other coins."""
    return chance() | {"coins": 1 - chance()["coins"]}


ex.hidden("six documents", document=LONG, drawn=chance)
ex.hidden("two documents, other coins", document=[1] * 7 + [0] * 10, drawn=turned)
ex.hidden("nothing follows", document=LONG, coins=torch.full((17,), 0.75), drawn=chance)


@ex.own
def any_chance(whole):
    return dict(zip(("coins", "draws"), (torch.tensor(whole(0, 99, 2, 10)) + 0.5) / 100, strict=True))


@ex.law(
    "a foreign sentence never comes from the same document",
    "Otherwise the label would be wrong now and then.",
)
def all_foreign(run, probe):
    document = probe.args["document"]
    pairs = run(probe.having("law", coins=torch.ones(10)))
    same = document[pairs[:, 0]] == document[pairs[:, 1]]
    return same.long(), torch.zeros_like(pairs[:, 2])


BORDER, FOREIGN, PICK = "if of[i] != of[i + 1]:", "if d != of[i]", "others[int(draws[i] * len(others))]"
ex.wrong(
    "pairs across the border of two documents",
    "The first sentence of a document does not follow the last one of another: there is no pair there.",
    (f"        {BORDER}\n            continue\n", ""), believes="every sentence follows the one before",
)


def pairs_from_last_sentences(symptom):
    """All is right but for more pairs with a foreign B, of sentences that end a document."""
    got, want = symptom.case.outcome.value, symptom.case.expected.tensor
    if symptom.stage != "shape" or got.dim() != 2 or got.shape[1] != 3:
        return False
    of = symptom.case.probe.args["document"]
    last = [*(of[1:] != of[:-1]).nonzero().flatten().tolist(), len(of) - 1]
    more = torch.tensor([a in last and label == 1 for a, _, label in got.tolist()])
    return torch.equal(got[~more], want)


ex.wrong(
    "a pair for every sentence",
    "The last sentence of a document has no successor and begins no pair.",
    [("range(len(of) - 1)", "range(len(of))"), (f"        {BORDER}\n            continue\n", ""),
     ("if coins[i] < 0.5", "if i + 1 < len(of) and of[i] == of[i + 1] and coins[i] < 0.5")],
    [("range(len(of) - 1)", "range(len(of))"),
     (BORDER, "if (i + 1 == len(of) or of[i] != of[i + 1]) and coins[i] < 0.5:")],
    (BORDER, f"{BORDER[:-1]} and coins[i] < 0.5:"),
    believes="the last sentence gets a foreign one", shows=pairs_from_last_sentences,
)
ex.wrong(
    "a foreign sentence from the same document",
    "B must come from *another* document: from the same one it is about the same thing and may even follow.",
    (f" {FOREIGN}", ""), (FOREIGN, "if j != i + 1"), (FOREIGN, "if j not in (i, i + 1)"),
    believes="any other sentence is foreign",
)
ex.wrong(
    "1 means follows",
    "As in BERT: the label is 0 when B follows and 1 when it does not.",
    [("i + 1, 0]", "i + 1, 1]"), (f"{PICK}, 1]", f"{PICK}, 0]")], believes="one is yes",
)
ex.wrong(
    "the coin is read the other way",
    "A coin below one half keeps the true successor.",
    ("coins[i] < 0.5", "coins[i] >= 0.5"), ("coins[i] < 0.5", "coins[i] > 0.5"), believes="heads is foreign",
)
ex.wrong(
    "a coin of exactly one half",
    "A coin below one half keeps the successor; one half itself does not.",
    ("coins[i] < 0.5", "coins[i] <= 0.5"), believes="half or less is true",
)
ex.wrong(
    "a place in the list of candidates, not a sentence",
    "The draw picks a place among the candidates; the sentence is what stands at that place.",
    (PICK, "int(draws[i] * len(others))"), believes="the draw says which sentence",
)
ex.wrong(
    "rounded, not rounded down",
    "Rounding gives the first and the last candidate half their share; int or floor treats all alike.",
    (PICK, "others[min(len(others) - 1, round((draws[i] * len(others)).item()))]"),
    believes="the nearest place is the fair one",
)
ex.wrong(
    "the last candidate is never drawn",
    "A draw lies in [0, 1), so int(draw * n) reaches n - 1 and never n: multiply by n.",
    (PICK, "others[int(draws[i] * (len(others) - 1))]"), believes="the last index is n - 1",
)
ex.wrong(
    "draws counted by pairs",
    "Sentence i has the coin and the draw number i, whether or not those before it made a pair.",
    [("coins[i]", "coins[len(pairs)]"), ("draws[i]", "draws[len(pairs)]")],
    believes="one draw after the other",
)


def other_sentences(symptom):
    """Every A and every label is right, and every foreign B from another document, but not the one drawn."""
    for case in symptom.cases if symptom.stage == "value" else ():
        got, want, of = case.outcome.tensor, case.expected.tensor, case.probe.args["document"]
        same = torch.equal(got[:, ::2], want[:, ::2]) and bool(((got >= 0) & (got < len(of))).all())
        if not same or not torch.equal(of[got[:, 0]] != of[got[:, 1]], want[:, 2] == 1):
            return False
    return symptom.stage == "value"


ex.wrong(
    "another foreign sentence than the one drawn",
    "Place int(n * draw) among all n sentences of other documents, before A and after; no other dice.",
    (PICK, "others[torch.randint(len(others), (1,)).item()]"), believes="chance must be fresh",
    shows=other_sentences,
)

ex.right(
    "all borders at once",
    source="""
def sentence_pairs(document, coins, draws):
    first = (document[:-1] == document[1:]).nonzero().flatten()
    pairs = []
    for i in first.tolist():
        if coins[i] < 0.5:
            pairs.append(torch.tensor([i, i + 1, 0]))
            continue
        others = (document != document[i]).nonzero().flatten()
        pairs.append(torch.tensor([i, int(others[(draws[i] * len(others)).floor().long()]), 1]))
    return torch.stack(pairs)
""",
)
ex.right(
    "no loop at all",
    source="""
def sentence_pairs(document, coins, draws):
    first = (document[:-1] == document[1:]).nonzero().flatten()
    other = document != document[first][:, None]
    place = (draws[first] * other.sum(1)).long()
    foreign = ((other.cumsum(1) == place[:, None] + 1) & other).long().argmax(1)
    true = coins[first] < 0.5
    return torch.stack((first, torch.where(true, first + 1, foreign), (~true).long()), dim=1)
""",
)
ex.equivalent(
    "A single number stays, whatever its axes.",
    ("i]).nonzero().flatten()", "i]).nonzero()"),
    of="all borders at once",
)
ex.equivalent(
    "torch does the conversion by itself.",
    (
        "int(others[(draws[i] * len(others)).floor().long()])",
        "others[(draws[i] * len(others)).floor().long()]",
    ),
    of="all borders at once",
)
ex.equivalent(
    "For numbers from 0 on, cutting the fraction off is rounding down.",
    (".floor().long", ".long"),
    of="all borders at once",
)
ex.right("a helper for foreign sentences", source='''
def sentence_pairs(document, coins, draws):
    of = document.tolist()

    def foreign(i):
        others = [j for j in range(len(of)) if of[j] != of[i]]
        return others[math.floor(len(others) * draws[i])]

    true = [i for i in range(len(of) - 1) if of[i] == of[i + 1]]
    return torch.tensor([(i, i + 1, 0) if coins[i] < 0.5 else (i, foreign(i), 1) for i in true])
''')
ex.right("the candidates of each document, once", source='''
def sentence_pairs(document, coins, draws):
    others = {d: torch.where(document != d)[0] for d in document.tolist()}
    rows = []
    for i, (this, following) in enumerate(zip(document.tolist(), document[1:].tolist())):
        if this == following:
            place = int(len(others[this]) * draws[i])
            rows.append((i, i + 1, 0) if coins[i] < 0.5 else (i, int(others[this][place]), 1))
    return torch.tensor(rows)
''')
ex.right("the own document skipped over", source='''
def sentence_pairs(document, coins, draws):
    of, pairs = document.tolist(), []
    for i, (coin, draw) in enumerate(zip(coins.tolist(), draws.tolist())):
        begin, size = of.index(of[i]), of.count(of[i])
        if i + 1 == begin + size:
            continue
        b = int((len(of) - size) * draw)
        pairs.append([i, i + 1, 0] if coin < 0.5 else [i, b if b < begin else b + size, 1])
    return torch.tensor(pairs)
''')
ex.right("a table filled in", source='''
def sentence_pairs(document, coins, draws):
    first = torch.where(document[1:] == document[:-1])[0]
    table = torch.stack((first, first + 1, torch.zeros_like(first)), dim=1)
    for row in table:
        i = row[0].clone()
        if not coins[i] < 0.5:
            others = torch.arange(len(document))[document != document[i]]
            row[1] = others[(draws[i] * len(others)).long()]
            row[2] = 1
    return table
''')
ex.right("others sorted to the front", source='''
def sentence_pairs(document, coins, draws):
    same = document[:, None] == document
    order = same.long().argsort(dim=1, stable=True)
    place = (draws * (~same).sum(1)).floor().long()
    foreign = order.gather(1, place[:, None])[:, 0]
    i = torch.arange(len(document), device=document.device)
    label = (coins >= 0.5).long()
    rows = torch.stack((i, torch.where(label == 0, i + 1, foreign), label), dim=1)
    return rows[:-1][document.diff() == 0]
''')
ex.right("a generator that counts down", source='''
def sentence_pairs(document, coins, draws):
    def pairs():
        for i in range(len(document) - 1):
            if document[i] != document[i + 1]:
                continue
            if coins[i] < 0.5:
                yield i, i + 1, 0
                continue
            left = int((document != document[i]).sum() * draws[i])
            for j, d in enumerate(document):
                left -= int(d != document[i])
                if left < 0:
                    yield i, j, 1
                    break

    return torch.tensor(list(pairs()))
''')
