"""Exercise 7.7: whether an interval bears out what a published difference says.

``low``, ``high`` and ``paper`` are (M,): the ends of our intervals, and the differences in the paper. A
result is 1 (holds), -1 (does not hold) or 0 (cannot be told).
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals

ANSWER = '''
def verdicts(
    low: Tensor, high: Tensor, paper: Tensor, margin: float
) -> Tensor:
    """1 holds, -1 does not hold, 0 cannot be told, for each comparison:
    all tensors are (M,)."""
    lead = (low > margin).long() - (high <= margin).long()
    trail = (high < -margin).long() - (low >= -margin).long()
    level = ((low >= -margin) & (high <= margin)).long() - ((low > margin) | (high < -margin)).long()
    return torch.where(paper > margin, lead, torch.where(paper < -margin, trail, level))
'''
ex = exercise("7.7", ANSWER, points=8, minutes=12, difficulty=3, reread="sec-variations")

LOW, HIGH = [0.75, 0.25, -0.25, 0.125, -0.25, -2.0, -3.0], [2.0, 0.75, 2.0, 0.25, 0.25, 3.0, -1.0]
EDGES = {"low": [0.5, 0.25, -0.5, -1.0, 0.625, -0.5], "high": [1.0, 0.5, 0.5, -0.5, 0.75, -0.25]}
SAME = {"low": [-0.25, 0.75] * 2, "high": [0.25, 1.0] * 2}
SMALL = "a small margin"
ex.inputs(low=LOW, high=HIGH, paper=None, margin=0.5)
ex.probe("the paper says: the first leads", paper=[1.0] * 7)
ex.probe("the paper says: the second leads", paper=[-1.0] * 7)
ex.probe("the paper says: level", paper=[0.25, -0.25, 0.0, 0.125, -0.125, 0.375, -0.375])
ex.probe("intervals that end at the margin, the first leads", **EDGES, paper=[2.0] * 6)
ex.probe("intervals that end at the margin, the second leads", **EDGES, paper=[-2.0] * 6)
ex.probe("intervals that end at the margin, level", **EDGES, paper=[0.0, 0.25, -0.25, 0.125, 0.0, 0.375])
ex.probe("a difference in the paper as large as the margin", **SAME, paper=[0.5, 0.5, -0.5, -0.5])
ex.probe("another margin, one interval", low=[0.75], high=[2.0], paper=[1.5], margin=1.0)
ex.probe(SMALL, paper=[1.0, -1.0, 0.25, 0.0625, -0.25, 0.0, 0.5], margin=0.125, strided=True)


def sixty():
    """Draw sixty intervals: as they are, with a paper that says whole numbers, and half as wide."""
    normal = normals(7701)
    low, high = (2 * normal(2, 60)).sort(0).values
    return (
        {"low": low, "high": high, "paper": normal(60)},
        {"low": low, "high": high, "paper": normal(60).round()},
        {"low": low / 2, "high": high / 2, "paper": 3 * normal(60)},
    )


ex.hidden("sixty intervals", drawn=lambda: sixty()[0], margin=0.75)
ex.hidden("a margin of zero", drawn=lambda: sixty()[1], margin=0.0)
ex.hidden("a wide margin", drawn=lambda: sixty()[2], margin=2.0)


@ex.own
def any_intervals(whole):
    low, width, paper = torch.tensor([whole(-32, 32, 9), whole(1, 24, 9), whole(-32, 32, 9)]) / 16
    return {"low": low + 1 / 32, "high": low + width + 1 / 32, "paper": paper + 1 / 32}


@ex.law(
    "with the arms exchanged, here and in the paper, the verdict stays",
    "Which arm is called the first is a matter of writing.", on=SMALL,
)
def mirrored(run, probe):
    low, high, paper = (probe.args[name] for name in ("low", "high", "paper"))
    return run(probe.having("law", low=-high, high=-low, paper=-paper)), run(probe)


VERDICT = "torch.where(paper > margin, lead, torch.where(paper < -margin, trail, level))"
LEVEL, APART = "(low >= -margin) & (high <= margin)", "(low > margin) | (high < -margin)"
LEADS, NO_LEAD = "(low > margin).long()", "(high <= margin).long()"
TRAILS, NO_TRAIL = "(high < -margin).long()", "(low >= -margin).long()"
ex.wrong(
    "yes or no",
    "There are three answers: 1 holds, -1 does not hold, 0 cannot be told, as int64.",
    (VERDICT, f"{VERDICT} > 0"), believes="a claim holds or it does not",
    shows=lambda symptom: symptom.stage == "dtype" and symptom.case.outcome.tensor.dtype == torch.bool,
)
ex.wrong(
    "whole numbers asked for",
    "The verdicts are 1, 0 and -1 as int64: convert them at the end.",
    (VERDICT, f"{VERDICT}.float()"), believes="a number is a number",
    shows=lambda symptom: symptom.stage == "dtype",
)
ex.wrong(
    "no verdict left open",
    "Not proven is not refuted: an interval that reaches into the claim and out of it tells nothing.",
    (VERDICT, f"2 * ({VERDICT} > 0).long() - 1"), believes="what is not proven is refuted",
)
ex.wrong(
    "no verdict left open",
    "Not refuted is not proven: an interval that reaches into the claim and out of it tells nothing.",
    (VERDICT, f"2 * ({VERDICT} >= 0).long() - 1"), believes="what is not refuted is proven",
)
ex.wrong(
    "the middle of the interval decides",
    "Its width is what the seeds have to say: the whole interval must lie within the claim.",
    ("    lead =", "    low = high = (low + high) / 2\n    lead ="), believes="the best guess is the middle",
)
ex.wrong(
    "no difference seen, so there is none",
    "A wide interval holds zero too. Level is shown by an interval that lies within the margins.",
    (LEVEL, "(low <= 0) & (high >= 0)"),
    [(LEVEL, "(low <= 0) & (high >= 0)"), (APART, "(low > 0) | (high < 0)")],
    believes="no significant difference means no difference",
)
ex.wrong(
    "any difference is large enough",
    "The claim is a lead of more than the margin: zero is not the border.",
    [(LEADS, "(low > 0).long()"), (NO_LEAD, "(high < 0).long()"), (TRAILS, "(high < 0).long()"),
     (NO_TRAIL, "(low > 0).long()")], [(LEADS, "(low > 0).long()"), (TRAILS, "(high < 0).long()")],
    believes="significant means that it holds",
)
ex.wrong(
    "every difference in the paper is an order",
    "A lead in the paper of no more than the margin says: level.",
    [("paper > margin", "paper > 0"), ("paper < -margin", "paper < 0")],
    believes="a number in a table is an order",
)
ex.wrong(
    "a lead of just the margin",
    "A lead must be larger than the margin; a difference as large as the margin is still level.",
    [("paper > margin", "paper >= margin"), ("paper < -margin", "paper <= -margin")],
    believes="the margin is a lead",
)
ex.wrong(
    "the margin itself left out",
    "Level goes from -margin to margin, both included: an end that lies on the margin is within.",
    [(LEVEL, "(low > -margin) & (high < margin)"), (NO_LEAD, "(high < margin).long()"),
     (NO_TRAIL, "(low > -margin).long()")], believes="less than or equal is the same",
)
ex.wrong(
    "a lead the wrong way round",
    "An order that is turned round does not hold, however clear it is.",
    (VERDICT, "torch.where(paper.abs() <= margin, level, -level)"),
    believes="a clear difference is a clear difference",
)
ex.wrong(
    "level does not contradict an order",
    "An interval that lies within the margins has no lead in it: the claimed one does not hold.",
    [(NO_LEAD, "(high < -margin).long()"), (NO_TRAIL, "(low > margin).long()")],
    believes="only the opposite refutes a lead",
)
ex.wrong(
    "holds and does not hold exchanged",
    "1 is for a claim that holds, -1 for one that does not.",
    (VERDICT, f"-{VERDICT}"), believes="1 is for a contradiction",
)
ex.wrong(
    "the interval is asked for the paper's number",
    "The claim is where the difference lies, above, below or within the margin: compare the "
    "interval with that.",
    source="""
def verdicts(low, high, paper, margin):
    return torch.where((low <= paper) & (paper <= high), 1, -1)
""", believes="an interval that holds the paper's number confirms it",
)
ex.wrong(
    "the interval is asked for the paper's number",
    "The claim is where the difference lies, and 0 means that nothing can be told: not that it fails.",
    source="""
def verdicts(low, high, paper, margin):
    return ((low <= paper) & (paper <= high)).long()
""", believes="an interval that holds the paper's number confirms it",
)
ex.wrong(
    "only the size of the claim",
    "A claim has a direction: a paper that says the second leads is not confirmed by the first leading.",
    ("paper > margin, lead, torch.where(paper < -margin, trail, level)", "paper.abs() > margin, lead, level"),
    believes="a difference is a difference",
)
ex.wrong(
    "the margin counts as a lead",
    "Above the margin means larger: an end that lies on the margin belongs to no lead.",
    [(LEADS, "(low >= margin).long()"), (NO_LEAD, "(high < margin).long()"),
     (TRAILS, "(high <= -margin).long()"), (NO_TRAIL, "(low > -margin).long()")],
    [(LEADS, "(low >= margin).long()"), (TRAILS, "(high <= -margin).long()")],
    ("(low > margin).long() - (high <= margin).long()", "(low >= margin).long() - (high < margin).long()"),
    ("(high < -margin).long() - (low >= -margin).long()",
     "(high <= -margin).long() - (low > -margin).long()"),
    believes="greater or equal is the same",
)
ex.wrong(
    "the margin does not belong to level",
    "From -δ to δ, both included, is level.",
    ("(low >= -margin) & (high <= margin)", "(low > -margin) & (high < margin)"),
    believes="less or equal is the same",
)
ex.wrong(
    "the margin is ignored",
    "Differences up to the margin are level: compare with the margin, not with 0.",
    source="""
def verdicts(low, high, paper, margin):
    lead = (low > 0).long() - (high <= 0).long()
    trail = (high < 0).long() - (low >= 0).long()
    level = -((low > 0) | (high < 0)).long()
    return torch.where(paper > 0, lead, torch.where(paper < 0, trail, level))
""", believes="any difference is a difference",
)
ex.wrong(
    "level contradicted on one side only",
    "An interval that lies below -δ as a whole contradicts level as much as one that lies above δ.",
    (APART, "(low > margin)"), (APART, "(high < -margin)"), believes="too large is the only way out",
)
ex.wrong(
    "the ends keep their roles below",
    "The whole interval lies below -δ if its upper end does, and no point of it if its lower end does not.",
    (f"{TRAILS} - {NO_TRAIL}", "2 * (low < -margin).long() - 1"),
    (f"{TRAILS} - {NO_TRAIL}", "1 - 2 * (high >= -margin).long()"),
    believes="below is above with a minus",
)


def follows_the_papers_number(symptom):
    """Whether the answer is -1 just where the paper's number lies outside of the interval."""
    cases = [(case.outcome.tensor, case.probe.args) for case in symptom.cases]
    return symptom.stage == "value" and all(
        torch.equal(got == -1, (x["paper"] < x["low"]) | (x["paper"] > x["high"])) for got, x in cases
    )


ex.wrong(
    "the interval is asked for the paper's number",
    "The claim is where the difference lies, above, below or within the margin: compare the "
    "interval with that.",
    source="""
def verdicts(low, high, paper, margin):
    inside, narrow = (low <= paper) & (paper <= high), high - low <= 2 * margin
    return torch.where(inside, narrow.long(), -1)
""", believes="a narrow interval around the paper's number confirms it", shows=follows_the_papers_number,
)

ex.right(
    "the claim as an interval of its own",
    source="""
def verdicts(low, high, paper, margin):
    result = []
    for l, h, p in zip(low.tolist(), high.tolist(), paper.tolist()):
        if abs(p) <= margin:
            holds, fails = -margin <= l and h <= margin, l > margin or h < -margin
        elif p > 0:
            holds, fails = l > margin, h <= margin
        else:
            holds, fails = h < -margin, l >= -margin
        result.append(holds - fails)
    return torch.tensor(result)
""",
)
ex.right(
    "a lead of the second is a lead of the first, turned round",
    source="""
def verdicts(low, high, paper, margin):
    turn = paper < 0
    low, high, paper = torch.where(turn, -high, low), torch.where(turn, -low, high), paper.abs()
    lead = (low > margin).long() - (high <= margin).long()
    level = ((low >= -margin) & (high <= margin)).long() - ((low > margin) | (high < -margin)).long()
    return torch.where(paper > margin, lead, level)
""",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("low.tolist(), high.tolist", "high.tolist(), low.tolist"),
    of="the claim as an interval of its own",
)
ex.equivalent(
    "At the limit itself both sides give the same.",
    ("> 0", ">= 0"),
    of="the claim as an interval of its own",
)
ex.right("masks written in place", source='''
def verdicts(low, high, paper, margin):
    first, second = paper > margin, paper < -margin
    level = ~(first | second)
    out = torch.zeros(len(paper), dtype=torch.long, device=paper.device)
    out[first & (low > margin)] = 1
    out[first & (high <= margin)] = -1
    out[second & (high < -margin)] = 1
    out[second & (low >= -margin)] = -1
    out[level & (low >= -margin) & (high <= margin)] = 1
    out[level & ((low > margin) | (high < -margin))] = -1
    return out
''')
ex.right("a helper that says where a number lies", source='''
def verdicts(low, high, paper, margin):
    def side(x):
        return (x > margin).long() - (x < -margin).long()

    bottom, top, claim = side(low), side(high), side(paper)
    inside = (bottom == claim) & (top == claim)
    outside = (bottom > claim) | (top < claim)
    return inside.long() - outside.long()
''')
ex.right("holds and fails as two masks", source='''
def verdicts(low, high, paper, margin):
    up, down = paper > margin, paper < -margin
    same = torch.logical_not(up) & torch.logical_not(down)
    holds = up & (low > margin) | down & (high < -margin) | same & (low >= -margin) & (high <= margin)
    fails = up & (high <= margin) | down & (low >= -margin) | same & ((low > margin) | (high < -margin))
    return torch.where(holds, 1, torch.where(fails, -1, 0))
''')
ex.right("buckets between the two margins", source='''
def verdicts(low, high, paper, margin):
    def zone(x):
        return (x >= -margin).int() + (x > margin).int()

    first, last, claim = zone(low), zone(high), zone(paper)
    out = torch.zeros_like(claim, dtype=torch.int64)
    out = out.masked_fill((first == last) & (first == claim), 1)
    return out.masked_fill((claim < first) | (claim > last), -1)
''')
ex.right("the three verdicts picked from a table", source='''
def verdicts(low, high, paper, margin):
    lead = torch.sub((low > margin).long(), (high <= margin).long())
    trail = torch.sub((high < -margin).long(), (low >= -margin).long())
    level = ((low >= -margin) * (high <= margin)).long() - ((low > margin) + (high < -margin)).long()
    row = (paper > margin).long() - (paper < -margin).long() + 1
    return torch.stack((trail, level, lead)).gather(0, row[None])[0]
''')
ex.right("which of three places the interval can reach", source='''
def verdicts(low, high, paper, margin):
    out = []
    for l, h, p in zip(low, high, paper):
        reach = {"below"} if l < -margin else set()
        if h > margin:
            reach.add("above")
        if l <= margin and h >= -margin:
            reach.add("level")
        claim = "above" if p > margin else "below" if p < -margin else "level"
        out.append(0 if claim in reach and len(reach) > 1 else 1 if claim in reach else -1)
    return torch.tensor(out)
''')
