"""Exercise 3.8: beam search with a length penalty, for one sentence, as in the lecture.

The table ``log_probs`` (V, V) holds the log-probability of the next token (last axis) behind each last token.
The seeds are of tables that tell the mistakes apart, so a variant only moves their numbers a little.
"""

from functools import partial
from itertools import pairwise, product

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals, seeded
from pioneers.checks.variant import COMMON, own_seed, using

ANSWER = '''
def beam_search(
    log_probs: Tensor, num_beams: int, alpha: float,
    start_id: int, stop_id: int, pad_id: int, max_new_tokens: int,
) -> Tensor:
    """The best text (max_new_tokens,) that a beam finds,
    padded behind its stop token."""
    table, beam, finished, stopped = log_probs.tolist(), [(0.0, [])], [], 0
    for length in range(1, max_new_tokens + 1):
        candidates = []
        for score, text in beam:
            line = table[text[-1] if text else start_id]
            candidates += [(score + p, [*text, token]) for token, p in enumerate(line)]
        candidates.sort(reverse=True)
        for score, text in candidates[:num_beams]:
            stopped += text[-1] == stop_id
            if text[-1] == stop_id or length == max_new_tokens:
                finished.append((score / ((5 + length) / 6) ** alpha, text))
        beam = [(score, text) for score, text in candidates if text[-1] != stop_id][:num_beams]
        if stopped >= num_beams:
            break
    best = max(finished)[1]
    return torch.tensor(best + [pad_id] * (max_new_tokens - len(best)), device=log_probs.device)
'''
ex = exercise("3.8", ANSWER, points=13, minutes=24, difficulty=3, reread="sec-beam", equation="eq-search")

START, STOP, PAD = 0, 1, 2


def renamed(logits, kept):
    """The table in which the tokens have other ids, except for those that are ``kept``."""
    ids = torch.arange(len(logits))
    free = ids[[token not in kept for token in ids.tolist()]]
    ids[free] = free[torch.randperm(len(free), generator=seeded(len(free)))]
    return logits[ids][:, ids]


def table(seed, V, never=(START, PAD)):
    """Random log-probabilities (V, V) in which the tokens ``never`` are all but impossible."""
    with using(COMMON):
        logits = 2 * normals(seed)(V, V)
    if own_seed(seed) != seed:
        logits = renamed(logits + normals(seed)(V, V) / 10_000, {START, STOP, PAD, *never})
    logits[:, list(never)] -= 30
    return logits.log_softmax(-1)


def given(*which):
    """A table as the argument of a probe."""
    return {"log_probs": table(*which)}


def tree():
    """The tree of the lecture as a table (9, 9): start, stop, pad, A, B, a spare one, x, y, z."""
    probs = torch.linspace(1e-6, 2e-6, 81).view(9, 9)
    probs[0, 3], probs[0, 4] = 0.6, 0.4
    probs[3, 6], probs[3, 7], probs[3, 8] = 0.4, 0.35, 0.25
    probs[4, 6], probs[4, 7] = 0.9, 0.1
    probs[6:, 1] = probs[1, 1] = 1.0
    return probs.log()


ex.inputs(start_id=START, stop_id=STOP, pad_id=PAD)
ex.probe("the tree of the lecture, one beam", log_probs=tree(), num_beams=1, alpha=0.0, max_new_tokens=4)
ex.probe("the tree of the lecture, two beams", log_probs=tree(), num_beams=2, alpha=0.0, max_new_tokens=4)
for name, seed, V, num_beams, alpha, steps in (
    ("a random table, three beams", 659, 6, 3, 1.5, 6),
    ("a random table, four beams", 672, 7, 4, 0.6, 6),
    ("another random table, three beams", 421, 6, 3, 1.5, 6),
    ("another random table, four beams", 635, 7, 4, 0.6, 6),
    ("a third random table, three beams", 403, 6, 3, 1.5, 6),
    ("more beams than tokens", 386, 5, 7, 0.6, 4),
    ("a single step", 387, 5, 2, 0.6, 1),
):
    ex.probe(name, drawn=partial(given, seed, V), num_beams=num_beams, alpha=alpha, max_new_tokens=steps)
ex.probe(
    "other ids for start, stop and padding", drawn=lambda: given(388, 7, (6, 4)), num_beams=3, alpha=0.6,
    start_id=6, stop_id=3, pad_id=4, max_new_tokens=5,
)
PERCENT = torch.tensor([[1, 1, 1, 60, 37], *[[20, 20, 20, 20, 20]] * 3, [1, 96, 1, 1, 1]])
ex.probe(
    "a text that a further step would improve", log_probs=(PERCENT / 100).log(), num_beams=2, alpha=6.0,
    max_new_tokens=1,
)
ex.probe(
    "very unlikely texts", drawn=lambda: {"log_probs": (table(403, 6) * 1024).round() / 1024 - 2_000},
    num_beams=3, alpha=6.0, max_new_tokens=4,
)
for seed, num_beams, alpha, steps in ((419, 9, 1.5, 5), (479, 7, 0.6, 4), (501, 9, 1.5, 5)):
    ex.hidden(
        f"many beams, table {seed}", drawn=partial(given, seed, 5), num_beams=num_beams, alpha=alpha,
        max_new_tokens=steps,
    )
SIZES = [(5, 2, 0.6), (11, 5, 1.0), (7, 3, 3.0), (13, 2, 0.0), (4, 3, 2.0)]


def hidden(number):
    """Draw table after table, up to that with this ``number``."""
    normal = normals(3801)
    logits = [2 * normal(V, V) for V, _, _ in SIZES[: number + 1]][number]
    return {"log_probs": logits.log_softmax(-1)}


for number, (_, k, alpha) in enumerate(SIZES):
    ex.hidden(
        f"table {number}", drawn=partial(hidden, number), num_beams=k, alpha=alpha, start_id=3, stop_id=0,
        pad_id=2, max_new_tokens=7,
    )


@ex.law(
    "a beam that drops nothing finds the best of all texts",
    "With as many beams as beginnings every text is looked at.",
)
def finds_the_best(run, probe):
    log_p, longest = table(389, 4, ()), 4
    args = {"log_probs": log_p, "num_beams": 4**3, "alpha": 0.9, "max_new_tokens": longest}
    texts = [text for n in range(1, longest + 1) for text in product(range(4), repeat=n)
             if STOP not in text[:-1] and (text[-1] == STOP or n == longest)]

    def score(text):
        steps = pairwise((START, *text))
        return sum(log_p[step].item() for step in steps) / ((5 + len(text)) / 6) ** 0.9

    best = max(texts, key=score)
    return run(probe.having("law", **args)), torch.tensor([*best, *[PAD] * (longest - len(best))])


@ex.law(
    "one beam is greedy decoding", "One beam takes the best token at each step and ends with the first stop.",
    section="sec-greedy",
)
def one_beam_is_greedy(run, probe):
    texts = []
    for log_p in (many := [table(seed, 7) for seed in (391, 392, 393)]):
        text = [START]
        for _ in range(5):
            text.append(PAD if text[-1] in (STOP, PAD) else int(log_p[text[-1]].argmax()))
        texts.append(text[1:])
    args = {"num_beams": 1, "alpha": 0.6, "max_new_tokens": 5}
    found = [run(probe.having("law", log_probs=log_p, **args)) for log_p in many]
    return torch.stack(found), torch.tensor(texts)


BEGIN, SCORE, FIRST = "    table,", "score / ((5 + length) / 6) ** alpha", "key=lambda scored: scored[0]"
RESULT = "best + [pad_id] * (max_new_tokens - len(best))"
EXTENDED = "[(score + p, [*text, token]) for token, p in enumerate(line)]"
BEST_K = "for score, text in candidates[:num_beams]:"
OVER = "        if stopped >= num_beams:\n            break\n"
ALL = (BEST_K, "for score, text in candidates[: num_beams if length == max_new_tokens else None]:")
PENALTY = {"section": "sec-length-penalty", "equation": "eq-length-penalty"}
ex.wrong(
    "a result that is no tensor",
    "",
    (f"torch.tensor({RESULT}, device=log_probs.device)", RESULT), believes="a text is a list",
)
ex.wrong(
    "more candidates asked for than there are",
    "The first step has V candidates only: take the best min(num_beams, number of candidates).",
    ("        candidates.sort(reverse=True)\n",
     """        best = torch.tensor([score for score, _ in candidates]).topk(num_beams).indices
        candidates = [candidates[i] for i in best.tolist()]
"""), believes="there are always k candidates",
    shows=lambda symptom: symptom.stage == "runs" and "selected index k" in symptom.case.outcome.error,
)
ex.wrong(
    "alpha is ignored",
    "Every further token lowers log p: without the penalty short texts win.",
    (SCORE, "score"), believes="the most probable text is wanted", **PENALTY,
)
ex.wrong(
    "the length is counted otherwise",
    "|y| counts the tokens of the text with its stop token and without the start token.",
    ("(5 + length)", "(4 + length)"), ("(5 + length)", "(6 + length)"),
    believes="the stop token does not count, or the start token does", **PENALTY,
)
ex.wrong(
    "another penalty",
    "The divisor is ((5 + |y|) / 6) to the power of alpha, and |y| counts the stop token too.",
    (SCORE, "score / length**alpha"), (SCORE, "score / ((5 + length) / 6)"),
    believes="a length penalty is a power of the length", **PENALTY,
)
ex.wrong(
    "multiplied by the penalty",
    "log p is negative and is divided: multiplied, long texts pay twice.",
    ("score / (", "score * ("), believes="a penalty is multiplied", **PENALTY,
)
ex.wrong(
    "the search is greedy",
    "This is what one beam finds: num_beams is not used, or all beams begin alike and stay so.",
    ("[(0.0, [])]", "[(0.0, [])] * num_beams"), (BEGIN, f"    num_beams = 1\n{BEGIN}"),
    believes="the beams begin as copies of one another, or a beam is greedy decoding",
)
ex.wrong(
    "each beginning keeps its own best token",
    "All extensions of all beginnings compete: the best num_beams of them may have one parent.",
    (f"candidates += {EXTENDED}", f"own = {EXTENDED}\n            candidates += [max(own)] if text else own"),
    believes="the best extension of each beam",
)
ex.wrong(
    "the worst candidates go on",
    "sort puts the smallest first: the best have the largest log-probability.",
    ("sort(reverse=True)", "sort()"), believes="sort puts the best first",
)
ex.wrong(
    "scores are not added up",
    "The score of a text is the sum of the log-probabilities of all its tokens.",
    [("(score + p,", "(p,"), ("sort(reverse=True)", f"sort({FIRST}, reverse=True)"),
     ("(finished)", f"(finished, {FIRST})")], ("(score + p,", "(p,"), believes="the newest token decides",
    section="sec-decoding", equation="eq-search",
)
ex.wrong(
    "a finished text is continued",
    "A text that ends with the stop token is finished: it is kept aside and not extended.",
    (BEGIN, f"    stop_id = -1\n{BEGIN}"), believes="the stop token is a token like any other",
)
ex.wrong(
    "finished texts are forgotten",
    "The answer is the best of all finished texts, also of those that ended steps ago.",
    [("            stopped += text[-1] == stop_id\n", ""), ("text[-1] == stop_id or length", "length")],
    believes="the answer is the best of the beam in the end",
)
ex.wrong(
    "texts that are open at the end are forgotten",
    "After the last step open texts are compared with the finished ones: the best of all is the answer.",
    [("text[-1] == stop_id or length == max_new_tokens:", "text[-1] == stop_id:"),
     ("max(finished)", "max(finished or [(SCORED, text) for score, text in beam])".replace(
         "SCORED", SCORE.replace("length", "len(text)")))],
    believes="an open text is no answer as long as there is a finished one",
)
ex.wrong(
    "the first finished text wins",
    "Beams that are still open may end in a better text.",
    ("max(finished)", "finished[0]"), believes="the first text that ends is the answer",
)
ex.wrong(
    "the last finished text wins",
    "The answer is the best of all finished texts: compare their scores.",
    ("max(finished)", "finished[-1]"), believes="the latest is the best",
)
ex.wrong(
    "the search does not end when k have stopped",
    "When num_beams texts have stopped the search is over; one beam is then greedy decoding.",
    (OVER, ""), believes="search to the end, it can only get better",
)
ex.wrong(
    "a finished text keeps its place in the beam",
    "A text that stops leaves the beam, and the next best open one takes its place.",
    [(BEST_K, "candidates = candidates[: num_beams - stopped]\n        for score, text in candidates:")],
    believes="a finished text fills its place",
)
ex.wrong(
    "a finished text leaves a gap in the beam",
    "The gap is filled in the same step: the best num_beams candidates that do not stop go on.",
    ("in candidates if", "in candidates[:num_beams] if"), believes="the best k, without those that stop",
)
ex.wrong(
    "a stop that is not among the best k",
    "Only the best num_beams candidates are asked whether they end: a stop behind them is no finished text.",
    ALL, [ALL, (OVER, "")], believes="every text that can stop is finished",
)
ex.wrong(
    "read along the wrong axis",
    "log_probs[last] is the row of the last token; the next token is chosen along its last axis.",
    ("log_probs.tolist()", "log_probs.mT.tolist()"), believes="the columns are the last token",
)
ex.wrong(
    "the library does the work",
    source="""
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    from pioneers.generation.beam import beam_loop

    class Table:
        def __call__(self, ids):
            return log_probs[ids[:, -1]]

        def reorder(self, rows):
            pass

    how = {"num_beams": num_beams, "alpha": alpha, "stop_id": stop_id, "pad_id": pad_id}
    found = beam_loop(Table(), torch.tensor([[start_id]]), max_new_tokens, **how).tokens[0, 1:]
    return F.pad(found, (0, max_new_tokens - len(found)), value=pad_id)
""", believes="the search of the package is an answer",
)
ex.wrong(
    "the stop token is not counted",
    "|y| counts the stop token too: a finished text is as long as its tokens, the last one included.",
    ("(5 + length)", "(5 + length - (text[-1] == stop_id))"), believes="the stop token is no word",
)

ex.right("tensors and topk", source='''
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    V, stopped, best_score = len(log_probs), 0, -math.inf
    texts = torch.full((1, 1), start_id, device=log_probs.device)
    scores = torch.zeros(1, device=log_probs.device)
    for length in range(1, max_new_tokens + 1):
        joint = scores[:, None] + log_probs[texts[:, -1]]
        top, index = joint.flatten().topk(min(num_beams, joint.numel()))
        stops = index % V == stop_id
        for score, i, stop in zip(top, index, stops):
            final = score / ((5 + length) / 6) ** alpha
            if (stop or length == max_new_tokens) and final > best_score:
                best, best_score = torch.cat([texts[i // V, 1:], i[None] % V]), final
        stopped += int(stops.sum())
        if stopped >= num_beams:
            break
        joint[:, stop_id] = -math.inf
        scores, index = joint.flatten().topk(min(num_beams, len(joint) * (V - 1)))
        texts = torch.cat([texts[index // V], index[:, None] % V], dim=1)
    return F.pad(best, (0, max_new_tokens - len(best)), value=pad_id)
''')
ex.right(
    "it stops as soon as no open text can win",
    (OVER, """        reach = beam[0][0] / ((5 + max_new_tokens) / 6) ** alpha
        if stopped >= num_beams or finished and reach <= max(finished)[0]:
            break
"""),
)
ex.equivalent(
    "A constant factor in the penalty changes no ranking.",
    (" / 6", " * 6"), ("(5 + length) / 6", "5 + length"), ("6", "7"), ("6", "5"),
)
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    (", device=log_probs.device", ""),
)
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    ("start_id, device=log_probs.device", "start_id"),
    of="tensors and topk",
)
ex.equivalent(
    "A constant factor in the penalty changes no ranking.",
    (" / 6", " * 6"), ("(5 + length) / 6", "5 + length"), ("6", "7"), ("6", "5"),
    of="tensors and topk",
)
ex.equivalent(
    "Of two texts with exactly the same score, either may win.",
    ("> ", ">= "),
    of="tensors and topk",
)
ex.equivalent(
    "torch does the conversion by itself.",
    ("int(stops.sum()", "stops.sum("),
    of="tensors and topk",
)
ex.equivalent(
    "No text is as improbable as that.",
    ("= -math.inf", "= -10000.0"),
    of="tensors and topk",
)
ex.equivalent(
    "A text at minus infinity is never the best.",
    ("V - 1", "V"), (" 1))", " 0))"),
    of="tensors and topk",
)
ex.right("a heap of candidates", source='''
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    import heapq

    table, beam, done, stops = log_probs.tolist(), [(0.0, [])], [], 0
    for n in range(1, max_new_tokens + 1):
        every = [
            (score + p, [*text, token])
            for score, text in beam
            for token, p in enumerate(table[text[-1] if text else start_id])
        ]
        for score, text in heapq.nlargest(num_beams, every):
            stops += text[-1] == stop_id
            if text[-1] == stop_id or n == max_new_tokens:
                done.append((score / ((5 + n) / 6) ** alpha, text))
        if stops >= num_beams:
            break
        beam = heapq.nlargest(num_beams, [c for c in every if c[1][-1] != stop_id])
    best = max(done)[1]
    return torch.tensor(best + [pad_id] * (max_new_tokens - len(best)))
''')
ex.right("two helpers and a while loop", source='''
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    def extended(beam):
        found = []
        for score, text in beam:
            last = text[-1] if text else start_id
            found += [(score + float(p), text + (t,)) for t, p in enumerate(log_probs[last])]
        return sorted(found, key=lambda scored: scored[0], reverse=True)

    def penalised(scored):
        return scored[0] / ((5 + len(scored[1])) / 6) ** alpha

    beam, done, stops, n = [(0.0, ())], [], 0, 0
    while n < max_new_tokens and stops < num_beams:
        n += 1
        every = extended(beam)
        ended = [c for c in every[:num_beams] if c[1][-1] == stop_id]
        stops += len(ended)
        done += every[:num_beams] if n == max_new_tokens else ended
        beam = [c for c in every if c[1][-1] != stop_id][:num_beams]
    best = list(max(done, key=penalised)[1])
    return torch.tensor(best + [pad_id] * (max_new_tokens - len(best)))
''')
ex.right("the candidates in one comprehension", source='''
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    table, beam, finished, stopped = log_probs.tolist(), [(0.0, [start_id])], [], 0
    for length in range(1, max_new_tokens + 1):
        candidates = sorted(
            ((score + p, text + [token]) for score, text in beam for token, p in enumerate(table[text[-1]])),
            reverse=True,
        )
        top = candidates[:num_beams]
        stopped += sum(text[-1] == stop_id for _, text in top)
        finished += [
            (score / ((5 + length) / 6) ** alpha, text)
            for score, text in top
            if text[-1] == stop_id or length == max_new_tokens
        ]
        if stopped >= num_beams:
            break
        beam = [candidate for candidate in candidates if candidate[1][-1] != stop_id][:num_beams]
    best = max(finished)[1][1:]
    return torch.tensor(best + [pad_id] * (max_new_tokens - len(best)))
''')
ex.right("texts as a tensor, all steps in a helper", source='''
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    V = len(log_probs)
    best_text, best_score, stopped = None, -math.inf, 0

    def pick(joint, texts, k):
        values, places = joint.flatten().sort(descending=True)
        values, places = values[:k], places[:k]
        return values, torch.cat((texts[places // V], (places % V)[:, None]), dim=1)

    scores = torch.zeros(1, dtype=torch.float64, device=log_probs.device)
    texts = torch.tensor([[start_id]], device=log_probs.device)
    for length in range(1, max_new_tokens + 1):
        joint = scores[:, None] + log_probs.double()[texts[:, -1]]
        values, new = pick(joint, texts, num_beams)
        for value, text in zip(values, new):
            stopped += int(text[-1] == stop_id)
            final = float(value) / ((5 + length) / 6) ** alpha
            if (text[-1] == stop_id or length == max_new_tokens) and final > best_score:
                best_text, best_score = text[1:], final
        if stopped >= num_beams:
            break
        others = torch.arange(V, device=log_probs.device) != stop_id
        joint = joint.masked_fill(~others, -math.inf)
        scores, texts = pick(joint, texts, min(num_beams, len(texts) * (V - 1)))
    return F.pad(best_text, (0, max_new_tokens - len(best_text)), value=pad_id)
''')
ex.right("a dictionary from text to score", source='''
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    table, beam, done, stopped = log_probs.tolist(), {(): 0.0}, {}, 0
    for length in range(1, max_new_tokens + 1):
        scores = {}
        for text, score in beam.items():
            for token, p in enumerate(table[text[-1]] if text else table[start_id]):
                scores[(*text, token)] = score + p
        order = sorted(scores, key=scores.get, reverse=True)
        for text in order[:num_beams]:
            if text[-1] == stop_id:
                stopped += 1
            if text[-1] == stop_id or length == max_new_tokens:
                done[text] = scores[text] / ((5 + length) / 6) ** alpha
        if stopped >= num_beams:
            break
        open_texts = [text for text in order if text[-1] != stop_id]
        beam = {text: scores[text] for text in open_texts[:num_beams]}
    best = max(done, key=done.get)
    return torch.tensor([*best, *[pad_id] * (max_new_tokens - len(best))])
''')
ex.right("records with a length of their own", source='''
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    def penalty(text):
        return ((5 + len(text)) / 6) ** alpha

    log_p = log_probs.tolist()
    live, best, stopped = [([], 0.0)], ([], -math.inf), 0
    for _ in range(max_new_tokens):
        grown = []
        for text, score in live:
            row = log_p[text[-1]] if text else log_p[start_id]
            for token in range(len(row)):
                grown.append((text + [token], score + row[token]))
        grown.sort(key=lambda item: item[1], reverse=True)
        for text, score in grown[:num_beams]:
            ends = text[-1] == stop_id
            stopped += ends
            if (ends or len(text) == max_new_tokens) and score / penalty(text) > best[1]:
                best = text, score / penalty(text)
        if stopped >= num_beams:
            break
        live = [item for item in grown if item[0][-1] != stop_id][:num_beams]
    text = best[0]
    while len(text) < max_new_tokens:
        text = [*text, pad_id]
    return torch.tensor(text)
''')
