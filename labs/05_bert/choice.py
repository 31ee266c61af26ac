"""Exercise 5.3: which tokens BERT is asked for.

All chance comes from outside, as draws between 0 and 1, so that there is one right result.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import seeded

ANSWER = '''
def choose_tokens(
    input_ids: Tensor,
    special_ids: Tensor,
    draws: Tensor,
    mask_prob: float = 0.15,
) -> Tensor:
    """Which tokens are to be predicted: boolean (B, T)."""
    return (draws < mask_prob) & ~torch.isin(input_ids, special_ids)
'''
ex = exercise("5.3", ANSWER, points=6, minutes=8, difficulty=1, reread="sec-masked-lm", equation="eq-mlm")

DRAWS = [
    [0.01, 0.11, 0.31, 0.74, 0.21, 0.14, 0.03],
    [0.99, 0.13, 0.07, 0.52, 0.16, 0.23, 0.02],
    [0.24, 0.08, 0.91, 0.12, 0.05, 0.64, 0.18],
]
EDGE = [[0.1, 0.25, 0.0, 0.0, 0.75, 0.25, 0.25]]
IDS = [[2, 9, 5, 12, 3, 0, 0], [2, 1, 4, 12, 10, 7, 3], [2, 11, 3, 6, 8, 13, 3]]
ex.inputs(input_ids=IDS, special_ids=[0, 2, 3, 12], draws=DRAWS)
ex.probe("three rows, 15%")
ex.probe("a batch of one, 15%", input_ids=IDS[1:2], draws=DRAWS[1:2])
ex.probe("40%", mask_prob=0.4)
ex.probe("draws that equal the probability", input_ids=IDS[2:], draws=EDGE, mask_prob=0.25)
ex.probe("every ordinary token", mask_prob=1.0)
ex.probe("another set of special tokens", special_ids=[7, 13, 4])


def many():
    """Five rows of ids, and a draw for each."""
    generator = seeded(5301)
    ids = torch.randint(19, (5, 23), generator=generator)
    return {"input_ids": ids, "draws": torch.rand(5, 23, generator=generator)}


ex.hidden("five rows", drawn=many, special_ids=[18, 0, 7])
ex.hidden("one special id, a large share", drawn=many, special_ids=[11], mask_prob=0.7)
ex.hidden("a share of zero", drawn=many, special_ids=[2, 3], draws=torch.zeros(5, 23), mask_prob=0.0)


@ex.own
def any_rows(whole):
    return {"input_ids": whole(0, 13, 3, 7), "draws": (torch.tensor(whole(0, 99, 3, 7)) + 0.5) / 100}


BELOW, ORDINARY = "(draws < mask_prob)", "~torch.isin(input_ids, special_ids)"
ex.wrong(
    "numbers instead of True and False",
    "The result says yes or no for each token: a comparison gives booleans, join them with &.",
    (f"{BELOW} & {ORDINARY}", f"{BELOW}.float() * ({ORDINARY}).float()"), believes="a mask is ones and zeros",
    shows=lambda symptom: symptom.stage == "dtype",
)
ex.wrong(
    "special tokens are chosen too",
    "Nobody learns anything from guessing [CLS], [SEP] or [PAD]: leave special_ids out.",
    (f" & {ORDINARY}", ""), believes="every token has the same chance",
)
ex.wrong(
    "one condition is enough",
    "A token must be ordinary *and* have a small draw: join the two conditions with &.",
    (" & ", " | "), believes="| joins two conditions",
)
ex.wrong(
    "only padding is left out",
    "[CLS] and [SEP] are special too: leave out every id of special_ids.",
    (ORDINARY, "(input_ids != 0)"), believes="only padding is no token",
)
ex.wrong(
    "only special tokens are chosen",
    "isin says which tokens are special: choose among the others, with ~.",
    ("~", ""), believes="isin says what may be chosen",
)
ex.wrong(
    "special ids taken for the smallest ones",
    "special_ids may be any numbers: compare with the list, not with its largest or a fixed number.",
    (ORDINARY, "(input_ids > special_ids.max())"), (ORDINARY, "(input_ids >= len(special_ids))"),
    believes="special tokens come first in the vocabulary",
)
ex.wrong(
    "draws above the probability",
    "A uniform draw is below p with probability p, and above it with probability 1 - p.",
    ("<", ">"), ("<", ">="), ("draws < mask_prob", "draws > 1 - mask_prob"),
    believes="a draw must exceed the probability",
)
ex.wrong(
    "a draw that equals the probability",
    "Draws lie in [0, 1), 0 included: the comparison is <, so that p = 0 chooses nothing.",
    ("<", "<="), believes="less than or equal is the same",
)
ex.wrong(
    "mask_prob is ignored",
    "0.15 is only the default: use the parameter.",
    ("draws < mask_prob", "draws < 0.15"), believes="the share is 15%",
)
ex.wrong(
    "a fixed number in each row",
    "Here each token is drawn by itself, so that rows differ in how many are chosen.",
    source="""
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    ordinary = ~torch.isin(input_ids, special_ids)
    order = draws.masked_fill(~ordinary, torch.inf).argsort(-1).argsort(-1)
    return ordinary & (order < (mask_prob * ordinary.sum(-1, keepdim=True)).round())
""", believes="15% of each row, exactly", section="sec-bert-sources",
)


ex.wrong(
    "one special id for all",
    "special_ids is a list: a token is special if it is any of them, as torch.isin says.",
    (ORDINARY, "(input_ids != special_ids[0])"), (ORDINARY, "(input_ids != special_ids[-1])"),
    believes="there is one special token",
)
ex.wrong(
    "special ids taken for the smallest ones",
    "special_ids may be any numbers: compare with the list, not with a fixed number.",
    (ORDINARY, "(input_ids >= 5)"), (ORDINARY, "(input_ids > 4)"), believes="ordinary ids begin at 5",
)
ex.wrong(
    "a fixed share of the batch",
    "Each token is chosen by itself, when its draw is smaller: how many there are is chance.",
    (BELOW, "(draws.flatten().argsort().argsort().reshape(draws.shape) < int(mask_prob * draws.numel()))"),
    (BELOW, "(draws <= draws.flatten().sort().values[max(0, int(mask_prob * draws.numel()) - 1)])"),
    believes="15% of the tokens, exactly",
)
ex.wrong(
    "the share scaled up for the special tokens",
    "mask_prob is the chance of each ordinary token: nothing makes up for those that are special.",
    *(("mask_prob)", f"mask_prob / (~torch.isin(input_ids, special_ids)).double().mean({axis}))")
      for axis in ("-1, keepdim=True", "")), believes="15% of all tokens, special ones included",
)


def own_dice(symptom):
    """Right where every token is chosen; elsewhere chosen tokens do not have the smallest draws."""
    if symptom.stage != "value":
        return False
    sure = [case for case in symptom.cases if case.probe.args.get("mask_prob") == 1.0]
    right = [torch.equal(case.outcome.tensor, case.expected.tensor) for case in sure]
    return bool(right) and all(right) and not all(map(smallest_draws, symptom.cases))


def smallest_draws(case):
    """In each row, no ordinary token that is left out has a smaller draw than one that is chosen."""
    args, chosen = case.probe.args, case.outcome.tensor
    ordinary = ~torch.isin(args["input_ids"], args["special_ids"])
    largest = args["draws"].masked_fill(~(chosen & ordinary), -1).amax(-1)
    left = args["draws"].masked_fill(chosen | ~ordinary, 2).amin(-1)
    return bool((largest < left).all())


ex.wrong(
    "dice of its own",
    "The draws are given: compare them, and throw no others.",
    ("draws <", "torch.rand(input_ids.shape, device=input_ids.device) <"), believes="chance must be fresh",
    shows=own_dice,
)

ex.right("compared with each special id", (ORDINARY, "(input_ids[..., None] != special_ids).all(-1)"))
ex.right(
    "token by token",
    source="""
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    special = set(special_ids.tolist())
    rows = [
        [i not in special and d < mask_prob for i, d in zip(ids, row)]
        for ids, row in zip(input_ids.tolist(), draws.tolist())
    ]
    return torch.tensor(rows)
""",
)
ex.right("special tokens get a draw that never wins", source='''
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    return draws.masked_fill(torch.isin(input_ids, special_ids), math.inf) < mask_prob
''')
ex.right("one special id after the other", source='''
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    chosen = draws < mask_prob
    for special in special_ids:
        chosen = chosen & (input_ids != special)
    return chosen
''')
ex.right("taken back in place", source='''
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    chosen = torch.lt(draws, mask_prob)
    chosen[torch.isin(input_ids, special_ids)] = False
    return chosen
''')
ex.right("a table of the vocabulary", source='''
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    size = 1 + max(input_ids.max(), special_ids.max())
    ordinary = torch.ones(size, dtype=torch.bool, device=input_ids.device)
    ordinary[special_ids] = False
    return ordinary[input_ids] * (draws < mask_prob)
''')
ex.right("what is not chosen", source='''
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    special = torch.eq(input_ids.unsqueeze(0), special_ids.view(-1, 1, 1)).any(dim=0)
    return torch.logical_not(torch.logical_or(special, draws >= mask_prob))
''')
ex.right("only where the draw is small", source='''
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    chosen = torch.zeros_like(input_ids, dtype=torch.bool)
    b, t = torch.where(draws < mask_prob)
    chosen[b, t] = torch.isin(input_ids[b, t], special_ids, invert=True)
    return chosen
''')
