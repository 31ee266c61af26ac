"""Exercise 4.1: windows of a text, seen twice, one step apart. Everything is a whole number."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def windows(stream: Tensor, starts: Tensor, seq_len: int) -> Tensor:
    """Inputs and targets (2, B, T) of the windows that begin at the given
    starts (B,) of a stream (L,)."""
    places = starts[:, None] + torch.arange(seq_len + 1, device=stream.device)
    rows = stream[places]
    return torch.stack((rows[:, :-1], rows[:, 1:]))
'''
ex = exercise(
    "4.1", ANSWER, points=7, minutes=8, difficulty=1, reread="sec-teacher-forcing", equation="eq-chain-rule"
)


@ex.maker
def text(normal, L=0, **given):
    """A stream of L tokens in which no stretch counts upwards, and some occur several times."""
    at = torch.arange(L)
    return {"stream": (at * 17 + at.square() * 5) % 23} | given


ex.probe("three windows, in no order", L=31, starts=[19, 2, 11], seq_len=5)
ex.probe("windows that overlap, one twice", L=29, starts=[7, 4, 7, 5, 12], seq_len=3)
ex.probe("the last window that fits", L=23, starts=[15, 3], seq_len=7)
ex.probe("windows of one token", L=13, starts=[4, 0, 11], seq_len=1)
ex.probe("a text of a single window", L=6, starts=[0], seq_len=5)
ex.probe("numbers with gaps in memory", L=29, starts=[1, 13], seq_len=3, strided=True)
LONG = (torch.arange(97).square() * 3 + 41) % 59
ex.hidden("long windows, in no order", stream=LONG, starts=[67, 3, 31], seq_len=29)
ex.hidden("two tokens", stream=LONG, starts=[94, 0, 11, 12, 12], seq_len=2)
ex.hidden("the whole text", stream=LONG[:38], starts=[0], seq_len=37)
ex.own(lambda whole: {"stream": whole(0, 58, 41), "starts": whole(0, 30, 3), "seq_len": whole(2, 7)})


@ex.law("each window is cut by itself", "A window knows nothing of the others.")
def one_by_one(run, probe):
    alone = [run(probe.having("law", starts=start[None])) for start in probe.args["starts"]]
    return run(probe), torch.cat(alone, dim=1)


INPUTS, TARGETS = "rows[:, :-1]", "rows[:, 1:]"
ex.wrong(
    "two tensors instead of one",
    "Inputs and targets come back in one tensor (2, B, T): torch.stack gives it a new first axis.",
    ("torch.stack", ""), believes="two results are a pair",
    shows=lambda symptom: symptom.case.outcome.kind in ("tuple", "list"),
)
ex.wrong(
    "the targets are the inputs",
    "What stands in the input needs no prediction: the target is the token one step further.",
    (TARGETS, INPUTS), believes="a model reproduces what it reads",
)
ex.wrong(
    "inputs and targets swapped",
    "The targets lie one step *later* in the text than the inputs.",
    [(INPUTS, TARGETS), (TARGETS, INPUTS)], believes="the inputs are the shifted ones",
)
ex.wrong(
    "the targets lie behind",
    "The model predicts what comes next; these targets are what came before.",
    (TARGETS, "stream[places - 1][:, :-1]"), believes="shifting by one means going back by one",
)
ex.wrong(
    "the next number instead of the next token",
    "inputs + 1 is the next entry of the vocabulary; the target is the next token of the text.",
    (TARGETS, f"{INPUTS} + 1"), believes="the next token is the next number",
)
ex.wrong(
    "the last target comes from the front of the window",
    "roll wraps around: the last target is the token behind the window, so read seq_len + 1 tokens.",
    (TARGETS, f"{INPUTS}.roll(-1, dims=1)"), believes="roll is a shift",
)
ex.wrong(
    "a step of two",
    "Each target is the very next token, one step after its input.",
    (TARGETS, "stream[(places + 2).clamp(max=len(stream) - 1)][:, :-1]"),
    believes="the target lies behind the next token",
)
ex.wrong(
    "one pair too few",
    "A window of T pairs has T + 1 tokens: the target of the last input lies one further.",
    ("seq_len + 1", "seq_len"), believes="a window has T tokens",
)
ex.wrong(
    "the starts are ignored",
    "Each window begins where starts says, not behind the window before it.",
    ("starts[:, None]", "seq_len * torch.arange(len(starts))[:, None]"), believes="windows lie side by side",
)
ex.wrong(
    "axes in another order",
    "",
    (f"{TARGETS})", f"{TARGETS}), dim=1"), believes="any axis will do for the two",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    (", device=stream.device", ""), believes="everything lives on the CPU",
)
ex.wrong(
    "the library does the work",
    source="""
def windows(stream, starts, seq_len):
    from pioneers.objectives import causal_lm

    rows = torch.stack([stream[s : s + seq_len + 1] for s in starts.tolist()])
    return torch.stack(causal_lm(rows))
""", believes="the package's own split is an answer",
)
ex.wrong(
    "targets two steps ahead",
    "The target of a token is the next one, one step further in the text.",
    [("arange(seq_len + 1,", "arange(seq_len + 2,"), ("(rows[:, :-1], rows[:, 1:])",
     "(rows[:, :-2], rows[:, 2:])")], believes="one step for the window, one for the target",
)
ex.wrong(
    "the last token of the text is never read",
    "A window may reach to the end of the text: its last target is then token L - 1.",
    ("stream[places]", "stream[places.clamp(max=len(stream) - 2)]"),
    believes="the last token has no next one",
)

ex.right(
    "all windows of the text, then those that are wanted",
    [("    places = starts[:, None] + torch.arange(seq_len + 1, device=stream.device)\n", ""),
     ("stream[places]", "stream.unfold(0, seq_len + 1, 1)[starts]")],
)
ex.right(
    "slices, one window after the other",
    source="""
def windows(stream, starts, seq_len):
    inputs = torch.stack([stream[s : s + seq_len] for s in starts.tolist()])
    targets = torch.stack([stream[s + 1 : s + 1 + seq_len] for s in starts.tolist()])
    return torch.stack([inputs, targets])
""",
)
ex.right(
    "the two shifts as one more axis",
    source="""
def windows(stream, starts, seq_len):
    shift = torch.arange(2, device=starts.device)[:, None, None]
    place = torch.arange(seq_len, device=starts.device)
    return stream[starts[:, None] + place + shift]
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0", "-1"),
    of="all windows of the text, then those that are wanted",
)
ex.right("gather from the text, expanded", source='''
def windows(stream, starts, seq_len):
    steps = torch.arange(seq_len, device=stream.device)
    inputs = stream.expand(len(starts), -1).gather(1, starts.unsqueeze(1) + steps)
    targets = stream.expand(len(starts), -1).gather(1, starts.unsqueeze(1) + steps + 1)
    return torch.stack((inputs, targets))
''')
ex.right("take", source='''
def windows(stream, starts, seq_len):
    places = torch.stack([starts + step for step in range(seq_len + 1)], dim=1)
    rows = torch.take(stream, places)
    return torch.stack([rows[:, :seq_len], rows[:, 1:]], dim=0)
''')
ex.right("lists of numbers", source='''
def windows(stream, starts, seq_len):
    text = stream.tolist()
    both = [[text[s + shift : s + shift + seq_len] for s in starts.tolist()] for shift in (0, 1)]
    return torch.tensor(both, device=stream.device)
''')
ex.right("narrow, and rows split in two", source='''
def windows(stream, starts, seq_len):
    rows = torch.stack([stream.narrow(0, int(start), seq_len + 1) for start in starts])
    return torch.stack((rows.narrow(1, 0, seq_len), rows.narrow(1, 1, seq_len)))
''')
ex.right("the text rolled by one for the targets", source='''
def windows(stream, starts, seq_len):
    both = torch.stack((stream, stream.roll(-1)))
    return both[:, starts[:, None] + torch.arange(seq_len, device=stream.device)]
''')
