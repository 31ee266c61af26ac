"""Exercise 3.1: which pair byte-pair encoding joins next.

Words are tuples of piece ids, ``times`` says how often each occurs. Of pairs that are equally frequent the
one whose pieces come first wins: the smaller left id, then the smaller right id.
"""

from pioneers.checks.building import exercise

ANSWER = '''
def best_pair(
    words: tuple[tuple[int, ...], ...], times: tuple[int, ...]
) -> Tensor:
    """The pair of pieces (2,) that byte-pair encoding joins next."""
    counts = Counter()
    for word, n in zip(words, times, strict=True):
        for pair in pairwise(word):
            counts[pair] += n
    return torch.tensor(min(counts, key=lambda pair: (-counts[pair], pair)))
'''
ex = exercise("3.1", ANSWER, points=8, minutes=10, difficulty=1, reread="sec-bpe-by-hand")

LOW = ((3, 5, 9), (3, 5, 9, 1, 6), (4, 1, 9, 1, 7, 8), (9, 2, 0, 1, 7, 8))  # low lower newest widest; d is 0
MERGED = (*LOW[:2], (4, 1, 9, 11), (9, 2, 0, 11))
ex.probe("low, lower, newest and widest, letters in the order of the alphabet", words=LOW, times=(5, 2, 6, 3))
ex.probe("the same after two merges", words=MERGED, times=(5, 2, 6, 3))
ex.probe(
    "equals, and the first one met is not the first in the vocabulary", words=((5, 3), (2, 7)), times=(4, 4),
)
ex.probe("equals with the same left piece", words=((2, 9), (2, 4), (3, 1)), times=(3, 3, 3))
ex.probe("a long word once, a short word often", words=((1, 2, 1, 2, 1, 2), (8, 6)), times=(1, 7))
ex.probe("a pair three times in one word", words=((4, 4, 4, 4), (2, 6)), times=(2, 5))
ex.probe("a pair three times in one word, and a rarer rival", words=((4, 4, 4, 4), (2, 6)), times=(2, 3))
ex.probe("a pair in both orders", words=((3, 8), (8, 3), (5, 1)), times=(3, 3, 4))
ex.probe("words of a single piece", words=((6,), (2,), (6,), (2,), (1, 5)), times=(9, 9, 9, 9, 1))
ex.probe(
    "a rare pair that always stands together", words=((11, 13), (1, 2), (1, 3), (4, 2)), times=(2, 5, 4, 4),
)
ex.hidden("sea, seas", words=((2, 1, 0), (2, 1, 0, 2), (3, 1, 0), (3, 1, 0, 2)), times=(4, 2, 3, 1))
ex.hidden("four equals", words=((7, 3), (3, 7), (3, 5), (11, 2)), times=(6, 6, 6, 6))
ex.hidden("one pair only", words=((5,), (13, 13), (13,)), times=(50, 1, 50))


@ex.own
def five_words(whole):
    words = tuple(tuple(whole(0, 5, length)) for length in whole(2, 6, 5))
    return {"words": words, "times": tuple(whole(1, 9, 5))}


@ex.law(
    "the order of the words does not matter", "Counts are sums, and the rule for ties looks at ids alone."
)
def same_order(run, probe):
    words, times = ((7, 2), (2, 7), (5, 5)), (4, 4, 4)
    there = run(probe.having("law", words=words, times=times))
    return run(probe.having("law", words=words[::-1], times=times)), there


@ex.law("a word listed twice counts as often as both entries say", "Three times and twice are five times.")
def listed_twice(run, probe):
    once = run(probe.having("law", words=((2, 3), (1, 4)), times=(5, 4)))
    return run(probe.having("law", words=((2, 3), (1, 4), (2, 3)), times=(3, 4, 2))), once


KEY = "(-counts[pair], pair)"
BEST = f"min(counts, key=lambda pair: {KEY})"
FIRST_MET = (KEY, "-counts[pair]")
COUNTING = """    counts = Counter()
    for word, n in zip(words, times, strict=True):
        for pair in pairwise(word):
            counts[pair] += n
"""
PIECES = "Counter(piece for word, n in zip(words, times) for piece in word * n)"
ACROSS = (
    COUNTING,
    "    text = [piece for word, n in zip(words, times) for piece in word * n]\n"
    "    counts = Counter(pairwise(text))\n",
)
ex.wrong(
    "a result that is no tensor",
    "",
    (f"torch.tensor({BEST})", BEST), believes="a pair is a tuple",
)
ex.wrong(
    "times is ignored",
    "A pair in a word that occurs six times occurs six times: count the text, not the list of words.",
    ("+= n", "+= 1"), [("+= n", "+= 1"), FIRST_MET], believes="each word stands once",
)
ex.wrong(
    "another rule for ties",
    "Of equals the pair with the smaller left id wins, then the one with the smaller right id.",
    FIRST_MET, believes="max of the counts is enough",
)
ex.wrong(
    "another rule for ties",
    "Of equals the pair with the smaller left id wins, then the one with the smaller right id.",
    (BEST, "max(counts, key=lambda pair: (counts[pair], pair))"), (KEY, "(-counts[pair], pair[::-1])"),
    believes="the larger id wins, or the right piece decides",
)
ex.wrong(
    "pairs across words",
    "Pairs are counted within words only, so that a word is cut alike whatever stands beside it.",
    ACROSS, [ACROSS, FIRST_MET], believes="the text is one long row",
)
ex.wrong(
    "every second pair is missed",
    "Pairs overlap: low has both l o and o w, so go on by one letter, not by two.",
    ("in pairwise(word)", "in zip(word[::2], word[1::2])"), believes="a word is cut into pairs",
)
ex.wrong(
    "overlapping pairs counted once",
    "Pairs are counted wherever two neighbours stand: a a a has the pair a a twice.",
    source="""
def best_pair(words, times):
    counts = Counter()
    for word, n in zip(words, times):
        i = 0
        while i < len(word) - 1:
            counts[word[i], word[i + 1]] += n
            i += 2 if word[i : i + 3] == (word[i],) * 3 else 1
    return torch.tensor(min(counts, key=lambda pair: (-counts[pair], pair)))
""", believes="an overlap can be joined only once",
)
ex.wrong(
    "a pair counted once per word",
    "A word may hold a pair several times, and each of them counts.",
    ("in pairwise(word)", "in set(pairwise(word))"), believes="a word has a pair or has it not",
)
ex.wrong(
    "the order within a pair is lost",
    "e s and s e are two pairs: left and right make different pieces.",
    ("counts[pair] +=", "counts[tuple(sorted(pair))] +="), believes="a pair is a set of two",
)
ex.wrong(
    "the criterion of WordPiece",
    "Byte-pair encoding joins the most frequent pair; n_ab / (n_a n_b) is the ratio of WordPiece.",
    [("    counts = Counter()\n", f"    counts, pieces = Counter(), {PIECES}\n"),
     (KEY, "(-counts[pair] / (pieces[pair[0]] * pieces[pair[1]]), pair)")],
    believes="what belongs together is what seldom stands alone", section="sec-wordpiece-criterion",
    equation="eq-wordpiece-score",
)
ex.wrong(
    "the largest pair, not the most frequent",
    "max(counts) compares the pairs themselves: give it the counts as its key.",
    (BEST, "max(counts)"), believes="max of a Counter is its most frequent entry",
)
ex.wrong(
    "the two most frequent pieces",
    "Two pieces that are frequent need not be neighbours: count the pairs themselves.",
    [(COUNTING, f"    pieces = {PIECES}\n"),
     (BEST, "sorted(pieces, key=lambda piece: (-pieces[piece], piece))[:2]")],
    believes="frequent pieces make a frequent pair",
)

ex.right("a sorted list", source='''
def best_pair(words, times):
    counts = {}
    for word, n in zip(words, times):
        for i in range(len(word) - 1):
            pair = word[i], word[i + 1]
            counts[pair] = counts.get(pair, 0) + n
    most = max(counts.values())
    return torch.tensor(sorted(pair for pair, n in counts.items() if n == most)[0])
''')
ex.right("tensors, one word at a time", source='''
def best_pair(words, times):
    size = 1 + max(max(word) for word in words)
    counts = torch.zeros(size, size, dtype=torch.long)
    for word, n in zip(words, times):
        ids = torch.tensor(word)
        counts.index_put_((ids[:-1], ids[1:]), torch.tensor(n), accumulate=True)
    return torch.stack(torch.unravel_index(counts.argmax(), counts.shape))
''')
ex.equivalent(
    "All counts are off by the same number.",
    ("0)", "1)"), ("0)", "-1)"),
    of="a sorted list",
)
ex.right("all pairs in one list", source='''
def best_pair(words, times):
    pairs = [pair for word, n in zip(words, times) for pair in pairwise(word) for _ in range(n)]
    counts = Counter(pairs)
    return torch.tensor(min(counts, key=lambda pair: (-counts[pair], *pair)))
''')
ex.right("sorted by the vocabulary, then by the count", source='''
def best_pair(words, times):
    counts = Counter()
    for word, n in zip(words, times):
        counts.update({pair: 0 for pair in pairwise(word)})
        for left, right in zip(word[:-1], word[1:]):
            counts[left, right] += n
    ranked = sorted(sorted(counts), key=counts.get, reverse=True)
    return torch.tensor(ranked[0])
''')
ex.right("the best so far in a loop", source='''
def best_pair(words, times):
    counts = {}
    for word, n in zip(words, times):
        for pair in zip(word, word[1:]):
            counts[pair] = counts.get(pair, 0) + n
    best = None
    for pair in counts:
        if best is None or counts[pair] > counts[best] or counts[pair] == counts[best] and pair < best:
            best = pair
    return torch.tensor(best)
''')
ex.right("pairs as single numbers, bincount", source='''
def best_pair(words, times):
    size = 1 + max(piece for word in words for piece in word)
    codes, weights = [], []
    for word, n in zip(words, times):
        codes += [left * size + right for left, right in pairwise(word)]
        weights += [n] * (len(word) - 1)
    code = int(torch.bincount(torch.tensor(codes), torch.tensor(weights)).argmax())
    return torch.tensor([code // size, code % size])
''')
ex.right("a count for each pair that occurs", source='''
def best_pair(words, times):
    def count(pair):
        return sum(n * sum(p == pair for p in pairwise(word)) for word, n in zip(words, times))

    pairs = sorted({pair for word in words for pair in pairwise(word)})
    return torch.tensor(max(pairs, key=count))
''')
ex.right("counters added up", source='''
def best_pair(words, times):
    each = (Counter(list(pairwise(word)) * n) for word, n in zip(words, times))
    total = sum(each, Counter())
    most = max(total.values())
    return torch.tensor(min(pair for pair, n in total.items() if n == most))
''')
