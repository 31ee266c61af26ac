"""Exercise 5.4: what becomes of the chosen tokens, and what must be predicted.

All chance comes from outside, as draws between 0 and 1 and random tokens, so that there is one right result.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import seeded

ANSWER = '''
def corrupt(
    input_ids: Tensor,
    chosen: Tensor,
    fate: Tensor,
    random_ids: Tensor,
    mask_id: int,
) -> Tensor:
    """What BERT reads and what it must predict, (2, B, T);
    targets of -100 where nothing is asked."""
    inputs = torch.where(chosen & (fate < 0.8), mask_id, input_ids)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), random_ids, inputs)
    return torch.stack((inputs, torch.where(chosen, input_ids, -100)))
'''
ex = exercise("5.4", ANSWER, points=12, minutes=12, difficulty=2, reread="sec-masked-lm", equation="eq-mlm")

IDS = torch.tensor([[2, 9, 5, 11, 3, 0, 0], [2, 1, 6, 13, 10, 7, 3], [2, 14, 8, 6, 8, 13, 3]])
CHOSEN = torch.tensor([[0, 1, 0, 1, 0, 0, 0], [0, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 0, 1, 0]]).bool()
FATE = torch.tensor(
    [
        [0.95, 0.79, 0.82, 0.85, 0.83, 0.2, 0.4],
        [0.1, 0.93, 0.05, 0.88, 0.97, 0.6, 0.3],
        [0.5, 0.87, 0.3, 0.81, 0.7, 0.99, 0.84],
    ]
)
OTHERS = torch.tensor([[5, 7, 9, 1, 6, 8, 5], [10, 11, 13, 9, 1, 14, 6], [7, 13, 1, 10, 5, 9, 11]])
ARGS = {"input_ids": IDS, "chosen": CHOSEN, "fate": FATE, "random_ids": OTHERS}
ONE = {name: x[1:2] for name, x in ARGS.items()}
EDGE = {"fate": [[0.8, 0.0, 0.8, 0.5, 0.85, 0.95, 0.8]], "chosen": CHOSEN[:1] | True}
ex.inputs(**ARGS, mask_id=4)
ex.probe("three rows")
ex.probe("a batch of one, another [MASK]", **ONE, mask_id=103)
ex.probe("nothing chosen", chosen=CHOSEN & False)
ex.probe("everything chosen, a draw of exactly 0.8", **ONE | EDGE)
ex.probe("numbers with gaps in memory", strided=True)


def many():
    """Seven rows, half of whose tokens are chosen."""
    generator = seeded(5401)
    ids, others = torch.randint(5, 97, (2, 7, 31), generator=generator)
    chosen, fate = torch.rand(2, 7, 31, generator=generator)
    return {"input_ids": ids, "chosen": chosen < 0.5, "fate": fate, "random_ids": others}


def single():
    """The first token of these rows."""
    return {name: x[:1, :1] for name, x in many().items()}


ALL = {"chosen": torch.ones(7, 31).bool(), "fate": torch.zeros(7, 31)}
ex.hidden("seven rows, half of them chosen", drawn=many)
ex.hidden("all [MASK]", drawn=many, **ALL, mask_id=1)
ex.hidden("a single token that stays", drawn=single, chosen=[[True]], fate=[[0.95]])


@ex.own
def any_ids(whole):
    ids, others, fate = (torch.tensor(whole(5, 99, 3, 7)) for _ in range(3))
    return {"input_ids": ids, "chosen": ids > 40, "fate": (fate + 0.5) / 100, "random_ids": others}


@ex.law(
    "a token that is not asked for stays as it is", "It is the context from which the others are predicted."
)
def unasked_stay(run, probe):
    unasked = ~probe.args["chosen"]
    return run(probe)[0][unasked], probe.args["input_ids"][unasked]


MASKED, RANDOM, TARGETS = (
    "chosen & (fate < 0.8)",
    "(fate >= 0.8) & (fate < 0.9)",
    "torch.where(chosen, input_ids, -100)",
)
RATES = {"section": "sec-mlm-rates", "equation": "eq-mlm-bayes"}
ex.wrong(
    "the targets are the corrupted tokens",
    "What must be predicted is the token that stood there, not the one that stands there now.",
    (TARGETS, "torch.where(chosen, inputs, -100)"), believes="the targets are read off the row that was made",
)
ex.wrong(
    "targets everywhere",
    "Only chosen tokens are asked for; all others have the target -100.",
    (TARGETS, "input_ids"), believes="the targets are the text",
)
ex.wrong(
    "only [MASK] is asked for",
    "All chosen tokens are asked for, random and kept ones too: that is what they are there for.",
    (TARGETS, f"torch.where({MASKED}, input_ids, -100)"), believes="a question is a [MASK]", **RATES,
)
ex.wrong(
    "kept tokens are not asked for",
    "A kept token is asked for all the same: it teaches the model to trust what it reads.",
    (TARGETS, "torch.where(chosen & (fate < 0.9), input_ids, -100)"),
    believes="what has not changed need not be predicted", **RATES,
)
ex.wrong(
    "another number than -100",
    "Only -100 is left out of the loss; 0 and -1 are not: 0 is a token like any other.",
    ("-100))", "0))"), ("-100))", "-1))"), believes="zero means nothing",
)
ex.wrong(
    "targets where nothing is asked",
    "chosen is True where a token is asked for: there the target is the token, elsewhere -100.",
    (TARGETS, "torch.where(chosen, -100, input_ids)"), believes="True marks what is left out",
)
ex.wrong(
    "targets first",
    "What BERT reads comes first, what it must predict second.",
    (f"(inputs, {TARGETS})", f"({TARGETS}, inputs)"), believes="the answer comes before the question",
)
ex.wrong(
    "tokens that were not chosen are corrupted",
    "Only chosen tokens change; fate is drawn for every token, for the sake of its shape.",
    [(MASKED, "fate < 0.8"), (f"chosen & {RANDOM}", RANDOM)], (f"chosen & {RANDOM}", RANDOM),
    (MASKED, "fate < 0.8"), believes="fate alone decides",
)
ex.wrong(
    "[MASK] overwritten by random tokens",
    "fate < 0.9 holds for those that are [MASK] already: a random token needs 0.8 ≤ fate < 0.9.",
    (" & (fate >= 0.8)", ""), believes="fate below 0.9 is a random token",
)
ex.wrong(
    "every chosen token becomes [MASK]",
    "A tenth becomes a random token and a tenth stays: after pretraining nobody shows BERT a [MASK].",
    [(MASKED, "chosen"), (RANDOM, "(fate > 2)")], believes="masked means [MASK]", section="sec-mlm-rates",
)
ex.wrong(
    "no token is kept",
    "From 0.9 on the token stays: with random tokens alone, what is read tells nothing.",
    (" & (fate < 0.9)", ""), believes="the rest is random", **RATES,
)
ex.wrong(
    "no token is random",
    "Between 0.8 and 0.9 a random token takes its place: with kept tokens alone, copying is right.",
    (RANDOM, "(fate > 2)"), believes="the rest stays", **RATES,
)
ex.wrong(
    "kept and random exchanged",
    "Here 0.8 ≤ fate < 0.9 becomes random and 0.9 ≤ fate stays.",
    (RANDOM, "(fate >= 0.9)"), believes="the last tenth is random",
)
ex.wrong(
    "a draw of exactly 0.8",
    "fate < 0.8 becomes [MASK]; a draw of 0.8 itself belongs to the random tokens.",
    [("fate < 0.8", "fate <= 0.8"), ("fate >= 0.8", "fate > 0.8")], believes="less than or equal is the same",
)
ex.wrong(
    "the input is overwritten",
    source="""
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    targets = torch.where(chosen, input_ids, -100)
    swap = chosen & (fate >= 0.8) & (fate < 0.9)
    input_ids[swap] = random_ids[swap]
    input_ids[chosen & (fate < 0.8)] = mask_id
    return torch.stack((input_ids, targets))
""", believes="the row belongs to the function",
)
ex.wrong(
    "the library does the work",
    source="""
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    from pioneers.objectives import masked_lm

    return torch.stack(masked_lm(input_ids, mask_id=mask_id, vocab_size=200))
""", believes="the package has a function for that",
)
ex.wrong(
    "every chosen token becomes [MASK]",
    "Of the chosen tokens 80% become [MASK], 10% a random token, and 10% stay as they are.",
    ("chosen & (fate < 0.8)", "chosen"), believes="chosen means masked",
)

ex.right(
    "from the last share to the first",
    source="""
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    new = torch.where(fate < 0.9, random_ids, input_ids)
    new = torch.where(fate < 0.8, mask_id, new)
    return torch.stack((torch.where(chosen, new, input_ids), torch.where(chosen, input_ids, -100)))
""",
)
ex.right(
    "token by token",
    source="""
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    both = torch.stack((input_ids, torch.full_like(input_ids, -100)))
    for b in range(input_ids.shape[0]):
        for t in range(input_ids.shape[1]):
            if chosen[b, t]:
                both[1, b, t] = input_ids[b, t]
                if fate[b, t] < 0.8:
                    both[0, b, t] = mask_id
                elif fate[b, t] < 0.9:
                    both[0, b, t] = random_ids[b, t]
    return both
""",
)
ex.equivalent(
    "The next step overrides it at exactly 0.8.",
    ("< 0.8", "<= 0.8"),
)
ex.equivalent(
    "Whether a draw equals 0.9 is a matter of rounding in float32.",
    ("< 0.9", "<= 0.9"),
)
ex.equivalent(
    "Whether a draw equals 0.9 is a matter of rounding in float32.",
    ("< 0.9", "<= 0.9"),
    of="from the last share to the first",
)
ex.right("copies, changed in place", source='''
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    read, asked = input_ids.clone(), torch.full_like(input_ids, -100)
    hidden = chosen & (fate < 0.8)
    swapped = chosen & ~hidden & (fate < 0.9)
    asked[chosen] = input_ids[chosen]
    read[hidden] = mask_id
    read[swapped] = random_ids[swapped]
    return torch.stack([read, asked])
''')
ex.right("masked_fill", source='''
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    read = torch.where(chosen & (fate < 0.9), random_ids, input_ids)
    read = read.masked_fill(torch.logical_and(chosen, fate < 0.8), mask_id)
    return torch.cat((read[None], input_ids.masked_fill(~chosen, -100)[None]))
''')
ex.right("sums of products with 0 and 1", source='''
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    asked = chosen.long()
    masked = asked * (fate < 0.8)
    swapped = asked * (fate >= 0.8) * (fate < 0.9)
    read = masked * mask_id + swapped * random_ids + (1 - masked - swapped) * input_ids
    return torch.stack((read, asked * input_ids - 100 * (1 - asked)))
''')
ex.right("a number for each fate", source='''
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    kind = (fate >= 0.8).long() + (fate >= 0.9).long()
    kind[~chosen] = 2
    tables = torch.stack((torch.full_like(input_ids, mask_id), random_ids, input_ids))
    read = tables.gather(0, kind.unsqueeze(0))
    return torch.cat((read, torch.where(chosen, input_ids, -100).unsqueeze(0)))
''')
ex.right("a helper for each token", source='''
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    def pair(old, asked, f, other):
        if not asked:
            return old, -100
        return (mask_id if f < 0.8 else other if f < 0.9 else old), old

    columns = [x.flatten().tolist() for x in (input_ids, chosen, fate, random_ids)]
    return torch.tensor([pair(*token) for token in zip(*columns)]).T.reshape(2, *input_ids.shape)
''')
ex.right("only the chosen tokens are looked at", source='''
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    b, t = chosen.nonzero(as_tuple=True)
    old, f = input_ids[b, t], fate[b, t]
    both = torch.empty(2, *input_ids.shape, dtype=torch.int64)
    both[0], both[1] = input_ids, -100
    both[1, b, t] = old
    both[0, b, t] = torch.where(f < 0.8, mask_id, torch.where(f < 0.9, random_ids[b, t], old))
    return both
''')
