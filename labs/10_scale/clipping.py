"""Exercise 10.11: PPO's clipped objective, which takes small steps only."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def clipped_loss(
    new: Tensor,
    old: Tensor,
    advantages: Tensor,
    answer: Tensor,
    clip: float = 0.2,
) -> Tensor:
    """Minus the mean, over the tokens of the answers, of PPO's
    clipped objective."""
    ratio = (new[answer] - old[answer].detach()).exp()
    gain = advantages.detach()[:, None].expand_as(new)[answer]
    limited = ratio.clamp(1 - clip, 1 + clip)
    return -torch.minimum(ratio * gain, limited * gain).mean()
'''
ex = exercise(
    "10.11", ANSWER, points=9, minutes=11, difficulty=3, reread="sec-grpo-loss", equation="eq-grpo-clip",
)  # fmt: skip
PADDED = "padding that holds minus infinity"


@ex.maker
def sampled(normal, lengths, advantages, T=7, prompt=1, size=0.4, clip=0.2, dtype=torch.float32, far=0.0,
            **given):
    """``lengths`` are those of the answers, which begin behind ``prompt`` tokens; no ratio is at a limit."""
    place = torch.arange(T)
    answer = (place >= prompt) & (place < prompt + torch.tensor(lengths)[:, None])
    old = -normal(*answer.shape).abs() - 0.05 - far
    change = size * normal(*answer.shape)
    for limit in (1 - clip, 1 + clip):
        change = torch.where((change.exp() - limit).abs() < 0.01, change + 0.05, change)
    args = {"new": old + change, "old": old}
    if "elsewhere" in given:
        args = {name: x.masked_fill(~answer, given["elsewhere"]) for name, x in args.items()}
    args = {name: x.to(dtype) for name, x in args.items()}
    return args | {"advantages": torch.tensor(advantages, dtype=dtype), "answer": answer, "clip": clip}


ex.probe("three answers of six, four and two tokens", lengths=[6, 4, 2], advantages=[1.5, -0.7, 0.4])
ex.probe("a wide limit", lengths=[3, 6, 5, 1], advantages=[-2.0, 0.3, 1.1, -0.5], clip=0.5)
ex.probe("a narrow limit", lengths=[6, 5], advantages=[0.8, -1.2], clip=0.05)
ex.probe("a batch of one", lengths=[5], advantages=[-1.3])
ex.probe("as many answers as tokens", lengths=[2, 1, 3], advantages=[0.5, 2.0, -1.0], T=3, prompt=0)
ex.probe("ratios far from one", lengths=[6, 3, 6], advantages=[1.0, -0.6, 0.2], size=1.5)
ex.probe("the model that sampled", lengths=[4, 6], advantages=[0.9, -0.4], size=0.0)
ex.probe("an answer that is no better than the others", lengths=[4, 6], advantages=[0.0, 1.4])
ex.probe(PADDED, lengths=[3, 5], advantages=[1.2, -0.8], elsewhere=-torch.inf)
ex.probe("double precision", lengths=[6, 3], advantages=[0.7, -1.1], dtype=torch.float64)
ex.probe("half precision", lengths=[6, 3, 4], advantages=[0.7, -1.1, 0.3], dtype=torch.float16)
ex.probe("numbers with gaps in memory", lengths=[5, 2], advantages=[-0.9, 1.6], strided=True)
ex.probe("tokens of which neither model thought", lengths=[6, 3], advantages=[0.7, -1.1], far=200.0)
ex.hidden("seven answers", lengths=[9, 1, 3, 12, 7, 2, 5], advantages=[1.0, -1.0, 0.5, 0.7, -0.2, 2.0, -1.5],
          T=13)
ex.hidden("an empty answer", lengths=[4, 0], advantages=[0.5, 3.0], elsewhere=-torch.inf)
ex.hidden("bad answers only", lengths=[5, 6], advantages=[-1.0, -0.3], size=1.0, clip=0.3)


@ex.law("prompt and padding do not count", "The model did not choose them.")
def other_padding(run, probe):
    g, other = probe.args, ~probe.args["answer"]
    return run(probe), run(probe.having("law", new=g["new"] + 2 * other, old=g["old"] - 1.0 * other))


@ex.law("at the first step the loss is minus the mean advantage", "All ratios are 1, far from the limits.")
def first_step(run, probe):
    loss = run(probe.having("law", new=probe.args["old"]))
    each = probe.args["advantages"][:, None].expand_as(probe.args["old"])[probe.args["answer"]]
    return loss, -each.mean()


RATIO = "(new[answer] - old[answer].detach()).exp()"
GAIN = "advantages.detach()[:, None].expand_as(new)[answer]"
LIMITED, MIN = "ratio.clamp(1 - clip, 1 + clip)", "torch.minimum(ratio * gain, limited * gain)"
ex.wrong(
    "the limit on both sides of every token",
    "Without the minimum, a good token that has become too unlikely gets no gradient back.",
    (MIN, "(limited * gain)"), believes="clipping is enough",
)
ex.wrong(
    "no limit",
    "Without the clipped ratio, one batch can move the model far from where its answers came from.",
    (MIN, "(ratio * gain)"), believes="a ratio is enough",
)
ex.wrong(
    "the larger of the two",
    "The minimum is the careful one: it never promises more than the unclipped objective.",
    ("torch.minimum(", "torch.maximum("), believes="more is better",
)
ex.wrong(
    "the smaller ratio instead of the smaller product",
    "With a negative advantage the smaller product has the larger ratio: multiply first.",
    (MIN, "(torch.minimum(ratio, limited) * gain)"), believes="the gain can be taken out",
)
ex.wrong(
    "only limited from above",
    "The ratio is limited on both sides: a bad token may fall to 1 - clip.",
    (LIMITED, "ratio.clamp(max=1 + clip)"), believes="only growth is dangerous",
)
ex.wrong(
    "only limited from below",
    "The ratio is limited on both sides: a good token may grow to 1 + clip.",
    (LIMITED, "ratio.clamp(min=1 - clip)"), believes="only loss is dangerous",
)
ex.wrong(
    "the logarithm is limited",
    "The limits are those of the ratio, after exp: 1 - clip and 1 + clip.",
    (LIMITED, "ratio.log().clamp(-clip, clip).exp()"),
    (LIMITED, "ratio.log().clamp(1 - clip, 1 + clip).exp()"),
    believes="the logarithm is the ratio",
)
ex.wrong(
    "the limits are -clip and clip",
    "A ratio of 1 means no change: the limits are 1 - clip and 1 + clip.",
    (LIMITED, "ratio.clamp(-clip, clip)"), believes="clip is a range around 0",
)
ex.wrong(
    "the advantage is limited",
    "The ratio is limited; the advantage stays as it is.",
    (MIN, "(ratio * gain.clamp(-clip, clip))"),
    (MIN, "(ratio * gain.clamp(1 - clip, 1 + clip))"), believes="outliers are cut",
)
ex.wrong(
    "always 0.2",
    "0.2 is only the default: use the parameter.",
    (LIMITED, "ratio.clamp(0.8, 1.2)"), believes="clip is 0.2",
)
ex.wrong(
    "old divided by new",
    "The ratio is the probability now, divided by that when the answer was sampled.",
    (RATIO, "(old[answer].detach() - new[answer]).exp()"), believes="a ratio has no direction",
)
ex.wrong(
    "a difference instead of a ratio",
    "exp of a difference of logarithms is the ratio of the probabilities.",
    (RATIO, "new[answer] - old[answer].detach()"), (RATIO, "1 + new[answer] - old[answer].detach()"),
    believes="the difference of logarithms is the ratio",
)
ex.wrong(
    "logarithms divided by each other",
    "The ratio is of the probabilities: exp of the difference of their logarithms.",
    (RATIO, "new[answer] / old[answer].detach()"), believes="a ratio of logarithms",
)
ex.wrong(
    "exp before the division",
    "The probabilities of unlikely tokens underflow to 0, and 0/0 is NaN: subtract the logarithms first.",
    (RATIO, "new[answer].exp() / old[answer].detach().exp()"), believes="a ratio is a division",
)
ex.wrong(
    "no ratio",
    "Without the old probabilities the objective is right for the first step only.",
    (f"-{MIN}", "-(new[answer] * gain + 0 * limited)"), (RATIO, "new[answer].exp()"),
    believes="likely tokens of good answers",
)
ex.wrong(
    "the sign is wrong",
    "The objective is to grow, and an optimizer minimises: return minus the objective.",
    (f"-{MIN}", MIN),
    believes="an objective is a loss",
)
ex.wrong(
    "one ratio for a whole answer",
    "Here each token has its own ratio. (A ratio for each answer is another method, GSPO.)",
    source="""
def clipped_loss(new, old, advantages, answer, clip=0.2):
    change = (new - old.detach()).masked_fill(~answer, 0).sum(1)
    change = change / answer.sum(1).clamp(min=1)
    ratio = change.exp()[:, None].expand_as(new)[answer]
    gain = advantages[:, None].expand_as(new)[answer]
    return -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain).mean()
""", believes="an answer is one action",
)
ex.wrong(
    "a mean of means",
    "Here every token counts the same: one mean over all tokens of all answers.",
    source="""
def clipped_loss(new, old, advantages, answer, clip=0.2):
    ratio = (new - old.detach()).masked_fill(~answer, 0).exp()
    gain = advantages[:, None]
    kept = torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain) * answer
    return -(kept.sum(1) / answer.sum(1).clamp(min=1)).mean()
""", believes="each answer has its own mean",
)
ex.wrong(
    "divided by all positions",
    "The mean runs over the tokens of the answers.",
    (".mean()", ".sum() / answer.numel()"), believes="a mean is over the whole tensor",
)
ex.wrong(
    "prompt and padding are counted",
    "The model did not choose them: only where answer is True do tokens count.",
    [(RATIO, "(new - old.detach()).nan_to_num().exp()"), (GAIN, "advantages.detach()[:, None]")],
    believes="every position is a token",
)
ex.wrong(
    "the sum over the tokens",
    "The loss is a mean, so that its size does not depend on the batch.",
    (".mean()", ".sum()"), (".mean()", ".sum() / len(new)"), believes="losses are summed",
)
ex.wrong(
    "an advantage for each place",
    "advantages has one number for each answer: every token of the answer gets it, along the rows.",
    (GAIN, "advantages.detach().repeat(new.shape[1])[: new.shape[1]].expand_as(new)[answer]"),
    believes="broadcasting finds the axis",
)
ex.wrong(
    "infinite padding reaches the loss",
    "Only tokens where answer is True count: select them first. 0 · ∞ and ∞ - ∞ are NaN.",
    source="""
def clipped_loss(new, old, advantages, answer, clip=0.2):
    ratio, gain = (new - old.detach()).exp(), advantages.detach()[:, None]
    kept = torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain) * answer
    return -kept.sum() / answer.sum()
""", believes="zero times anything is zero", shows=stops_at(PADDED, "finite", "gradient"),
)
ex.wrong(
    "the gradient is cut",
    "",
    (RATIO, "(new[answer] - old[answer]).detach().exp()"), believes="a ratio is a weight",
)
ex.wrong(
    "the library does the work",
    source="""
def clipped_loss(new, old, advantages, answer, clip=0.2):
    from pioneers.objectives import ppo_loss

    return ppo_loss(new, old, advantages[:, None].expand_as(new), answer, clip=clip)
""", believes="the package has a function for that",
)
ex.wrong(
    "the advantages are limited",
    "The ratio is limited; the advantage stays as it is.",
    ("limited * gain)", "ratio * gain.clamp(1 - clip, 1 + clip))"), believes="clip limits what is large",
)
ex.wrong(
    "the logarithm of the ratio is clipped",
    "The limits 1 - clip and 1 + clip are those of the ratio: take the exponential first, then clip.",
    ("old[answer].detach()).exp()", "old[answer].detach()).clamp(-clip, clip).exp()"),
    believes="a small step is a small difference",
)

ex.right(
    "by the sign of the advantage",
    source="""
def clipped_loss(new, old, advantages, answer, clip=0.2):
    change = torch.where(answer, new - old, torch.zeros_like(new))
    ratio, gain = torch.exp(change), advantages.unsqueeze(1)
    kept = torch.where(gain > 0, ratio.clamp(max=1 + clip), ratio.clamp(min=1 - clip)) * gain
    return -torch.where(answer, kept, torch.zeros_like(kept)).sum() / answer.sum()
""",
)
ex.right(
    "token by token",
    source="""
def clipped_loss(new, old, advantages, answer, clip=0.2):
    costs = []
    for b, t in answer.nonzero().tolist():
        ratio = (new[b, t] - old[b, t].item()).exp()
        both = torch.stack((ratio, ratio.clamp(min=1 - clip, max=1 + clip))) * advantages[b]
        costs.append(-both.min())
    return torch.stack(costs).mean()
""",
)
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    (".detach())", ")"), ("advantages.detach()", "advantages"),
)
ex.equivalent(
    "Padding is taken out at the end.",
    ("torch.zeros_like(new)", "new"), (" torch.zeros_like(new", " torch.ones_like(new"),
    of="by the sign of the advantage",
)
ex.equivalent(
    "At the limit itself both sides give the same.",
    ("> ", ">= "),
    of="by the sign of the advantage",
)
ex.right("the larger of two costs", source='''
def clipped_loss(new, old, advantages, answer, clip=0.2):
    ratio = torch.exp(new[answer] - old[answer])
    cost = -advantages.repeat_interleave(answer.sum(1))
    return torch.maximum(cost * ratio, cost * torch.clip(ratio, 1 - clip, 1 + clip)).mean()
''')
ex.right("padding filled before the exponential", source='''
def clipped_loss(new, old, advantages, answer, clip=0.2):
    ratio = (new.masked_fill(~answer, 0) - old.masked_fill(~answer, 0)).exp()
    gain = advantages[:, None]
    least = torch.min(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
    return -least[answer].mean()
''')
ex.right("indices of the tokens", source='''
def clipped_loss(new, old, advantages, answer, clip=0.2):
    b, t = torch.nonzero(answer, as_tuple=True)
    ratio, gain = (new[b, t] - old[b, t]).exp(), advantages[b]
    products = torch.stack((ratio, ratio.clamp(1 - clip, 1 + clip))) * gain
    return -products.amin(dim=0).sum() / len(b)
''')
ex.right("answer by answer", source='''
def clipped_loss(new, old, advantages, answer, clip=0.2):
    total, count = 0, 0
    for now, before, A, real in zip(new, old, advantages, answer):
        ratio = (now[real] - before[real]).exp()
        limited = torch.where(A >= 0, ratio.clamp(max=1 + clip), ratio.clamp(min=1 - clip))
        total, count = total - (A * limited).sum(), count + real.sum()
    return total / count
''')
ex.right("good and bad parts of the advantage", source='''
def clipped_loss(new, old, advantages, answer, clip=0.2):
    ratio = (new[answer] - old[answer]).exp()
    good = advantages.clamp(min=0)[:, None].expand_as(new)[answer]
    bad = advantages.clamp(max=0)[:, None].expand_as(new)[answer]
    objective = good * ratio.clamp(max=1 + clip) + bad * ratio.clamp(min=1 - clip)
    return torch.mean(-objective)
''')
ex.right("what goes beyond the limit is taken away", source='''
def clipped_loss(new, old, advantages, answer, clip=0.2):
    def objective(ratio, gain):
        above, below = F.relu(ratio - 1 - clip), F.relu(1 - clip - ratio)
        return gain * ratio - torch.where(gain > 0, gain * above, -gain * below)

    rows = torch.arange(len(new), device=new.device)[:, None].expand_as(answer)[answer]
    return -objective((new[answer] - old[answer]).exp(), advantages[rows]).mean()
''')
