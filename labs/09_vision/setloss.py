"""Exercise 9.9: the loss of a set of predictions, when it is known which query answers for which object."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def set_loss(
    logits: Tensor,
    boxes: Tensor,
    labels: Tensor,
    targets: Tensor,
    matched: Tensor,
    empty_weight: float = 0.1,
) -> Tensor:
    """The weighted mean of the queries' cross-entropies
    plus 5 times the L1 distance of a matched box, in nats."""
    last = logits.shape[1] - 1
    wanted = torch.full((len(logits),), last, device=logits.device)
    wanted[matched] = labels
    weight = torch.where(wanted == last, empty_weight, 1.0).to(logits.dtype)
    costs = -logits.log_softmax(-1).gather(1, wanted[:, None])[:, 0]
    classes = (weight * costs).sum() / weight.sum()
    distance = (boxes[matched] - targets).abs().sum() / max(1, len(labels))
    return classes + 5 * distance
'''
ex = exercise(
    "9.9", ANSWER, points=9, minutes=13, difficulty=3, reread=("sec-detr-loss", "sec-detr-matching"),
)  # fmt: skip
LARGE, NOTHING = "very large logits", "a picture without objects"


@ex.maker
def answers(normal, Q, matched, C, size=1.0, empty_weight=0.1, dtype=torch.float32):
    M = len(matched)
    args = {"logits": size * normal(Q, C + 1), "boxes": normal(Q, 4).sigmoid()}
    labels, targets = (normal(M) * 1000).long().remainder(C), normal(M, 4).sigmoid()
    args = {name: x.to(dtype) for name, x in args.items()}
    args |= {"labels": labels, "targets": targets.to(dtype), "matched": torch.tensor(matched).long()}
    return args | {"empty_weight": empty_weight}


ex.probe("three objects, seven queries", Q=7, matched=[4, 0, 5], C=5)
ex.probe("another weight", Q=11, matched=[2, 9, 3, 7, 1], C=3, empty_weight=0.4)
ex.probe("as many queries as objects", Q=5, matched=[3, 1, 4, 0, 2], C=7)
ex.probe("one object", Q=3, matched=[2], C=11)
ex.probe(NOTHING, Q=5, matched=[], C=3)
ex.probe("one class", Q=7, matched=[6, 1], C=1)
ex.probe(LARGE, Q=7, matched=[1, 5], C=3, size=300.0)
ex.probe("double precision", Q=7, matched=[4, 0, 5], C=5, empty_weight=0.5, dtype=torch.float64)
ex.probe("half precision", Q=5, matched=[4, 2], C=3, dtype=torch.float16)
ex.probe("numbers with gaps in memory", Q=7, matched=[6, 2, 3], C=5, strided=True)
ex.probe("no object, in double precision", Q=3, matched=[], C=3, dtype=torch.float64)
ex.hidden("a hundred queries", Q=100, matched=[17, 3, 99, 42, 8, 64, 23], C=11, empty_weight=0.2)
ex.hidden("as many of everything", Q=4, matched=[2, 0, 3, 1], C=4)
ex.hidden("one query, no object", Q=1, matched=[], C=2)


@ex.law("the order of the objects does not matter", "A picture holds a set of objects.")
def objects_turned(run, probe):
    turned = {name: probe.args[name].flip(0) for name in ("labels", "targets", "matched")}
    return run(probe), run(probe.having("law", **turned))


@ex.law("boxes of other queries do not matter", "A query that answers for nothing may put its box anywhere.")
def other_boxes(run, probe):
    boxes = probe.args["boxes"] + 0.25
    boxes[probe.args["matched"]] = probe.args["boxes"][probe.args["matched"]]
    return run(probe), run(probe.having("law", boxes=boxes))


WEIGHT = "torch.where(wanted == last, empty_weight, 1.0).to(logits.dtype)"
EXACT = "torch.ones_like(logits[:, 0]).masked_fill(wanted == last, empty_weight)"
CLASSES = "(weight * costs).sum() / weight.sum()"
DISTANCE = "(boxes[matched] - targets).abs().sum() / max(1, len(labels))"
ex.wrong(
    "0/0 when there is no object",
    "A mean over no objects is 0/0: divide by at least one.",
    (DISTANCE, "(boxes[matched] - targets).abs().sum(-1).mean()"),
    (DISTANCE, "(boxes[matched] - targets).abs().sum() / labels.numel()"),
    believes="every picture has an object", shows=stops_at(NOTHING, "finite", "runs"),
)
ex.wrong(
    "queries without an object say nothing",
    "They must say no object: without this half of the loss, every query would find something.",
    (CLASSES, "costs[matched].sum() / max(1, len(matched))"), believes="only pairs have a loss",
)
ex.wrong(
    "no object weighs as much as an object",
    "Most queries answer for nothing: their costs get the weight empty_weight.",
    (WEIGHT, "torch.ones_like(wanted).to(logits.dtype)"), believes="all queries count the same",
)
ex.wrong(
    "the weight is ignored",
    "0.1 is only the default: use the parameter.",
    ("last, empty_weight, 1.0", "last, 0.1, 1.0"), (WEIGHT, EXACT.replace("empty_weight", "0.1")),
    believes="the weight is 0.1",
)
ex.wrong(
    "the objects get the small weight",
    "empty_weight belongs to the queries that should say no object.",
    ("last, empty_weight, 1.0", "last, 1.0, empty_weight"), believes="the rare ones weigh less",
)
ex.wrong(
    "divided by the number of queries",
    "A weighted mean is divided by the sum of the weights.",
    (CLASSES, "(weight * costs).sum() / len(logits)"), (CLASSES, "(weight * costs).mean()"),
    [(WEIGHT, EXACT), (CLASSES, "(weight * costs).mean()")],
    believes="a mean is over the queries",
)
ex.wrong(
    "the sum of the costs",
    "Divide by the sum of the weights: otherwise more queries cost more.",
    (CLASSES, "(weight * costs).sum()"), believes="losses are summed",
)
ex.wrong(
    "the costs divided by the number of objects",
    "A weighted mean is divided by the sum of the weights; only boxes are counted by object.",
    (CLASSES, "(weight * costs).sum() / max(1, len(labels))"), believes="all is per object",
)
ex.wrong(
    "no object is class 0",
    "The last logit is that of no object; the labels begin at 0.",
    ("last = logits.shape[1] - 1", "last = 0"), believes="0 means nothing",
)
ex.wrong(
    "no object has a number too large",
    "The C + 1 logits are numbered from 0: no object is number C, which is logits.shape[1] - 1.",
    ("last = logits.shape[1] - 1", "last = logits.shape[1]"), believes="the last of n has the number n",
    shows=lambda symptom: symptom.stage == "runs" and "out of bounds" in symptom.case.outcome.error,
)
ex.wrong(
    "object m is answered by query m",
    "matched says which query answers: labels and boxes go by it.",
    [("wanted[matched] = labels", "wanted[: len(labels)] = labels"),
     ("boxes[matched]", "boxes[: len(labels)]")],
    believes="queries and objects are in the same order",
)
ex.wrong(
    "the boxes of the first queries",
    "matched says which box belongs to which object: boxes[matched].",
    ("boxes[matched]", "boxes[: len(labels)]"), believes="boxes are sorted already",
)
ex.wrong(
    "the labels of the first queries",
    "matched says which query should say a label: wanted[matched] = labels.",
    ("wanted[matched] = labels", "wanted[: len(labels)] = labels"), believes="labels are sorted already",
)
ex.wrong(
    "the mean over the four numbers of a box",
    "The distance of a box is the sum over its four numbers, and then a mean over the objects.",
    (DISTANCE, "(boxes[matched] - targets).abs().sum() / max(1, targets.numel())"),
    believes="a mean is over everything",
)
ex.wrong(
    "the distances summed over the objects",
    "A picture with more objects would cost more: take the mean over the objects.",
    (DISTANCE, "(boxes[matched] - targets).abs().sum()"), believes="losses are summed",
)
ex.wrong(
    "the distances divided by the number of queries",
    "The mean runs over the objects: only they have boxes.",
    (DISTANCE, "(boxes[matched] - targets).abs().sum() / len(logits)"), believes="a mean is over the queries",
)
ex.wrong(
    "squared differences",
    "The distance is L1, the sum of absolute differences.",
    ("targets).abs()", "targets).square()"), believes="a distance is squared",
)
ex.wrong(
    "the boxes without their weight",
    "The distance gets the weight 5.",
    ("5 * distance", "distance"), believes="both halves count the same",
)
ex.wrong(
    "the boxes have no loss",
    "A detector that knows what but not where has done half of its work: add 5 times the distance.",
    ("classes + 5 * distance", "classes + 0 * distance"), believes="a loss is a cross-entropy",
)
ex.wrong(
    "the logarithm of a rounded zero",
    "A probability of a large difference rounds to 0, and log 0 is infinite: use log_softmax.",
    ("logits.log_softmax(-1)", "logits.softmax(-1).log()"), believes="a softmax, then a logarithm",
    shows=stops_at(LARGE, "finite"),
)
ex.wrong(
    "weights of another type",
    "torch.ones makes float32: the weights need the type and the device of the logits: logits.new_ones.",
    source="""
def set_loss(logits, boxes, labels, targets, matched, empty_weight=0.1):
    wanted = torch.full((len(logits),), logits.shape[1] - 1, device=logits.device)
    wanted[matched] = labels
    weight = torch.ones(logits.shape[1])
    weight[-1] = empty_weight
    distance = (boxes[matched] - targets).abs().sum() / max(1, len(labels))
    return F.cross_entropy(logits, wanted, weight) + 5 * distance
""", believes="numbers are float32",
    shows=lambda symptom: symptom.stage == "runs" and "scalar type" in symptom.case.outcome.error,
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    ("torch.full((len(logits),), last, device=logits.device)", "torch.full((len(logits),), last)"),
    believes="tensors are where they are needed",
)
ex.wrong(
    "no object is class 0",
    "No object is the last column of the logits.",
    ("torch.full((len(logits),), last", "torch.full((len(logits),), 0"), believes="nothing is number 0",
)

ex.right(
    "cross_entropy with weights",
    source="""
def set_loss(logits, boxes, labels, targets, matched, empty_weight=0.1):
    Q, outputs = logits.shape
    wanted = torch.full([Q], outputs - 1, device=logits.device).scatter(0, matched, labels)
    weight = logits.new_ones(outputs)
    weight[-1] = empty_weight
    classes = F.cross_entropy(logits, wanted, weight)
    if len(labels) == 0:
        return classes + 0 * boxes.sum()
    return classes + 5 * F.l1_loss(boxes[matched], targets, reduction="sum") / len(labels)
""",
)
ex.right(
    "query by query",
    source="""
def set_loss(logits, boxes, labels, targets, matched, empty_weight=0.1):
    owner = {q: m for m, q in enumerate(matched.tolist())}
    total, weights, distance = 0 * boxes.sum(), 0, 0 * targets.sum()
    for q in range(len(logits)):
        m = owner.get(q)
        costs = logits[q].logsumexp(0) - logits[q]
        if m is None:
            total, weights = total + empty_weight * costs[-1], weights + empty_weight
        else:
            total, weights = total + costs[labels[m]], weights + 1
            distance = distance + (boxes[q] - targets[m]).abs().sum() / len(labels)
    return total / weights + 5 * distance
""",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("logits.dtype)", "logits.dtype).detach()"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-1", "1"), ("0]", "-1]"),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("boxes[matched] - targets", "targets - boxes[matched]"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (" labels)", " labels).detach()"), ("outputs)", "outputs).detach()"),
    of="cross_entropy with weights",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("0,", "-1,"),
    of="cross_entropy with weights",
)
ex.equivalent(
    "Where nothing is to be found, the boxes have no say.",
    (" + 0", " - 0"), ("classes + 0 * boxes.sum()", "classes"), (" * boxes.sum", " / boxes.sum"),
    ("0 * boxes.sum()", "0"), ("boxes.sum", "boxes.mean"),
    of="cross_entropy with weights",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ('boxes[matched], targets, reduction="sum"', "targets, boxes[matched], reduction='sum'"),
    of="cross_entropy with weights",
)
ex.right("a weight for each class", source='''
def set_loss(logits, boxes, labels, targets, matched, empty_weight=0.1):
    last = logits.shape[-1] - 1
    wanted = labels.new_full((len(logits),), last)
    wanted[matched] = labels
    table = torch.ones(last + 1, dtype=logits.dtype, device=logits.device)
    table[last] = empty_weight
    costs = F.nll_loss(F.log_softmax(logits, dim=1), wanted, weight=table, reduction="sum")
    distance = F.l1_loss(boxes[matched], targets, reduction="sum")
    return costs / table[wanted].sum() + 5 * distance / max(len(labels), 1)
''')
ex.right("two groups of queries", source='''
def set_loss(logits, boxes, labels, targets, matched, empty_weight=0.1):
    costs = logits.logsumexp(1, keepdim=True) - logits
    busy = torch.zeros(len(logits), dtype=torch.bool, device=logits.device)
    busy[matched] = True
    found, missed = costs[matched, labels].sum(), costs[~busy, -1].sum()
    M = len(matched)
    total = M + empty_weight * (len(logits) - M)
    distance = torch.abs(targets - boxes.index_select(0, matched)).sum() / max(M, 1)
    return (found + empty_weight * missed) / total + 5 * distance
''')
ex.right("one-hot targets", source='''
def set_loss(logits, boxes, labels, targets, matched, empty_weight=0.1):
    goal = torch.zeros_like(logits)
    goal[:, -1] = empty_weight
    goal[matched, -1] = 0
    goal[matched, labels] = 1
    classes = -(goal * logits.log_softmax(-1)).sum() / goal.sum()
    if len(matched):
        classes = classes + 5 * (boxes[matched] - targets).abs().sum(1).mean()
    return classes
''')
ex.right("all empty first, then corrected", source='''
def set_loss(logits, boxes, labels, targets, matched, empty_weight=0.1):
    logs = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    total = -empty_weight * logs[:, -1].sum()
    weights, distance = empty_weight * len(logits), 0 * boxes.sum()
    for m, q in enumerate(matched.tolist()):
        total = total + empty_weight * logs[q, -1] - logs[q, labels[m]]
        weights = weights + 1 - empty_weight
        distance = distance + torch.linalg.vector_norm(boxes[q] - targets[m], ord=1)
    return total / weights + 5 * distance / max(1, len(labels))
''')
ex.right("normalised weights in a dot product", source='''
def set_loss(logits, boxes, labels, targets, matched, empty_weight=0.1):
    Q, C = logits.shape
    wanted = torch.tensor([C - 1] * Q, device=logits.device).index_put((matched,), labels)
    weight = torch.full_like(logits[:, 0], empty_weight).index_fill(0, matched, 1)
    costs = F.cross_entropy(logits, wanted, reduction="none")
    far = torch.einsum("mi->", (boxes[matched] - targets).abs())
    return torch.dot(weight / weight.sum(), costs) + far * 5 / (len(labels) or 1)
''')
ex.right("targets spread over all queries", source='''
def set_loss(logits, boxes, labels, targets, matched, empty_weight=0.1):
    place = F.one_hot(matched, len(logits)).to(logits.dtype)
    has = place.sum(0)
    weight = has + empty_weight * (1 - has)
    wanted = (place.T @ labels.to(logits.dtype) + (1 - has) * (logits.shape[1] - 1)).long()
    costs = -logits.log_softmax(1)[torch.arange(len(logits), device=logits.device), wanted]
    distance = (has[:, None] * boxes - place.T @ targets).abs().sum()
    return (weight * costs).sum() / weight.sum() + 5 * distance / has.sum().clamp(min=1)
''')
