"""Exercise 4.7: writing greedily, a batch of prompts at once, until each row has ended.

The model is a table (V, V) of logits, one row for each current token. The results are whole numbers.
"""

import torch
import torch.nn.functional as F

from pioneers.checks.building import exercise

ANSWER = '''
def write_greedily(
    table: Tensor,
    prompts: Tensor,
    max_new_tokens: int,
    stop_id: int,
    pad_id: int,
) -> Tensor:
    """Continue prompts (B, T) with the most likely tokens under a table
    (V, V), each row to its end."""
    ids, ended = prompts, torch.zeros_like(prompts[:, 0], dtype=torch.bool)
    for _ in range(max_new_tokens):
        if ended.all():
            break
        newest = table[ids[:, -1]].argmax(-1).masked_fill(ended, pad_id)
        ids = torch.cat((ids, newest[:, None]), dim=1)
        ended = ended | (newest == stop_id)
    return ids
'''
ex = exercise(
    "4.7", ANSWER, points=11, minutes=16, difficulty=2, reread="sec-sampling", equation="eq-chain-rule"
)

# 0 → 4 → 6 → 1 → 5 → 2 → 3 → 0, and 5 is where texts end in most probes; 3 nearly wins everywhere else
TABLE = torch.linspace(-1, 1, 49).reshape(7, 7).sin()
TABLE[torch.arange(7), torch.tensor([4, 5, 3, 0, 6, 2, 1])] = 3.0
ex.inputs(table=TABLE, stop_id=5, pad_id=0)
ex.probe("no row comes to its end", prompts=[[2, 1, 3], [6, 6, 2]], max_new_tokens=2)
ex.probe("rows end at different steps", prompts=[[3, 4], [2, 1], [4, 6], [1, 2]], max_new_tokens=4)
ex.probe("all rows end early", prompts=[[6, 1, 4], [2, 3, 6], [3, 2, 1]], max_new_tokens=7)
ex.probe("a stop token within the prompt", prompts=[[5, 3, 2], [3, 6, 5]], max_new_tokens=3)
ex.probe("the prompt alone", prompts=[[4, 2, 6]], max_new_tokens=0)
ex.probe("one token, which is followed by the end", prompts=[[1]], max_new_tokens=3)
ex.probe("padding that may also be written", prompts=[[6, 4], [2, 3]], max_new_tokens=5, pad_id=3)
ex.probe("padding and stop token are the same", prompts=[[3, 6], [0, 2]], max_new_tokens=4, pad_id=5)
OTHER = {"table": 5 * torch.eye(11)[torch.tensor([3, 7, 9, 6, 0, 8, 10, 4, 1, 5, 2])] - 9, "pad_id": 7}
FOUR = {"prompts": [[10, 4], [1, 0], [6, 8], [7, 5]]}
ex.hidden("one row goes on to the end", **OTHER, **FOUR, max_new_tokens=7, stop_id=6)
ex.hidden("a stop token at the end of a prompt", **OTHER, **FOUR, max_new_tokens=13, stop_id=5)
ex.hidden("all end at once", **OTHER, prompts=[[4], [4]], max_new_tokens=5, stop_id=0)


@ex.own
def any_table(whole):
    table = torch.tensor(whole(-(10**6), 10**6, 7, 7)) / 10**5
    return {"table": table, "prompts": whole(0, 6, 3, 2), "max_new_tokens": whole(3, 6)}


@ex.law(
    "each prompt is continued as it would be alone", "Rows of a batch know nothing of each other.",
    on="rows end at different steps",
)
def as_alone(run, probe):
    together = run(probe)
    width = together.shape[1]
    alone = [run(probe.having("law", prompts=row[None]))[0, :width] for row in probe.args["prompts"]]
    return together, torch.stack([F.pad(row, (0, width - len(row)), value=0) for row in alone])


LEAVE = "        if ended.all():\n            break\n"
FILL = ".masked_fill(ended, pad_id)"
WRITTEN = "        ids = torch.cat((ids, newest[:, None]), dim=1)\n"
ENDED = "        ended = ended | (newest == stop_id)\n"
NONE = "torch.zeros_like(prompts[:, 0], dtype=torch.bool)"
ex.wrong(
    "the stop token is ignored",
    "A row ends with the stop token; from there on it gets padding.",
    [(LEAVE, ""), (FILL, "")], believes="generation stops after max_new_tokens, that is all",
)
ex.wrong(
    "rows go on behind their end",
    "A row that has ended gets pad_id while the others are still being written.",
    (FILL, ""), believes="rows that have ended do no harm",
)
ex.wrong(
    "the first end stops all",
    "Go on until *all* rows have ended: the others still have something to say.",
    ("ended.all()", "ended.any()"), believes="stop at the stop token",
)
ex.wrong(
    "written to full length, though all have ended",
    "When every row has ended, leave the loop: the result is no wider than its longest row.",
    (LEAVE, ""), ("if ended.all()", "if (ids[:, -1] == stop_id).all()"),
    believes="the width is known beforehand",
)
ex.wrong(
    "the stop token is thrown away",
    "The stop token belongs to the row it ends; the padding comes behind it.",
    ("newest[:, None]", "newest.masked_fill(newest == stop_id, pad_id)[:, None]"),
    [(LEAVE, ""), (WRITTEN + ENDED, ENDED + LEAVE + WRITTEN)],
    believes="the stop token is no text",
)
ex.wrong(
    "filled up with the stop token",
    "The stop token ends a row once; behind it stands pad_id.",
    (FILL, ".masked_fill(ended, stop_id)"), believes="a row that has ended goes on ending",
)
ex.wrong(
    "a stop token in the prompt ends the row",
    "Only a token that the model itself writes ends a row: a prompt may hold the mark of an earlier text.",
    (NONE, "(prompts == stop_id).any(1)"), (NONE, "prompts[:, -1] == stop_id"),
    believes="a row with a stop token has ended",
)
ex.wrong(
    "the prompt is thrown away",
    "What is asked for is the prompt and its continuation.",
    ("return ids", "return ids[:, prompts.shape[1] :]"), believes="the answer is what is new",
)
ex.wrong(
    "the prompt counted as new tokens",
    "max_new_tokens counts what is written; the prompt comes on top of it.",
    ("range(max_new_tokens)", "range(max_new_tokens - prompts.shape[1])"),
    believes="max_new_tokens is the longest text",
)
ex.wrong(
    "read at the first position",
    "The next token is predicted at the last position, the only one that has seen all of the text.",
    ("ids[:, -1]", "ids[:, 0]"), believes="the model gives the next token first",
)
ex.wrong(
    "an end is forgotten at the next step",
    "A row that has ended stays ended: ended | ..., or it goes on behind its stop token.",
    ("ended = ended | (newest == stop_id)", "ended = newest == stop_id"),
    believes="only the last token says whether a row ends",
)
ex.wrong(
    "a written pad_id ends the row too",
    "Only the stop token ends a row: pad_id may be an ordinary token that the model writes.",
    ("(newest == stop_id)", "(newest == stop_id) | (newest == pad_id)"),
    believes="padding means that the text is over",
)

ex.right(
    "row by row, then padded",
    source="""
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    rows = []
    for row in prompts.tolist():
        for _ in range(max_new_tokens):
            row.append(int(table[row[-1]].argmax()))
            if row[-1] == stop_id:
                break
        rows.append(row)
    longest = max(map(len, rows))
    rows = [row + [pad_id] * (longest - len(row)) for row in rows]
    return torch.tensor(rows, device=prompts.device)
""",
)
ex.right(
    "a while loop, and only the newest token goes in",
    source="""
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids, newest = prompts, prompts[:, -1]
    going = torch.ones_like(newest, dtype=torch.bool)
    while going.any() and ids.shape[1] < prompts.shape[1] + max_new_tokens:
        newest = torch.where(going, table[newest].argmax(-1), pad_id)
        ids = torch.cat((ids, newest[:, None]), dim=1)
        going = going & (newest != stop_id)
    return ids
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0", "-1"), ("-1)", "1)"),
)
ex.equivalent(
    "Nothing is left to be done in the remaining steps.",
    ("break", "continue"),
)
ex.equivalent(
    "torch does the conversion by itself.",
    ("int(table[row[-1]].argmax()", "table[row[-1]].argmax("),
    of="row by row, then padded",
)
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    ("rows, device=prompts.device", "rows"),
    of="row by row, then padded",
)
ex.right("the best tokens read once", source='''
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    best = table.argmax(-1)
    columns, newest = [*prompts.unbind(1)], prompts[:, -1]
    ended = torch.zeros_like(newest).bool()
    for _ in range(max_new_tokens):
        if bool(ended.all()):
            break
        newest = torch.where(ended, pad_id, best[newest])
        columns.append(newest)
        ended = ended | (newest == stop_id)
    return torch.stack(columns, dim=1)
''')
ex.right("filled in, then cut", source='''
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    B, T = prompts.shape
    ids = prompts.new_full((B, T + max_new_tokens), pad_id)
    ids[:, :T] = prompts
    longest = T
    for b in range(B):
        for t in range(T, T + max_new_tokens):
            ids[b, t] = table[ids[b, t - 1]].argmax()
            longest = max(longest, t + 1)
            if ids[b, t] == stop_id:
                break
    return ids[:, :longest]
''')
ex.right("dictionaries and pad_sequence", source='''
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    after = dict(enumerate(table.argmax(dim=1).tolist()))
    rows = []
    for prompt in prompts.tolist():
        text = list(prompt)
        while len(text) < len(prompt) + max_new_tokens:
            text.append(after[text[-1]])
            if text[-1] == stop_id:
                break
        rows.append(torch.tensor(text, device=prompts.device))
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)
''')
ex.right("a helper for one step", source='''
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    def step(ids, ended):
        token = table.index_select(0, ids[:, -1]).max(dim=-1).indices
        token[ended] = pad_id
        return torch.cat([ids, token.unsqueeze(1)], dim=1), ended | token.eq(stop_id)

    ids, ended = prompts, torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
    steps = 0
    while steps < max_new_tokens and not ended.all():
        ids, ended = step(ids, ended)
        steps += 1
    return ids
''')
ex.right("only the rows that go on", source='''
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids = prompts.clone()
    going = torch.arange(len(ids), device=ids.device)
    for _ in range(max_new_tokens):
        if len(going) == 0:
            break
        column = torch.full_like(ids[:, :1], pad_id)
        column[going, 0] = table[ids[going, -1]].argmax(-1)
        ids = torch.cat((ids, column), 1)
        going = going[column[going, 0] != stop_id]
    return ids
''')
ex.right("recursion", source='''
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    def go_on(ids, ended, left):
        if left == 0 or ended.all():
            return ids
        token = table[ids[:, -1]].argmax(-1)
        token = token * ~ended + pad_id * ended
        return go_on(torch.hstack((ids, token[:, None])), ended | (token == stop_id), left - 1)

    return go_on(prompts, torch.zeros_like(prompts[:, 0]) == 1, max_new_tokens)
''')
