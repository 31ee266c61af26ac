"""Exercise 8.2: what T5's encoder reads, each hidden span replaced by one sentinel."""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import seeded

ANSWER = '''
def t5_inputs(ids: Tensor, hidden: Tensor, first_sentinel: int) -> Tensor:
    """The ids that are left of ids (T,), with one sentinel
    in place of each hidden span."""
    inputs, sentinel, before = [], first_sentinel, False
    for token, gone in zip(ids.tolist(), hidden.tolist()):
        if not gone:
            inputs.append(token)
        elif not before:
            inputs.append(sentinel)
            sentinel -= 1
        before = gone
    return torch.tensor(inputs)
'''
ex = exercise(
    "8.2", ANSWER, points=7, minutes=10, difficulty=2, reread=("sec-span-corruption", "sec-masked-lm"),
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
    generator = seeded(8201)
    ids = torch.randint(53, (41,), generator=generator)
    return {"ids": ids[:length], "hidden": torch.rand(41, generator=generator)[:length] < 0.4}


ex.hidden("a long text", drawn=text, first_sentinel=211)
ex.hidden(
    "a text that begins with a span", drawn=lambda: text(7), hidden=[Y, N, N, N, Y, Y, N], first_sentinel=100
)
ex.hidden("a text that ends with a span", drawn=lambda: text(5), hidden=[N, Y, N, N, Y], first_sentinel=60)
ex.own(lambda whole: {"ids": whole(1, 50, 9), "hidden": torch.tensor(whole(0, 1, 9)).bool()})


@ex.law("the hidden tokens leave no trace", "What the encoder reads must not tell what it is asked for.")
def other_answers(run, probe):
    ids = torch.where(probe.args["hidden"], probe.args["ids"] + 1, probe.args["ids"])
    return run(probe), run(probe.having("law", ids=ids))


LOOP = "for token, gone in zip(ids.tolist(), hidden.tolist()):"
ex.wrong(
    "a sentinel for every hidden token",
    "A span gets one sentinel, however long it is: how much is missing is part of the question.",
    ("elif not before:", "else:"), believes="a sentinel is a [MASK]",
)
ex.wrong(
    "one [MASK] many times",
    "Each hidden token is not masked by itself: a span gets one sentinel, and each span another one.",
    [("elif not before:", "else:"), ("            sentinel -= 1\n", "")],
    believes="T5 is BERT with a decoder",
    section="sec-masked-lm", equation="eq-mlm",
)
ex.wrong(
    "the same sentinel for every span",
    "The decoder must know which span it writes: each has a sentinel of its own.",
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
    ("sentinel, before = [], first_sentinel", "sentinel, before = [], first_sentinel - 1"),
    believes="count, then use",
)
ex.wrong(
    "sentinels numbered by position",
    "The n-th span gets the n-th sentinel, wherever it is.",
    (LOOP, "for t, (token, gone) in enumerate(zip(ids.tolist(), hidden.tolist())):\n"
     "        sentinel = first_sentinel - t"), believes="a sentinel is a position",
)
ex.wrong(
    "hidden spans left out",
    "Where something is missing must be seen: each span leaves a sentinel.",
    ("        elif not before:\n            inputs.append(sentinel)\n            sentinel -= 1\n", ""),
    believes="hidden tokens are deleted",
)
ex.wrong(
    "the hidden tokens are kept",
    "The inputs hold what is visible: True means hidden.",
    ("not gone", "gone"), believes="True marks what is kept",
)
ex.wrong(
    "a sentinel after the span's first token",
    "The sentinel takes the place of the whole span, its first token included.",
    ("            inputs.append(sentinel)\n", "            inputs += [token, sentinel]\n"),
    believes="a sentinel marks the place",
)
ex.wrong(
    "the row taken for a ring",
    "roll puts the last token before the first: what begins a text has nothing before it.",
    ("before = [], first_sentinel, False", "before = [], first_sentinel, bool(hidden[-1])"),
    believes="roll shifts by one",
)
ex.wrong(
    "a span at the very beginning gets no sentinel",
    "A text may begin with a span: its first token has no visible one before it.",
    ("before = [], first_sentinel, False", "before = [], first_sentinel, True"),
    believes="a span follows a visible token",
)
ex.wrong(
    "a last sentinel in the inputs",
    "The extra sentinel that says that nothing follows belongs to the targets.",
    ("return torch.tensor(inputs)", "return torch.tensor([*inputs, sentinel])"),
    believes="both sides end alike",
)
ex.wrong(
    "equal neighbours taken for one token",
    "A span is a run of True in hidden, not a run of equal ids.",
    (LOOP, "for token, gone in dict(zip(ids.tolist(), hidden.tolist())).items():"),
    believes="tokens are told apart by their ids",
)
ex.wrong(
    "the library does the work",
    source="""
def t5_inputs(ids, hidden, first_sentinel):
    from pioneers.objectives import corrupt_spans

    edges = torch.diff(hidden.int(), prepend=torch.zeros(1), append=torch.zeros(1))
    spans = list(zip((edges == 1).nonzero().flatten().tolist(), (edges == -1).nonzero().flatten().tolist()))
    return corrupt_spans(ids, spans, range(first_sentinel, first_sentinel - len(spans) - 1, -1))[0]
""", believes="the package has a function for that",
)
ex.wrong(
    "sentinels numbered by hidden tokens",
    "Count spans, not tokens: the second span gets first_sentinel - 1, however long the first one is.",
    source="""
def t5_inputs(ids, hidden, first_sentinel):
    inputs, sentinel, before = [], first_sentinel, False
    for token, gone in zip(ids.tolist(), hidden.tolist()):
        if not gone:
            inputs.append(token)
        elif not before:
            inputs.append(sentinel)
        sentinel -= gone
        before = gone
    return torch.tensor(inputs)
""", believes="count down at every hidden token",
)
ex.wrong(
    "the row taken for a ring",
    "hidden[-1] is the last token, not the one before the first: what begins a text has nothing before it.",
    source="""
def t5_inputs(ids, hidden, first_sentinel):
    inputs, sentinel = [], first_sentinel
    for t, token in enumerate(ids.tolist()):
        if not hidden[t]:
            inputs.append(token)
        elif not hidden[t - 1]:
            inputs.append(sentinel)
            sentinel -= 1
    return torch.tensor(inputs, dtype=torch.int64)
""", believes="every token has one before it",
)
ex.wrong(
    "equal neighbours taken for one token",
    "Visible tokens stay, also next to one that is the same: only a hidden span becomes one sentinel.",
    source="""
def t5_inputs(ids, hidden, first_sentinel):
    starts = hidden & ~F.pad(hidden, (1, 0))[:-1]
    marks = first_sentinel + 1 - starts.cumsum(0)
    return torch.where(hidden, marks, ids).unique_consecutive()
""", believes="repeats come from the sentinels alone",
)

ex.right(
    "the starts counted by a running sum",
    source="""
def t5_inputs(ids, hidden, first_sentinel):
    starts = hidden.clone()
    starts[1:] &= ~hidden[:-1]
    marks = first_sentinel + 1 - starts.cumsum(0)
    return torch.where(starts, marks, ids)[starts | ~hidden]
""",
)
ex.right(
    "span by span",
    source="""
def t5_inputs(ids, hidden, first_sentinel):
    parts, t, n = [], 0, 0
    while t < len(ids):
        if hidden[t]:
            parts.append(ids.new_tensor([first_sentinel - n]))
            n += 1
            while t < len(ids) and hidden[t]:
                t += 1
        else:
            parts.append(ids[t : t + 1])
            t += 1
    return torch.cat(parts)
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0", "-1"),
    of="the starts counted by a running sum",
)
ex.right("a list of places, the token before looked up", source='''
def t5_inputs(ids, hidden, first_sentinel):
    gone, out, used = hidden.tolist(), [], 0
    for t in range(len(gone)):
        if gone[t] and (t == 0 or not gone[t - 1]):
            out.append(first_sentinel - used)
            used += 1
        if not gone[t]:
            out.append(int(ids[t]))
    return torch.tensor(out)
''')
ex.right("written into a copy in place, then selected", source='''
def t5_inputs(ids, hidden, first_sentinel):
    first = hidden & ~F.pad(hidden, (1, 0))[:-1]
    out = ids.clone()
    count = int(first.sum())
    out[first] = first_sentinel - torch.arange(count, device=ids.device)
    return out[first | ~hidden]
''')
ex.right("one sentinel for each hidden token, repeats dropped", source='''
def t5_inputs(ids, hidden, first_sentinel):
    before = torch.cat((torch.zeros_like(hidden[:1]), hidden[:-1]))
    opens = torch.logical_and(hidden, torch.logical_not(before))
    numbers = torch.cumsum(opens.long(), dim=0) - 1
    inputs = ids.masked_fill(hidden, 0) + hidden * (first_sentinel - numbers)
    return torch.masked_select(inputs, torch.logical_not(hidden & before))
''')
ex.right("groupby", source='''
def t5_inputs(ids, hidden, first_sentinel):
    from itertools import groupby

    inputs, sentinel = [], first_sentinel
    for gone, group in groupby(zip(ids.tolist(), hidden.tolist()), key=lambda pair: pair[1]):
        if gone:
            inputs += [sentinel]
            sentinel -= 1
        else:
            inputs += [token for token, _ in group]
    return torch.tensor(inputs)
''')
ex.right("a generator", source='''
def t5_inputs(ids, hidden, first_sentinel):
    def tokens():
        count = 0
        for t, token in enumerate(ids):
            if not hidden[t]:
                yield int(token)
            elif t == 0 or not hidden[t - 1]:
                yield first_sentinel - count
                count += 1

    return torch.tensor(list(tokens()))
''')
ex.right("runs of equal flags, from unique_consecutive", source='''
def t5_inputs(ids, hidden, first_sentinel):
    flags, sizes = torch.unique_consecutive(hidden, return_counts=True)
    parts, sentinel = [], first_sentinel
    for gone, run in zip(flags.tolist(), ids.split(sizes.tolist())):
        parts.append(torch.full_like(run[:1], sentinel) if gone else run)
        sentinel -= gone
    return torch.cat(parts)
''')
