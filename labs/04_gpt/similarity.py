"""Exercise 4.8: the logits of a similarity task, read at the extract token of both orders.

``hidden`` is (B, 2, T, D), ``input_ids`` (B, 2, T), padded behind the extract token, ``w`` (D, C).
"""

import torch
from torch import nn

from pioneers.checks.building import exercise

ANSWER = '''
def similarity_logits(
    hidden: Tensor, input_ids: Tensor, extract_id: int, w: Tensor
) -> Tensor:
    """Logits (B, C) from the states (B, 2, T, D) at the extract token of
    both orders."""
    states = hidden[input_ids == extract_id].reshape(len(hidden), 2, -1)
    return states.sum(1) @ w
'''
ex = exercise(
    "4.8", ANSWER, points=7, minutes=10, difficulty=2, reread=("sec-gpt-extract", "sec-gpt-shapes"),
    equation="eq-tasks-head",
)

START, DELIMITER, EXTRACT = 21, 22, 23


@ex.maker
def states(normal, D, C, first=(), second=(), input_ids=None, extract_id=EXTRACT, dtype=torch.float32):
    """Both orders of each pair of a first and a second text, padded with 0, or given ``input_ids``."""
    pairs = [pair for a, b in zip(first, second, strict=True) for pair in ((a, b), (b, a))]
    rows = [torch.tensor([START, *a, DELIMITER, *b, EXTRACT]) for a, b in pairs]
    if input_ids is None:
        input_ids = nn.utils.rnn.pad_sequence(rows, batch_first=True).unflatten(0, (-1, 2))
    args = {"hidden": normal(*input_ids.shape, D, dtype=dtype), "input_ids": input_ids}
    return args | {"extract_id": extract_id, "w": normal(D, C, dtype=dtype)}


UNEQUAL = {"first": [[3, 9], [7], [5, 6, 8, 2, 4]], "second": [[4], [8], [1, 3]]}
ex.probe("pairs of unequal length", **UNEQUAL, D=7, C=2)
ex.probe("pairs of equal length: no padding", first=[[3, 9], [4, 5]], second=[[6], [2]], D=5, C=3)
ex.probe("a batch of one", first=[[1, 2, 3]], second=[[4]], D=3, C=2)
ex.probe("one score for each pair", first=[[5], [6, 7, 8]], second=[[1, 2], [9, 3, 4, 5]], D=11, C=1)
ex.probe("double precision", **UNEQUAL, D=5, C=3, dtype=torch.float64)
ex.probe("numbers with gaps in memory", **UNEQUAL, D=3, C=5, strided=True)
MIXED = [[[9, 0, 8, 5, 3, 0], [9, 5, 8, 0, 3, 0]], [[9, 7, 8, 3, 0, 0], [9, 6, 8, 0, 7, 3]]]
ex.probe(
    "0 within the texts, an extract token that is not the largest, one order longer than the other",
    input_ids=torch.tensor(MIXED), extract_id=3, D=5, C=2,
)
ROWS = [[7, 2, 8, 3, 9, 0], [7, 3, 8, 2, 9, 0], [7, 8, 1, 9, 0, 0], [7, 1, 8, 9, 0, 0]]
IDS = torch.tensor(ROWS).view(2, 2, 6)
ex.hidden("an empty text", input_ids=IDS, extract_id=9, D=13, C=4)
ex.hidden("a single pair", input_ids=IDS[:1], extract_id=9, D=5, C=3)


@ex.law(
    "the order of the two texts does not matter", "A sum does not know its order.",
    section="sec-gpt-both-orders",
)
def orders_swapped(run, probe):
    swapped = {name: probe.args[name].flip(1) for name in ("hidden", "input_ids")}
    return run(probe), run(probe.having("law", **swapped))


@ex.law("padding leaves the answer alone", "Nothing is read behind the extract token.")
def padding_changed(run, probe):
    padding = (probe.args["input_ids"] == 0)[..., None]
    return run(probe), run(probe.having("law", hidden=probe.args["hidden"] + 10 * padding))


AT_PLACE = """    place = {}
    states = hidden.take_along_dim(place[..., None, None], dim=2)[:, :, 0]"""
READ, JOINED = "hidden[input_ids == extract_id].reshape(len(hidden), 2, -1)", "states.sum(1)"
ex.wrong(
    "read at the last position",
    "In a shorter row that is padding: look for the extract token of each row.",
    (READ, "hidden[:, :, -1]"), believes="the last column is the end of the text",
)
ex.wrong(
    "read at the first position",
    "Under the causal mask the start token has seen nothing but itself.",
    (READ, "hidden[:, :, 0]"), believes="the answer is read at the first token, as in BERT",
)
ex.wrong(
    "read at the last token of the text",
    "The answer is read at the extract token itself, one further.",
    ("input_ids == extract_id", "(input_ids == extract_id).roll(-1, -1)"),
    believes="the extract token only marks the end",
)
ex.wrong(
    "one place for the whole batch",
    "Rows differ in length, so each has its own place.",
    (READ, "hidden[:, :, input_ids[0, 0].tolist().index(extract_id)]"),
    believes="one row shows where the extract token is",
)
ex.wrong(
    "one place for both orders",
    "Look for the extract token in each row by itself, in the second order too.",
    (f"    states = {READ}",
     AT_PLACE.format("(input_ids == extract_id).int().argmax(-1)[:, :1].repeat(1, 2)")),
    believes="both orders have the same length",
)
ex.wrong(
    "the extract token taken for the largest id",
    "extract_id may be any number: compare with it.",
    (f"    states = {READ}", AT_PLACE.format("input_ids.argmax(-1)")),
    believes="the extract token was added last",
)
ex.wrong(
    "padding told by its number",
    "A token of the text may be 0 too: look for extract_id instead of counting what is not 0.",
    (f"    states = {READ}", AT_PLACE.format("(input_ids != 0).sum(-1) - 1")), believes="0 is padding",
)
ex.wrong(
    "a mean over all tokens",
    "GPT reads one state of each row, that of the extract token.",
    (READ, "(hidden * (input_ids != 0)[..., None]).sum(2) / (input_ids != 0).sum(2)[..., None]"),
    believes="the text is the mean of its tokens",
)
ex.wrong(
    "one order only",
    "Neither text comes first: the states of both orders are added.",
    (JOINED, "states[:, 0]"), believes="the second order says nothing new", section="sec-gpt-both-orders",
)
ex.wrong(
    "a mean in place of the sum",
    "The two states are added; half of that would halve every logit.",
    (JOINED, "states.mean(1)"), believes="symmetric means average", section="sec-gpt-shapes",
)
ex.wrong(
    "the two states multiplied",
    "That is symmetric too, but GPT adds.",
    (JOINED, "states.prod(1)"), believes="similarity is a product", section="sec-gpt-shapes",
)
ex.wrong(
    "the orders subtracted",
    "A difference changes its sign with the order; a sum does not.",
    (JOINED, "(states[:, 0] - states[:, 1])"), believes="similarity is a difference",
    section="sec-gpt-both-orders",
)
ex.wrong(
    "logits for each order",
    "A pair gets one answer: add the two states before the linear map.",
    (JOINED, "states"), believes="each row gets its answer", section="sec-gpt-shapes",
)
ex.wrong(
    "probabilities in place of logits",
    "The softmax is the loss's work; it wants logits.",
    (f"{JOINED} @ w", f"({JOINED} @ w).softmax(-1)"), believes="a head ends with a softmax",
    section="sec-gpt-linear-head",
)
ex.wrong(
    "states of different pairs added",
    "Selected in reading order, the two orders of a pair follow each other: reshape to (B, 2, D), "
    "not (2, B, D).",
    (".reshape(len(hidden), 2, -1)\n    return states.sum(1)",
     ".reshape(2, len(hidden), -1)\n    return states.sum(0)"),
    believes="a reshape to any fitting shape is right",
)

ex.right(
    "rows and places",
    source="""
def similarity_logits(hidden, input_ids, extract_id, w):
    place = (input_ids == extract_id).int().argmax(-1)
    rows = torch.arange(len(hidden), device=hidden.device)
    return (hidden[rows, 0, place[:, 0]] + hidden[rows, 1, place[:, 1]]) @ w
""",
)
ex.right(
    "a product with the mask",
    source="""
def similarity_logits(hidden, input_ids, extract_id, w):
    here = (input_ids == extract_id).to(hidden.dtype)
    return torch.einsum("brt,brtd,dc->bc", here, hidden, w)
""",
)
ex.right(
    "two maps, then the sum",
    source="""
def similarity_logits(hidden, input_ids, extract_id, w):
    logits = hidden[input_ids == extract_id] @ w
    return logits[0::2] + logits[1::2]
""",
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    (".reshape", ".view"),
)
ex.equivalent(
    "An index on the CPU picks from a tensor on any device.",
    (", device=hidden.device", ""),
    of="rows and places",
)
ex.right("gather", source='''
def similarity_logits(hidden, input_ids, extract_id, w):
    place = (input_ids == extract_id).long().argmax(-1)
    index = place[..., None, None].expand(-1, -1, 1, hidden.shape[-1])
    return hidden.gather(2, index).squeeze(2).sum(dim=1) @ w
''')
ex.right("pair by pair", source='''
def similarity_logits(hidden, input_ids, extract_id, w):
    rows = []
    for states, ids in zip(hidden, input_ids):
        first, second = (h[i == extract_id][0] for h, i in zip(states, ids))
        rows.append((first + second) @ w)
    return torch.stack(rows)
''')
ex.right("where and a sum over places", source='''
def similarity_logits(hidden, input_ids, extract_id, w):
    read = torch.where((input_ids == extract_id)[..., None], hidden, 0.0).sum(2)
    return torch.matmul(read[:, 0] + read[:, 1], w)
''')
ex.right("orders taken apart first", source='''
def similarity_logits(hidden, input_ids, extract_id, w):
    states = 0
    for h, ids in zip(hidden.unbind(1), input_ids.unbind(1)):
        states = states + h[ids == extract_id]
    return F.linear(states, w.T)
''')
ex.right("a matrix product with the mask", source='''
def similarity_logits(hidden, input_ids, extract_id, w):
    here = (input_ids == extract_id).to(hidden.dtype).flatten(1)
    return (here[:, None] @ hidden.flatten(1, 2))[:, 0] @ w
''')
