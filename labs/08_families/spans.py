"""Exercise 8.1: which whole spans are hidden.

Starts and lengths come from outside, so that there is one right result.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import seeded

ANSWER = '''
def hidden_spans(
    text: Tensor,
    starts: Tensor,
    lengths: Tensor,
    mask_prob: float = 0.15,
) -> Tensor:
    """Which tokens are hidden: boolean (B, T), in whole spans."""
    hidden = torch.zeros_like(text)
    for b, row in enumerate(text.tolist()):
        most, taken = mask_prob * sum(row), [False] * len(row)
        for start, length in zip(starts[b].tolist(), lengths[b].tolist()):
            stop = start + length
            around = taken[max(0, start - 1) : stop + 1]
            fits = stop <= len(row) and all(row[start:stop]) and not any(around)
            if fits and sum(taken) + length <= most:
                taken[start:stop] = [True] * length
        hidden[b] = torch.tensor(taken)
    return hidden
'''
ex = exercise(
    "8.1", ANSWER, points=9, minutes=13, difficulty=3, reread=("sec-span-masking", "sec-masked-lm"),
    equation="eq-mlm",
)  # fmt: skip

N, Y = False, True
TEXT = [[N] + [Y] * 16 + [N] * 3, [N] + [Y] * 8 + [N] + [Y] * 8 + [N, N]]
ex.inputs(text=TEXT, mask_prob=0.5)
ex.probe("two rows, half of the text", starts=[[3, 9, 12], [2, 11, 6]], lengths=[[2, 1, 3], [3, 2, 1]])
ex.probe("spans that overlap or touch", starts=[[4, 6, 7, 2, 9], [3, 1, 5, 11, 4]],
         lengths=[[3, 3, 1, 2, 2], [2, 2, 3, 4, 1]])
ex.probe("spans over the edge of a text", starts=[[15, 0, 1, 16], [8, 7, 10, 0]],
         lengths=[[3, 2, 2, 1], [3, 3, 2, 1]])
ex.probe("a share that is just reached", starts=[[2, 8, 13, 16], [2, 6, 12, 15]],
         lengths=[[3, 2, 3, 1], [1, 3, 2, 2]])
ex.probe("a long span, then short ones", starts=[[1, 12, 4, 15], [10, 1, 4, 17]],
         lengths=[[7, 3, 1, 1], [7, 5, 1, 1]])
ex.probe("15%, the default", starts=[[5, 9, 2], [3, 14, 11]], lengths=[[3, 2, 1], [1, 1, 2]], mask_prob=0.15)
ex.probe("a batch of one that ends with its text", text=[[Y] * 7], starts=[[5, 0, 3, 6]],
         lengths=[[2, 1, 1, 1]], mask_prob=0.75)
ex.probe("a share of zero", starts=[[3, 9, 12], [2, 11, 6]], lengths=[[2, 1, 3], [3, 2, 1]], mask_prob=0.0)
ex.probe("a short text beside a long one", text=[[N] + [Y] * 4 + [N] * 7, [N] + [Y] * 10 + [N]],
         starts=[[1, 4], [4, 9]], lengths=[[2, 1], [4, 1]])
ex.probe("a share that is not a whole number", text=[[Y] * 11], starts=[[7, 1]], lengths=[[3, 2]],
         mask_prob=0.25)
ex.probe("a span that is a whole text", text=[[N, Y, Y, Y, N]], starts=[[1, 2]], lengths=[[3, 1]],
         mask_prob=1.0)
ex.probe("a span from 0 beside one that was taken", text=[[Y] * 7], starts=[[1, 0, 5]], lengths=[[2, 1, 2]],
         mask_prob=1.0)
ex.probe("a span beyond the end of its row", text=[[Y] * 5, [Y] * 5], starts=[[4, 1], [3, 0]],
         lengths=[[2, 2], [5, 1]], mask_prob=1.0)


def many():
    """Draw five rows with holes, and spans for them."""
    generator = seeded(8101)
    drawn = {"text": torch.rand(5, 31, generator=generator) < 0.9}
    drawn["starts"] = torch.randint(31, (5, 23), generator=generator)
    return drawn | {"lengths": torch.randint(1, 5, (5, 23), generator=generator)}


ex.hidden("five rows with holes", drawn=many, mask_prob=0.5)
ex.hidden("everything that fits", drawn=many, mask_prob=1.0)
ex.hidden("a small share", drawn=many, mask_prob=0.13)
ex.own(lambda whole: {"starts": whole(1, 15, 2, 4), "lengths": whole(1, 3, 2, 4)})


@ex.law("rows do not know each other", "Each row has its own share and its own spans.")
def one_row_each(run, probe):
    names = ("text", "starts", "lengths")
    rows = [{name: probe.args[name][i : i + 1] for name in names} for i in range(2)]
    return run(probe), torch.cat([run(probe.having("law", **row)) for row in rows])


INSIDE, APART, CHECK = "all(row[start:stop])", "not any(around)", "sum(taken) + length <= most"
ex.wrong(
    "numbers instead of True and False",
    "The result says yes or no for each token: make it boolean.",
    ("return hidden", "return hidden.long()"), believes="a mask is ones and zeros",
    shows=lambda symptom: symptom.stage == "dtype",
)
ex.wrong(
    "special tokens are hidden too",
    "A span lies in the text from its first token to its last: every one of them must be ordinary.",
    (f"{INSIDE} and ", ""), believes="only the place matters",
)
ex.wrong(
    "only the ends of a span are looked at",
    "A special token may lie in the middle of a span: look at every token of it.",
    (INSIDE, "row[start] and row[stop - 1]"), believes="good ends make a good span",
)
ex.wrong(
    "a span is cut to what fits",
    "Spans are whole: one that does not fit is passed over, not shortened.",
    source="""
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    hidden = torch.zeros_like(text)
    for b, row in enumerate(text.tolist()):
        most, taken = mask_prob * sum(row), [False] * len(row)
        for start, length in zip(starts[b].tolist(), lengths[b].tolist()):
            while length and (start + length > len(row) or sum(taken) + length > most):
                length -= 1
            stop = start + length
            around = taken[max(0, start - 1) : stop + 1]
            if all(row[start:stop]) and not any(around):
                taken[start:stop] = [True] * length
        hidden[b] = torch.tensor(taken)
    return hidden
""", believes="half a span is better than none",
)
ex.wrong(
    "spans may touch",
    "Two spans that touch are one longer span: a visible token must lie between them.",
    ("taken[max(0, start - 1) : stop + 1]", "taken[start:stop]"),
    believes="spans must not overlap, that is all",
)
ex.wrong(
    "spans may touch on one side",
    "A visible token must remain on both sides: look at the one before the span and the one after it.",
    ("stop + 1]", "stop]"), ("max(0, start - 1)", "start"), believes="one side is enough",
)
ex.wrong(
    "the slice around a span from 0 is empty",
    "A slice that begins at -1 begins at the last token: before the first token there is none to look at.",
    ("max(0, start - 1)", "start - 1"), believes="a slice may begin before the first token",
)
ex.wrong(
    "spans may overlap",
    "Tokens that are already hidden belong to another span: pass this one over.",
    (f" and {APART}", ""), believes="hidden is hidden",
)
ex.wrong(
    "a span ends one token later",
    "A span of n tokens from s on ends before s + n.",
    ("stop = start + length", "stop = start + length + 1"), believes="s + n is its last token",
)
ex.wrong(
    "the share is exceeded",
    "A span is taken only if the share still holds with it.",
    (CHECK, "sum(taken) < most"), believes="stop when it is enough",
)
ex.wrong(
    "a share that is just reached",
    "The hidden tokens may reach the share, but not exceed it: the comparison is <=.",
    ("<= most", "< most"), believes="less than or equal is the same",
)
ex.wrong(
    "the share rounded up",
    "The hidden tokens never exceed the share: of 2.75 tokens, 2 may be hidden.",
    ("mask_prob * sum(row)", "round(mask_prob * sum(row))"),
    ("mask_prob * sum(row)", "math.ceil(mask_prob * sum(row))"),
    believes="a number of tokens is rounded",
)
ex.wrong(
    "a share of the row",
    "mask_prob is a share of the ordinary tokens: special ones and padding do not count.",
    ("sum(row)", "len(row)"), believes="a share of T",
)
ex.wrong(
    "mask_prob is ignored",
    "0.15 is only the default: use the parameter.",
    ("mask_prob * sum", "0.15 * sum"), believes="the share is 15%",
)
ex.wrong(
    "stopped at the first span that does not fit",
    "A span that does not fit is passed over, and the next one gets its turn.",
    ("[True] * length\n", "[True] * length\n            else:\n                break\n"),
    believes="what does not fit ends the row",
)
ex.wrong(
    "the shortest spans first",
    "Spans get their turns in the order in which they are given.",
    ("in zip(starts[b].tolist(), lengths[b].tolist())",
     "in sorted(zip(starts[b].tolist(), lengths[b].tolist()), key=lambda span: span[1])"),
    believes="short spans fit better",
)
ex.wrong(
    "single tokens instead of spans",
    "A length says how many tokens a span has: all of them are hidden.",
    ("taken[start:stop] = [True] * length", "taken[start] = True"), believes="a start is a token",
)
ex.wrong(
    "one share for the whole batch",
    "Each row has its own share, of its own ordinary tokens.",
    ("mask_prob * sum(row)", "mask_prob * text.sum().item() / len(text)"),
    believes="the batch has one budget",
)
ex.wrong(
    "the library does the work",
    source="""
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    from pioneers.objectives import span_masking

    ids = torch.where(text, 7, 2)
    spans = span_masking(ids, mask_id=4, vocab_size=11, special_ids=[2], mask_prob=mask_prob)
    return spans.targets != -100
""", believes="the package has a function for that",
)
ex.wrong(
    "a span is cut to fit",
    "A span that does not fit is passed over as a whole; half a span would be another span.",
    ("stop = start + length", "stop = min(start + length, len(row))\n            length = stop - start"),
    believes="what fits is taken",
)
ex.wrong(
    "the first span too many ends the row",
    "A span that would exceed the share is passed over; a shorter one behind it may still fit.",
    ("            if fits and sum(taken) + length <= most:\n                taken",
     "            if fits and sum(taken) + length > most:\n                break\n"
     "            if fits:\n                taken"),
    believes="the share is full once a span does not fit",
)
ex.wrong(
    "a span that was passed over keeps others away",
    "Only spans that were taken do: remember a span when it is taken, not when it is looked at.",
    source="""
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    hidden = torch.zeros_like(text)
    for b, row in enumerate(text.tolist()):
        most, count, seen = mask_prob * sum(row), 0, [False] * len(row)
        for start, length in zip(starts[b].tolist(), lengths[b].tolist()):
            stop = start + length
            if stop > len(row) or not all(row[start:stop]) or any(seen[max(0, start - 1) : stop + 1]):
                continue
            seen[start:stop] = [True] * length
            if count + length <= most:
                count += length
                hidden[b, start:stop] = True
    return hidden
""", believes="a place is used once it was tried",
)

ex.right(
    "sets of positions",
    source="""
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    B, T = text.shape
    hidden = torch.zeros(B, T, dtype=torch.bool, device=text.device)
    for b in range(B):
        ordinary = {t for t in range(T) if text[b, t]}
        gone = set()
        for s, n in zip(starts[b], lengths[b]):
            span = set(range(int(s), int(s + n)))
            wide = span | {min(span) - 1, max(span) + 1}
            if span <= ordinary and not wide & gone and len(span | gone) <= mask_prob * len(ordinary):
                gone |= span
        hidden[b, sorted(gone)] = True
    return hidden
""",
)
ex.right(
    "slices of the result itself",
    source="""
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    hidden = text & ~text
    for row, free, places, sizes in zip(hidden, text, starts, lengths):
        left = mask_prob * free.sum()
        for start, length in zip(places.tolist(), sizes.tolist()):
            span = slice(start, start + length)
            if start + length > len(row) or not free[span].all() or length > left:
                continue
            if row[max(start - 1, 0) : start + length + 1].any():
                continue
            row[span] = True
            left = left - length
    return hidden
""",
)
ex.equivalent(
    "Each row is written whole, whatever stood there.",
    ("torch.zeros_like", "torch.ones_like"),
)
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    ("torch.bool, device=text.device", "torch.bool"),
    of="sets of positions",
)
ex.equivalent(
    "torch does the conversion by itself.",
    ("int(s)", "s"), ("int(s + n)", "s + n"),
    of="sets of positions",
)
ex.right("a helper that says whether a span fits", source='''
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    def fits(row, taken, start, stop):
        if stop > len(row) or False in row[start:stop]:
            return False
        return True not in taken[max(0, start - 1) : stop + 1]

    rows = []
    for row, places, sizes in zip(text.tolist(), starts.tolist(), lengths.tolist()):
        taken, count = [False] * len(row), 0
        for start, length in zip(places, sizes):
            if fits(row, taken, start, start + length) and count + length <= mask_prob * sum(row):
                count += length
                for t in range(start, start + length):
                    taken[t] = True
        rows.append(taken)
    return torch.tensor(rows)
''')
ex.right("all rows at once, span by span", source='''
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    place = torch.arange(text.shape[1], device=text.device)
    hidden = torch.zeros_like(text)
    most = mask_prob * text.sum(1)
    for start, length in zip(starts.T[..., None], lengths.T[..., None]):
        stop = start + length
        span = (place >= start) & (place < stop)
        around = (place >= start - 1) & (place <= stop)
        fits = (span & text).sum(1) == length[:, 0]
        fits &= ~(around & hidden).any(1)
        fits &= hidden.sum(1) + length[:, 0] <= most
        hidden = hidden | (span & fits[:, None])
    return hidden
''')
ex.right("a list of the spans that were taken", source='''
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    hidden = torch.zeros(text.shape, dtype=torch.bool, device=text.device)
    for b in range(len(text)):
        chosen, most = [], mask_prob * int(text[b].sum())
        for start, length in zip(starts[b].tolist(), lengths[b].tolist()):
            stop = start + length
            apart = all(stop < s or e < start for s, e in chosen)
            inside = stop <= text.shape[1] and bool(text[b, start:stop].all())
            if apart and inside and sum(e - s for s, e in chosen) + length <= most:
                chosen.append((start, stop))
        for s, e in chosen:
            hidden[b, s:e] = True
    return hidden
''')
ex.right("places that are closed", source='''
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    result = []
    for row, places, sizes in zip(text, starts, lengths):
        T = len(row)
        open_ = F.pad(row, (1, 1))
        taken, left = torch.zeros_like(open_), mask_prob * row.sum()
        for start, length in zip(places.tolist(), sizes.tolist()):
            if start + length <= T and length <= left and open_[start + 1 : start + length + 1].all():
                taken[start + 1 : start + length + 1] = True
                open_[start : start + length + 2] = False
                left = left - length
        result.append(taken[1:-1])
    return torch.stack(result)
''')
ex.right("running sums of what is ordinary and of what is taken", source='''
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    T, hidden = text.shape[1], torch.zeros_like(text)
    for b in range(text.shape[0]):
        ordinary = F.pad(text[b].cumsum(0), (1, 0)).tolist()
        for start, length in torch.stack((starts[b], lengths[b]), 1).tolist():
            stop = start + length
            if stop > T or ordinary[stop] - ordinary[start] < length:
                continue
            taken = F.pad(hidden[b].cumsum(0), (1, 0)).tolist()
            if taken[min(T, stop + 1)] > taken[max(0, start - 1)]:
                continue
            if taken[T] + length <= mask_prob * ordinary[T]:
                hidden[b, start:stop] = True
    return hidden
''')
ex.right("whole numbers whose bits are places", source='''
def hidden_spans(text, starts, lengths, mask_prob=0.15):
    B, T = text.shape
    rows = []
    for b in range(B):
        ordinary = sum(1 << t for t in range(T) if text[b, t])
        most, taken = mask_prob * ordinary.bit_count(), 0
        for start, length in zip(starts[b].tolist(), lengths[b].tolist()):
            span = ((1 << length) - 1) << start
            wide = span | span << 1 | span >> 1
            if span & ~ordinary or wide & taken or (taken | span).bit_count() > most:
                continue
            taken |= span
        rows.append([bool(taken >> t & 1) for t in range(T)])
    return torch.tensor(rows)
''')
