"""Exercise 5.9: the best legal span, or no answer; [CLS] is position 0. ``start`` and ``end`` are (B, T)."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def best_span(
    start: Tensor,
    end: Tensor,
    allowed: Tensor,
    max_length: int,
    tau: float = 0.0,
) -> Tensor:
    """Start and end (B, 2) of the best legal span of each row,
    (0, 0) where there is no answer."""
    found = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist(), strict=True):
        best, where = s[0] + e[0] + tau, [0, 0]
        for i in range(len(s)):
            for j in range(i, min(i + max_length, len(s))):
                if a[i] and a[j] and s[i] + e[j] > best:
                    best, where = s[i] + e[j], [i, j]
        found.append(where)
    return torch.tensor(found)
'''
ex = exercise(
    "5.9", ANSWER, points=12, minutes=20, difficulty=3, reread="sec-task-questions", equation="eq-legal-span"
)


@ex.maker
def scores(normal, B=None, T=None, first=0, last=0, low=9.0, shift=0.0, holes=0, wide=None, **given):
    """Scores of which those of [CLS] are lower by ``low``; the context goes from ``first`` to ``last``."""
    if B is None:
        return given
    if wide:
        args = {"start": wide * normal(B, T), "end": wide * normal(B, T)}
        return args | {"allowed": normal(B, T) > -0.5} | given
    args = {"start": 3 * normal(B, T), "end": 3 * normal(B, T)}
    for x in args.values():
        x[:, 0] -= low
    at = torch.arange(T)
    allowed = ((at >= first) & (at <= last)).expand(B, T)
    if holes:
        allowed = allowed & (at % holes != torch.arange(B)[:, None] % holes)
    return {name: x + shift for name, x in args.items()} | {"allowed": allowed.clone()} | given


PLAIN = {"B": 7, "T": 11, "first": 3, "last": 9, "max_length": 4}
EVEN = [[1.0, 0.0, 2.0, 4.0, 3.0], [1.0, 0.0, 2.0, 4.0, 3.0], [1.0, 9.0, 2.0, 4.0, 9.0]]
TIED = {"start": EVEN, "end": EVEN, "allowed": [[False, False, True, True, False]] * 3}
NONE = torch.zeros(7, 11, dtype=torch.bool)
ex.probe("seven rows of eleven tokens", **PLAIN)
ex.probe("very low scores", **PLAIN, shift=-50)
ex.probe("answers of one token", B=5, T=7, first=2, last=6, max_length=1)
ex.probe("a row shorter than the longest answer", B=3, T=5, first=1, last=4, max_length=17)
ex.probe("a context with holes", B=5, T=13, first=2, last=11, max_length=5, holes=4)
ex.probe("some rows without an answer", B=11, T=7, first=2, last=5, max_length=3, low=-4.0)
ex.probe("a margin of 5", B=11, T=7, first=2, last=5, max_length=3, low=0.0, tau=5.0)
ex.probe("a negative margin", B=11, T=7, first=2, last=5, max_length=3, low=-6.0, tau=-4.0)
ex.probe("exactly as good as no answer", **TIED, max_length=2, tau=6.0)
ex.probe("no context at all", **PLAIN, allowed=NONE)
ex.hidden(
    "a context of one token", B=3, T=5, wide=4, allowed=torch.arange(5).expand(3, 5) == 3, max_length=2,
    tau=-50.0,
)
ex.hidden("thirteen rows", B=13, T=17, wide=4, max_length=5, tau=-30.0)
ex.hidden("a margin in between", B=13, T=7, wide=4, max_length=3, tau=4.0)
ex.hidden("scores lower than any finite fill", **PLAIN, shift=-30_000.0, tau=-1e9)
ex.hidden("a batch of one", B=1, T=11, wide=4, max_length=7, tau=-20.0)


@ex.law(
    "a constant added to all scores changes nothing",
    "A softmax does not notice it either; the answer and no answer move together.",
    on="some rows without an answer",
    equation="eq-span",
)
def shifted_scores(run, probe):
    return run(probe), run(probe.having("law", start=probe.args["start"] + 7, end=probe.args["end"] - 5))


LEGAL, ENDS, NOTHING = "a[i] and a[j] and ", "range(i, min(i + max_length, len(s)))", "s[0] + e[0] + tau"
APART = """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start, end, allowed, strict=True):
        i = int(s.masked_fill(~a, -torch.inf).argmax())
        j = int(e.masked_fill(~a, -torch.inf).argmax())
        given = a.any() and s[i] + e[j] > s[0] + e[0] + tau
        found.append([i, j] if given else [0, 0])
    return torch.tensor(found)
"""
ex.wrong(
    "start and end chosen apart",
    "The best start and the best end need not fit together: compare pairs, all those that are legal.",
    source=APART, believes="the best start and the best end",
)
ex.wrong(
    "start and end chosen apart",
    "The best start and the best end need not fit together: compare pairs, all those that are legal.",
    source=APART.replace("append([i, j] if", "append(sorted([i, j]) if"),
    believes="exchanged, start and end are a span",
)
NEAR = """        at = torch.arange(len(s))
        near = a & (at >= i) & (at < i + max_length)
"""
ex.wrong(
    "the end chosen after the start",
    "The best start may have poor ends behind it: the pair with the highest sum may begin elsewhere.",
    source=APART.replace("        j = int(e.masked_fill(~a", f"{NEAR}        j = int(e.masked_fill(~near"),
    believes="first the start, then an end behind it",
)
ex.wrong(
    "the end may come before the start",
    "A span has start ≤ end.",
    (ENDS, "range(max(0, i - max_length + 1), min(i + max_length, len(s)))"),
    (ENDS, "range(min(i + max_length, len(s)))"), believes="two tokens in either order are a span",
)
ex.wrong(
    "one token too many",
    "A span from i to j has j - i + 1 tokens: the last legal end is i + m - 1.",
    ("i + max_length", "i + max_length + 1"), believes="m tokens end at i + m",
)
ex.wrong(
    "one token too few",
    "A span of max_length tokens is legal: from i it ends at i + m - 1, and range leaves out its end.",
    ("i + max_length", "i + max_length - 1"), believes="range includes its end",
)
ex.wrong(
    "the end behind the last token",
    "Here the end is the last token of the answer itself, not the place behind it as in a slice.",
    ("[i, j]", "[i, j + 1]"), believes="start and end are a slice",
)
ex.wrong(
    "answers of one token excluded",
    "Start and end may be the same token: start ≤ end.",
    ("range(i, ", "range(i + 1, "), believes="a span has a start and another end",
)
ex.wrong(
    "max_length is ignored",
    "A span has at most max_length tokens.",
    (ENDS, "range(i, len(s))"), believes="as long as the text allows",
)
ex.wrong(
    "tokens outside of the context allowed",
    "An answer is a stretch of the context: start and end must both be allowed.",
    [(LEGAL, ""), ("range(len(s))", "range(1, len(s))")], (LEGAL, ""),
    believes="every position may answer but [CLS]",
)
ex.wrong(
    "only the start is in the context",
    "The end must be allowed too.",
    (" and a[j]", ""), believes="the context is a matter of the start",
)
ex.wrong(
    "only the end is in the context",
    "The start must be allowed too.",
    ("a[i] and ", ""), believes="the context is a matter of the end",
)
ex.wrong(
    "always an answer",
    "When no span beats [CLS] by more than the margin, the answer is (0, 0).",
    (NOTHING, "-math.inf"), believes="a question has an answer", equation="eq-no-answer",
)
ex.wrong(
    "tau is ignored",
    "A span must beat [CLS] by more than tau.",
    (" + tau", ""), believes="tau is zero", equation="eq-no-answer",
)
ex.wrong(
    "the margin on the wrong side",
    "tau makes answering harder: it is added to the score of [CLS].",
    ("+ tau", "- tau"), believes="tau is a bonus for answers", equation="eq-no-answer",
)
ex.wrong(
    "as good as no answer is no better",
    "The span must beat the other score: the comparison is >, not ≥.",
    ("> best", ">= best"), believes="at least as good is good enough", equation="eq-no-answer",
)
ex.wrong(
    "compared with half of the score of [CLS]",
    "No answer is the span from [CLS] to [CLS]: its score is a start score plus an end score.",
    ("s[0] + e[0]", "s[0]"), believes="the start score of [CLS] says it all", equation="eq-no-answer",
)
ex.wrong(
    "compared with zero",
    "Scores have no zero of their own: the best span is compared with that of [CLS].",
    ("s[0] + e[0]", "0"), believes="a positive score is an answer", equation="eq-no-answer",
)
TABLE = """
def best_span(start, end, allowed, max_length, tau=0.0):
    T = start.shape[1]
    square = torch.ones(T, T, dtype=torch.bool, device=start.device)
    legal = allowed[:, :, None] & allowed[:, None, :] & square.triu() & square.tril(max_length - 1)
    best, place = (start[:, :, None] + end[:, None]).masked_fill(~legal, -math.inf).flatten(1).max(1)
    spans = torch.stack((place // T, place % T), dim=1)
    return torch.where((best > start[:, 0] + end[:, 0] + tau)[:, None], spans, 0)
"""
ex.wrong(
    "illegal spans have the score 0",
    "0 is a score like any other, and higher than many: what is illegal needs -inf.",
    source=TABLE.replace("-math.inf", "0.0").replace("(best >", "legal.flatten(1).any(1)[:, None] & (best >"),
    believes="a product with the mask hides",
)
ex.wrong(
    "the context of the first row for all",
    "Each row has a context of its own.",
    ("allowed.tolist()", "allowed[:1].expand_as(allowed).tolist()"),
    believes="all texts have the same context", section="sec-three-shapes",
)


def answers_everything(symptom):
    """Every answer that there is was found, and one more where there is none."""
    pairs = (
        [(case.outcome.tensor, case.expected.tensor) for case in symptom.cases]
        if symptom.stage == "value"
        else []
    )
    return bool(pairs) and all(torch.equal(got[want.any(1)], want[want.any(1)]) for got, want in pairs)


BOTH, HIDDEN = (
    "allowed[:, :, None] & allowed[:, None, :] & ",
    "    start, end = start.masked_fill(~allowed, -1e9), end.masked_fill(~allowed, -1e9)\n",
)
ex.wrong(
    "an answer where there is none",
    "Read the score of [CLS] before you hide what is not allowed: otherwise every span beats it.",
    source=TABLE.replace("    T =", HIDDEN + "    T =").replace("-math.inf", "-1e9").replace(BOTH, ""),
    believes="first hide, then compare", shows=answers_everything, equation="eq-no-answer",
)
ex.wrong(
    "the library does the work",
    source="""
def best_span(start, end, allowed, max_length, tau=0.0):
    from pioneers import models

    low = torch.finfo(start.dtype).min / 4
    scores = torch.stack((start, end), dim=-1).masked_fill(~allowed[..., None], low)
    spans = models.best_span(scores, max_length=max_length)
    best = start.gather(1, spans[:, :1]) + end.gather(1, spans[:, 1:])
    return torch.where(best > start[:, :1] + end[:, :1] + tau, spans, 0)
""", believes="the package has a function for that",
)
ex.wrong(
    "start and end chosen apart",
    "The best start and the best end need not make a legal span, and another pair may: try all legal pairs.",
    source="""
def best_span(start, end, allowed, max_length, tau=0.0):
    s, e = (x.masked_fill(~allowed, -math.inf).argmax(1, keepdim=True) for x in (start, end))
    better = start.gather(1, s) + end.gather(1, e) > start[:, :1] + end[:, :1] + tau
    legal = (s <= e) & (e - s < max_length) & allowed.any(1, keepdim=True)
    return torch.cat((s, e), 1).where(better & legal, 0)
""", believes="two maxima make the best pair",
)
ex.wrong(
    "everything between the ends must be allowed",
    "Only the two ends are asked about: the context may have holes.",
    ("a[i] and a[j]", "all(a[i : j + 1])"), believes="a span lies in the context as a whole",
)

ex.right("one table of all pairs", source=TABLE)
ex.right(
    "numbers left in tensors",
    ("zip(start.tolist(), end.tolist(), allowed.tolist(), strict=True)", "zip(start, end, allowed)"),
)
ex.equivalent(
    "No span begins behind the end.",
    ("s)):", "s) + 1):"),
)
ex.right("all spans of one length at a time", source='''
def best_span(start, end, allowed, max_length, tau=0.0):
    B, T = start.shape
    best, spans = start[:, 0] + end[:, 0] + tau, torch.zeros(B, 2, dtype=torch.long)
    for more in range(min(max_length, T)):
        scores = start[:, : T - more] + end[:, more:]
        legal = allowed[:, : T - more] & allowed[:, more:]
        top, i = scores.masked_fill(~legal, -math.inf).max(dim=1)
        better = top > best
        best = torch.where(better, top, best)
        spans[better] = torch.stack((i, i + more), dim=1)[better]
    return spans
''')
ex.right("max of a list of legal spans", source='''
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist()):
        places = [i for i, inside in enumerate(a) if inside]
        legal = [(s[i] + e[j], i, j) for i in places for j in places if 0 <= j - i < max_length]
        score, i, j = max(legal, default=(-math.inf, 0, 0))
        found.append((i, j) if score > s[0] + e[0] + tau else (0, 0))
    return torch.tensor(found)
''')
ex.right("a table of the context alone", source='''
def best_span(start, end, allowed, max_length, tau=0.0):
    def answer(s, e, a):
        at = a.nonzero().squeeze(1)
        ahead = at - at[:, None]
        table = torch.where((ahead >= 0) & (ahead < max_length), s[at, None] + e[at], -math.inf)
        if not len(at) or table.max() <= s[0] + e[0] + tau:
            return at.new_zeros(2)
        return at[torch.stack(torch.unravel_index(table.argmax(), table.shape))]

    return torch.stack([answer(*row) for row in zip(start, end, allowed)])
''')
ex.right("the best end for each start", source='''
def best_span(start, end, allowed, max_length, tau=0.0):
    s, e = (x.masked_fill(~allowed, -math.inf) for x in (start, end))
    ends = F.pad(e, (0, max_length - 1), value=-math.inf).unfold(1, max_length, 1)
    top, ahead = ends.max(dim=-1)
    best, i = (s + top).max(dim=-1, keepdim=True)
    spans = torch.cat((i, i + ahead.gather(1, i)), dim=1)
    return spans * (best > start[:, :1] + end[:, :1] + tau)
''')
ex.right("a list of index pairs", source='''
def best_span(start, end, allowed, max_length, tau=0.0):
    T = start.shape[1]
    pairs = torch.tensor([(0, 0)] + [(i, j) for i in range(T) for j in range(i, min(T, i + max_length))])
    i, j = pairs.T
    scores = start[:, i] + end[:, j]
    scores[~(allowed[:, i] & allowed[:, j])] = -math.inf
    scores[:, 0] = start[:, 0] + end[:, 0] + tau
    return pairs[scores.argmax(dim=1)]
''')
ex.right("from the highest score down", source='''
def best_span(start, end, allowed, max_length, tau=0.0):
    T = start.shape[1]
    found = torch.zeros(len(start), 2, dtype=torch.long)
    for b in range(len(start)):
        table = start[b].unsqueeze(1) + end[b]
        for place in table.flatten().argsort(descending=True).tolist():
            i, j = divmod(place, T)
            if table[i, j] <= start[b, 0] + end[b, 0] + tau:
                break
            if i <= j < i + max_length and allowed[b, i] and allowed[b, j]:
                found[b] = torch.tensor([i, j])
                break
    return found
''')
