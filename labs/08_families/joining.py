"""Exercise 8.4: what a T5 wrote, put back into what it read."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def fill_in(inputs: Tensor, written: Tensor, sentinels: Tensor) -> Tensor:
    """The inputs, each sentinel replaced by the tokens
    that were written after it."""
    marks, spans, span = set(sentinels.tolist()), {}, []
    for token in written.tolist():
        if token in marks:
            span = spans[token] = []
        else:
            span.append(token)
    text = []
    for token in inputs.tolist():
        text += spans.get(token, []) if token in marks else [token]
    return torch.tensor(text)
'''
ex = exercise(
    "8.4", ANSWER, points=9, minutes=11, difficulty=3,
    reread=("sec-span-corruption", "sec-shifted-targets", "sec-greedy"),
)  # fmt: skip

ex.inputs(sentinels=[99, 98, 97, 96])
ex.probe("two spans", inputs=[11, 99, 3, 17, 98, 23], written=[99, 7, 5, 13, 98, 19, 97])
ex.probe("a text that begins and ends with a sentinel", inputs=[99, 7, 5, 98], written=[99, 3, 98, 5, 13, 97])
ex.probe("written in another order", inputs=[99, 4, 98, 6, 97, 2], written=[98, 8, 9, 97, 1, 99, 3, 5, 96])
ex.probe("a span that was not written", inputs=[5, 99, 4, 98, 6, 97], written=[99, 2, 97, 8, 3])
ex.probe("an empty span", inputs=[5, 99, 4, 98, 6], written=[99, 98, 7, 97])
ex.probe("tokens before the first sentinel", inputs=[4, 99, 6, 98], written=[8, 3, 99, 1, 98, 5, 5, 97])
ex.probe("other sentinels, in no order", inputs=[99, 12, 4, 97, 31, 3], written=[31, 98, 12, 7, 99, 4, 8],
         sentinels=[12, 4, 31])
ex.probe("tokens after the last sentinel", inputs=[4, 99, 6], written=[99, 1, 98, 5, 2])
ex.probe("a beginning, and a first gap that was not written", inputs=[99, 4, 98, 6],
         written=[8, 3, 98, 0, 5, 97])
ex.probe("no sentinel in the inputs", inputs=[5, 3, 3, 8], written=[99])
ex.probe("nothing but a sentinel", inputs=[99], written=[99, 7, 7, 98])
ex.probe("sentinels out of order in the inputs", inputs=[3, 98, 5, 99], written=[99, 1, 2, 98, 4, 97])
ex.probe("numbers with gaps in memory", inputs=[11, 99, 3, 98], written=[99, 7, 98, 5, 2], strided=True)
MARKS = [53, 52, 51, 50, 49]
ex.hidden("five spans", inputs=[53, 1, 52, 2, 3, 51, 4, 50, 5, 49],
          written=[53, 9, 8, 52, 7, 51, 6, 6, 6, 50, 49, 11, 12, 48], sentinels=MARKS)
ex.hidden("the first span was not written", inputs=[2, 53, 7, 52, 5], written=[13, 52, 3, 8, 51],
          sentinels=MARKS)
ex.hidden("another order, and one that is missing", inputs=[51, 2, 53, 7, 52, 5],
          written=[52, 4, 4, 51, 6, 50, 3], sentinels=MARKS)


@ex.own
def two_gaps(whole):
    first, second = whole(1, 50, 2, 3)
    return {"inputs": [*whole(1, 50, 2), 99, 7, 98, 3], "written": [99, *first, 98, *second, 97]}


@ex.law(
    "one more sentinel at the end changes nothing",
    "It says that nothing follows, and nothing comes after it.",
)
def one_more(run, probe):
    longer = torch.cat((probe.args["written"], torch.tensor([96])))
    return run(probe), run(probe.having("law", written=longer))


WRITTEN = "if token in marks:\n            span = spans[token] = []"
TEXT = "spans.get(token, []) if token in marks else [token]"
ex.wrong(
    "the sentinels stay in the text",
    "A sentinel is a place, not a word: the tokens take its place.",
    (TEXT, "[token, *spans.get(token, [])]"), believes="tokens are put in after the sentinel",
)
ex.wrong(
    "the n-th span for the n-th gap",
    "A sentinel names its gap: look the span up by its sentinel, not by its place.",
    source="""
def fill_in(inputs, written, sentinels):
    marks, spans = set(sentinels.tolist()), []
    for token in written.tolist():
        if token in marks:
            spans.append([])
        elif spans:
            spans[-1].append(token)
    text = []
    for token in inputs.tolist():
        text += (spans.pop(0) if spans else []) if token in marks else [token]
    return torch.tensor(text)
""", believes="spans are written in the order of the gaps",
)
ex.wrong(
    "only one token for each gap",
    "A span may have several tokens, or none: take all up to the next sentinel.",
    ("            span.append(token)", "            span[:] = span or [token]"),
    believes="a gap is one token",
)
ex.wrong(
    "the last token of each span only",
    "A span may have several tokens: collect them all.",
    ("            span.append(token)", "            span[:] = [token]"), believes="a key has one value",
)
ex.wrong(
    "a gap that was not written stays open",
    "A model may leave a sentinel out: then nothing takes its place, and the sentinel goes.",
    ("spans.get(token, [])", "spans.get(token, [token])"), believes="what is missing stays visible",
)
ex.wrong(
    "an error where a span is missing",
    "A model may leave a sentinel out: then nothing takes its place. spans.get(token, []) does that.",
    ("spans.get(token, [])", "spans[token]"), believes="a model writes what it was taught",
    shows=lambda symptom: symptom.stage == "runs" and "KeyError" in symptom.case.outcome.error,
)
ex.wrong(
    "an error where the first token is not a sentinel",
    "A model may begin with something else: tokens before the first sentinel belong to no gap.",
    ("spans, span = set(sentinels.tolist()), {}, []", "spans, span = set(sentinels.tolist()), {}, None"),
    believes="a model begins with a sentinel",
    shows=lambda symptom: symptom.stage == "runs" and "NoneType" in symptom.case.outcome.error,
)
ex.wrong(
    "the beginning is put into the first gap",
    "Tokens before the first sentinel belong to no gap.",
    ("span = spans[token] = []", "span = spans[token] = [] if spans else span"),
    [("{}, []\n", "{}, []\n    first = span\n"), ("spans.get(token, [])", "spans.get(token, first)")],
    believes="the first tokens belong to the first gap",
)
ex.wrong(
    "the leftover is put at the end",
    "Tokens after a sentinel that the inputs do not have fill no gap.",
    ("    return torch.tensor(text)",
     "    text += [t for mark in spans if mark not in inputs.tolist() for t in spans[mark]]\n"
     "    return torch.tensor(text)"),
    believes="everything that was written must go somewhere",
)
ex.wrong(
    "large numbers taken for sentinels",
    "Which ids are sentinels is given; they need not be the largest ones.",
    ("set(sentinels.tolist())", "set(range(int(sentinels.min()), 10**5))"),
    believes="sentinels are the largest ids",
)
ex.wrong(
    "only the spans are returned",
    "The visible tokens belong to the text too.",
    ("else [token]", "else []"), believes="the answer is what was written",
)
ex.wrong(
    "the visible text alone",
    "The spans that were written take the places of their sentinels.",
    ("spans.get(token, []) if", "[] if"), believes="a sentinel is removed",
)
ex.wrong(
    "the last span runs into the next ones",
    "Every sentinel begins a new span, also one that the inputs do not have.",
    (WRITTEN, "if token in marks & set(inputs.tolist()):\n            span = spans[token] = []\n"
     "        elif token in marks:\n            pass"), believes="only the sentinels of the inputs matter",
)
ex.wrong(
    "a span ends where the next gap begins",
    "The tokens up to the next sentinel are the span, whichever sentinel it is.",
    source="""
def fill_in(inputs, written, sentinels):
    marks, text, out = set(sentinels.tolist()), inputs.tolist(), written.tolist()
    gaps = [t for t in text if t in marks]
    result = []
    for token in text:
        if token not in marks:
            result.append(token)
        elif token in out:
            start = out.index(token) + 1
            following = gaps[gaps.index(token) + 1 :][:1]
            stop = out.index(following[0]) if following and following[0] in out else len(out)
            result += [t for t in out[start:stop] if t not in marks]
    return torch.tensor(result)
""", believes="the next gap's sentinel ends this one",
)
ex.wrong(
    "the library does the work",
    source="""
def fill_in(inputs, written, sentinels):
    from pioneers.objectives import join_spans

    return join_spans(inputs, written, sentinels.tolist())
""", believes="the package has a function for that",
)
ex.wrong(
    "only the sentinels of the inputs count",
    "A span ends at any sentinel, also at one that the inputs do not have.",
    ("set(sentinels.tolist())", "set(sentinels.tolist()) & set(inputs.tolist())"),
    believes="other sentinels are words",
)
ex.wrong(
    "what comes before the first sentinel is kept",
    "Tokens before the first sentinel belong to no gap, and are dropped.",
    source="""
def fill_in(inputs, written, sentinels):
    marks, spans, span = set(sentinels.tolist()), {}, []
    before = span
    for token in written.tolist():
        if token in marks:
            span = spans[token] = []
        else:
            span.append(token)
    text = list(before)
    for token in inputs.tolist():
        text += spans.get(token, []) if token in marks else [token]
    return torch.tensor(text)
""", believes="whatever was written belongs somewhere",
)
ex.wrong(
    "the last span is lost",
    "A span ends at the next sentinel or at the end of what was written: store the one that is left over.",
    source="""
def fill_in(inputs, written, sentinels):
    marks, spans, mark, span = set(sentinels.tolist()), {}, None, []
    for token in written.tolist():
        if token in marks:
            spans[mark] = span
            mark, span = token, []
        else:
            span.append(token)
    text = []
    for token in inputs.tolist():
        text += spans.get(token, []) if token in marks else [token]
    return torch.tensor(text)
""", believes="a sentinel closes every span",
)
ex.wrong(
    "the beginning is put into the first gap",
    "Tokens before the first sentinel belong to no gap.",
    source="""
def fill_in(inputs, written, sentinels):
    marks, text = set(sentinels.tolist()), []
    span = []
    spans = {next((t for t in inputs.tolist() if t in marks), None): span}
    for token in written.tolist():
        if token in marks:
            span = spans.setdefault(token, [])
        else:
            span.append(token)
    for token in inputs.tolist():
        text += spans.get(token, []) if token in marks else [token]
    return torch.tensor(text)
""", believes="the first tokens belong to the first gap",
)
NEXT_GAP = "The tokens up to the next sentinel are the span, whichever sentinel it is."
ex.wrong(
    "a span ends where the next gap begins",
    NEXT_GAP,
    source="""
def fill_in(inputs, written, sentinels):
    marks, text, out = set(sentinels.tolist()), inputs.tolist(), written.tolist()
    gaps = [t for t in text if t in marks]
    result = []
    for token in text:
        if token not in marks:
            result.append(token)
        elif token in out:
            start = out.index(token) + 1
            following = gaps[gaps.index(token) + 1 :][:1]
            stop = out.index(following[0]) if following and following[0] in out[start:] else None
            last = [i for i, t in enumerate(out) if i >= start and t in marks]
            result += out[start : max(last, default=len(out)) if stop is None else stop]
    return torch.tensor(result)
""", believes="the next gap's sentinel ends this one, and the last sentinel the last span",
)
ex.wrong(
    "a span ends where the next gap begins",
    NEXT_GAP,
    source="""
def fill_in(inputs, written, sentinels):
    marks, text, out = set(sentinels.tolist()), inputs.tolist(), written.tolist()
    gaps = [t for t in text if t in marks]
    result = []
    for token in text:
        if token not in marks:
            result.append(token)
        elif token in out:
            start = out.index(token) + 1
            following = gaps[gaps.index(token) + 1 :][:1]
            stop = out.index(following[0]) if following and following[0] in out[start:] else len(out)
            result += out[start:stop]
    return torch.tensor(result)
""", believes="the next gap's sentinel ends this one",
)

ex.right(
    "searching for each gap",
    source="""
def fill_in(inputs, written, sentinels):
    parts = []
    borders = torch.isin(written, sentinels).nonzero().flatten().tolist() + [len(written)]
    for token in inputs:
        if not torch.isin(token, sentinels):
            parts.append(token[None])
            continue
        for start, stop in zip(borders, borders[1:]):
            if written[start] == token:
                parts.append(written[start + 1 : stop])
    return torch.cat(parts)
""",
)
ex.right(
    "a list of pairs, gap by gap",
    source="""
def fill_in(inputs, written, sentinels):
    marks, current, pairs = sentinels.tolist(), None, []
    for token in written.tolist():
        if token in marks:
            current = token
        elif current is not None:
            pairs.append((current, token))
    text = []
    for token in inputs.tolist():
        text += [t for mark, t in pairs if mark == token] if token in marks else [token]
    return torch.tensor(text)
""",
)
ex.equivalent(
    "A list holds the same marks as a set.",
    ("set(sentinels.tolist()", "sentinels.tolist("),
)
ex.equivalent(
    "A sentinel equals none of the ordinary tokens.",
    ("continue", "pass"),
    of="searching for each gap",
)
ex.right("a function that reads one span", source='''
def fill_in(inputs, written, sentinels):
    marks, tokens = sentinels.tolist(), written.tolist()

    def span(mark):
        if mark not in tokens:
            return
        for token in tokens[tokens.index(mark) + 1 :]:
            if token in marks:
                return
            yield token

    text = []
    for token in inputs.tolist():
        text.extend(span(token) if token in marks else (token,))
    return torch.tensor(text)
''')
ex.right("owners by a running sum", source='''
def fill_in(inputs, written, sentinels):
    is_mark = torch.isin(written, sentinels)
    group = is_mark.long().cumsum(0)
    marks = torch.cat((written.new_full((1,), -1), written[is_mark]))
    owner = marks[group]
    parts = [
        written[(owner == token) & ~is_mark] if (sentinels == token).any() else token.view(1)
        for token in inputs
    ]
    return torch.cat(parts)
''')
ex.right("spans as slices of the tensor", source='''
def fill_in(inputs, written, sentinels):
    marks, spans, stop = set(sentinels.tolist()), {}, len(written)
    for t in reversed(range(len(written))):
        if int(written[t]) in marks:
            spans[int(written[t])] = written[t + 1 : stop]
            stop = t
    parts = []
    for t, token in enumerate(inputs.tolist()):
        parts.append(spans.get(token, written[:0]) if token in marks else inputs[t : t + 1])
    return torch.cat(parts)
''')
ex.right("replaced in a list, from the back", source='''
def fill_in(inputs, written, sentinels):
    text, marks = inputs.tolist(), sentinels.tolist()
    spans, mark = {m: [] for m in marks}, None
    for token in written.tolist():
        if token in marks:
            mark = token
        elif mark is not None:
            spans[mark].append(token)
    for place in range(len(text) - 1, -1, -1):
        if text[place] in spans:
            text[place : place + 1] = spans[text[place]]
    return torch.tensor(text)
''')
ex.right("a table of all inputs and all written tokens", source='''
def fill_in(inputs, written, sentinels):
    is_mark = torch.isin(written, sentinels)
    owner, last = torch.full_like(written, -1), -1
    for t in range(len(written)):
        last = written[t] if is_mark[t] else last
        owner[t] = last
    belongs = (inputs[:, None] == owner) & ~is_mark
    keep = ~torch.isin(inputs, sentinels)[:, None]
    both = torch.cat((inputs[:, None], written.expand(len(inputs), -1)), dim=1)
    return both[torch.cat((keep, belongs), dim=1)]
''')
ex.right("tensor_split at the sentinels", source='''
def fill_in(inputs, written, sentinels):
    borders = torch.isin(written, sentinels).nonzero().flatten().cpu()
    spans = {int(part[0]): part[1:] for part in torch.tensor_split(written, borders)[1:]}
    gaps = {mark: spans.get(mark, written[:0]) for mark in sentinels.tolist()}
    return torch.cat([gaps.get(int(token), token[None]) for token in inputs])
''')
