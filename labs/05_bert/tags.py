"""Exercise 5.8: tags of words become targets of tokens, at the first piece of each word."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def tag_targets(words: Tensor, tags: Tensor) -> Tensor:
    """Targets (B, T): the tag of a word at its first piece,
    -100 elsewhere."""
    targets = torch.full_like(words, -100)
    for b, row in enumerate(words.tolist()):
        before = -1
        for t, word in enumerate(row):
            if word not in (-1, before):
                targets[b, t] = tags[b, word]
            before = word
    return targets
'''
ex = exercise("5.8", ANSWER, points=8, minutes=12, difficulty=2, reread="sec-task-tags")

WORDS = [[-1, 0, 0, 1, 2, 2, 2, 3, -1, -1, -1], [-1, 0, 1, 1, 2, 3, 4, 4, 4, 4, -1]]
ex.probe("two sentences of four and five words", words=WORDS, tags=[[3, 1, 1, 0, 0], [2, 2, 0, 4, 1]])
ex.probe("a batch of one, every word one piece", words=[[-1, 0, 1, 2, -1]], tags=[[1, 0, 5]])
ex.probe("neighbours with the same tag", words=[[-1, 0, 0, 1, 1, 2, -1]], tags=[[4, 4, 4]])
ex.probe("a window without [CLS]", words=[[0, 0, 0, 0, 0], [0, 1, 1, 2, -1]], tags=[[5, 3, 4], [2, 6, 1]])
ex.probe("a row of padding", words=[[-1, 0, 1, 1, 2, 2, -1], [-1] * 7], tags=[[0, 6, 3], [8, 9, 7]])
ex.hidden(
    "a row that ends with a word", words=[[-1, 0, 1, 1, 2], [-1, 0, 0, 0, 0]], tags=[[2, 2, 9], [3, 0, 0]],
)
BEGIN = [[0, 0, 1, -1], [0, 1, 1, 1], [0, 1, 2, 3]]
ex.hidden("rows that begin with a word", words=BEGIN, tags=[[1, 0, 0, 5]] * 3)
ex.hidden("more tags than tokens", words=[[-1, 0, -1]], tags=[[8, 1, 2, 3, 4, 5, 6]])


@ex.own
def four_words(whole):
    pieces = [word for word, count in enumerate(whole(1, 3, 4)) for _ in range(count)]
    return {"words": [[-1, *pieces, -1]], "tags": whole(0, 6, 1, 4)}


@ex.law("rows do not know each other", "Each sentence has its own words and tags.")
def one_row_each(run, probe):
    rows = [{name: x[i : i + 1] for name, x in probe.args.items()} for i in range(2)]
    return run(probe), torch.cat([run(probe.having("law", **row)) for row in rows])


FIRST = "word not in (-1, before)"
ex.wrong(
    "every piece has the tag of its word",
    "The answer is read at the first piece only; otherwise a long word would count several times.",
    (FIRST, "word >= 0"), believes="a piece has the tag of its word",
)
ex.wrong(
    "the tag stands at the last piece",
    "The convention is the first piece of each word.",
    (FIRST, "word not in (-1, *row[t + 1 : t + 2])"), believes="the last piece knows the whole word",
)
ex.wrong(
    "special tokens have the last tag",
    "words is -1 at [CLS], [SEP] and padding, and index -1 is the last tag: keep those at -100.",
    (FIRST, "word != before"), (FIRST, "word == -1 or word != before"),
    [(FIRST, "word != before"), ("before = -1", "before = None")],
    believes="-1 is a word like any other",
)
ex.wrong(
    "another number than -100",
    "Only -100 is left out of the loss: 0 is a tag like any other, and -1 is no tag at all.",
    ("words, -100", "words, 0"), ("words, -100", "words, -1"), believes="0 costs nothing",
)
ex.wrong(
    "a word begins where the tag changes",
    "Two neighbouring words may have the same tag: compare the numbers of the words.",
    [("before = -1", "before = None"), ("before = word", "before = tags[b, word] if word >= 0 else None"),
     (FIRST, "word >= 0 and tags[b, word] != before")], believes="a change of tag is a change of word",
)
ex.wrong(
    "one tag for each token in turn",
    "Words have one piece or several: words says to which word each token belongs.",
    [(FIRST, "0 < t <= tags.shape[1]"), ("tags[b, word]", "tags[b, t - 1]")], believes="words are tokens",
)
ex.wrong(
    "the row taken for a ring",
    "roll puts the last token before the first: the first token of a row has nothing before it.",
    ("before = -1", "before = row[-1]"), believes="roll shifts by one",
)
ex.wrong(
    "rows joined to one",
    "Each row has words of its own: what ends the row above does not stand before the next one.",
    [("targets = torch.full_like(words, -100)", "targets, before = torch.full_like(words, -100), -1"),
     ("        before = -1\n", "")], believes="a batch is one long row",
)
ex.wrong(
    "the first token of a row is never asked for",
    "A row need not begin with [CLS]: where its first token begins a word, there is a tag.",
    (FIRST, f"t > 0 and {FIRST}"), believes="[CLS] is always there",
)
ex.wrong(
    "the place of the token instead of its word",
    "Tags are numbered by words: look up words[b, t], not t.",
    ("tags[b, word]", "tags[b, min(t, tags.shape[1] - 1)]"), believes="each token has its tag",
)
ex.wrong(
    "word 0 is left out",
    "Words count from 0, and -1 means no word: compare with -1.",
    ("word not in (-1, before)", "word > 0 and word != before"), believes="0 means nothing",
)

ex.right(
    "the first place of each word",
    source="""
def tag_targets(words, tags):
    targets = torch.full_like(words, -100)
    for b, row in enumerate(words.tolist()):
        for word in sorted(set(row) - {-1}):
            targets[b, row.index(word)] = tags[b, word]
    return targets
""",
)
ex.right(
    "diff with a -1 in front",
    source="""
def tag_targets(words, tags):
    first = (words >= 0) & (torch.diff(words, dim=1, prepend=words.new_full((len(words), 1), -1)) != 0)
    return tags.gather(1, words.clamp(min=0)).masked_fill(~first, -100)
""",
)
ex.equivalent(
    "Words count from 0, and what belongs to none is skipped.",
    ("= -1", "= 1"), ("= -1", "= -2"),
)
ex.equivalent(
    "Each word, or run, is treated by itself: the order does not matter.",
    ("sorted(set(row) - {-1})", "set(row) - {-1}"),
    of="the first place of each word",
)
ex.right("compared with the token before", source='''
def tag_targets(words, tags):
    before = F.pad(words, (1, 0), value=-1)[:, :-1]
    first = (words != -1) & (words != before)
    return torch.where(first, torch.gather(tags, 1, words.clamp(min=0)), -100)
''')
ex.right("places where a word begins", source='''
def tag_targets(words, tags):
    begins = words >= 0
    begins[:, 1:] &= words[:, 1:] != words[:, :-1]
    b, t = begins.nonzero(as_tuple=True)
    targets = words.new_full(words.shape, -100)
    targets[b, t] = tags[b, words[b, t]]
    return targets
''')
ex.right("words seen already", source='''
def tag_targets(words, tags):
    rows = []
    for row, labels in zip(words.tolist(), tags.tolist()):
        seen, targets = {-1}, []
        for word in row:
            targets.append(-100 if word in seen else labels[word])
            seen.add(word)
        rows.append(targets)
    return torch.tensor(rows)
''')
ex.right("from right to left", source='''
def tag_targets(words, tags):
    targets = torch.full_like(words, -100)
    for b in range(len(words)):
        first = {int(words[b, t]): t for t in reversed(range(words.shape[1]))}
        for word, t in first.items():
            if word != -1:
                targets[b, t] = tags[b, word]
    return targets
''')
ex.right("groups of pieces", source='''
def tag_targets(words, tags):
    from itertools import groupby

    def row_targets(row, labels):
        for word, pieces in groupby(row):
            length = len(list(pieces))
            yield from [-100] * length if word < 0 else [labels[word]] + [-100] * (length - 1)

    return torch.tensor([list(row_targets(*row)) for row in zip(words.tolist(), tags.tolist())])
''')
ex.right("the largest number so far", source='''
def tag_targets(words, tags):
    start = torch.full_like(words[:, :1], -1)
    so_far = torch.cat((start, words), dim=1).cummax(1).values[:, :-1]
    rows = torch.arange(len(words))[:, None]
    return tags[rows, words].masked_fill(words <= so_far, -100)
''')
