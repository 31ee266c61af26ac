"""Exercise 8.3: what T5's decoder must write, the hidden spans one after the other."""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import seeded

ANSWER = '''
def t5_targets(ids: Tensor, hidden: Tensor, first_sentinel: int) -> Tensor:
    """Each hidden span of ids (T,) after its sentinel,
    and one more sentinel."""
    targets, sentinel, before = [], first_sentinel, False
    for token, gone in zip(ids.tolist(), hidden.tolist()):
        if gone and not before:
            targets.append(sentinel)
            sentinel -= 1
        if gone:
            targets.append(token)
        before = gone
    return torch.tensor([*targets, sentinel])
'''
ex = exercise(
    "8.3", ANSWER, points=7, minutes=8, difficulty=2, reread=("sec-span-corruption", "sec-shifted-targets"),
)  # fmt: skip

N, Y = False, True
IDS = [11, 7, 5, 13, 3, 17, 7, 19, 2, 23, 5]
ex.inputs(ids=IDS, first_sentinel=99)
ex.probe("two spans, of two tokens and of one", hidden=[N, N, Y, Y, N, N, N, N, Y, N, N])
ex.probe("a text that begins and ends with a span", hidden=[Y, Y, N, N, N, Y, N, N, N, Y, Y])
ex.probe("three spans, T5's own sentinels", hidden=[N, Y, N, Y, Y, Y, N, N, Y, Y, N], first_sentinel=32099)
ex.probe("nothing hidden", hidden=[N] * 11)
ex.probe("everything hidden", hidden=[Y] * 11)
ex.probe("neighbours with the same id", ids=[5, 5, 5, 5, 5, 0, 0, 0], hidden=[Y, N, N, Y, Y, N, Y, N])
ex.probe("a single token", ids=[3], hidden=[Y], first_sentinel=31)
ex.probe("numbers with gaps in memory", hidden=[N, Y, Y, N, N, Y, N, Y, Y, N, Y], strided=True)


def text(length=41):
    """Draw the first tokens of a long text, and which of them are hidden."""
    generator = seeded(8301)
    ids = torch.randint(53, (41,), generator=generator)
    return {"ids": ids[:length], "hidden": torch.rand(41, generator=generator)[:length] < 0.4}


ex.hidden("a long text", drawn=text, first_sentinel=211)
ex.hidden(
    "a text that begins with a span", drawn=lambda: text(7), hidden=[Y, N, N, N, Y, Y, N], first_sentinel=100
)
ex.hidden("a text that ends with a span", drawn=lambda: text(5), hidden=[N, Y, N, N, Y], first_sentinel=60)
ex.own(lambda whole: {"ids": whole(1, 50, 9), "hidden": torch.tensor(whole(0, 1, 9)).bool()})


@ex.law(
    "the visible tokens leave no trace",
    "They are in the inputs; the decoder writes only what is missing.",
)
def other_context(run, probe):
    ids = torch.where(probe.args["hidden"], probe.args["ids"], probe.args["ids"] + 1)
    return run(probe), run(probe.having("law", ids=ids))


LAST = "return torch.tensor([*targets, sentinel])"
START = "targets, sentinel, before = [], first_sentinel, False"
ex.wrong(
    "the last sentinel is missing",
    "One sentinel more says that nothing follows: without it the decoder does not learn to stop.",
    (LAST, "return torch.tensor(targets, dtype=torch.int64)"), believes="the last token is the end",
)
ex.wrong(
    "the last sentinel only where visible text follows",
    "The targets end with one more sentinel in any case, also when the text ends with a span.",
    (LAST, "return torch.tensor(targets if before else [*targets, sentinel])"),
    believes="the sentinel means the rest of the text",
)
ex.wrong(
    "the last sentinel is used a second time",
    "What ends the targets is a new sentinel, the next one below.",
    (LAST, "return torch.tensor([*targets, min(first_sentinel, sentinel + 1)])"),
    believes="the last sentinel closes the last span",
)
ex.wrong(
    "sentinels after their spans",
    "A sentinel comes before its tokens: it says which span is going to be written.",
    source="""
def t5_targets(ids, hidden, first_sentinel):
    targets, sentinel = [], first_sentinel
    gone = hidden.tolist()
    for t, token in enumerate(ids.tolist()):
        if gone[t]:
            targets.append(token)
            if t + 1 == len(gone) or not gone[t + 1]:
                targets.append(sentinel)
                sentinel -= 1
    return torch.tensor([*targets, sentinel])
""", believes="a sentinel ends a span",
)
ex.wrong(
    "a sentinel before every hidden token",
    "A span has one sentinel, at its beginning.",
    ("gone and not before", "gone"), believes="each hidden token has a sentinel",
)
ex.wrong(
    "no sentinels between the spans",
    "Without a sentinel it is unclear where one span ends and the next begins.",
    ("            targets.append(sentinel)\n", "            pass\n"),
    believes="the targets are the hidden tokens",
)
ex.wrong(
    "the same sentinel for every span",
    "Each span has a sentinel of its own, the one that is in the inputs.",
    ("            sentinel -= 1\n", ""), believes="a gap is a gap",
)
ex.wrong(
    "sentinels count up",
    "T5's sentinels count down from the end of the vocabulary.",
    ("sentinel -= 1", "sentinel += 1"), believes="the next one is one more",
)
ex.wrong(
    "sentinels begin one too low",
    "The first span gets first_sentinel itself: count down after it is used.",
    (START, "targets, sentinel, before = [], first_sentinel - 1, False"), believes="count, then use",
)
ex.wrong(
    "the whole text is written",
    "T5 writes the hidden spans only, which is what makes its targets short. BART writes all of it.",
    (LAST, "return ids"), believes="a denoiser writes the text without noise",
)
ex.wrong(
    "the visible spans are written",
    "True means hidden: those tokens are asked for, the others are in the inputs.",
    ("zip(ids.tolist(), hidden.tolist())", "zip(ids.tolist(), (~hidden).tolist())"),
    believes="True marks what is kept",
)
ex.wrong(
    "targets of BERT's kind",
    "-100 marks places that are not asked for; T5's targets are a text of their own, without places.",
    (LAST, "return torch.where(hidden, ids, -100)"), believes="targets have the length of the text",
    section="sec-masked-lm", equation="eq-mlm",
)
ex.wrong(
    "the row taken for a ring",
    "roll puts the last token before the first: what begins a text has nothing before it.",
    (START, "targets, sentinel, before = [], first_sentinel, bool(hidden[-1])"),
    believes="roll shifts by one",
)
ex.wrong(
    "a span at the very beginning gets no sentinel",
    "A text may begin with a span: its first token has no visible one before it.",
    (START, "targets, sentinel, before = [], first_sentinel, True"),
    believes="a span follows a visible token",
)
ex.wrong(
    "equal tokens written once",
    "Every hidden token is written, also one that is the same as the token before it.",
    ("        if gone:\n            targets.append(token)",
     "        if gone and token not in targets[-1:]:\n            targets.append(token)"),
    believes="repetitions carry nothing",
)
ex.wrong(
    "the library does the work",
    source="""
def t5_targets(ids, hidden, first_sentinel):
    from pioneers.objectives import corrupt_spans

    edges = torch.diff(hidden.int(), prepend=torch.zeros(1), append=torch.zeros(1))
    spans = list(zip((edges == 1).nonzero().flatten().tolist(), (edges == -1).nonzero().flatten().tolist()))
    return corrupt_spans(ids, spans, range(first_sentinel, first_sentinel - len(spans) - 1, -1))[1]
""", believes="the package has a function for that",
)
ex.wrong(
    "no sentinel at the end",
    "One more sentinel says that nothing follows: it is always there.",
    ("[*targets, sentinel]", "targets"), believes="targets end with the last span",
)
ex.wrong(
    "the last sentinel is used a second time",
    "The sentinel at the end is the next one below; when nothing is hidden it is the first.",
    ("[*targets, sentinel]", "[*targets, sentinel + 1]"), believes="the last one closes the text",
)
ex.wrong(
    "sentinels after their spans",
    "First the sentinel, then the tokens that it replaces.",
    source="""
def t5_targets(ids, hidden, first_sentinel):
    targets, sentinel, before = [], first_sentinel, False
    for token, gone in zip(ids.tolist(), hidden.tolist()):
        if before and not gone:
            targets.append(sentinel)
            sentinel -= 1
        if gone:
            targets.append(token)
        before = gone
    return torch.tensor([*targets, sentinel])
""", believes="a sentinel closes a span",
)
ex.wrong(
    "nothing hidden, nothing written",
    "The last sentinel is always there, also when nothing is hidden: it is all that is written then.",
    (LAST, "return torch.tensor([*targets, sentinel] if targets else targets, dtype=torch.int64)"),
    believes="without a span there is nothing to end",
)

ex.right(
    "sentinel and token side by side",
    source="""
def t5_targets(ids, hidden, first_sentinel):
    starts = hidden & ~torch.cat((hidden.new_zeros(1), hidden[:-1]))
    marks = first_sentinel + 1 - starts.cumsum(0)
    both, chosen = torch.stack((marks, ids), dim=1), torch.stack((starts, hidden), dim=1)
    return torch.cat((both[chosen], ids.new_tensor([first_sentinel - int(starts.sum())])))
""",
)
ex.right(
    "spans as lists",
    source="""
def t5_targets(ids, hidden, first_sentinel):
    spans, previous = [], None
    for t in hidden.nonzero().flatten().tolist():
        if previous is None or t > previous + 1:
            spans.append([])
        spans[-1].append(int(ids[t]))
        previous = t
    spans.append([])
    return torch.tensor([x for n, span in enumerate(spans) for x in (first_sentinel - n, *span)])
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0", "-1"),
    of="sentinel and token side by side",
)
ex.equivalent(
    "torch does the conversion by itself.",
    ("int(starts.sum()", "starts.sum("),
    of="sentinel and token side by side",
)
ex.right("groupby", source='''
def t5_targets(ids, hidden, first_sentinel):
    from itertools import groupby

    targets, sentinel = [], first_sentinel
    for gone, group in groupby(zip(ids.tolist(), hidden.tolist()), key=lambda pair: pair[1]):
        if gone:
            targets += [sentinel, *(token for token, _ in group)]
            sentinel -= 1
    return torch.tensor(targets + [sentinel])
''')
ex.right("runs of equal flags, from unique_consecutive", source='''
def t5_targets(ids, hidden, first_sentinel):
    flags, sizes = torch.unique_consecutive(hidden, return_counts=True)
    parts, sentinel = [], first_sentinel
    for gone, run in zip(flags.tolist(), ids.split(sizes.tolist())):
        if gone:
            parts += [torch.full_like(run[:1], sentinel), run]
            sentinel -= 1
    return torch.cat([*parts, torch.full_like(ids[:1], sentinel)])
''')
ex.right("each token's place counted, then written there", source='''
def t5_targets(ids, hidden, first_sentinel):
    starts = hidden & ~F.pad(hidden, (1, 0))[:-1]
    n = int(starts.sum())
    out = ids.new_zeros(int(hidden.sum()) + n + 1)
    places = hidden.cumsum(0) + starts.cumsum(0) - 1
    out[places[hidden]] = ids[hidden]
    marks = torch.cat((places[starts] - 1, places.new_tensor([len(out) - 1])))
    out[marks] = first_sentinel - torch.arange(n + 1, device=ids.device)
    return out
''')
ex.right("a generator", source='''
def t5_targets(ids, hidden, first_sentinel):
    def tokens():
        count = 0
        for t in range(len(ids)):
            if hidden[t]:
                if t == 0 or not hidden[t - 1]:
                    yield first_sentinel - count
                    count += 1
                yield int(ids[t])
        yield first_sentinel - count

    return torch.tensor(list(tokens()))
''')
ex.right("span by span", source='''
def t5_targets(ids, hidden, first_sentinel):
    parts, t, n = [], 0, 0
    while t < len(ids):
        stop = t
        while stop < len(ids) and hidden[stop]:
            stop += 1
        if stop > t:
            parts.extend((ids.new_tensor([first_sentinel - n]), ids[t:stop]))
            n += 1
        t = stop + 1
    parts.append(ids.new_tensor([first_sentinel - n]))
    return torch.cat(parts)
''')
ex.right("borders from diff, two by two", source='''
def t5_targets(ids, hidden, first_sentinel):
    edges = torch.diff(F.pad(hidden.int(), (1, 1)))
    starts, stops = (edges == 1).nonzero()[:, 0], (edges == -1).nonzero()[:, 0]
    targets = []
    for n, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist())):
        targets += [first_sentinel - n] + ids[start:stop].tolist()
    targets.append(first_sentinel - len(starts))
    return torch.tensor(targets)
''')
