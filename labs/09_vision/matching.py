"""Exercise 9.8: which query answers for which object.

The result is a choice, so boxes and scores are drawn so that every mistake changes it somewhere.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.symptoms import breaks

ANSWER = '''
from scipy.optimize import linear_sum_assignment


def match(
    logits: Tensor, boxes: Tensor, labels: Tensor, targets: Tensor
) -> Tensor:
    """The query that answers for each object, int64 (M,):
    all pairs together cost least."""
    probability = logits.softmax(-1)[:, labels]
    distance = (boxes[:, None] - targets).abs().sum(-1)
    cost = 5 * distance - probability
    query, number = linear_sum_assignment(cost.detach().cpu().numpy())
    matched = torch.empty_like(labels)
    matched[torch.from_numpy(number)] = torch.from_numpy(query)
    return matched
'''
ex = exercise(
    "9.8", ANSWER, points=8, minutes=12, difficulty=2, reread="sec-detr-matching",
)  # fmt: skip


@ex.maker
def picture(normal, Q, M, C, size=0.04, sure=2.0, dtype=torch.float32, **given):
    """``size`` is how much boxes differ, ``sure`` how much logits do."""
    args = {"logits": sure * normal(Q, C + 1), "boxes": 0.5 + size * normal(Q, 4)}
    args["labels"] = (normal(M) * 1000).long().remainder(C)
    args["targets"] = 0.5 + size * normal(M, 4)
    return {name: x if name == "labels" else x.to(dtype) for name, x in args.items()} | given


ex.probe("seven objects, eleven queries", Q=11, M=7, C=5)
ex.probe("boxes that are nearly the same", Q=13, M=11, C=3, size=0.02)
ex.probe("boxes far apart", Q=13, M=7, C=5, size=0.2)
ex.probe("as many queries as objects", Q=7, M=7, C=11)
ex.probe("very sure", Q=23, M=17, C=2, sure=6.0)
ex.probe("unsure", Q=17, M=13, C=7, sure=0.5, size=0.02)
ex.probe("one object", Q=5, M=1, C=3)
ex.probe("a picture without objects", Q=5, M=0, C=3)
ex.probe("two queries want one object", Q=2, M=2, C=1, logits=[[0.0, 0.0], [0.0, 0.0]],
         boxes=[[0.5, 0.5, 0.2, 0.2], [0.6, 0.5, 0.2, 0.2]], labels=[0, 0],
         targets=[[0.51, 0.5, 0.2, 0.2], [0.4, 0.5, 0.2, 0.2]])
ex.probe("double precision", Q=11, M=5, C=3, dtype=torch.float64)
ex.probe("numbers with gaps in memory", Q=7, M=5, C=3, strided=True)
ex.hidden("a hundred queries", Q=100, M=19, C=5)
ex.hidden("as many of everything", Q=7, M=7, C=7, size=0.03)
ex.hidden("many objects", Q=31, M=29, C=3, size=0.02)


@ex.law("the order of the objects does not matter", "A picture holds a set of objects.")
def objects_turned(run, probe):
    turned = {name: probe.args[name].flip(0) for name in ("labels", "targets")}
    return run(probe), run(probe.having("law", **turned)).flip(0)


@ex.law("the order of the queries does not matter", "Which query answers is decided by what it says.")
def queries_turned(run, probe):
    turned = {name: probe.args[name].flip(0) for name in ("logits", "boxes")}
    return run(probe), len(probe.args["boxes"]) - 1 - run(probe.having("law", **turned))


@ex.law("the inputs may carry a gradient", "SciPy takes no tensor with a gradient: cost.detach().cpu().")
def in_training(run, probe):
    learned = {name: probe.args[name].clone().requires_grad_() for name in ("logits", "boxes")}
    return run(probe), run(probe.having("law", **learned))


PROBABILITY, COST = "logits.softmax(-1)[:, labels]", "5 * distance - probability"
TAIL = """    query, number = linear_sum_assignment(cost.detach().cpu().numpy())
    matched = torch.empty_like(labels)
    matched[torch.from_numpy(number)] = torch.from_numpy(query)
    return matched
"""
ex.wrong(
    "each object takes its best query",
    "Two objects may want the same query, and then one is never found: the pairs are chosen together.",
    (TAIL, "    if len(labels) == 0:\n        return labels\n    return cost.argmin(0)\n"),
    believes="the cheapest query is the match",
)
ex.wrong(
    "the objects choose one after the other",
    "The first one may take what another needs more: the sum over all pairs is to be least.",
    (TAIL, """    matched = torch.empty_like(labels)
    for m in range(len(labels)):
        matched[m] = cost[:, m].argmin()
        cost[matched[m]] = torch.inf
    return matched
"""), believes="greedy is good enough",
)
ex.wrong(
    "the cheapest pairs first",
    "Taking the cheapest pair, then the next one, may leave an expensive one for the end: the sum counts.",
    (TAIL, """    matched = torch.empty_like(labels)
    for _ in range(len(labels)):
        q, m = divmod(int(cost.argmin()), len(labels))
        matched[m] = q
        cost[q], cost[:, m] = torch.inf, torch.inf
    return matched
"""), believes="the best pair belongs to the best matching",
)
ex.wrong(
    "in the order of the queries",
    "SciPy sorts the pairs by row, here by query: put each query at the place of its object.",
    (TAIL, "    query, _ = linear_sum_assignment(cost.detach().cpu().numpy())\n"
           "    return torch.from_numpy(query)\n"),
    believes="the pairs come in the order of the objects",
)
ex.wrong(
    "the objects come out instead of the queries",
    "The result says for each object which query answers: numbers of queries.",
    (TAIL, "    _, number = linear_sum_assignment(cost.detach().cpu().numpy())\n"
           "    return torch.from_numpy(number)\n"),
    believes="a match is a match",
)
ex.wrong(
    "the order applied instead of its inverse",
    "Query i belongs to object number[i]: write it at that place, or sort the queries by number.argsort().",
    (TAIL, "    query, number = linear_sum_assignment(cost.detach().cpu().numpy())\n"
           "    return torch.from_numpy(query[number])\n"),
    believes="a permutation is its own inverse",
)
ex.wrong(
    "a result that is no tensor", "",
    (TAIL, "    query, number = linear_sum_assignment(cost.detach().cpu().numpy())\n"
           "    return query[number.argsort()]\n"),
    believes="an array is a tensor",
)
ex.wrong(
    "the most expensive pairs",
    "The cost is minimised, and that is what linear_sum_assignment does by itself.",
    ("cpu().numpy())", "cpu().numpy(), maximize=True)"), believes="a match is a maximum",
)
ex.wrong(
    "a probability makes it cost more",
    "A query that is sure of the object's class is a good match: its probability is subtracted.",
    (COST, "5 * distance + probability"), believes="costs are added up",
)
ex.wrong(
    "the logarithm of the probability",
    "DETR's cost has the probability itself, so that it stays comparable with the distance.",
    (COST, "5 * distance - probability.log()"), believes="the cost is the loss",
)
ex.wrong(
    "logits instead of probabilities",
    "A logit means something only beside the others of its query: take the softmax first.",
    (PROBABILITY, "logits[:, labels]"), believes="a logit is a score",
)
ex.wrong(
    "the softmax runs over the queries",
    "Each query shares its probability among the classes: the softmax runs over the last axis.",
    (PROBABILITY, "logits.softmax(0)[:, labels]"), believes="the queries compete",
)
ex.wrong(
    "no object is left out of the softmax",
    "A query that says no object must have little probability left for the classes: keep its logit in.",
    (PROBABILITY, "logits[:, :-1].softmax(-1)[:, labels]"), believes="only the classes matter",
)
ex.wrong(
    "only the boxes count",
    "The class counts too: subtract the probability of the object's label.",
    (COST, "5 * distance"), believes="boxes say enough",
)
ex.wrong(
    "only the classes count",
    "Two objects of one class differ by their boxes alone: add 5 times the distance.",
    (COST, "-probability"), believes="the class says enough",
)
ex.wrong(
    "the distance without its weight",
    "Boxes are shares of the picture, and their distances are small: DETR gives them a weight of 5.",
    (COST, "distance - probability"), believes="a weight is only for the loss",
)
ex.wrong(
    "the mean of the four differences",
    "The distance is the sum over the four numbers of a box.",
    (".abs().sum(-1)", ".abs().mean(-1)"), believes="a mean is a distance",
)
ex.wrong(
    "squared differences",
    "The distance is L1, the sum of absolute differences.",
    (".abs().sum(-1)", ".square().sum(-1)"), believes="a distance is squared",
)
ex.wrong(
    "the Euclidean distance",
    "The distance is L1, the sum of absolute differences.",
    (".abs().sum(-1)", ".square().sum(-1).sqrt()"), believes="a distance is Euclidean",
)
ex.wrong(
    "a tensor with a gradient given to SciPy",
    "SciPy takes no tensor with a gradient: cost.detach().cpu().",
    ("cost.detach().cpu().numpy()", "cost.cpu().numpy()"), believes="predictions are numbers",
    shows=breaks("the inputs may carry a gradient"),
)
ex.wrong(
    "the library does the work",
    source="""
def match(logits, boxes, labels, targets):
    from pioneers.objectives import hungarian_match

    return hungarian_match(logits[None], boxes[None], labels[None], targets[None])[0]
""", believes="the package has a function for that",
)
ex.wrong(
    "the objects' numbers are returned",
    "What is asked for is the query of each object: the rows of the cost, put in the order of its columns.",
    ("= torch.from_numpy(query)", "= torch.from_numpy(number)"), believes="the second array is the answer",
)
ex.wrong(
    "differences that cancel",
    "The distance is L1, the sum of absolute differences: without abs, two mistakes may cancel.",
    (".abs().sum(-1)", ".sum(-1)"), believes="a difference is a distance",
)

ex.right(
    "objects as rows",
    source="""
from scipy.optimize import linear_sum_assignment


def match(logits, boxes, labels, targets):
    share = logits.exp() / logits.exp().sum(1, keepdim=True)
    cost = [[5 * (b - t).abs().sum() - p[c] for b, p in zip(boxes, share)] for t, c in zip(targets, labels)]
    if not cost:
        return labels.clone()
    _, query = linear_sum_assignment([[float(x) for x in row] for row in cost])
    return torch.tensor(query)
""",
)
ex.right(
    "cdist, sorted by object",
    source="""
from scipy.optimize import linear_sum_assignment


def match(logits, boxes, labels, targets):
    cost = 5 * torch.cdist(boxes, targets, p=1) - F.softmax(logits, dim=1).index_select(1, labels)
    pairs = linear_sum_assignment(cost.detach().cpu())
    query, number = (torch.as_tensor(x) for x in pairs)
    return query[number.argsort()]
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("(-1)[", "(1)["),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("boxes[:, None] - targets", "targets - boxes[:, None]"),
)
ex.equivalent(
    "The numbers are the same: on which device they lie shows on a GPU only.",
    (".numpy()", ""), (".cpu().numpy", ".numpy"),
)
ex.equivalent(
    "NumPy and torch take each other's numbers, and an empty tensor may be shared.",
    ("torch.from_numpy(number)", "number"),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("b - t", "t - b"),
    of="objects as rows",
)
ex.equivalent(
    "The inputs of this exercise have this type only.",
    ("e()", "e().long()"),
    of="objects as rows",
)
ex.equivalent(
    "NumPy and torch take each other's numbers, and an empty tensor may be shared.",
    ("labels.clone()", "labels"),
    of="objects as rows",
)
ex.right("filled by place", source='''
from scipy.optimize import linear_sum_assignment


def match(logits, boxes, labels, targets):
    with torch.no_grad():
        probability = torch.softmax(logits, dim=1).gather(1, labels.expand(len(logits), -1))
        distance = (boxes.unsqueeze(1) - targets.unsqueeze(0)).abs().sum(2)
        rows, columns = linear_sum_assignment((5 * distance - probability).numpy())
    result = labels.clone()
    for q, m in zip(rows.tolist(), columns.tolist()):
        result[m] = q
    return result
''')
ex.right("the largest gain", source='''
from scipy.optimize import linear_sum_assignment


def match(logits, boxes, labels, targets):
    gain = logits.softmax(-1)[:, labels].T - 5 * (targets[:, None] - boxes).abs().sum(-1)
    _, query = linear_sum_assignment(gain.detach().cpu().numpy(), maximize=True)
    return torch.as_tensor(query).to(labels)
''')
ex.right("numpy does the rest", source='''
from scipy.optimize import linear_sum_assignment


def match(logits, boxes, labels, targets):
    import numpy as np

    z, b, c, t = (x.detach().double().numpy() for x in (logits, boxes, labels, targets))
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    cost = 5 * np.abs(b[:, None] - t[None]).sum(2) - p[:, c.astype(int)]
    query, number = linear_sum_assignment(cost)
    return torch.tensor(query[np.argsort(number)])
''')
ex.right("one-hot labels in a matrix product", source='''
from scipy.optimize import linear_sum_assignment


def match(logits, boxes, labels, targets):
    wanted = F.one_hot(labels, logits.shape[1]).to(logits.dtype)
    cost = -torch.einsum("qc,mc->mq", logits.softmax(-1), wanted)
    for i in range(4):
        cost = cost + 5 * (boxes[:, i] - targets[:, i, None]).abs()
    return torch.from_numpy(linear_sum_assignment(cost.detach())[1])
''')
ex.right("a table in place, object by object", source='''
from scipy.optimize import linear_sum_assignment


def match(logits, boxes, labels, targets):
    share = (logits - logits.logsumexp(1, keepdim=True)).exp().detach()
    cost = torch.empty(len(logits), len(labels), dtype=logits.dtype)
    for m, (label, target) in enumerate(zip(labels.tolist(), targets)):
        cost[:, m] = 5 * torch.linalg.vector_norm(boxes.detach() - target, ord=1, dim=1) - share[:, label]
    pairs = dict(zip(*reversed(linear_sum_assignment(cost))))
    return torch.tensor([int(pairs[m]) for m in range(len(labels))], dtype=torch.int64)
''')
ex.right("sorted pairs", source='''
import scipy.optimize


def match(logits, boxes, labels, targets):
    def costs(label, target):
        return 5 * F.l1_loss(boxes, target.expand_as(boxes), reduction="none").sum(1) - chance[:, label]

    chance = F.softmax(logits, -1)
    table = [costs(*pair).tolist() for pair in zip(labels, targets)]
    if len(table) == 0:
        return torch.empty(0, dtype=torch.long)
    objects, queries = scipy.optimize.linear_sum_assignment(table)
    return torch.tensor([q for _, q in sorted(zip(objects.tolist(), queries.tolist()))])
''')
