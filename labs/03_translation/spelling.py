"""Exercise 3.2: cutting a new word with the merges that were learned, in their order.

A word is a tuple of letter ids below ``num_letters``; merge ``i`` makes the piece ``num_letters + i``.
"""

from pioneers.checks.building import exercise

ANSWER = '''
def encode(
    word: tuple[int, ...],
    merges: tuple[tuple[int, int], ...],
    num_letters: int,
) -> Tensor:
    """The ids of a word after all merges,
    in the order in which they were learned."""
    for new, pair in enumerate(merges, start=num_letters):
        joined = []
        for piece in word:
            if joined and (joined[-1], piece) == pair:
                joined[-1] = new
            else:
                joined.append(piece)
        word = joined
    return torch.tensor(word)
'''
ex = exercise("3.2", ANSWER, points=9, minutes=14, difficulty=2, reread="sec-bpe-code")

# low lower newest widest: es est lo low ew new newest dest idest widest er lower
LOW = ((1, 7), (10, 8), (3, 5), (12, 9), (1, 9), (4, 14), (15, 11))
LOW += ((0, 11), (2, 17), (9, 18), (1, 6), (13, 20))
CLAIMED = "two merges want the same letter"
ex.inputs(merges=LOW, num_letters=10)
ex.probe("lowest, with the first seven merges of the lecture", word=(3, 5, 9, 1, 7, 8), merges=LOW[:7])
ex.probe("newest, a word of the training text", word=(4, 1, 9, 1, 7, 8))
ex.probe("worst: nothing to join", word=(9, 5, 6, 7, 8), merges=LOW[:7])
ex.probe("lowlow: the same pieces twice", word=(3, 5, 9, 3, 5, 9))
ex.probe(f"{CLAIMED}, the earlier one stands first", word=(0, 1, 2), merges=((0, 1), (1, 2)), num_letters=3)
ex.probe(f"{CLAIMED}, the later one stands first", word=(0, 1, 2), merges=((1, 2), (0, 1)), num_letters=3)
ex.probe(
    "a longer piece that the order does not reach", word=(0, 1, 2, 3),
    merges=((1, 2), (0, 1), (2, 3), (5, 6)), num_letters=4,
)
ex.probe(
    "a longer piece that the order does reach", word=(0, 1, 2), merges=((1, 2), (0, 1), (0, 3)),
    num_letters=3,
)
ex.probe("five times the same letter", word=(2, 2, 2, 2, 2), merges=((2, 2), (3, 3)), num_letters=3)
ex.probe("no merges", word=(4, 0), merges=(), num_letters=5)
ex.probe("a single letter", word=(1,), merges=((1, 1),), num_letters=2)
ex.probe("ids of one digit and of two", word=(11, 23, 1, 2), merges=((1, 2),), num_letters=30)
ex.hidden("eases", word=(1, 0, 2, 1, 2), merges=((1, 0), (2, 4), (3, 4)), num_letters=4)
ex.hidden("seven of one letter", word=(0,) * 7, merges=((0, 0), (1, 0), (1, 2)), num_letters=1)
ex.hidden("merges that do not apply", word=(3, 1, 3), merges=((1, 1), (3, 3)), num_letters=5)
THREE = ((0, 1), (2, 3), (4, 2))
ex.own(lambda whole: {"word": tuple(whole(0, 3, 11)), "merges": THREE, "num_letters": 4})


@ex.law(
    "the first merges, then the others, is all of them",
    "A merge works on what the merges before it have left.",
)
def in_two_parts(run, probe):
    def cut(word, merges, num_letters):
        return run(probe.having("law", word=word, merges=merges, num_letters=num_letters))

    word = (4, 1, 9, 1, 7, 8, 3, 5, 9, 1, 6)
    half = tuple(cut(word, LOW[:5], 10).tolist())
    return cut(half, LOW[5:], 15), cut(word, LOW, 10)


ORDER = "enumerate(merges, start=num_letters)"
JOINING = """        for piece in word:
            if joined and (joined[-1], piece) == pair:
                joined[-1] = new
            else:
                joined.append(piece)
"""
ex.wrong(
    "a result that is no tensor",
    "",
    ("torch.tensor(word)", "word"), believes="ids are a list",
)
ex.wrong(
    "the wrong number for a new piece",
    "The letters take the ids below num_letters; the first merge makes num_letters itself.",
    ("start=num_letters", "start=num_letters + 1"), ("start=num_letters", "start=0"),
    believes="pieces are numbered like the merges, from 0 or from 1",
)
ex.wrong(
    "the last merge first",
    "The training text was cut by the first merge, then by the second: new words go the same way.",
    (ORDER, f"reversed(list({ORDER}))"), believes="the newest merge knows best",
)
ex.wrong(
    "from left to right instead of in the order learned",
    "The rank of a merge decides, not its place: an earlier merge may claim a letter further right.",
    source="""
def encode(word, merges, num_letters):
    made = {pair: num_letters + i for i, pair in enumerate(merges)}
    word, i = list(word), 0
    while i < len(word) - 1:
        new = made.get((word[i], word[i + 1]))
        if new is None:
            i += 1
        else:
            word[i : i + 2], i = [new], 0
    return torch.tensor(word)
""", believes="read from left to right and join what can be joined",
)
ex.wrong(
    "the longest piece first",
    "That is WordPiece: it reaches pieces that the merges, in their order, never make of this word.",
    source="""
def encode(word, merges, num_letters):
    letters = {i: (i,) for i in range(num_letters)}
    for i, (a, b) in enumerate(merges):
        letters[num_letters + i] = letters[a] + letters[b]
    spelled, ids = {text: piece for piece, text in letters.items()}, []
    while word:
        end = len(word)
        while word[:end] not in spelled:
            end -= 1
        ids.append(spelled[word[:end]])
        word = word[end:]
    return torch.tensor(ids)
""", believes="the longest piece that fits", section="sec-wordpiece",
)
ex.wrong(
    "only the first occurrence is joined",
    "A merge joins its pair everywhere in the word.",
    ("== pair:", "== pair and new not in joined:"), believes="a merge joins one pair",
)
ex.wrong(
    "one letter in two pieces",
    "After a pair is joined, go on behind it: neither of its two letters is free any more.",
    (JOINING, """        for i in range(len(word)):
            if tuple(word[i : i + 2]) == pair:
                joined.append(new)
            elif i == 0 or tuple(word[i - 1 : i + 1]) != pair:
                joined.append(word[i])
"""), believes="every place where the pair stands becomes a piece",
)
ex.wrong(
    "the right letter of a pair stays",
    "The new piece takes the place of both letters: skip the right one when you have joined it.",
    (JOINING, """        for i in range(len(word)):
            joined.append(new if tuple(word[i : i + 2]) == pair else word[i])
"""), (JOINING, """        for i in range(len(word)):
            if i + 1 < len(word) or tuple(word[i - 1 :]) != pair:
                joined.append(new if tuple(word[i : i + 2]) == pair else word[i])
"""), believes="the new piece takes the place of the left letter",
)
ex.wrong(
    "it ends with a merge that does not apply",
    "A merge whose pair is not in the word changes nothing, and the next may find its own: go on.",
    ("joined = []\n", "if pair not in pairwise(word):\n            break\n        joined = []\n"),
    believes="when nothing can be joined the word is finished",
)
ex.wrong(
    "a pair found within numbers",
    "In a text of digits \"1 2\" is also found in \"11 23\": compare whole ids, not their digits.",
    source="""
def encode(word, merges, num_letters):
    text = " ".join(map(str, word))
    for new, (a, b) in enumerate(merges, start=num_letters):
        text = text.replace(f"{a} {b}", str(new))
    return torch.tensor([int(i) for i in text.split()])
""", believes="a word is a string",
)
ex.wrong(
    "joined from the right",
    "Where occurrences overlap the left one is joined: a a a becomes aa a.",
    [("in word:", "in reversed(word):"), ("(joined[-1], piece)", "(piece, joined[-1])"),
     ("word = joined", "word = joined[::-1]")], believes="going backwards saves the trouble with indices",
)
ex.wrong(
    "what was joined is not joined again",
    "A merge may take pieces that earlier merges made: that is how es and t become est.",
    source="""
def encode(word, merges, num_letters):
    made = {pair: num_letters + i for i, pair in enumerate(merges)}
    ids = []
    while word:
        pair = word[:2] in made
        ids.append(made[word[:2]] if pair else word[0])
        word = word[1 + pair :]
    return torch.tensor(ids)
""", believes="one pass over the letters",
)

ex.right("always the earliest merge that is left, as GPT-2's code does it", source='''
def encode(word, merges, num_letters):
    rank = {pair: i for i, pair in enumerate(merges)}
    word = list(word)
    while len(word) > 1:
        pair = min(pairwise(word), key=lambda pair: rank.get(pair, len(merges)))
        if pair not in rank:
            break
        i = 0
        while i < len(word) - 1:
            if (word[i], word[i + 1]) == pair:
                word[i : i + 2] = [num_letters + rank[pair]]
            i += 1
    return torch.tensor(word)
''')
ex.right("an iterator that skips the second piece of a pair", source='''
def encode(word, merges, num_letters):
    for i, pair in enumerate(merges):
        joined, places = [], iter(range(len(word)))
        for j in places:
            hit = tuple(word[j : j + 2]) == pair
            joined.append(num_letters + i if hit else word[j])
            if hit:
                next(places)
        word = joined
    return torch.tensor(word)
''')
ex.right("a while loop over places", source='''
def encode(word, merges, num_letters):
    for i, (left, right) in enumerate(merges):
        joined, j = [], 0
        while j < len(word):
            if j + 1 < len(word) and word[j] == left and word[j + 1] == right:
                joined.append(num_letters + i)
                j += 2
            else:
                joined.append(word[j])
                j += 1
        word = joined
    return torch.tensor(word)
''')
ex.right("in place on a list", source='''
def encode(word, merges, num_letters):
    word = list(word)
    for i, pair in enumerate(merges):
        j = 0
        while j < len(word) - 1:
            if tuple(word[j : j + 2]) == pair:
                word[j : j + 2] = [num_letters + i]
            j += 1
    return torch.tensor(word)
''')
ex.right("a helper that joins one pair", source='''
def encode(word, merges, num_letters):
    def join(word, pair, new):
        if len(word) < 2:
            return word
        if tuple(word[:2]) == pair:
            return [new, *join(word[2:], pair, new)]
        return [word[0], *join(word[1:], pair, new)]

    for new, pair in enumerate(merges, num_letters):
        word = join(word, pair, new)
    return torch.tensor(word)
''')
ex.right("text with separators", source='''
def encode(word, merges, num_letters):
    text = "," + ",".join(map(str, word)) + ","
    for i, (left, right) in enumerate(merges):
        old, new = f",{left},{right},", f",{num_letters + i},"
        while old in text:
            text = text.replace(old, new, 1)
    return torch.tensor([int(piece) for piece in text.strip(",").split(",")])
''')
ex.right("a stack for each merge", source='''
def encode(word, merges, num_letters):
    pieces = list(word)
    for rank in range(len(merges)):
        stack = []
        for piece in pieces:
            stack.append(piece)
            if len(stack) > 1 and (stack[-2], stack[-1]) == merges[rank]:
                stack[-2:] = [num_letters + rank]
        pieces = stack
    return torch.tensor(pieces)
''')
ex.right("places of the pair, found first", source='''
def encode(word, merges, num_letters):
    word = tuple(word)
    for i, pair in enumerate(merges):
        starts, last = set(), -2
        for j, two in enumerate(pairwise(word)):
            if two == pair and j != last + 1:
                starts.add(j)
                last = j
        word = tuple(
            num_letters + i if j in starts else piece for j, piece in enumerate(word) if j - 1 not in starts
        )
    return torch.tensor(word)
''')
