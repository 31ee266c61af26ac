"""Exercise 5.1: the row that BERT reads, ``[CLS] a [SEP] b [SEP]``, its segments and its padding."""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.symptoms import wrong_only_where

ANSWER = '''
def bert_row(
    a: Tensor,
    b: Tensor | None,
    max_seq_len: int,
    cls_id: int,
    sep_id: int,
    pad_id: int,
) -> Tensor:
    """Ids, segments and real tokens (3, max_seq_len) of one text a or of
    two, a and b."""
    texts = [a.tolist()] if b is None else [a.tolist(), b.tolist()]
    while sum(map(len, texts)) > max_seq_len - len(texts) - 1:
        max(texts, key=len).pop()
    ids, segments = [cls_id], [0]
    for number, text in enumerate(texts):
        ids += [*text, sep_id]
        segments += [number] * (len(text) + 1)
    missing = max_seq_len - len(ids)
    real = [1] * len(ids) + [0] * missing
    return torch.tensor([ids + [pad_id] * missing, segments + [0] * missing, real])
'''
ex = exercise(
    "5.1", ANSWER, points=9, minutes=15, difficulty=2, reread="sec-bert-inputs", equation="eq-bert-input"
)

ex.inputs(b=None, cls_id=2, sep_id=3, pad_id=0)
ex.probe("a pair with room to spare", a=[7, 5, 11], b=[13, 17], max_seq_len=11)
ex.probe("a pair that just fits", a=[7, 5], b=[13, 17, 19], max_seq_len=8)
ex.probe(
    "the second text is the longer one, and too long", a=[7, 5], b=[11, 12, 13, 14, 15, 16, 17],
    max_seq_len=8,
)
ex.probe(
    "the first text is the longer one, and too long", a=[11, 12, 13, 14, 15, 16], b=[7, 5, 6], max_seq_len=9,
)
ex.probe("two long texts, an odd room", a=[11, 12, 13, 14, 15, 16], b=[21, 22, 23, 24, 25], max_seq_len=10)
ex.probe("one text", a=[7, 5, 11], max_seq_len=7)
ex.probe("one text, too long", a=[11, 12, 13, 14, 15], max_seq_len=5)
ex.probe("other special tokens", a=[7, 5], b=[13], max_seq_len=11, cls_id=101, sep_id=102, pad_id=1)
EMPTY = torch.tensor([], dtype=torch.long)
ex.probe("a second text that is empty", a=[7, 5, 11], b=EMPTY, max_seq_len=8)
ex.probe("room for no token at all", a=[7, 5], b=[11, 13], max_seq_len=3)
ex.probe("a text that holds the id of the padding", a=[7, 0, 5], b=[0, 9], max_seq_len=9)
IDS = {"cls_id": 61, "sep_id": 67, "pad_id": 5}
LONG, LONGER = [11, 12, 13, 14, 15, 16], [21, 22, 23, 24, 25, 26, 27]
ex.hidden("nearly equal lengths, an even room", a=LONG, b=LONGER, max_seq_len=11, **IDS)
ex.hidden("a second text of one token", a=[*LONG, 17, 18], b=[21], max_seq_len=7, **IDS)
ex.hidden("a second text of three tokens", a=[*LONG, 17, 18], b=[21, 22, 23], max_seq_len=11, **IDS)
ex.hidden("one token in all", a=[11], max_seq_len=5, **IDS)
ex.hidden("both cut to one token", a=[11, 12, 13], b=[21, 22], max_seq_len=5, **IDS)


@ex.own
def two_texts(whole):
    a, b = (whole(5, 60, length) for length in whole(2, 6, 2))
    return {"a": a, "b": b, "max_seq_len": whole(7, 16)}


def second_text_is_empty(case):
    """The only token of segment 1 is the [SEP]."""
    return case.expected.tensor[1].sum() == 1


def too_long(symptom):
    got, want = symptom.case.outcome.value, symptom.case.expected.tensor
    return symptom.stage == "shape" and got.dim() == 2 and len(got) == 3 and got.shape[1] > want.shape[1]


CUT = """    while sum(map(len, texts)) > max_seq_len - len(texts) - 1:
        max(texts, key=len).pop()
"""
END_CUT = ("    missing =", "    ids, segments = ids[:max_seq_len], segments[:max_seq_len]\n    missing =")
ROOM = "    room = max_seq_len - len(texts) - 1\n"
SEGMENTS = "segments += [number] * (len(text) + 1)"
ex.wrong(
    "the whole row is cut at its end",
    "Shorten the texts first and join them then: a row cut at its end loses its last [SEP].",
    [(CUT, ""), END_CUT], believes="a row that is too long is cut at the end",
)
ex.wrong(
    "the last [SEP] is missing",
    "[SEP] ends each text: a pair has two, one text has one.",
    [("[*text, sep_id]", "[*text, sep_id][: len(text) + 1 - number]"),
     ("(len(text) + 1)", "(len(text) + 1 - number)")], believes="[SEP] stands between two texts",
)
ex.wrong(
    "the first [SEP] counted to the second text",
    "[SEP] ends a text and belongs to it: segment 1 begins with the first token of b.",
    (SEGMENTS, "segments += [number] * len(text) + [len(texts) - 1]"), believes="[SEP] opens the second text",
)
ex.wrong(
    "the last [SEP] counted to the first text",
    "[SEP] ends a text and belongs to it: the last one is in segment 1.",
    (SEGMENTS, "segments += [number] * len(text) + [0]"), believes="special tokens are in segment 0",
)
ex.wrong(
    "a [CLS] for each text",
    "There is one [CLS], at the very front: it stands for the whole input.",
    [("ids, segments = [cls_id], [0]", "ids, segments = [], []"),
     ("[*text, sep_id]", "[cls_id, *text, sep_id]"), ("len(text) + 1)", "len(text) + 2)"), END_CUT],
    believes="every text begins with [CLS]",
)
ex.wrong(
    "one text with two [SEP]",
    "When b is None there is one text, ended by one [SEP], all in segment 0.",
    [("    ids, segments = [cls_id]", "    texts = (texts + [[]])[:2]\n    ids, segments = [cls_id]"),
     END_CUT], believes="a missing text is an empty one",
)
ex.wrong(
    "an empty text taken for a missing one",
    "Only None means that there is no second text: an empty one still ends with its [SEP], in segment 1.",
    ("b is None else", "b is None or not len(b) else"),
    ("enumerate(texts):", "enumerate(text for i, text in enumerate(texts) if text or not i):"),
    believes="nothing in it, nothing there", shows=wrong_only_where(second_text_is_empty),
)
ex.wrong(
    "only the second text is cut",
    "The longer text loses its end, token by token, whichever it is.",
    [(CUT, ROOM + "    texts[-1] = texts[-1][: max(0, room - sum(map(len, texts[:-1])))]\n"), END_CUT],
    believes="the first text is the important one",
)
ex.wrong(
    "only the first text is cut",
    "The longer text loses its end, token by token, whichever it is.",
    [(CUT, ROOM + "    texts[0] = texts[0][: max(0, room - sum(map(len, texts[1:])))]\n"), END_CUT],
    believes="the second text is the important one",
)
ex.wrong(
    "too little room for the special tokens",
    "[CLS] and [SEP] take places too: one text has max_seq_len - 2 left, a pair max_seq_len - 3.",
    *(("len(texts) - 1:", f"{special}:") for special in (2, 1, 0)),
    believes="max_seq_len counts the tokens of the texts", shows=too_long,
)
ex.wrong(
    "of two equally long texts the second is cut",
    "When both are equally long, the first loses a token.",
    ("max(texts, key=len)", "max(texts[::-1], key=len)"),
    believes="the second text gives way when both are equal",
)
ex.wrong(
    "half of the room for each text",
    "A short text leaves its room to the long one: nothing is cut before the room is full.",
    (CUT, ROOM + "    texts = [text[: room // len(texts)] for text in texts]\n"),
    believes="equal shares are fair",
)
ex.wrong(
    "the beginning is cut off",
    "Too long a text loses its end, not its beginning.",
    (".pop()", ".pop(0)"), believes="the end matters most",
)
ex.wrong(
    "padding in segment 1",
    "Behind the last [SEP] the segment is 0, as everywhere that is not b.",
    ("segments + [0]", "segments + [1]"), believes="what is not the first text is segment 1",
)
ex.wrong(
    "1 means padding",
    "The third row is BERT's mask: 1 for a real token, 0 for padding.",
    ("[1] * len(ids) + [0] * missing", "[0] * len(ids) + [1] * missing"),
    believes="a mask marks what is hidden", section="sec-padding", equation="eq-mask",
)
ex.wrong(
    "special tokens taken for padding",
    "[CLS] and [SEP] are real tokens, which the others attend to; only [PAD] is not.",
    ("[1] * len(ids)", "[int(i not in (cls_id, sep_id)) for i in ids]"),
    believes="real tokens are those of the texts",
)
ex.wrong(
    "padding told by its number",
    "A text may hold the number pad_id too: what is real is what stood there before you filled up.",
    ("[1] * len(ids) + [0] * missing", "[int(i != pad_id) for i in ids] + [0] * missing"),
    believes="pad_id is padding wherever it stands",
)
ex.wrong(
    "not padded",
    "All rows of a batch have max_seq_len tokens: fill up with pad_id.",
    ("max_seq_len - len(ids)", "0"), believes="padding is done for the batch, later",
)
ex.wrong(
    "padding is called real",
    "The third row is 0 at padding: only [CLS], [SEP] and the texts are real.",
    ("real = [1] * len(ids) + [0] * missing", "real = [1] * max_seq_len"),
    believes="every place holds a token",
)
ex.wrong(
    "padding belongs to the second text",
    "Segments are 0 at padding, whatever stands before it.",
    ("segments + [0] * missing", "segments + [len(texts) - 1] * missing"),
    believes="padding continues the row",
)
ex.wrong(
    "room for three special tokens, always",
    "One text has two special tokens, a pair three: a single text may be one token longer.",
    ("max_seq_len - len(texts) - 1", "max_seq_len - 3"), believes="a row has two [SEP]",
)

ex.right(
    "the cut computed, not step by step",
    source="""
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    if b is None:
        keep_a, keep_b = min(len(a), max_seq_len - 2), 0
    else:
        room = max_seq_len - 3
        keep_a, keep_b = len(a), len(b)
        if keep_a + keep_b > room:
            short = min(keep_a, keep_b)
            if short <= room // 2:
                keep_a, keep_b = (room - short, short) if keep_a > keep_b else (short, room - short)
            else:
                keep_a, keep_b = room // 2, room - room // 2
    cls, sep = a.new_tensor([cls_id]), a.new_tensor([sep_id])
    parts = [cls, a[:keep_a], sep] + ([] if b is None else [b[:keep_b], sep])
    ids = torch.cat(parts)
    row = a.new_zeros(3, max_seq_len)
    row[0].fill_(pad_id)
    row[0, : len(ids)] = ids
    row[1, keep_a + 2 : len(ids)] = 1
    row[2, : len(ids)] = 1
    return row
""",
)
ex.right(
    "lists, filled up one by one",
    source="""
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    a = a.tolist()
    b = None if b is None else b.tolist()
    special = 2 if b is None else 3
    while len(a) + len(b or []) + special > max_seq_len:
        if b is None or len(a) >= len(b):
            a = a[:-1]
        else:
            b = b[:-1]
    row = [(cls_id, 0, 1), *((i, 0, 1) for i in a), (sep_id, 0, 1)]
    if b is not None:
        row += [*((i, 1, 1) for i in b), (sep_id, 1, 1)]
    while len(row) < max_seq_len:
        row.append((pad_id, 0, 0))
    return torch.tensor(row).T
""",
)
ex.equivalent(
    "Without a second text the number is not read.",
    (" 0", " 1"), (" 0", " -1"),
    of="the cut computed, not step by step",
)
ex.equivalent(
    "Where both sides are equal nothing is cut, or the same is.",
    ("> room", ">= room"), ("<= ", "< "), (" // 2:", " / 2:"), ("> keep_b", ">= keep_b"),
    of="the cut computed, not step by step",
)
ex.right("tensors joined and padded", source='''
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    texts = [a] if b is None else [a, b]
    while sum(len(text) for text in texts) + len(texts) + 1 > max_seq_len:
        n = max(range(len(texts)), key=lambda i: len(texts[i]))
        texts[n] = texts[n][:-1]
    parts, numbers = [a.new_tensor([cls_id])], [a.new_tensor([0])]
    for n, text in enumerate(texts):
        parts.append(F.pad(text, (0, 1), value=sep_id))
        numbers.append(torch.full_like(parts[-1], n))
    ids, segments = torch.cat(parts), torch.cat(numbers)
    right = (0, max_seq_len - len(ids))
    real = F.pad(torch.ones_like(ids), right)
    return torch.stack((F.pad(ids, right, value=pad_id), F.pad(segments, right), real))
''')
ex.right("places compared", source='''
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    pair = b is not None
    a, b = a.tolist(), b.tolist() if pair else []
    while len(a) + len(b) > max_seq_len - 2 - pair:
        (a if len(a) >= len(b) else b).pop()
    ids = [cls_id] + a + [sep_id] + pair * (b + [sep_id])
    at = torch.arange(max_seq_len)
    real = at < len(ids)
    segments = real & (at >= len(a) + 2)
    ids += (max_seq_len - len(ids)) * [pad_id]
    return torch.stack((torch.tensor(ids), segments.long(), real.long()))
''')
ex.right("a function that calls itself", source='''
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    m, n = len(a), -1 if b is None else len(b)
    special = (max_seq_len, cls_id, sep_id, pad_id)
    if m + n + 3 > max_seq_len:
        return bert_row(a[:-1], b, *special) if m >= n else bert_row(a, b[:-1], *special)
    row = torch.tensor([[pad_id], [0], [0]]).repeat(1, max_seq_len)
    row[2, : m + n + 3] = 1
    row[0, 0], row[0, 1 : m + 1], row[0, m + 1] = cls_id, a, sep_id
    if b is not None:
        row[0, m + 2 : m + n + 2], row[0, m + n + 2] = b, sep_id
        row[1, m + 2 : m + n + 3] = 1
    return row
''')
ex.right("a helper that puts one token after the other", source='''
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    lengths = [len(a)] if b is None else [len(a), len(b)]
    for _ in range(sum(lengths) + len(lengths) + 1 - max_seq_len):
        lengths[lengths.index(max(lengths))] -= 1
    table = torch.zeros(max_seq_len, 3, dtype=torch.long)
    table[:, 0] = pad_id
    place = 0

    def put(token, segment):
        nonlocal place
        table[place] = torch.tensor((int(token), segment, 1))
        place += 1

    put(cls_id, 0)
    for segment, (text, length) in enumerate(zip((a, b), lengths)):
        for token in text[:length]:
            put(token, segment)
        put(sep_id, segment)
    return table.T
''')
ex.right("one limit for both texts", source='''
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    a, b = a.tolist(), b if b is None else b.tolist()
    room = max_seq_len - (2 if b is None else 3)
    limit = max(c for c in range(room + 1) if len(a[:c]) + len((b or [])[:c]) <= room)
    first = [cls_id, *a[:limit], sep_id]
    second = [] if b is None else [*b[: room - len(a[:limit])], sep_id]
    rest = [0] * (max_seq_len - len(first) - len(second))
    ids = first + second + [pad_id for _ in rest]
    segments = [0] * len(first) + [1] * len(second) + rest
    return torch.tensor([ids, segments, [1] * (len(first) + len(second)) + rest])
''')
ex.right("the surplus shared out, rows filled by slices", source='''
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    none = b is None
    b = a[:0] if none else b
    surplus = max(0, len(a) + len(b) + 3 - none - max_seq_len)
    longer, shorter = max(len(a), len(b)), min(len(a), len(b))
    alone = min(surplus, longer - shorter)
    cut_a, cut_b = (alone, 0) if len(a) >= len(b) else (0, alone)
    both = surplus - alone
    a, b = a[: len(a) - cut_a - (both + 1) // 2], b[: len(b) - cut_b - both // 2]
    end_a = len(a) + 2
    end = end_a if none else end_a + len(b) + 1
    ids = torch.full((max_seq_len,), pad_id)
    ids[0], ids[end_a - 1], ids[end - 1] = cls_id, sep_id, sep_id
    ids[1 : end_a - 1] = a
    if not none:
        ids[end_a : end - 1] = b
    segments, real = torch.zeros_like(ids), torch.zeros_like(ids)
    segments[end_a:end] += 1
    real[:end] += 1
    return torch.vstack((ids, segments, real))
''')
