"""Exercise 10.9: DPO's loss, from the log-probabilities of the tokens of two answers."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def dpo_loss(
    policy: Tensor,
    reference: Tensor,
    answer: Tensor,
    beta: float = 0.1,
) -> Tensor:
    """The mean of -ln σ(β (gain of the preferred answer minus that
    of the other)), in nats."""
    policy = policy.masked_fill(~answer, 0)
    reference = reference.detach().masked_fill(~answer, 0)
    gain = (policy - reference).sum(-1)
    return -F.logsigmoid(beta * (gain[:, 0] - gain[:, 1])).mean()
'''
ex = exercise(
    "10.9", ANSWER, points=9, minutes=12, difficulty=2, reread="sec-dpo", equation="eq-dpo",
    refuse=("binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss",
            "margin_ranking_loss"),
)  # fmt: skip
LARGE, PADDED = "gains that are far apart", "padding that holds minus infinity"


@ex.maker
def pairs(normal, prompt, lengths, T=11, size=1.0, beta=0.5, near=0.5, dtype=torch.float32, elsewhere=None):
    """``prompt`` has the lengths of the prompts, ``lengths`` those of the answers, [preferred, other]."""
    lengths, start = torch.tensor(lengths), torch.tensor(prompt)[:, None, None]
    place = torch.arange(T)
    answer = (place >= start) & (place < start + lengths[..., None])
    reference = -normal(*answer.shape).abs() - 0.1
    policy = reference - size * near * normal(*answer.shape).abs() + size * near * 0.7
    args = {"policy": policy, "reference": reference}
    if elsewhere is not None:
        args = {name: x.masked_fill(~answer, elsewhere) for name, x in args.items()}
    return {name: x.to(dtype) for name, x in args.items()} | {"answer": answer, "beta": beta}


ex.probe("three pairs", prompt=[3, 2, 5], lengths=[[4, 7], [6, 3], [2, 5]])
ex.probe("answers of very different lengths", prompt=[1, 2], lengths=[[1, 9], [8, 2]], beta=0.25)
ex.probe("a batch of one", prompt=[4], lengths=[[3, 5]], beta=1.0)
ex.probe("two pairs", prompt=[0, 3], lengths=[[5, 3], [2, 7]], T=13, beta=2.0, near=0.2)
ex.probe("nothing but answers", prompt=[0, 0, 0], lengths=[[5, 5], [5, 5], [5, 5]], T=5)
ex.probe(LARGE, prompt=[1, 2], lengths=[[3, 5], [7, 4]], size=3000.0)
ex.probe(PADDED, prompt=[2, 3], lengths=[[4, 2], [3, 7]], elsewhere=-torch.inf)
ex.probe("double precision", prompt=[1, 2], lengths=[[3, 5], [7, 4]], dtype=torch.float64)
ex.probe("half precision", prompt=[1, 2, 3], lengths=[[3, 2], [2, 4], [1, 3]], T=7, dtype=torch.float16)
ex.probe("numbers with gaps in memory", prompt=[1, 2], lengths=[[3, 5], [7, 4]], strided=True)
ex.hidden("the default beta", prompt=[3, 2, 5], lengths=[[4, 7], [6, 3], [2, 5]], beta=0.1)
ex.hidden("an answer without a token", prompt=[3, 2], lengths=[[4, 0], [1, 3]], elsewhere=-torch.inf)
ex.hidden("as many pairs as tokens", prompt=[0, 1], lengths=[[1, 2], [1, 1]], T=2, beta=3.0)


@ex.law("a model that has learned nothing costs ln 2", "It is the reference, and prefers neither answer.")
def untrained(run, probe):
    loss = run(probe.having("law", policy=probe.args["reference"]))
    return loss, torch.full_like(loss, 0.6931471805599453)


@ex.law("what both models say alike does not count", "Only the change from the reference is compared.")
def both_moved(run, probe):
    moved = {name: probe.args[name] - 0.5 * probe.args["answer"] for name in ("policy", "reference")}
    return run(probe), run(probe.having("law", **moved))


GAIN, MARGIN = "(policy - reference).sum(-1)", "gain[:, 0] - gain[:, 1]"
POLICY, REFERENCE = "policy.masked_fill(~answer, 0)", "reference.detach().masked_fill(~answer, 0)"
LOSS = f"-F.logsigmoid(beta * ({MARGIN})).mean()"
ex.wrong(
    "a mean over the tokens",
    "The log-probability of an answer is the sum over its tokens. (A mean is another method, SimPO.)",
    (GAIN, f"{GAIN} / answer.sum(-1).clamp(min=1)"), (GAIN, "(policy - reference).mean(-1)"),
    believes="long answers must not count more",
)
ex.wrong(
    "the reference is left out",
    "DPO compares how much each answer gained over the reference, not how likely it is.",
    (GAIN, "policy.sum(-1)"), believes="likely is good",
)
ex.wrong(
    "the reference is added",
    "A gain is the policy minus the reference: the logarithm of a ratio.",
    (GAIN, "(policy + reference).sum(-1)"), believes="both models count",
)
ex.wrong(
    "the margin has the wrong sign",
    "A gain is the policy minus the reference, and number 0 of each pair is preferred: its gain comes first.",
    (GAIN, "(reference - policy).sum(-1)"), (MARGIN, "gain[:, 1] - gain[:, 0]"),
    believes="the loss is about the bad answer",
)
PROMPT = "Prompt and padding do not belong to the answer: only tokens where answer is True count."
ex.wrong(
    "prompt and padding are counted",
    PROMPT,
    [(POLICY, "policy"), (REFERENCE, "reference.detach()")], believes="a text is prompt and answer",
)
ex.wrong(
    "the mask of one answer for both",
    "The two answers of a pair differ in length: each has its own mask.",
    ("policy = policy", "answer = answer[:, :1].expand_as(answer)\n    policy = policy"),
    ("policy = policy", "answer = answer[:, 1:].expand_as(answer)\n    policy = policy"),
    believes="a pair has one mask",
)
ex.wrong(
    "only tokens that both answers have",
    "The longer answer counts to its end.",
    ("policy = policy", "answer = answer.all(1, keepdim=True).expand_as(answer)\n    policy = policy"),
    believes="a comparison needs equal lengths",
)
ex.wrong(
    "the mask is the wrong way round",
    "True marks the tokens of the answer.",
    [(POLICY, POLICY.replace("~", "")), (REFERENCE, REFERENCE.replace("~", ""))],
    believes="True marks what is hidden",
    shows=lambda symptom: symptom.stage in ("finite", "value") and not_on_answers(symptom),
)


def not_on_answers(symptom):
    """Whether every result is what the other tokens give, those that belong to no answer."""
    for case in symptom.cases:
        args = case.probe.args | {"answer": ~case.probe.args["answer"]}
        args |= {name: args[name].double() for name in ("policy", "reference")}
        want = ex.reference(**args)
        if not torch.allclose(case.outcome.tensor.double(), want, rtol=0.02, atol=0.02, equal_nan=True):
            return False
    return True


ex.wrong(
    "β is left out",
    "β says how much a gain of one nat counts.",
    (f"beta * ({MARGIN})", MARGIN), believes="the margin is enough",
)
ex.wrong(
    "β outside",
    "β multiplies the margin, inside the σ: outside it would only scale the loss.",
    (LOSS, f"-beta * F.logsigmoid({MARGIN}).mean()"), believes="β is a weight of the loss",
)
ex.wrong(
    "divided by β",
    "β multiplies the gains.",
    (f"beta * ({MARGIN})", f"({MARGIN}) / beta"), believes="β is a temperature",
)
ex.wrong(
    "β is ignored",
    "0.1 is only the default: use the parameter.",
    (f"beta * ({MARGIN})", f"0.1 * ({MARGIN})"), believes="β is 0.1",
)
ex.wrong(
    "each answer judged by itself",
    "The two gains are compared in one σ: only their difference counts.",
    (LOSS, "-(F.logsigmoid(beta * gain[:, 0]) + F.logsigmoid(-beta * gain[:, 1])).mean() / 2"),
    (LOSS, "-(F.logsigmoid(beta * gain[:, 0]) + F.logsigmoid(-beta * gain[:, 1])).mean()"),
    believes="good up, bad down",
)
ex.wrong(
    "only the preferred answer",
    "Without the other answer it is fine-tuning on good examples: DPO learns from the comparison.",
    (LOSS, "-F.logsigmoid(beta * gain[:, 0]).mean()"), (LOSS, "-policy[:, 0].sum(-1).mean()"),
    believes="learn what is good",
)
ex.wrong(
    "one comparison for the whole batch",
    "Each pair is one comparison; the mean comes after -ln σ.",
    (LOSS, f"-F.logsigmoid(beta * ({MARGIN}).mean())"), (LOSS, f"-F.logsigmoid(beta * ({MARGIN}).sum())"),
    believes="a mean may be taken anywhere",
)
ex.wrong(
    "the sum over the batch",
    "The loss is a mean over the pairs.",
    (".mean()", ".sum()"), believes="losses are summed",
)
ex.wrong(
    "a σ for each token",
    "First the sum over the tokens of an answer, then one comparison of the pair.",
    [(GAIN, "policy - reference"), (LOSS, f"-F.logsigmoid(beta * ({MARGIN})).sum(-1).mean()")],
    believes="a loss is per token",
)
ex.wrong(
    "ratios without the logarithm",
    "The gain of an answer is the logarithm of its ratio: policy and reference are logarithms already.",
    (GAIN, "(policy - reference).sum(-1).clamp(max=80).exp()"),
    (GAIN, "(policy.exp() - reference.exp()).sum(-1)"),
    believes="a ratio is an exponential",
)
ex.wrong(
    "the exponential overflows",
    "σ of a very negative margin rounds to 0, and ln 0 is infinite: use logsigmoid or softplus.",
    (LOSS, f"-torch.sigmoid(beta * ({MARGIN})).log().mean()"),
    (LOSS, f"(1 + (-beta * ({MARGIN})).exp()).log().mean()"),
    believes="a sigmoid, then a logarithm", shows=stops_at(LARGE, "finite"),
)
ex.wrong(
    "a probability instead of its logarithm",
    "The loss is minus the logarithm of the probability that the preferred answer wins.",
    (LOSS, f"-torch.sigmoid(beta * ({MARGIN})).mean()"), (LOSS, f"torch.sigmoid(-beta * ({MARGIN})).mean()"),
    believes="what is likely is large",
)
ex.wrong(
    "a square instead of -ln σ",
    "That is another method (IPO). DPO's loss falls for as long as the margin grows.",
    (LOSS, f"(({MARGIN}) - 1 / (2 * beta)).square().mean()"), believes="a margin has a target",
)
ex.wrong(
    "padding multiplied by zero",
    "Zero times infinity is NaN: fill or select, do not multiply.",
    [(POLICY, "policy * answer"), (REFERENCE, "reference.detach() * answer")],
    believes="zero times anything is zero", shows=stops_at(PADDED, "finite", "gradient"),
)
ex.wrong(
    "the library does the work",
    source="""
def dpo_loss(policy, reference, answer, beta=0.1):
    from pioneers.objectives import dpo_loss as theirs

    p, r = ((x * answer).sum(-1) for x in (policy, reference))
    return theirs(p[:, 0], p[:, 1], r[:, 0], r[:, 1], beta=beta)
""", believes="the package has a function for that",
)
ex.wrong(
    "the sign is wrong",
    "The logarithm of a probability is negative, and a loss is to fall: minus ln σ.",
    (LOSS, LOSS[1:]), believes="a likelihood grows",
)
ex.wrong(
    "gains added instead of compared",
    "The preferred answer is to gain more than the other one: the difference of the gains counts.",
    (MARGIN, "gain[:, 0] + gain[:, 1]"), believes="both answers are learned",
)
ex.wrong(
    "pairs read along the batch",
    "gain is (B, 2): the two answers of a pair are gain[:, 0] and gain[:, 1].",
    (MARGIN, "gain[0] - gain[1]"), believes="the first axis counts the answers",
    shows=lambda symptom: symptom.stage == "runs" and "out of bounds" in symptom.case.outcome.error,
)

ex.right(
    "softplus of a signed sum",
    source="""
def dpo_loss(policy, reference, answer, beta=0.1):
    sign = torch.tensor([[1.0], [-1.0]], device=policy.device, dtype=policy.dtype)
    change = torch.where(answer, policy - reference, torch.zeros_like(policy))
    return F.softplus(-beta * (sign * change).sum((1, 2))).mean()
""",
)
ex.right(
    "pair by pair",
    source="""
def dpo_loss(policy, reference, answer, beta=0.1):
    losses = []
    for p, r, real in zip(policy, reference, answer):
        first = p[0][real[0]].sum() - r[0][real[0]].sum()
        second = p[1][real[1]].sum() - r[1][real[1]].sum()
        losses.append(torch.logaddexp(beta * first, beta * second) - beta * first)
    return torch.stack(losses).mean()
""",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (").masked_fill(~answer, 0)", ").masked_fill(~answer, 0).detach()"),
)
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    ("reference.detach().masked_fill", "reference.masked_fill"),
)
ex.equivalent(
    "In a sum or mean over everything the additional axis, or the order, does not matter.",
    ("1)", "1, keepdim=True)"),
)
ex.equivalent(
    "In a sum or mean over everything the additional axis, or the order, does not matter.",
    (")))", "), keepdim=True))"),
    of="softplus of a signed sum",
)
ex.right("a cross-entropy of two classes", source='''
def dpo_loss(policy, reference, answer, beta=0.1):
    change = (policy - reference.detach()).masked_fill(~answer, 0)
    logits = beta * change.sum(dim=2)
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device=logits.device))
''')
ex.right("log_softmax over the two answers", source='''
def dpo_loss(policy, reference, answer, beta=0.1):
    zero = torch.zeros_like(policy)
    gain = torch.where(answer, policy, zero).sum(-1) - torch.where(answer, reference, zero).sum(-1)
    return -(beta * gain).log_softmax(dim=1)[:, 0].mean()
''')
ex.right("unbound answers, and a helper", source='''
def dpo_loss(policy, reference, answer, beta=0.1):
    def gain(number):
        real = answer[:, number]
        now = policy[:, number].masked_fill(~real, 0).sum(1)
        return now - reference[:, number].masked_fill(~real, 0).sum(1)

    return torch.mean(F.softplus(beta * gain(1) - beta * gain(0)))
''')
ex.right("token changes added where they belong", source='''
def dpo_loss(policy, reference, answer, beta=0.1):
    b, number, _ = answer.nonzero(as_tuple=True)
    change = (policy[answer] - reference[answer]) * (1 - 2 * number)
    margin = torch.zeros_like(policy[:, 0, 0]).index_add(0, b, change)
    return -F.logsigmoid(beta * margin).sum() / len(margin)
''')
ex.right("einsum with a sign", source='''
def dpo_loss(policy, reference, answer, beta=0.1):
    sign = torch.ones_like(policy[0, :, 0])
    sign[1] = -1
    change = torch.where(answer, policy - reference, 0)
    margin = beta * torch.einsum("bat,a->b", change, sign)
    return torch.logaddexp(-margin, torch.zeros_like(margin)).mean()
''')
ex.right("answer by answer, log of a sigmoid by cases", source='''
def dpo_loss(policy, reference, answer, beta=0.1):
    total = 0
    for b in range(len(policy)):
        gains = [(policy[b, n] - reference[b, n])[answer[b, n]].sum() for n in (0, 1)]
        z = beta * (gains[0] - gains[1])
        total = total + torch.log1p(torch.exp(-z.abs())) - torch.minimum(z, torch.zeros_like(z))
    return total / len(policy)
''')
