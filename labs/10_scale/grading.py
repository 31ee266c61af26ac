"""Exercise 10.10: GRPO's advantages, for which answers to one question are graded against each other."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def group_advantages(
    rewards: Tensor, group: int, eps: float = 1e-4
) -> Tensor:
    """How much better each answer is than the others to its question,
    in standard deviations, float32 (N,)."""
    r = rewards.float().reshape(-1, group)
    deviation = r.std(dim=1, keepdim=True, correction=0)
    return ((r - r.mean(dim=1, keepdim=True)) / (deviation + eps)).flatten()
'''
ex = exercise(
    "10.10", ANSWER, points=6, minutes=9, difficulty=1, reread="sec-grpo-advantages",
    equation="eq-group-advantage",
)  # fmt: skip
EQUAL = "a question that all answers solve"
ex.inputs(eps=1e-4)
ex.probe("three questions, four answers each", rewards=[1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1], group=4)
ex.probe("two questions, five answers each", rewards=[3, 0, 1, 0, 7, 2, 2, 5, 0, 1], group=5)
ex.probe("five questions, two answers each", rewards=[0, 1, 5, 2, 0, 3, 1, 0, 2, 4], group=2, eps=0.25)
ex.probe("one question", rewards=[2, 0, 0, 1, 0, 0, 0], group=7)
ex.probe(EQUAL, rewards=[1, 1, 1, 0, 1, 0, 0, 0, 0], group=3)
ex.probe("one answer each", rewards=[1, 0, 3], group=1)
ex.probe("as many questions as answers", rewards=[0, 0, 1, 0, 2, 0, 5, 1, 0], group=3, eps=0.01)
ex.probe("a large eps", rewards=[4, 1, 0, 0, 7, 2], group=2, eps=2.0)
ex.probe("points far from zero", rewards=[1000, 1001, 1000, 1003, 990, 1000, 1000, 999], group=4)
ex.probe("losses", rewards=[-3, -1, -1, -7, -2, -2], group=3)
ex.probe("numbers with gaps in memory", rewards=[1, 0, 0, 1, 1, 0], group=3, strided=True)
ex.hidden("seven questions", rewards=[1, 0, 2] * 3 + [4, 4, 4] + [0, 0, 9] * 2 + [0, 1, 0], group=3, eps=1e-3)
ex.hidden("eleven answers", rewards=[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], group=11)
ex.hidden("a very large eps", rewards=[5, 1, 0, 2, 9, 9], group=2, eps=3.0)
ex.own(lambda whole: {"rewards": whole(0, 9, 12), "group": 4})


@ex.law("the advantages of a question sum to zero", "What one answer is above the mean, others are below.")
def zero_sum(run, probe):
    total = run(probe).reshape(-1, probe.args["group"]).sum(1)
    return total, torch.zeros_like(total)


@ex.law("an easy question has no advantage over a hard one", "More points for all change no difference.")
def easier(run, probe):
    more = probe.args["rewards"].clone()
    more[: probe.args["group"]] += 5
    return run(probe), run(probe.having("law", rewards=more))


R, STD = "rewards.float().reshape(-1, group)", "r.std(dim=1, keepdim=True, correction=0)"
MEAN = "r.mean(dim=1, keepdim=True)"
RESULT = f"((r - {MEAN}) / (deviation + eps)).flatten()"
ex.wrong(
    "compared with all questions",
    "Each answer is compared with the others to its own question: questions differ in difficulty.",
    [(STD, "r.std(correction=0)"), (MEAN, "r.mean()")], believes="a batch is normalised",
)
ex.wrong(
    "the deviation of the whole batch",
    "Mean and deviation are both those of the question.",
    (STD, "r.std(correction=0)"), believes="one scale for all",
)
ex.wrong(
    "the mean of the whole batch",
    "Mean and deviation are both those of the question.",
    (MEAN, "r.mean()"), believes="one baseline for all",
)
ex.wrong(
    "the groups are cut wrongly",
    "All answers to the first question come first: answers to one question are neighbours.",
    [(R, "rewards.float().reshape(group, -1).T"), (".flatten()", ".T.flatten()")],
    believes="every question once, then every question again",
)
ex.wrong(
    "group taken for the number of questions",
    "group is the number of answers to each question: the length of a row.",
    (R, "rewards.float().reshape(group, -1)"), believes="there are so many groups",
)
ex.wrong(
    "normalised along the other axis",
    "After the reshape a row is a question: mean and deviation run along the row.",
    [(STD, STD.replace("dim=1", "dim=0")), (MEAN, MEAN.replace("dim=1", "dim=0"))],
    believes="axis 0 is the group",
)
ex.wrong(
    "not divided by the deviation",
    "Here advantages are in standard deviations. (Leaving this out is a variant, Dr. GRPO.)",
    (RESULT, f"(r - {MEAN} + 0 * deviation).flatten()"), believes="better than the mean is enough",
)
ex.wrong(
    "the mean is not subtracted",
    "An advantage is what an answer is above the mean of its question.",
    (RESULT, "(r / (deviation + eps)).flatten()"), believes="a reward is an advantage",
)
ex.wrong(
    "0/0 where all answers are equal",
    "Their deviation is 0: eps in the denominator makes the advantages 0.",
    ("(deviation + eps)", "deviation"), believes="there is always a better answer",
    shows=stops_at(EQUAL, "finite"),
)
ex.wrong(
    "eps under the root",
    "eps is added to the deviation, not to the variance.",
    ("/ (deviation + eps)", "/ (deviation.square() + eps).sqrt()"), believes="as in LayerNorm",
)
ex.wrong(
    "eps as a lower limit",
    "eps is added to the deviation.",
    ("(deviation + eps)", "deviation.clamp(min=eps)"), believes="eps is a minimum",
)
ex.wrong(
    "eps is ignored",
    "0.0001 is only the default: use the parameter.",
    ("+ eps)", "+ 1e-4)"), ("+ eps)", "+ 1e-8)"), believes="any small number will do",
)
ex.wrong(
    "the variance instead of the deviation",
    "The deviation is the root of the variance.",
    (STD, "r.var(dim=1, keepdim=True, correction=0)"), believes="variance is spread",
)
ex.wrong(
    "divided by one answer less",
    "Here the deviation divides by the number of answers: correction=0. With one answer, the other is 0/0.",
    (STD, "r.std(dim=1, keepdim=True)"), believes="std is std",
    shows=lambda symptom: symptom.stage == "finite" and symptom.case.probe.args["group"] == 1,
)
ex.wrong(
    "divided by one answer less",
    "Here the deviation divides by the number of answers: correction=0. With one answer, the other is 0/0.",
    (STD, "r.std(dim=1, keepdim=True).nan_to_num()"), believes="std is std",
)
ex.wrong(
    "compared with the other answers only",
    "Here the mean is over the whole group, the answer itself included. (Without it: RLOO.)",
    (f"r - {MEAN}", "r - (r.sum(dim=1, keepdim=True) - r) / max(1, group - 1)"),
    believes="one does not compare oneself with oneself",
)
ex.wrong(
    "compared with the best answer",
    "The baseline is the mean of the group.",
    (MEAN, "r.amax(dim=1, keepdim=True)"), (MEAN, "r.median(dim=1, keepdim=True).values"),
    believes="the best is the standard",
)
ex.wrong(
    "scaled to between 0 and 1",
    "Advantages are in standard deviations around the mean, and half of them are negative.",
    (RESULT, "((r - r.amin(dim=1, keepdim=True)) / (r.amax(dim=1, keepdim=True)"
             " - r.amin(dim=1, keepdim=True) + eps)).flatten() + 0 * deviation.sum()"),
    believes="to normalise is to go from 0 to 1",
)
ex.wrong(
    "a softmax of the rewards",
    "Advantages are not shares: worse answers get negative ones.",
    (RESULT, "r.softmax(1).flatten() + 0 * deviation.sum()"), believes="answers compete for weights",
)
ex.wrong(
    "the rank instead of the reward",
    "How much better an answer is counts, not only that it is.",
    ("    deviation", "    r = (r[:, :, None] > r[:, None, :]).float().sum(2)\n    deviation"),
    believes="grades are ranks",
)
ex.wrong(
    "the sign is wrong",
    "A better answer has a positive advantage.",
    (f"r - {MEAN}", f"{MEAN} - r"), believes="an advantage is a loss",
)
ex.wrong(
    "a table instead of a list",
    "One number for each answer, in the order of the rewards: flatten at the end.",
    (".flatten()", ""), believes="the groups stay apart",
)
ex.wrong(
    "the mean of whole numbers",
    "Rewards are int64 here, which have no mean: convert them first.",
    (".float()", ""), believes="a mean works for all numbers",
    shows=lambda symptom: symptom.stage == "runs" and "dtype" in symptom.case.outcome.error,
)
ex.wrong(
    "another type than float32",
    "",
    (".float()", ".double()"), believes="more digits are better",
)
ex.wrong(
    "the library does the work",
    source="""
def group_advantages(rewards, group, eps=1e-4):
    from pioneers.objectives import group_advantages as theirs

    return theirs(rewards.float().view(-1, group), eps=eps).flatten()
""", believes="the package has a function for that",
)

ex.right(
    "question by question",
    source="""
def group_advantages(rewards, group, eps=1e-4):
    parts = []
    for row in rewards.split(group):
        away = row - row.sum() / group
        parts.append(away / (away.pow(2).sum().div(group).sqrt() + eps))
    return torch.cat(parts)
""",
)
ex.right(
    "plain Python",
    source="""
def group_advantages(rewards, group, eps=1e-4):
    numbers, found = rewards.tolist(), []
    for start in range(0, len(numbers), group):
        own = numbers[start : start + group]
        mean = sum(own) / group
        deviation = math.sqrt(sum((x - mean) ** 2 for x in own) / group)
        found += [(x - mean) / (deviation + eps) for x in own]
    return torch.tensor(found)
""",
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    (".reshape", ".view"),
)
ex.right("var and a square root", source='''
def group_advantages(rewards, group, eps=1e-4):
    table = rewards.to(torch.float32).unflatten(0, (-1, group))
    variance, mean = torch.var_mean(table, dim=-1, correction=0, keepdim=True)
    return ((table - mean) / (variance.sqrt() + eps)).reshape(-1)
''')
ex.right("written in place", source='''
def group_advantages(rewards, group, eps=1e-4):
    result = torch.empty(len(rewards), device=rewards.device)
    for start in range(0, len(rewards), group):
        part = rewards[start : start + group].float()
        result[start : start + group] = (part - part.mean()) / (part.std(unbiased=False) + eps)
    return result
''')
ex.right("a matrix that subtracts the mean", source='''
def group_advantages(rewards, group, eps=1e-4):
    table = rewards.double().view(-1, group)
    centre = torch.eye(group, dtype=table.dtype, device=table.device) - 1 / group
    away = table @ centre
    deviation = torch.linalg.vector_norm(away, dim=1, keepdim=True) / group**0.5
    return (away / (deviation + eps)).flatten().float()
''')
ex.right("numbers of the questions and index_add", source='''
def group_advantages(rewards, group, eps=1e-4):
    question = torch.arange(len(rewards), device=rewards.device) // group
    r = rewards.float()
    zero = torch.zeros(len(r) // group, device=r.device)
    away = r - (zero.index_add(0, question, r) / group)[question]
    variance = zero.index_add(0, question, away * away) / group
    return away / (variance.sqrt()[question] + eps)
''')
ex.right("chunks of columns", source='''
def group_advantages(rewards, group, eps=1e-4):
    columns = [rewards[n::group].float() for n in range(group)]
    mean = sum(columns) / group
    deviation = torch.sqrt(sum((c - mean) ** 2 for c in columns) / group)
    return torch.stack([(c - mean) / (deviation + eps) for c in columns], dim=1).flatten()
''')
ex.right("repeat_interleave and einsum", source='''
def group_advantages(rewards, group, eps=1e-4):
    r = rewards.double()
    mean = r.reshape(-1, group).mean(1).repeat_interleave(group)
    away = (r - mean).reshape(-1, group)
    deviation = (torch.einsum("qg,qg->q", away, away) / group).sqrt()
    return torch.einsum("qg,q->qg", away, 1 / (deviation + eps)).flatten().to(torch.float32)
''')
