"""Exercise 9.11: DeiT's loss, in which a second token learns what a teacher says."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def deit_loss(
    class_logits: Tensor,
    distilled_logits: Tensor,
    labels: Tensor,
    teacher_logits: Tensor,
) -> Tensor:
    """Half the cross-entropy of the labels and half that of
    the teacher's choices, in nats."""
    choices = teacher_logits.argmax(dim=1)
    by_labels = F.cross_entropy(class_logits, labels)
    by_teacher = F.cross_entropy(distilled_logits, choices)
    return (by_labels + by_teacher) / 2
'''
ex = exercise(
    "9.11", ANSWER, points=6, minutes=8, difficulty=1, reread="sec-deit-distill",
)  # fmt: skip
LARGE = "very large logits"


@ex.maker
def two_tokens(normal, B, C, size=1.0, dtype=torch.float32):
    args = {name: size * normal(B, C) for name in ("class_logits", "distilled_logits", "teacher_logits")}
    args = {name: x.to(dtype) for name, x in args.items()}
    return args | {"labels": (normal(B) * 1000).long().remainder(C)}


ex.probe("five images, seven classes", B=5, C=7)
ex.probe("eleven images, three classes", B=11, C=3, size=2.0)
ex.probe("a batch of one", B=1, C=5)
ex.probe("as many images as classes", B=7, C=7)
ex.probe(LARGE, B=5, C=3, size=300.0)
ex.probe("double precision", B=3, C=5, dtype=torch.float64)
ex.probe("half precision", B=5, C=3, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=3, C=11, strided=True)
ex.hidden("thirteen images, two classes", B=13, C=2)
ex.hidden("one class", B=3, C=1)
ex.hidden("many classes", B=7, C=101, size=3.0)


@ex.law("only the teacher's choice counts", "Its class of highest score, however sure it is.")
def sure_teacher(run, probe):
    return run(probe), run(probe.having("law", teacher_logits=5 * probe.args["teacher_logits"] - 3))


def has_a_choice_for_each_class(symptom):
    classes = symptom.case.probe.args["class_logits"].shape[1]
    return symptom.stage == "runs" and f"target batch_size ({classes})" in symptom.case.outcome.error


RESULT = "(by_labels + by_teacher) / 2"
ex.wrong(
    "the teacher's probabilities instead of its choice",
    "DeiT's teacher gives a hard label, its class of highest score; that worked better than probabilities.",
    ("choices = teacher_logits.argmax(dim=1)", "choices = teacher_logits.softmax(1)"),
    believes="distillation is soft", section="sec-distillation",
)
ex.wrong(
    "one token learns both",
    "Each half has logits of its own: the distillation token learns the teacher's choices.",
    ("F.cross_entropy(distilled_logits, choices)",
     "F.cross_entropy(class_logits, choices) + 0 * distilled_logits.sum()"),
    ("F.cross_entropy(class_logits, labels)",
     "F.cross_entropy(distilled_logits, labels) + 0 * class_logits.sum()"),
    believes="two targets for one output",
)
ex.wrong(
    "the two tokens exchanged",
    "The class token learns the labels, the distillation token the teacher's choices.",
    [("(class_logits, labels)", "(class_logits, choices)"),
     ("(distilled_logits, choices)", "(distilled_logits, labels)")],
    believes="it makes no difference",
)
ex.wrong(
    "both tokens averaged before the loss",
    "Averaging is for prediction. In training each token has a target of its own.",
    [("(class_logits, labels)", "((class_logits + distilled_logits) / 2, labels)"),
     ("(distilled_logits, choices)", "((class_logits + distilled_logits) / 2, choices)")],
    believes="the outputs are one",
)
ex.wrong(
    "the teacher is not asked",
    "The distillation token learns from the teacher: its target is the teacher's choice, right or wrong.",
    ("choices = teacher_logits.argmax(dim=1)", "choices = labels"), believes="labels are better",
)
ex.wrong(
    "the teacher's mistakes are left out",
    "The teacher's choice is the target even where it is not the label.",
    ("F.cross_entropy(distilled_logits, choices)",
     "(F.cross_entropy(distilled_logits, choices, reduction='none') * (choices == labels)).mean()"),
    believes="a wrong teacher teaches nothing",
)
ex.wrong(
    "the least likely class",
    "The teacher's choice is the class of its highest score: argmax.",
    ("argmax", "argmin"), believes="a score is a cost",
)
ex.wrong(
    "the teacher's logits as targets",
    "cross_entropy takes a row of numbers as probabilities. The teacher's choice is a class: argmax.",
    ("choices = teacher_logits.argmax(dim=1)", "choices = teacher_logits"),
    believes="logits are labels",
)
ex.wrong(
    "one choice for the whole batch",
    "argmax without an axis finds the largest of all numbers: each image has a choice of its own.",
    ("argmax(dim=1)", "argmax()"), believes="argmax goes row by row",
    shows=lambda symptom: (
        symptom.stage == "runs" and "target" in symptom.case.outcome.error
        and not has_a_choice_for_each_class(symptom)
    ),
)
ex.wrong(
    "argmax along the wrong axis",
    "The classes are the last axis: argmax(dim=1).",
    ("argmax(dim=1)", "argmax(0)"), believes="axis 0 is that of the classes",
    shows=has_a_choice_for_each_class,
)
ex.wrong(
    "the choice among the images",
    "Each image has a choice of its own, among the classes: the second axis.",
    ("argmax(dim=1)", "argmax(0).repeat(len(labels))[: len(labels)].clamp(max=class_logits.shape[1] - 1)"),
    believes="any axis will do",
)
ex.wrong(
    "the sum of both halves",
    "Each half counts one half.",
    (RESULT, "by_labels + by_teacher"), believes="losses are added",
)
ex.wrong(
    "the labels alone",
    "The second half teaches the distillation token: without it, that token learns nothing.",
    (RESULT, "by_labels + 0 * by_teacher"), believes="a loss is about labels",
)
ex.wrong(
    "the teacher alone",
    "The first half teaches the class token the labels.",
    (RESULT, "by_teacher + 0 * by_labels"), believes="a teacher is enough",
)
ex.wrong(
    "the sum over the batch",
    "The loss is a mean over the images.",
    (RESULT, f"len(labels) * {RESULT}"), believes="losses are summed",
)
ex.wrong(
    "the logarithm of a rounded zero",
    "A probability rounds to 0 where logits are large, and log 0 is infinite: use cross_entropy.",
    [("F.cross_entropy(class_logits, labels)", "F.nll_loss(class_logits.softmax(1).log(), labels)"),
     ("F.cross_entropy(distilled_logits, choices)",
      "F.nll_loss(distilled_logits.softmax(1).log(), choices)")],
    believes="a softmax, then a logarithm", shows=stops_at(LARGE, "finite"),
)
ex.wrong(
    "a softmax before cross_entropy",
    "cross_entropy takes logits: it has the softmax built in.",
    [("(class_logits, labels)", "(class_logits.softmax(1), labels)"),
     ("(distilled_logits, choices)", "(distilled_logits.softmax(1), choices)")],
    believes="a cross-entropy needs probabilities",
)
ex.wrong(
    "the library does the work",
    source="""
def deit_loss(class_logits, distilled_logits, labels, teacher_logits):
    from pioneers.objectives import distillation_token_loss

    return distillation_token_loss(class_logits, distilled_logits, labels, teacher_logits)
""", believes="the package has a function for that",
)
ex.wrong(
    "one loss of the mean logits",
    "The two tokens learn from two teachers: each has a cross-entropy of its own.",
    ("(by_labels + by_teacher) / 2", "F.cross_entropy((class_logits + distilled_logits) / 2, labels)"),
    believes="the tokens are averaged first",
)

ex.right(
    "log_softmax and gather",
    source="""
def deit_loss(class_logits, distilled_logits, labels, teacher_logits):
    choices = teacher_logits.max(dim=-1).indices
    both = torch.stack((class_logits, distilled_logits)).log_softmax(-1)
    wanted = torch.stack((labels, choices))
    return -both.gather(2, wanted[..., None]).mean()
""",
)
ex.right(
    "image by image",
    source="""
def deit_loss(class_logits, distilled_logits, labels, teacher_logits):
    total = 0
    for a, b, label, teacher in zip(class_logits, distilled_logits, labels, teacher_logits):
        total = total + a.logsumexp(0) - a[label]
        total = total + b.logsumexp(0) - b[teacher.argmax()]
    return total / (2 * len(labels))
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("=-1)", "=1)"),
    of="log_softmax and gather",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("choices))", "choices)).detach()"),
    of="log_softmax and gather",
)
ex.right("one cross_entropy of twice the batch", source='''
def deit_loss(class_logits, distilled_logits, labels, teacher_logits):
    logits = torch.cat((class_logits, distilled_logits))
    return F.cross_entropy(logits, torch.cat((labels, teacher_logits.argmax(dim=-1))))
''')
ex.right("one-hot targets", source='''
def deit_loss(class_logits, distilled_logits, labels, teacher_logits):
    C = class_logits.shape[1]
    wanted = F.one_hot(labels, C), F.one_hot(teacher_logits.argmax(1), C)
    logs = class_logits.log_softmax(1), distilled_logits.log_softmax(1)
    return -sum((w * z).sum() for w, z in zip(wanted, logs)) / (2 * len(labels))
''')
ex.right("indices that pair up", source='''
def deit_loss(class_logits, distilled_logits, labels, teacher_logits):
    images = torch.arange(len(labels), device=labels.device)
    own = class_logits.logsumexp(1) - class_logits[images, labels]
    choice = teacher_logits.topk(1, dim=1).indices[:, 0]
    other = distilled_logits.logsumexp(1) - distilled_logits[images, choice]
    return torch.lerp(own.mean(), other.mean(), 0.5)
''')
ex.right("a helper that subtracts the maximum", source='''
def deit_loss(class_logits, distilled_logits, labels, teacher_logits):
    def entropy(logits, target):
        z = logits - logits.detach().amax(dim=1, keepdim=True)
        return (z.exp().sum(1).log() - z.gather(1, target.unsqueeze(1)).squeeze(1)).mean()

    return 0.5 * entropy(class_logits, labels) + 0.5 * entropy(distilled_logits, teacher_logits.argmax(1))
''')
ex.right("einsum with the places of the maxima", source='''
def deit_loss(class_logits, distilled_logits, labels, teacher_logits):
    chosen = (teacher_logits == teacher_logits.amax(1, keepdim=True)).to(distilled_logits.dtype)
    classes = torch.arange(class_logits.shape[1], device=labels.device)
    right = (labels[:, None] == classes).to(class_logits.dtype)
    both = torch.stack((right, chosen))
    logs = F.log_softmax(torch.stack((class_logits, distilled_logits)), dim=2)
    return torch.einsum("nbc,nbc->", both, logs) / -(2 * len(labels))
''')
ex.right("losses side by side", source='''
def deit_loss(class_logits, distilled_logits, labels, teacher_logits):
    _, choices = torch.max(teacher_logits, 1)
    loss = torch.nn.NLLLoss(reduction="none")
    halves = torch.stack([
        loss(F.log_softmax(class_logits, -1), labels), loss(F.log_softmax(distilled_logits, -1), choices),
    ], dim=1)
    return halves.mean(dim=1).mean()
''')
