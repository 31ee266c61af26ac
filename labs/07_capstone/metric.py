"""Exercise 7.2: the accuracy of each class that occurs, and their mean, in float32."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def class_accuracy(
    predictions: Tensor, labels: Tensor, num_classes: int
) -> Tensor:
    """The mean accuracy of the classes that occur:
    predictions and labels (B,) → (), float32."""
    shares = []
    for c in range(num_classes):
        mine = labels == c
        if mine.any():
            shares.append((predictions[mine] == c).float().mean())
    return torch.stack(shares).mean()
'''
ex = exercise("7.2", ANSWER, points=8, minutes=10, difficulty=2, reread="sec-vit-training")


@ex.maker
def images(normal, answers, C):
    """The ``answers`` are two lists, predictions and labels."""
    return {"predictions": answers[0], "labels": answers[1], "num_classes": C}


_ = -100
ex.probe("three classes of unequal size", answers=([0, 0, 0, 1, 1, 0, 2, 1], [0, 0, 0, 0, 0, 1, 2, 1]), C=3)
ex.probe("a class that does not occur", answers=([0, 0, 3, 3, 2], [0, 0, 0, 3, 2]), C=5)
ex.probe("a class that is only predicted", answers=([0, 1, 1, 2, 2, 0], [0, 0, 2, 2, 2, 0]), C=3)
ex.probe("images without a label", answers=([1, 0, 1, 1, 0], [1, _, 0, 1, _]), C=2)
ex.probe("an image without a label, called the last class", answers=([2, 2, 0], [2, _, 0]), C=3)
ex.probe("one image", answers=([4], [4]), C=7)
ex.probe("two images, one wrong", answers=([4, 4], [4, 2]), C=7)
ex.probe("everything called 0", answers=([0] * 11, [0] * 7 + [1, 1, 2, 3]), C=4)
ELEVEN = [0, 4, 1, 1, 2, 4, 4, 0, 1, 2, 2], [0, 4, 1, 0, 2, 4, 2, 0, 0, 2, 1]
ex.hidden("eleven images", answers=ELEVEN, C=7)
ex.hidden("most without a label", answers=([3, 3, 1, 0, 0, 2], [_, 3, _, 0, 1, _]), C=4)
ex.hidden("everything wrong", answers=([1, 2, 0, 0], [0, 1, 2, 1]), C=3)
ex.hidden("one class only", answers=([5, 0, 5, 5, 2], [5] * 5), C=6)
ex.own(lambda whole: {"answers": whole(0, 3, 2, 9), "C": 5})


@ex.law(
    "a class given twice counts no more",
    "Every class that occurs has the same say, however many images it has.",
)
def copied_images(run, probe):
    zeros = probe.args["labels"] == 0
    both = {name: probe.args[name] for name in ("predictions", "labels")}
    more = {name: torch.cat([x, x[zeros]]) for name, x in both.items()}
    return run(probe.having("law", **more)), run(probe)


def is_nothing_by_nothing(symptom):
    return symptom.stage == "finite" and bool(symptom.case.outcome.tensor.isnan().all())


SHARE, MEAN, ASKED = "(predictions[mine] == c).float().mean()", "torch.stack(shares).mean()", "labels != -100"
HITS = "(predictions[mine] == c).sum()"
ADDED, ZERO = f"shares.append({SHARE})", "shares.append(torch.tensor(0.0))"
ex.wrong(
    "a result that is no tensor",
    "",
    (MEAN, f"{MEAN}.item()"), believes="a number is a number",
)
ex.wrong(
    "another type than float32",
    "",
    (".float()", ".double()"), believes="more digits are better",
)
ex.wrong(
    "precision instead of recall",
    "Divide by the images that belong to the class, not by those that are called so.",
    [("mine = labels == c", f"mine = (predictions == c) & ({ASKED})"),
     ("(predictions[mine]", "(labels[mine]")],
    (SHARE, f"({HITS} / (predictions == c)[{ASKED}].sum())"),
    (SHARE, f"({HITS} / (predictions == c)[{ASKED}].sum().clamp(min=1))"),
    (SHARE, f"({HITS} / (predictions == c).sum().clamp(min=1))"),
    believes="divide by the number of answers",
)
ex.wrong(
    "zero divided by zero",
    "A class without images has no share: ask whether it occurs before you divide.",
    ("if mine.any()", "if True"), believes="every class occurs", shows=is_nothing_by_nothing,
)
ex.wrong(
    "plain accuracy",
    "A class with many images has more say in it: take the share of each class first, then the mean.",
    (MEAN, f"(predictions == labels)[{ASKED}].float().mean()"),
    believes="accuracy is the share of right answers",
)
ex.wrong(
    "plain accuracy",
    "A class with many images has more say in it, and images without a label do not count.",
    (MEAN, "(predictions == labels).float().mean()"), believes="what has no label is just another image",
)
ex.wrong(
    "F1 instead of accuracy",
    "What other classes call c is counted where those images belong, in their own class.",
    [("mine = labels == c", f"mine, called = labels == c, (predictions == c) & ({ASKED})"),
     ("mine.any()", "(mine | called).any()"),
     (SHARE, "2 * (mine & called).sum() / (mine.sum() + called.sum())")],
    believes="F1 is the better accuracy",
)
ex.wrong(
    "each class against the rest",
    "Not to be called c is no merit of the many images that are not c: look at the images of c alone.",
    [("if mine.any()", "if True"), (SHARE, f"((predictions == c) == mine)[{ASKED}].float().mean()")],
    believes="not called c is right, too, if it is not c",
)
ex.wrong(
    "a class that does not occur counts as missed",
    "Nobody could have found it: a class without images has no share, and is left out of the mean.",
    (ADDED, f"{ADDED}\n        else:\n            {ZERO}"),
    believes="a division by zero is repaired with zero",
)
ex.wrong(
    "a class that does not occur counts as found",
    "A class without images has no share, not a perfect one: leave it out of the mean.",
    (ADDED, f"{ADDED}\n        else:\n            shares.append(torch.tensor(1.0))"),
    believes="where nothing is asked, nothing is wrong",
)
ex.wrong(
    "a class that is only predicted counts as missed",
    "Its images belong to other classes, which have missed them already: it would be counted twice.",
    (ADDED, f"{ADDED}\n        elif (predictions[{ASKED}] == c).any():\n            {ZERO}"),
    believes="the classes are those of either list",
)
ex.wrong(
    "a class that is never right is left out",
    "It has images, and all of them are missed: its share is 0, and 0 belongs to the mean.",
    ("if mine.any()", "if (predictions[mine] == c).any()"),
    believes="a share of zero means that there is nothing",
)
ex.wrong(
    "no label taken for a class",
    "-100 is no class: it says that nothing is asked there, and such images are left out.",
    ("range(num_classes)", "labels.unique()"), believes="the classes are all that the labels contain",
)
ex.wrong(
    "an image without a label counts for class 0",
    "-100 is no class, and is not to become one: leave out images without a label before you count.",
    ("mine = labels == c", "mine = labels.clamp(min=0) == c"), believes="a label has to be a class",
)

ex.right(
    "counts by bincount",
    source="""
def class_accuracy(predictions, labels, num_classes):
    asked = labels >= 0
    of = torch.bincount(labels[asked], minlength=num_classes)
    right = torch.bincount(labels[asked & (predictions == labels)], minlength=num_classes)
    return (right[of > 0] / of[of > 0]).mean()
""",
)
ex.right(
    "a table of counts",
    source="""
def class_accuracy(predictions, labels, num_classes):
    table = torch.zeros(num_classes, num_classes)
    for p, y in zip(predictions.tolist(), labels.tolist()):
        if y != -100:
            table[y, p] += 1
    occur = table.sum(1) > 0
    return (table.diagonal()[occur] / table[occur].sum(1)).mean()
""",
)
ex.equivalent(
    "A class that does not occur is left out.",
    ("num_classes)", "num_classes + 1)"),
)
ex.equivalent(
    "A target is -100 or the number of a token.",
    ("= 0", "= -1"),
    of="counts by bincount",
)
ex.equivalent(
    "No prediction is -100.",
    ("asked & (predictions == labels)", "predictions == labels"),
    of="counts by bincount",
)
ex.right("one-hot labels", source='''
def class_accuracy(predictions, labels, num_classes):
    asked = labels != -100
    y = F.one_hot(labels[asked], num_classes).float()
    right = (predictions[asked] == labels[asked]).float()
    of = y.sum(0)
    return (right @ y)[of > 0].div(of[of > 0]).mean()
''')
ex.right("a table of classes and images, multiplied", source='''
def class_accuracy(predictions, labels, num_classes):
    classes = torch.arange(num_classes, device=labels.device)
    mine = labels == classes[:, None]
    right = torch.einsum("cb,b->c", mine.float(), (predictions == labels).float())
    of = mine.sum(dim=1)
    return torch.masked_select(right / of, of > 0).mean()
''')
ex.right("each image weighted by one over the size of its class", source='''
def class_accuracy(predictions, labels, num_classes):
    asked = labels >= 0
    y = labels[asked]
    of = torch.bincount(y, minlength=num_classes).float()
    right = torch.eq(predictions[asked], y)
    return (right / of[y]).sum() / of.count_nonzero()
''')
ex.right("the classes that occur, from unique", source='''
def class_accuracy(predictions, labels, num_classes):
    found = torch.unique(labels[labels != -100])
    total = torch.zeros(())
    for c in found:
        total = total + (predictions[labels == c] == c).sum() / (labels == c).sum()
    return total / len(found)
''')
ex.right("added up in place", source='''
def class_accuracy(predictions, labels, num_classes):
    asked = labels != -100
    right, of = torch.zeros(2, num_classes)
    of.index_add_(0, labels[asked], torch.ones(int(asked.sum())))
    right.index_add_(0, labels[asked], (predictions == labels)[asked].float())
    return torch.nanmean(right / of)
''')
ex.right("dictionaries", source='''
def class_accuracy(predictions, labels, num_classes):
    answers = {}
    for p, y in zip(predictions.tolist(), labels.tolist()):
        if y in range(num_classes):
            answers.setdefault(y, []).append(p == y)
    shares = [sum(marks) / len(marks) for marks in answers.values()]
    return torch.tensor(sum(shares) / len(shares))
''')
