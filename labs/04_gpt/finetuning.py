"""Exercise 4.9: the loss of fine-tuning with the auxiliary language-model loss.

``logits`` are (B, C), ``lm_logits`` (B, T, V), ``input_ids`` (B, T); ``extract`` (B,) is the place of each
row's last real token. Token 0 is a token of texts too, so padding cannot be told by its number.
"""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def finetuning_loss(
    logits: Tensor,
    labels: Tensor,
    lm_logits: Tensor,
    input_ids: Tensor,
    extract: Tensor,
    lm_weight: float = 0.5,
) -> Tensor:
    """Cross-entropy of the labels (B,),
    plus lm_weight times the language-model loss of the rows."""
    places = torch.arange(input_ids.shape[1], device=input_ids.device)
    targets = input_ids.masked_fill(places > extract[:, None], -100)
    lm = F.cross_entropy(lm_logits[:, :-1].transpose(1, 2), targets[:, 1:])
    return F.cross_entropy(logits, labels) + lm_weight * lm
'''
ex = exercise(
    "4.9", ANSWER, points=8, minutes=12, difficulty=2, reread="sec-gpt-auxiliary",
    equation="eq-tasks-auxiliary",
)


@ex.maker
def batch(normal, lengths, C, V, size=1.0, dtype=torch.float32, **given):
    """Rows of these lengths that end with the extract token V - 1, padded with 0."""
    B, T, extract = len(lengths), max(lengths), torch.tensor(lengths) - 1
    ids = (torch.arange(B * T).square() * 3 + 2).reshape(B, T) % (V - 1)
    ids[torch.arange(T) > extract[:, None]] = 0
    ids[torch.arange(B), extract] = V - 1
    args = {"logits": normal(B, C, dtype=dtype), "labels": torch.arange(B) % C}
    args |= {"lm_logits": size * normal(B, T, V, dtype=dtype), "input_ids": ids, "extract": extract}
    return args | given


ZEROS = [[2, 0, 2, 5, 6], [5, 0, 6, 0, 0]]
ex.probe("rows of unequal length", lengths=[7, 3, 5], C=2, V=11)
ex.probe("rows of equal length", lengths=[5, 5], C=3, V=7, lm_weight=0.3)
ex.probe("a batch of one", lengths=[3], C=2, V=5)
ex.probe("token 0 is a token like any other", lengths=[5, 3], C=2, V=7, input_ids=ZEROS, lm_weight=0.9)
ex.probe("without the auxiliary loss", lengths=[3, 5], C=3, V=7, lm_weight=0.0)
ex.probe("mostly the auxiliary loss", lengths=[2, 11, 3], C=5, V=7, lm_weight=4.0)
ex.probe("double precision", lengths=[3, 7], C=2, V=5, dtype=torch.float64)
ex.probe("numbers with gaps in memory", lengths=[5, 3, 2], C=3, V=7, strided=True)
IDS = [[3, 0, 7, 0, 8, 0, 0], [5, 8, 0, 0, 0, 0, 0], [1, 2, 0, 4, 0, 6, 8], [0, 0, 0, 8, 0, 0, 0]]
TEXTS = {"lengths": [5, 2, 7, 4], "C": 3, "V": 9, "size": 2.0, "input_ids": IDS, "labels": [2, 0, 0, 1]}
ex.hidden("zeros in the text", **TEXTS)
ex.hidden("a small weight", **TEXTS, lm_weight=0.01)


@ex.law("padding leaves the loss alone", "Behind the extract token nothing is asked.")
def padding_changed(run, probe):
    padding = torch.arange(7) > probe.args["extract"][:, None]
    logits = probe.args["lm_logits"]
    changed = {"lm_logits": torch.where(padding[..., None], -9 * logits, logits)}
    changed["input_ids"] = probe.args["input_ids"].masked_fill(padding, 4)
    return run(probe), run(probe.having("law", **changed))


JOINED, TASK = "F.cross_entropy(logits, labels) + lm_weight * lm", "F.cross_entropy(logits, labels)"
LM = "F.cross_entropy(lm_logits[:, :-1].transpose(1, 2), targets[:, 1:])"
MASKED, TARGETS = ".masked_fill(places > extract[:, None], -100)", "targets[:, 1:])"
SHIFT = {"section": "sec-teacher-forcing", "equation": "eq-lm-loss"}
ex.wrong(
    "a plain number instead of a tensor",
    "item() leaves the graph behind: without a tensor there is nothing to call backward on.",
    (JOINED, f"({JOINED}).item()"), believes="a loss is a number",
    shows=lambda symptom: symptom.case.outcome.kind in ("float", "int"),
)
ex.wrong(
    "λ is ignored",
    "lm_weight says how much the auxiliary loss counts; 0.5 is only the default.",
    ("lm_weight * lm", "lm"), ("lm_weight * lm", "0.5 * lm"), believes="λ is 0.5",
)
ex.wrong(
    "λ on the wrong loss",
    "The task counts in full, and the language model with the factor λ.",
    (JOINED, f"lm_weight * {TASK} + lm"), believes="λ weighs the task",
)
ex.wrong(
    "a mixture of the two",
    "The auxiliary loss is added; the task's own loss keeps the factor 1.",
    (TASK, f"(1 - lm_weight) * {TASK}"), (JOINED, f"lm_weight * {TASK} + (1 - lm_weight) * lm"),
    believes="weights add up to one",
)
ex.wrong(
    "the auxiliary loss is missing",
    "Without it nothing asks the weights to remain a language model.",
    (" + lm_weight * lm", ""), believes="fine-tuning is about the task alone", section="sec-forgetting",
)
ex.wrong(
    "padding scored as a token",
    "The extract token is the last target: at its own position and behind it nothing is asked.",
    (MASKED, ""), believes="padding does no harm",
)
ex.wrong(
    "padding told by its number",
    "Token 0 can be a token of the text as well: extract says where a row ends.",
    ("places > extract[:, None]", "input_ids == 0"), believes="0 is padding",
)
ex.wrong(
    "padding counted in the mean",
    "Divide by the number of tokens that are asked for, not by all places.",
    (TARGETS, 'targets[:, 1:], reduction="none").mean()'), believes="zeros do not change a mean",
)
ex.wrong(
    "the target is the input",
    "Position t predicts token t + 1: shift the tokens by one.",
    [("lm_logits[:, :-1]", "lm_logits"), (TARGETS, "targets)")],
    believes="logits and tokens of one position belong together", **SHIFT,
)
ex.wrong(
    "the token before is the target",
    "Logits of position t belong to token t + 1: logits[:, :-1] beside input_ids[:, 1:].",
    [("lm_logits[:, :-1]", "lm_logits[:, 1:]"), (TARGETS, "targets[:, :-1])"), ("places >", "places >=")],
    believes="the shift goes the other way", **SHIFT,
)
ex.wrong(
    "the extract token is not asked for",
    "The last target is the extract token itself, at the position before it.",
    ("places >", "places >="), believes="the extract token is no text",
)
ex.wrong(
    "one prediction too many",
    "The extract token is the end of the row: what follows is padding, and no target.",
    ("extract[:, None]", "extract[:, None] + 1"), believes="the extract token predicts something too",
)
ex.wrong(
    "a mean of row means",
    "Every token counts the same: tokens of short rows would weigh more than those of long ones.",
    (LM, f'({LM[:-1]}, reduction="none").sum(1) / extract).mean()'), believes="a mean of means is a mean",
)
ex.wrong(
    "a sum over the tokens",
    "Both losses are means; with a sum long texts would drown the task.",
    (TARGETS, 'targets[:, 1:], reduction="sum")'), believes="a longer text has a larger loss",
)
ex.wrong(
    "the library does the work",
    source="""
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    from pioneers.objectives import TaskInputs, classification_loss

    targets = TaskInputs(input_ids, extract).lm_targets()
    return classification_loss(logits, labels, lm_logits=lm_logits, lm_targets=targets, lm_weight=lm_weight)
""", believes="the package's loss is an answer",
)
ex.wrong(
    "a reshape instead of a transpose",
    "cross_entropy wants the classes on axis 1: a reshape to that shape mixes tokens and classes.",
    ("lm_logits[:, :-1].transpose(1, 2)",
     "lm_logits[:, :-1].reshape(len(lm_logits), lm_logits.shape[-1], -1)"),
    believes="a reshape to the right shape is right",
)
ex.wrong(
    "a sum over the tokens, divided by the rows",
    "The mean runs over all predictions of the batch, not over its rows.",
    ("targets[:, 1:])", "targets[:, 1:], reduction='sum') / len(logits)"),
    believes="a loss is a mean over the batch",
)

ex.right(
    "row by row, summed",
    source="""
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    total, count = 0, 0
    for z, x, e in zip(lm_logits, input_ids, extract.tolist()):
        total = total + F.cross_entropy(z[:e], x[1 : e + 1], reduction="sum")
        count += e
    return F.cross_entropy(logits, labels) + lm_weight * total / count
""",
)
ex.right(
    "targets rolled, the rest ignored",
    source="""
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    places = torch.arange(input_ids.shape[1], device=input_ids.device)
    targets = input_ids.roll(-1, dims=1).masked_fill(places >= extract[:, None], -100)
    task = -logits.log_softmax(-1).gather(-1, labels[:, None]).mean()
    return task + lm_weight * F.cross_entropy(lm_logits.transpose(1, 2), targets, ignore_index=-100)
""",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("100)", "100).detach()"),
)
ex.right("log_softmax and gather for both", source='''
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    task = -logits.log_softmax(-1).gather(1, labels[:, None]).mean()
    real = torch.arange(1, input_ids.shape[1], device=input_ids.device) <= extract[:, None]
    log_p = lm_logits[:, :-1].log_softmax(-1).gather(-1, input_ids[:, 1:, None])[..., 0]
    return task - lm_weight * log_p[real].mean()
''')
ex.right("only the real positions", source='''
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    real = torch.arange(input_ids.shape[1] - 1, device=input_ids.device) < extract.unsqueeze(1)
    lm = F.cross_entropy(lm_logits[:, :-1][real], input_ids[:, 1:][real])
    return torch.add(F.cross_entropy(logits, labels), lm, alpha=lm_weight)
''')
ex.right("losses of all positions, weighted", source='''
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    B, T, V = lm_logits.shape
    costs = F.cross_entropy(
        lm_logits[:, :-1].reshape(-1, V), input_ids[:, 1:].reshape(-1), reduction="none"
    ).view(B, T - 1)
    real = (torch.arange(1, T, device=input_ids.device) <= extract[:, None]).to(costs.dtype)
    return F.cross_entropy(logits, labels) + lm_weight * (costs * real).sum() / real.sum()
''')
ex.right("nll_loss of flattened rows", source='''
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    targets = input_ids.clone()
    for b, last in enumerate(extract.tolist()):
        targets[b, last + 1 :] = -100
    log_p = F.log_softmax(lm_logits[:, :-1], dim=-1).flatten(0, 1)
    return F.cross_entropy(logits, labels) + lm_weight * F.nll_loss(log_p, targets[:, 1:].flatten())
''')
ex.right("logsumexp by hand", source='''
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    def cost(z, y):
        return z.logsumexp(-1) - z.gather(-1, y.unsqueeze(-1)).squeeze(-1)

    place = torch.arange(input_ids.shape[1] - 1, device=input_ids.device)
    costs = cost(lm_logits[:, :-1], input_ids[:, 1:])
    lm = torch.where(place < extract[:, None], costs, 0.0).sum() / extract.sum()
    return cost(logits, labels).mean() + lm_weight * lm
''')
ex.right("rows joined to one long text", source='''
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    ends = extract.tolist()
    z = torch.cat([row[:e] for row, e in zip(lm_logits, ends)])
    y = torch.cat([row[1 : e + 1] for row, e in zip(input_ids, ends)])
    return F.cross_entropy(logits, labels) + lm_weight * F.cross_entropy(z, y)
''')
