"""Exercise 3.9: BLEU of a corpus with one reference each, words as ids, no smoothing; float32."""

from pioneers.checks.building import exercise
from pioneers.checks.symptoms import wrong_only_where

ANSWER = '''
def bleu(
    found: tuple[tuple[int, ...], ...], wanted: tuple[tuple[int, ...], ...]
) -> Tensor:
    """BLEU of translations with one reference each, from 0 to 100."""
    product = 1.0
    for n in range(1, 5):
        hits = total = 0
        for pair in zip(found, wanted, strict=True):
            ours, theirs = (Counter(s[i : i + n] for i in range(len(s) - n + 1)) for s in pair)
            hits, total = hits + (ours & theirs).total(), total + ours.total()
        product *= hits / total if total else 0.0
    c, r = sum(map(len, found)), sum(map(len, wanted))
    return torch.tensor(100 * min(1.0, math.exp(1 - r / c)) * product**0.25)
'''
ex = exercise("3.9", ANSWER, points=8, minutes=12, difficulty=2, reread="sec-bleu", equation="eq-bleu")

OURS, THEIRS = (1, 2, 3, 4, 1, 1, 5), (1, 2, 3, 4, 1, 5, 6, 7, 8)
TWO = "two sentences, one shorter and one longer"
HALF, SHORT = ((1, 2, 3, 4, 5), (6, 7, 8, 9, 10)), ((1, 2, 3, 4, 5), (6, 7))
DOUBLE = ((*HALF[0], 1, 1, 1, 1, 1), (*HALF[1], 2, 2, 2, 2, 2))
SAME = ((1, 2, 3, 4), (5, 6, 7, 8, 9))
ex.probe("the translation worked by hand in the lecture", found=(OURS,), wanted=(THEIRS,))
ex.probe(f"{TWO} than its reference", found=(OURS, (9, 8, 7, 6, 5, 4, 3)), wanted=(THEIRS, (9, 8, 7, 6, 5)))
ex.probe(
    "a translation longer than its reference", found=((5, 1, 2, 3, 4, 6, 6, 6),), wanted=((1, 2, 3, 4, 6),),
)
ex.probe(
    "the right words in the other sentence", found=((1, 2, 3, 4, 5), (6, 7, 8, 9)),
    wanted=((1, 2, 3, 4, 8), (6, 7, 8, 9, 5, 5)),
)
ex.probe("a sentence too short for a run of four", found=SHORT, wanted=((1, 2, 3, 4, 6), (6, 7)))
ex.probe("no run of four words is right", found=((1, 2, 3, 5, 4),), wanted=((1, 2, 3, 4, 5),))
ex.probe("word for word", found=SAME, wanted=SAME)
ex.probe("half of every sentence", found=HALF, wanted=DOUBLE)
ex.probe("all of it right, but too short for a run of four", found=((1, 2, 3),), wanted=((1, 2, 3),))
LONG = ((1, 2, 3, 4, 5, 6, 7, 8), (2, 2, 2, 2, 2), (9,))
ex.hidden("three sentences", found=LONG, wanted=((1, 2, 3, 4, 5, 9, 9), (2, 2, 2, 7, 2, 2), (9, 9)))
ex.hidden("a single word", found=((7,),), wanted=((7,),))
ex.hidden("nothing in common", found=((1, 2, 3, 4, 5),), wanted=((6, 7, 8, 9, 10),))


@ex.own
def a_word_wrong(whole):
    wanted = whole(1, 9, 9)
    return {"found": ((*wanted[:6], *whole(1, 9, 2)),), "wanted": (tuple(wanted),)}


@ex.law("the order of the sentences does not matter", "The counts are sums.", on=f"{TWO} than its reference")
def any_order(run, probe):
    turned = {name: corpus[::-1] for name, corpus in probe.args.items()}
    return run(probe.having("law", **turned)), run(probe)


COUNT = "Counter(s[i : i + n] for i in range(len(s) - n + 1)) for s in pair"
HITS, TOTAL, PENALTY = "(ours & theirs).total()", "+ ours.total()", "min(1.0, math.exp(1 - r / c))"
START, PRECISION = "product = 1.0", "product *= hits / total if total else 0.0"
SCORE, ROOT = f"100 * {PENALTY} * product**0.25", "product**0.25"
COUNTS = {"equation": "eq-bleu-precision"}
ex.wrong(
    "a result that is no tensor",
    "",
    (f"torch.tensor({SCORE})", SCORE), believes="a number is a number",
)
ex.wrong(
    "another type than float32",
    "",
    (SCORE, f"{SCORE}, dtype=torch.float64"), believes="more digits are better",
)
ex.wrong(
    "the logarithm of zero",
    "A precision may be 0, and then BLEU is 0: return that before taking a logarithm.",
    [(START, "log_p = 0.0"), (PRECISION, "log_p += math.log(hits / total) / 4"), (ROOT, "math.exp(log_p)")],
    believes="no precision is ever zero",
    shows=lambda symptom: symptom.stage == "runs" and "math domain error" in symptom.case.outcome.error,
)
ex.wrong(
    "a small number in place of a precision of zero",
    "One precision of 0 makes BLEU 0: without smoothing nothing may be added to it.",
    *((PRECISION, f"product *= (hits + {eps}) / (total + {eps})") for eps in ("1e-9", "1e-12")),
    (PRECISION, "product *= max(hits, 1e-9) / max(total, 1)"), believes="a logarithm needs more than zero",
    shows=wrong_only_where(lambda case: case.expected.tensor == 0),
)
ex.wrong(
    "precision without clipping",
    "An n-gram counts at most as often as the reference has it, or “the the the the” would be perfect.",
    (HITS, "sum(ours[gram] for gram in theirs)"), believes="a word that occurs in the reference is right",
    **COUNTS,
)
ex.wrong(
    "each n-gram counted once",
    "Counts are clipped at the reference's, not at one: a run that both have twice counts twice.",
    [(HITS, "len(ours & theirs)"), (TOTAL, "+ len(ours)")], (HITS, "len(ours & theirs)"),
    believes="n-grams are sets, or are clipped to one", **COUNTS,
)
ex.wrong(
    "all sentences in one bag",
    "Counts are clipped sentence by sentence and then summed: a word of another sentence is no hit.",
    [("zip(found, wanted, strict=True)", "[(found, wanted)]"),
     (COUNT, "Counter(s[i : i + n] for s in corpus for i in range(len(s) - n + 1)) for corpus in pair")],
    believes="a corpus is one bag of n-grams", **COUNTS,
)
ex.wrong(
    "recall instead of precision",
    "The hits are divided by the n-grams of the translation, not by those of the reference.",
    (TOTAL, "+ theirs.total()"), believes="what share of the reference was found", **COUNTS,
)
ex.wrong(
    "the last n-gram is missed",
    "A sentence of m words has m - n + 1 runs of n words: range(m - n) leaves out the last.",
    ("range(len(s) - n + 1)", "range(len(s) - n)"), believes="the last run begins at m - n - 1", **COUNTS,
)
ex.wrong(
    "a negative number of n-grams",
    "A sentence of fewer than n words has no n-grams: it must not be subtracted from the others.",
    (TOTAL, "+ len(pair[0]) - n + 1"), believes="a sentence has len - n + 1 runs", **COUNTS,
)
ex.wrong(
    "the mean of sentence scores",
    "Hits and lengths are summed over the corpus and then divided: BLEU is a number for a test set.",
    (f"    {START}\n", f"""    if len(found) > 1:
        return torch.stack([bleu([ours], [theirs]) for ours, theirs in zip(found, wanted)]).mean()
    {START}
"""), believes="BLEU is the mean over sentences",
)
ex.wrong(
    "a penalty for each sentence",
    "c and r are the words of the whole corpus: what one sentence lacks another may have too many.",
    (PENALTY, "sum(min(1.0, math.exp(1 - len(b) / len(a))) for a, b in zip(found, wanted)) / len(found)"),
    believes="each sentence pays for itself",
)
ex.wrong(
    "the arithmetic mean",
    "The mean of the precisions is geometric: one precision of zero makes BLEU zero.",
    [(START, "product = 0.0"), (PRECISION, "product += hits / total / 4 if total else 0.0"),
     (ROOT, "product")],
    [(START, "product = 0.0"), (PRECISION, "product += hits / total / 4 if hits else -9"),
     (ROOT, "max(0.0, product)")], believes="a mean is a sum divided by four",
)
ex.wrong(
    "the product without its root",
    "The mean of four precisions is the fourth root of their product.",
    (ROOT, "product"), believes="the precisions are multiplied",
)
ex.wrong(
    "no brevity penalty",
    "Precision does not notice what is missing: a short translation pays e^(1 - r/c).",
    (f"{PENALTY} * ", ""), believes="precision is enough",
)
ex.wrong(
    "length is rewarded",
    "The penalty is at most 1: a translation longer than its reference pays by its precision already.",
    (PENALTY, "math.exp(1 - r / c)"), believes="the exponential is the penalty",
)
ex.wrong(
    "c and r exchanged",
    "c counts the words of the translation: it is the short translation, with r > c, that pays.",
    ("r / c", "c / r"), (PENALTY, "(1.0 if c > r else math.exp(1 - c / r))"), believes="r is the longer one",
)
ex.wrong(
    "the penalty is the ratio of the lengths",
    "Half the words do not cost half the score: the penalty is e^(1 - r/c).",
    ("math.exp(1 - r / c)", "c / r"), believes="half the words, half the score",
)
ex.wrong(
    "a share instead of a percentage",
    "BLEU runs from 0 to 100.",
    ("100 * ", ""), believes="a score is a share",
)
ex.wrong(
    "runs of up to three words",
    "n goes from 1 to 4: range(1, 4) ends at 3.",
    [("range(1, 5)", "range(1, 4)"), (ROOT, "product ** (1 / 3)")], believes="range(1, 4) is one to four",
)

ex.right("hits and totals in a double loop", source='''
def bleu(found, wanted):
    c, r = sum(len(s) for s in found), sum(len(s) for s in wanted)
    product = min(1.0, math.exp(1 - r / c)) ** 4
    for n in range(1, 5):
        hits = total = 0
        for ours, theirs in zip(found, wanted):
            grams = [theirs[i : i + n] for i in range(len(theirs) - n + 1)]
            for i in range(len(ours) - n + 1):
                total += 1
                if ours[i : i + n] in grams:
                    hits += 1
                    grams.remove(ours[i : i + n])
        product *= hits / total if total else 0.0
    return torch.tensor(100 * product**0.25)
''')
ex.right("logarithms and the intersection of counters", source='''
def bleu(found, wanted):
    def ngrams(words, n):
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    log_p = 0.0
    for n in (1, 2, 3, 4):
        ours, theirs = [ngrams(x, n) for x in found], [ngrams(x, n) for x in wanted]
        hits = sum((a & b).total() for a, b in zip(ours, theirs))
        if hits == 0:
            return torch.tensor(0.0)
        log_p += math.log(hits / sum(a.total() for a in ours)) / 4
    c, r = sum(map(len, found)), sum(map(len, wanted))
    return torch.tensor(100 * min(1.0, math.exp(1 - r / c)) * math.exp(log_p))
''')
ex.equivalent(
    "The signs of four fractions cancel in their product.",
    (" + (", " - ("), (" + ours.total", " - ours.total"),
)
ex.equivalent(
    "A run that is cut short equals none of n words.",
    (" 1)]", " 1 + 1)]"), ("theirs) - n ", "theirs) + n "), ("theirs) - n + 1", "theirs) + 1"),
    (" 1)]", " 2)]"),
    of="hits and totals in a double loop",
)
ex.equivalent(
    "The signs of four fractions cancel in their product.",
    ("total += ", "total -= "), ("hits += ", "hits -= "),
    of="hits and totals in a double loop",
)
ex.right("precisions in a list", source='''
def bleu(found, wanted):
    def grams(words, n):
        return Counter(words[i : i + n] for i in range(len(words) - n + 1))

    precisions = []
    for n in range(1, 5):
        pairs = [(grams(a, n), grams(b, n)) for a, b in zip(found, wanted)]
        hits = sum(min(k, theirs[g]) for ours, theirs in pairs for g, k in ours.items())
        total = sum(sum(ours.values()) for ours, _ in pairs)
        precisions.append(hits / total if total > 0 else 0)
    c, r = sum(map(len, found)), sum(map(len, wanted))
    brevity = 1.0 if c >= r else math.exp(1 - r / c)
    return torch.tensor(100 * brevity * math.prod(precisions) ** (1 / 4))
''')
ex.right("windows by zip", source='''
def bleu(found, wanted):
    product = 1.0
    for n in (1, 2, 3, 4):
        ours = [Counter(zip(*(s[i:] for i in range(n)))) for s in found]
        theirs = [Counter(zip(*(s[i:] for i in range(n)))) for s in wanted]
        total = sum(c.total() for c in ours)
        product *= sum((a & b).total() for a, b in zip(ours, theirs)) / max(total, 1)
    c, r = sum(len(s) for s in found), sum(len(s) for s in wanted)
    return torch.tensor(100.0 * math.exp(min(0.0, 1 - r / c)) * product**0.25)
''')
ex.right("tensors of hits and totals", source='''
def bleu(found, wanted):
    hits, totals = torch.zeros(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    for ours, theirs in zip(found, wanted):
        for n in range(4):
            a = Counter(ours[i : i + n + 1] for i in range(len(ours) - n))
            b = Counter(theirs[i : i + n + 1] for i in range(len(theirs) - n))
            hits[n] += (a & b).total()
            totals[n] += a.total()
    c, r = sum(map(len, found)), sum(map(len, wanted))
    score = (hits / totals.clamp(min=1)).prod() ** 0.25
    return (100 * min(1.0, math.exp(1 - r / c)) * score).float()
''')
ex.right("a helper for each sentence", source='''
def bleu(found, wanted):
    def count(ours, theirs, n):
        left = [theirs[i : i + n] for i in range(len(theirs) - n + 1)]
        hits = 0
        for gram in (runs := [ours[i : i + n] for i in range(len(ours) - n + 1)]):
            if gram in left:
                left.remove(gram)
                hits += 1
        return hits, len(runs)

    product = 1.0
    for n in range(1, 5):
        hits, total = map(sum, zip(*(count(a, b, n) for a, b in zip(found, wanted))))
        if not hits:
            return torch.tensor(0.0)
        product *= hits / total
    c, r = len([w for s in found for w in s]), len([w for s in wanted for w in s])
    return torch.tensor(100 * min(1.0, math.exp(1 - r / c)) * math.sqrt(math.sqrt(product)))
''')
ex.right("the penalty first", source='''
def bleu(found, wanted):
    c, r = sum(map(len, found)), sum(map(len, wanted))
    score = 100 * (math.exp(1 - r / c) if c < r else 1)
    for n in range(1, 5):
        hits, total = 0, 0
        for a, b in zip(found, wanted):
            x = Counter(map(tuple, (a[i : i + n] for i in range(max(0, len(a) - n + 1)))))
            y = Counter(map(tuple, (b[i : i + n] for i in range(max(0, len(b) - n + 1)))))
            hits += sum((x & y).values())
            total += sum(x.values())
        score *= (hits / total) ** 0.25 if total else 0
    return torch.tensor(float(score))
''')
ex.right("what is left after subtraction", source='''
def bleu(found, wanted):
    shares = []
    for n in range(1, 5):
        ours = [Counter(s[i : i + n] for i in range(len(s) - n + 1)) for s in found]
        theirs = [Counter(s[i : i + n] for i in range(len(s) - n + 1)) for s in wanted]
        total = sum(a.total() for a in ours)
        missed = sum((a - b).total() for a, b in zip(ours, theirs))
        shares.append(1 - missed / total if total else 0.0)
    if min(shares) == 0:
        return torch.tensor(0.0)
    c, r = sum(map(len, found)), sum(map(len, wanted))
    logs = sum(map(math.log, shares)) / 4
    return torch.tensor(100 * math.exp(logs + min(0, 1 - r / c)))
''')
