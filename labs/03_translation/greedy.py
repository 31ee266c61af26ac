"""Exercise 3.7: greedy decoding of a batch, each row until its own stop token.

The model is a table: ``log_probs`` (B, V, V) holds for each sentence the log-probability of the next token
(last axis) behind each last token.
"""

from itertools import pairwise

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals

ANSWER = '''
def greedy(
    log_probs: Tensor,
    start_id: int,
    stop_id: int,
    pad_id: int,
    max_new_tokens: int,
) -> Tensor:
    """The most probable token at each step, (B, max_new_tokens),
    padded behind each row's stop token."""
    rows = torch.arange(len(log_probs), device=log_probs.device)
    last, over = torch.full_like(rows, start_id), torch.zeros_like(rows, dtype=torch.bool)
    tokens = []
    for _ in range(max_new_tokens):
        last = log_probs[rows, last].argmax(dim=-1)
        tokens.append(torch.where(over, pad_id, last))
        over |= last == stop_id
    return torch.stack(tokens, dim=1)
'''
ex = exercise("3.7", ANSWER, points=8, minutes=12, difficulty=2, reread="sec-greedy", equation="eq-search")


def tables(seed, B, V, never):
    """Random log-probabilities (B, V, V) in which the tokens ``never`` are all but impossible."""
    logits = 2 * normals(seed)(B, V, V)
    logits[..., never] -= 30
    return {"log_probs": logits.log_softmax(-1)}


def chain(V, *texts):
    """Log-probabilities (B, V, V) under which greedy decoding writes each text: every token has its next."""
    logits = torch.linspace(0, 1, V).repeat(len(texts), V, 1)
    for table, text in zip(logits, texts, strict=True):
        for last, token in pairwise(text):
            table[last, token] = 3.0
    return logits.log_softmax(-1)


LENGTHS, RANDOM = "rows that stop at different places, one of them never", "three random tables"
ENDING = (1, 5, 4, 3, 2, 6, 2), (1, 2, 4, 5, 3, 6), (1, 6, 4, 4)
OTHERS = (0, 3, 1, 6, 4), (0, 6, 3, 2, 5, 1)
ex.inputs(start_id=1, stop_id=2, pad_id=0)
ex.probe(LENGTHS, log_probs=chain(7, *ENDING), max_new_tokens=6)
ex.probe(
    "other ids for start, stop and padding", log_probs=chain(7, *OTHERS), start_id=0, stop_id=6, pad_id=5,
    max_new_tokens=5,
)
ex.probe(
    "a batch of one that stops at once", log_probs=chain(5, (3, 4, 1, 2)), start_id=3, stop_id=4,
    max_new_tokens=3,
)
ex.probe(RANDOM, drawn=lambda: tables(371, 3, 11, [0, 1]), max_new_tokens=7)
ex.probe(
    "a single step", drawn=lambda: tables(372, 2, 5, [3]), start_id=0, stop_id=1, pad_id=3, max_new_tokens=1
)
ex.probe("padding that is written", log_probs=chain(7, (1, 0, 3, 2), (1, 5, 0, 4, 6)), max_new_tokens=5)
IDS = {"start_id": 2, "stop_id": 4, "pad_id": 3}


def hidden():
    """Draw seven tables, and three in double precision."""
    normal = normals(3701)
    return (
        {"log_probs": normal(7, 5, 5).log_softmax(-1)},
        {"log_probs": normal(3, 13, 13, dtype=torch.float64)},
    )


ex.hidden("seven rows", drawn=lambda: hidden()[0], **IDS, max_new_tokens=11)
ex.hidden("in double", drawn=lambda: hidden()[1], **IDS, max_new_tokens=9)


@ex.law("a row is decoded as it would be alone", "Rows of a batch do not see each other.", on=RANDOM)
def alone(run, probe):
    rows = [run(probe.having("law", log_probs=row[None])) for row in probe.args["log_probs"]]
    return torch.cat(rows), run(probe)


@ex.law("more steps change nothing of the first ones", "Greedy decoding never changes its mind.", on=LENGTHS)
def longer(run, probe):
    return run(probe.having("law", max_new_tokens=4)), run(probe)[:, :4]


WRITE, LINE = "torch.where(over, pad_id, last)", "log_probs[rows, last]"
ex.wrong(
    "a result that is no tensor",
    "",
    ("torch.stack(tokens, dim=1)", "torch.stack(tokens, dim=1).tolist()"), believes="texts are lists",
)
ex.wrong(
    "the stop token is not obeyed",
    "Behind its first stop token a row holds pad_id; what would come next is no part of the text.",
    (WRITE, "last"), believes="the caller will cut the text",
)
ex.wrong(
    "one row ends the others",
    "Each row has its own end: one that has stopped is padded while the others go on.",
    ("where(over,", "where(over.any(),"), believes="when a stop token comes, decoding is over",
)
ex.wrong(
    "rows that have stopped go on until the last one stops",
    "Each row has its own end: behind it stands pad_id, whatever the others still do.",
    ("where(over,", "where(over.all(),"),
    [("where(over,", "where(over.all(),"), ("over |= last == stop_id", "over |= (last == stop_id).all()")],
    believes="go on until all have said stop once",
)
ex.wrong(
    "the stop token is left out",
    "The stop token is a token of the text, its last: the padding begins behind it.",
    ("where(over,", "where(over | (last == stop_id),"), believes="the stop token is no word",
)
ex.wrong(
    "filled up with stop tokens",
    "A text has one stop token; behind it stands pad_id.",
    ("(over, pad_id,", "(over, stop_id,"), believes="a row that has stopped says stop for ever",
)
ex.wrong(
    "padding is always 0",
    "Use pad_id: 0 may well be a word.",
    ("(over, pad_id,", "(over, 0,"), believes="zeros are padding",
)
ex.wrong(
    "the start token is part of the text",
    "The decoder reads the start token but does not write it.",
    ("tokens = []", "tokens = [last]"), believes="what the decoder reads is what it has written",
)
ex.wrong(
    "the start token is part of the text",
    "The decoder reads the start token but does not write it, and it takes the place of a token.",
    [("tokens = []", "tokens = [last]"), ("range(max_new_tokens)", "range(max_new_tokens - 1)")],
    believes="the first token of a text is the start token",
)
ex.wrong(
    "the token is not fed back",
    "The next token depends on the one just written: read it, not the start token again.",
    (LINE, "log_probs[:, start_id]"), believes="the start token starts every step",
)
ex.wrong(
    "one table for all rows",
    "Each sentence has its own source, so each row its own table.",
    (LINE, "log_probs[0, last]"), believes="there is one model, so one table",
)
ex.wrong(
    "read along the wrong axis",
    "log_probs[b, last] is the row of the last token; the next token is chosen along its last axis.",
    (LINE, "log_probs[rows, :, last]"), believes="the columns are the last token",
)
ex.wrong(
    "narrower when all rows end early",
    "Here the result always has max_new_tokens columns; the last ones may be padding only.",
    ("        last = log", "        if over.all():\n            break\n        last = log"),
    believes="stop as soon as everybody has stopped",
)
ex.wrong(
    "the library does the work",
    "",
    [("    rows", "    from pioneers.generation import filter_logits\n\n    rows"),
     (LINE, f"filter_logits({LINE}, top_k=1)")], believes="the package is there to help",
)
ex.wrong(
    "an end is forgotten at the next step",
    "A row that has ended stays ended: over |= ..., or it writes on behind its stop token.",
    ("over |= last == stop_id", "over = last == stop_id"),
    [("log_probs[rows, last].argmax(dim=-1)", "log_probs[rows, last].argmax(dim=-1).where(~over, pad_id)"),
     ("over |=", "over =")],
    believes="only the last token says whether a row ends",
)
ex.wrong(
    "a written pad_id ends the row too",
    "Only the stop token ends a row: pad_id may be an ordinary token that the model writes.",
    ("over |= last == stop_id", "over |= (last == stop_id) | (last == pad_id)"),
    believes="padding means that the text is over",
)

ex.right("row by row", source='''
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    rows = []
    for table in log_probs:
        text, last = [], start_id
        while len(text) < max_new_tokens and last != stop_id:
            last = int(table[last].argmax())
            text.append(last)
        rows.append(text + [pad_id] * (max_new_tokens - len(text)))
    return torch.tensor(rows, device=log_probs.device)
''')
ex.right("all steps first, the padding after", source='''
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    best = log_probs.argmax(dim=-1)
    ids = torch.full((len(best), 1), start_id, device=best.device)
    for _ in range(max_new_tokens):
        ids = torch.cat([ids, best.gather(1, ids[:, -1:])], dim=1)
    tokens = ids[:, 1:]
    stops = (tokens == stop_id).long()
    return torch.where(stops.cumsum(1) - stops > 0, pad_id, tokens)
''')
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-1", "1"),
)
ex.equivalent(
    "torch does the conversion by itself.",
    ("int(table[last].argmax()", "table[last].argmax("),
    of="row by row",
)
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    ("rows, device=log_probs.device", "rows"),
    of="row by row",
)
ex.right("a tensor filled in", source='''
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    B = len(log_probs)
    out = torch.full((B, max_new_tokens), pad_id, device=log_probs.device)
    for b in range(B):
        last = start_id
        for t in range(max_new_tokens):
            last = int(log_probs[b, last].argmax())
            out[b, t] = last
            if last == stop_id:
                break
    return out
''')
ex.right("gather and where", source='''
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    V = log_probs.shape[-1]
    last = torch.full((len(log_probs),), start_id, device=log_probs.device)
    going, tokens = torch.ones_like(last, dtype=torch.bool), []
    for _ in range(max_new_tokens):
        line = log_probs.gather(1, last[:, None, None].expand(-1, 1, V)).squeeze(1)
        last = line.max(dim=1).indices
        tokens.append(last.masked_fill(~going, pad_id))
        going = going & (last != stop_id)
    return torch.stack(tokens, 1)
''')
ex.right("a table of the best token", source='''
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    best, rows = log_probs.argmax(-1).tolist(), []
    for after in best:
        text = [after[start_id]]
        while len(text) < max_new_tokens:
            text.append(pad_id if stop_id in text else after[text[-1]])
        rows.append(text)
    return torch.tensor(rows, device=log_probs.device)
''')
ex.right("a recursive helper", source='''
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    def write(table, last, left):
        if left == 0:
            return []
        token = table[last].argmax().item()
        return [token] + ([pad_id] * (left - 1) if token == stop_id else write(table, token, left - 1))

    rows = [write(table, start_id, max_new_tokens) for table in log_probs]
    return torch.tensor(rows, device=log_probs.device)
''')
ex.right("one-hot vectors through the table", source='''
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    V = log_probs.shape[-1]
    after = F.one_hot(log_probs.argmax(-1), V)
    state = F.one_hot(torch.full((len(log_probs),), start_id, device=log_probs.device), V)
    tokens = []
    for _ in range(max_new_tokens):
        state = torch.einsum("bv,bvw->bw", state, after)
        tokens.append(state.argmax(-1))
    tokens = torch.stack(tokens, dim=1)
    over = ((tokens == stop_id).long().cumsum(1) - (tokens == stop_id).long()) > 0
    return tokens.masked_fill(over, pad_id)
''')
ex.right("the stop made to lead to itself", source='''
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    best = log_probs.argmax(-1)
    rows = torch.arange(len(best), device=best.device)
    ids, ended = [best[:, start_id]], [torch.zeros_like(rows, dtype=torch.bool)]
    for _ in range(max_new_tokens - 1):
        ended.append(ended[-1] | (ids[-1] == stop_id))
        ids.append(best[rows, ids[-1]])
    return torch.where(torch.stack(ended, 1), pad_id, torch.stack(ids, 1))
''')
