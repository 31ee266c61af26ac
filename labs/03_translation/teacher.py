"""Exercise 3.3: what the decoder reads and what it must write, from a padded batch of targets."""

from torch.nn.functional import pad

from pioneers.checks.building import exercise

ANSWER = '''
def teacher_forcing(
    target_ids: Tensor, start_id: int, stop_id: int, pad_id: int
) -> Tensor:
    """Decoder inputs and targets (2, B, T+1) of a padded batch of
    translations (B, T)."""
    real = target_ids != pad_id
    inputs = F.pad(target_ids, (1, 0), value=start_id)
    targets = F.pad(target_ids.where(real, -100), (0, 1), value=-100)
    targets = targets.scatter(1, real.sum(dim=1, keepdim=True), stop_id)
    return torch.stack((inputs, targets))
'''
ex = exercise(
    "3.3", ANSWER, points=8, minutes=10, difficulty=2, reread="sec-shifted-targets",
    equation="eq-teacher-forcing",
)

THREE = "three rows of different lengths"
ROWS = [[3, 3, 3, 7, 7], [11, 2, 7, 7, 7], [5, 4, 3, 2, 11]]
ex.inputs(start_id=1, stop_id=2, pad_id=0)
ex.probe("the batch of the lecture", target_ids=[[7, 8, 9], [5, 0, 0]])
ex.probe(THREE, target_ids=[[7, 5, 0, 0, 0], [4, 4, 9, 6, 8], [5, 3, 7, 0, 0]])
ex.probe(
    "another id for padding, and 0 is a word", target_ids=[[0, 4, 9, 9], [6, 0, 5, 0]], start_id=7, stop_id=8,
    pad_id=9,
)
ex.probe("a batch of one", target_ids=[[11, 13, 12]], start_id=2, stop_id=1, pad_id=3)
ex.probe("a row of nothing but padding", target_ids=[[5, 4], [0, 0]])
ex.probe("stop and padding are the same token", target_ids=[[5, 4], [7, 0]], stop_id=0)
ex.hidden("another padding", target_ids=ROWS, start_id=0, stop_id=1, pad_id=7)
ex.hidden("one column", target_ids=[[4], [0]], start_id=2, stop_id=3)
ex.hidden("start and stop are one", target_ids=ROWS, start_id=13, stop_id=13, pad_id=7)
ex.own(lambda whole: {"target_ids": [whole(3, 19, n) + [0] * (5 - n) for n in whole(0, 5, 3)]})


@ex.law(
    "more padding adds padding only",
    "A row is read and written alike, whatever the longest of its batch is.", on=THREE,
)
def more_padding(run, probe):
    return run(probe.having("law", target_ids=pad(probe.args["target_ids"], (0, 2))))[..., :-2], run(probe)


RESULT = "torch.stack((inputs, targets))"
MARKED = "target_ids.where(real, -100)"
STOPPED = "    targets = targets.scatter(1, real.sum(dim=1, keepdim=True), stop_id)\n"
READ = "F.pad(target_ids, (1, 0), value=start_id)"
WHOLE_ROW = """    row = F.pad(inputs, (0, 1), value=pad_id)
    row = row.scatter(1, real.sum(dim=1, keepdim=True) + 1, stop_id)
    inputs, targets = row[:, :-1], row[:, 1:].where(row[:, 1:] != pad_id, -100)
"""
UNMARKED = "targets.where(targets != -100, pad_id)"
ex.wrong(
    "a result that is no tensor",
    "",
    (RESULT, "inputs, targets"), believes="two results are a tuple",
)
ex.wrong(
    "no shift",
    "Here the decoder reads the very token it is asked for: it learns to copy, and cannot translate.",
    (RESULT, f"torch.stack(({UNMARKED}, targets))"),
    believes="the decoder reads the translation it is to write",
)
ex.wrong(
    "inputs and targets exchanged",
    "First what the decoder reads, beginning with the start token; then what it must write.",
    ("(inputs, targets)", "(targets, inputs)"), believes="targets first",
)
ex.wrong(
    "the stop token behind the padding",
    "A short row ends where its real tokens end: the stop token comes there, the padding behind it.",
    [("(0, 1), value=-100", "(0, 1), value=stop_id"), (STOPPED, "")],
    [(MARKED, "target_ids"), ("(0, 1), value=-100", "(0, 1), value=stop_id"), (STOPPED, "")],
    believes="the stop token comes last",
)
ex.wrong(
    "nothing says stop",
    "Unless the stop token is a target, the model never learns where a text ends.",
    (STOPPED, ""), believes="padding says that the text is over",
)
ex.wrong(
    "nothing says stop",
    "With T columns there is no place for the stop token: T + 1 are asked for.",
    [(READ, f"{READ}[:, :-1]"), (f"F.pad({MARKED}, (0, 1), value=-100)", MARKED), (STOPPED, "")],
    believes="inputs and targets are as wide as the batch",
)
ex.wrong(
    "padding is a target",
    "Targets behind the stop token are -100; any other id would have to be learned.",
    [(MARKED, "target_ids"), ("(0, 1), value=-100", "(0, 1), value=pad_id")],
    believes="the loss knows the padding by its id",
)
ex.wrong(
    "the mark -100 among the inputs",
    "-100 is for the loss alone. An embedding has no row -100: what is read is padded with pad_id.",
    (READ, READ.replace("target_ids", MARKED)), believes="-100 marks padding everywhere",
)
ex.wrong(
    "the stop token is read",
    "It does no harm, as nothing is asked there, but here the stop token is written and never read.",
    (RESULT, f"torch.stack((F.pad({UNMARKED}[:, :-1], (1, 0), value=start_id), targets))"),
    (STOPPED, WHOLE_ROW),
    believes="the whole row without its last, the whole row without its first",
)
ex.wrong(
    "padding is always 0",
    "Use pad_id: 0 may well be a word.",
    ("real = target_ids != pad_id", """lengths = (target_ids != 0).sum(dim=1, keepdim=True)
    real = torch.arange(target_ids.shape[1], device=target_ids.device) < lengths"""),
    ("target_ids != pad_id", "target_ids != 0"), believes="zeros are padding",
)
ex.wrong(
    "shifted the other way",
    "The target moves to the right, with the start token in the gap: one reads the token before.",
    ("(1, 0)", "(0, 1)"), believes="the start token makes the row longer, at its end",
)
ex.wrong(
    "padding stays a target",
    "Behind the stop token every target is -100, or the model is asked to write padding.",
    (MARKED, "target_ids"), believes="one -100 at the end is enough",
)
ex.wrong(
    "the stop token over the last word",
    "The stop token stands behind the last real token, at the place that the length counts.",
    ("real.sum(dim=1, keepdim=True)", "(real.sum(dim=1, keepdim=True) - 1).clamp(min=0)"),
    ("real.sum(dim=1, keepdim=True)", "(real.sum(dim=1, keepdim=True) - 1)"),
    ("real.sum(dim=1, keepdim=True)", "(real.sum(dim=1, keepdim=True) - 1) % targets.shape[1]"),
    believes="the last place is the length minus one",
)
ex.wrong(
    "the length is the place of the first padding",
    "A row without padding has no such place, and argmax says 0: count the real tokens instead.",
    ("real.sum(dim=1, keepdim=True)", "(target_ids == pad_id).int().argmax(dim=1, keepdim=True)"),
    believes="every row ends with padding",
)
ex.wrong(
    "the start token is a target",
    "What is written begins with the translation; the start token is read only.",
    (f"F.pad({MARKED}, (0, 1), value=-100)", f"F.pad({MARKED}, (1, 0), value=start_id)"),
    believes="inputs and targets begin alike",
)
ex.wrong(
    "the stop token is read",
    "The stop token is written and never read: behind the last real token the inputs hold pad_id.",
    source="""
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    ends = (target_ids != pad_id).sum(1, keepdim=True)
    targets = F.pad(target_ids.where(target_ids != pad_id, -100), (0, 1), value=-100)
    targets = targets.scatter(1, ends, stop_id)
    inputs = F.pad(target_ids, (1, 0), value=start_id)
    ends = (1 + ends).clamp(max=target_ids.shape[1])
    return torch.stack((inputs.scatter(1, ends, stop_id), targets))
""", believes="a text is read to its end",
)

ex.right("row by row", source='''
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    B, T = target_ids.shape
    inputs = torch.full((B, T + 1), pad_id, device=target_ids.device)
    targets = torch.full((B, T + 1), -100, device=target_ids.device)
    for b, row in enumerate(target_ids):
        real = row[row != pad_id]
        inputs[b, 0], inputs[b, 1 : len(real) + 1] = start_id, real
        targets[b, : len(real)], targets[b, len(real)] = real, stop_id
    return torch.stack((inputs, targets))
''')
ex.right("places compared with lengths", source='''
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    column = torch.ones_like(target_ids[:, :1])
    place = torch.arange(target_ids.shape[1] + 1, device=target_ids.device)
    lengths = (target_ids != pad_id).sum(dim=1, keepdim=True)
    targets = torch.where(place < lengths, torch.cat([target_ids, column], dim=1), -100)
    targets[place == lengths] = stop_id
    return torch.stack((torch.cat([start_id * column, target_ids], dim=1), targets))
''')
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    ("pad_id, device=target_ids.device", "pad_id"), ("100, device=target_ids.device", "100"),
    of="row by row",
)
ex.right("cat in place of pad", source='''
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    B = len(target_ids)
    column = target_ids.new_full((B, 1), -100)
    inputs = torch.cat((torch.full_like(column, start_id), target_ids), dim=1)
    targets = torch.cat((target_ids.masked_fill(target_ids == pad_id, -100), column), dim=1)
    targets[torch.arange(B, device=target_ids.device), (target_ids != pad_id).sum(1)] = stop_id
    return torch.stack((inputs, targets))
''')
ex.right("targets filled in a tensor of -100", source='''
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    B, T = target_ids.shape
    both = target_ids.new_full((2, B, T + 1), -100)
    both[0, :, 0], both[0, :, 1:] = start_id, target_ids
    real = target_ids != pad_id
    both[1, :, :T] = torch.where(real, target_ids, both[1, :, :T])
    return torch.stack((both[0], both[1].scatter(1, real.sum(1)[:, None], stop_id)))
''')
ex.right("lists of numbers", source='''
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    inputs, targets = [], []
    for row in target_ids.tolist():
        real = [token for token in row if token != pad_id]
        inputs.append([start_id, *row])
        targets.append([*real, stop_id] + [-100] * (len(row) - len(real)))
    return torch.tensor([inputs, targets], device=target_ids.device)
''')
ex.right("the stop where padding begins", source='''
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    padded = F.pad(target_ids != pad_id, (0, 1), value=False)
    first = ~padded & F.pad(padded[:, :-1], (1, 0), value=True)
    targets = F.pad(target_ids, (0, 1)).masked_fill(~padded, -100).masked_fill(first, stop_id)
    return torch.stack((F.pad(target_ids, (1, 0), value=start_id), targets))
''')
ex.right("a one-hot place for the stop", source='''
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    T = target_ids.shape[1]
    real = target_ids.ne(pad_id)
    at = F.one_hot(real.sum(1), T + 1).bool()
    targets = F.pad(torch.where(real, target_ids, -100), (0, 1), value=-100)
    inputs = F.pad(target_ids, (1, 0), value=start_id)
    return torch.stack([inputs, torch.where(at, stop_id, targets)])
''')
ex.right("one helper for a row", source='''
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    def one(row):
        n = int((row != pad_id).sum())
        target = torch.cat((row[:n], row.new_tensor([stop_id]), row.new_full((len(row) - n,), -100)))
        return torch.stack((torch.cat((row.new_tensor([start_id]), row)), target))

    return torch.stack([one(row) for row in target_ids], dim=1)
''')
