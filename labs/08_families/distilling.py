"""Exercise 8.7: the loss of distillation, what a student learns from a teacher's probabilities."""

import torch

from pioneers.checks.building import exercise, stops_at

ANSWER = '''
def distillation_loss(
    student: Tensor,
    teacher: Tensor,
    real: Tensor,
    temperature: float = 2.0,
) -> Tensor:
    """τ² KL(teacher || student), τ the temperature, in nats,
    averaged over the real tokens."""
    log_q = (student[real] / temperature).log_softmax(-1)
    log_p = (teacher[real].detach() / temperature).log_softmax(-1)
    costs = (log_p.exp() * (log_p - log_q)).sum(-1)
    return temperature**2 * costs.sum() / max(1, len(costs))
'''
ex = exercise(
    "8.7", ANSWER, points=10, minutes=12, difficulty=2, reread=("sec-distillation", "sec-label-smoothing"),
    equation="eq-entropy-kl", refuse=("kl_div", "cross_entropy"),
)
LARGE, PADDED, NOTHING = "very large logits", "padding that holds infinities", "no real token at all"


@ex.maker
def two_models(normal, B, real, V, T=5, size=1.0, dtype=torch.float32, elsewhere=None, alike=0.5, **given):
    """``real`` holds the number of real tokens of each row; ``alike`` is how near the two models are."""
    student, own = normal(B, T, V), normal(B, T, V)
    mask = torch.arange(T) < torch.tensor(real)[:, None]
    args = {"student": size * student, "teacher": size * (alike * student + own)}
    if elsewhere is not None:
        args = {name: x.masked_fill(~mask[..., None], elsewhere) for name, x in args.items()}
    return {name: x.to(dtype) for name, x in args.items()} | {"real": mask} | given


ex.probe("three rows of five, two and four tokens", B=3, real=[5, 2, 4], V=7)
ex.probe("a high temperature", B=2, real=[3, 5], V=11, size=3.0, temperature=5.0)
ex.probe("a temperature of one", B=2, real=[1, 4], V=7, temperature=1.0)
ex.probe("a low temperature", B=2, real=[2, 5], V=3, temperature=0.5)
ex.probe("a batch of one, one token", B=1, real=[1], T=1, V=13)
ex.probe(LARGE, B=2, real=[5, 3], V=7, size=200.0)
ex.probe(PADDED, B=2, real=[2, 4], V=5, elsewhere=torch.inf)
ex.probe(NOTHING, B=2, real=[0, 0], T=3, V=5)
ex.probe("as many tokens as classes", B=1, real=[7], T=7, V=7)
ex.probe("double precision", B=3, real=[5, 2, 4], V=7, dtype=torch.float64)
ex.probe("half precision", B=2, real=[3, 5], V=7, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, real=[5, 3], V=11, strided=True)
ex.hidden("five rows", B=5, real=[3, 1, 0, 7, 2], T=7, V=5, temperature=3.0)
ex.hidden("a teacher that is far away", B=2, real=[3, 3], T=3, V=11, size=5.0, alike=-1.0)
ex.hidden("minus infinity at the padding", B=2, real=[1, 2], T=3, V=7, elsewhere=-torch.inf, temperature=1.5)


@ex.law(
    "a student that says what the teacher says costs nothing",
    "The divergence of two equal distributions is 0.",
)
def the_same(run, probe):
    same = run(probe.having("law", student=probe.args["teacher"] + 3))
    return same, torch.zeros_like(same)


MEAN, COSTS = "costs.sum() / max(1, len(costs))", "(log_p.exp() * (log_p - log_q)).sum(-1)"
TWO = "log_p = (teacher[real].detach() / temperature)"
ex.wrong(
    "0/0 when nothing is real",
    "A mean over nothing is 0/0: divide by at least one.",
    (MEAN, "costs.mean()"), believes="there is always a token", shows=stops_at(NOTHING, "finite", "runs"),
)
ex.wrong(
    "the factor τ² is missing",
    "Dividing both logits by τ makes the gradient smaller by τ²: the factor brings it back.",
    ("temperature**2 * ", ""), believes="a temperature is in the softmax alone",
)
ex.wrong(
    "a factor τ instead of τ²",
    "The gradient shrinks twice: by the derivative of z/τ, and because softer probabilities differ less.",
    ("temperature**2", "temperature"), believes="one division, one factor",
)
ex.wrong(
    "the student's temperature is 1",
    "Both models are compared at the same temperature.",
    ("(student[real] / temperature)", "student[real]"), believes="a temperature softens the teacher",
)
ex.wrong(
    "the teacher's temperature is 1",
    "Both models are compared at the same temperature.",
    (TWO, "log_p = teacher[real].detach()"), believes="a temperature softens the student",
)
ex.wrong(
    "logits multiplied by the temperature",
    "A high temperature softens: the logits are divided by it.",
    [("student[real] / temperature", "student[real] * temperature"),
     ("detach() / temperature", "detach() * temperature")], believes="hot means sharp",
)
ex.wrong(
    "the temperature is ignored",
    "2 is only the default: use the parameter.",
    [("student[real] / temperature", "student[real] / 2.0"), ("detach() / temperature", "detach() / 2.0"),
     ("temperature**2", "4.0")], believes="the temperature is 2",
)
ex.wrong(
    "student and teacher exchanged",
    "The teacher's probabilities weight the difference: the student must allow what the teacher allows.",
    (COSTS, "(log_q.exp() * (log_q - log_p)).sum(-1)"), believes="a divergence is a distance",
)
ex.wrong(
    "the teacher's entropy stays in",
    "That is the cross-entropy. Its gradient is the same, but it is not 0 for a perfect student.",
    (COSTS, "-(log_p.exp() * log_q).sum(-1)"), believes="cross-entropy and divergence are one number",
)
ex.wrong(
    "the sign is wrong",
    "A divergence is never negative: log p - log q, weighted with p.",
    ("(log_p - log_q)", "(log_q - log_p)"), believes="student minus teacher",
)
ex.wrong(
    "only the teacher's best class",
    "Distillation learns from all the probabilities; the best class alone is a label.",
    (COSTS, "-log_q.gather(-1, log_p.argmax(-1, keepdim=True))[..., 0]"), believes="the teacher labels",
    section="sec-label-smoothing", equation="eq-smoothing",
)
ex.wrong(
    "logits compared instead of probabilities",
    "A softmax does not notice a constant added to the logits; their distance does.",
    (COSTS, "((student[real] - teacher[real].detach()) / temperature).square().sum(-1)"),
    (COSTS, "((student[real] - teacher[real].detach()) / temperature).square().mean(-1)"),
    believes="equal outputs have equal logits",
)
ex.wrong(
    "a mean over the classes too",
    "A divergence is a sum over the classes; only over tokens there is a mean.",
    ("log_q)).sum(-1)", "log_q)).mean(-1)"), believes="a loss is the mean of everything",
)
ex.wrong(
    "the softmax runs over positions",
    "At each token the probabilities of the V classes sum to one: the softmax runs over the last axis.",
    [("temperature).log_softmax(-1)\n    log_p", "temperature).log_softmax(0)\n    log_p"),
     ("temperature).log_softmax(-1)\n    costs", "temperature).log_softmax(0)\n    costs")],
    believes="a softmax runs over the first axis",
)
ex.wrong(
    "padding is counted",
    "Where there is no token, there is nothing to learn: select the real ones, and count only them.",
    (MEAN, "costs.sum() / real.numel()"), believes="the mean is over B and T",
)
ex.wrong(
    "divided by the number of rows",
    "The mean runs over the real tokens, in however many rows they are.",
    (MEAN, "costs.sum() / len(student)"), believes="a loss is per text",
)
ex.wrong(
    "the sum instead of the mean",
    "The sum grows with the batch: divide by the number of real tokens.",
    (MEAN, "costs.sum()"), believes="the sum is what one minimises",
)
ex.wrong(
    "a logarithm of zero",
    "A probability can round to 0, and its logarithm is infinite: use log_softmax.",
    [("temperature).log_softmax(-1)\n    log_p", "temperature).softmax(-1).log()\n    log_p"),
     ("temperature).log_softmax(-1)\n    costs", "temperature).softmax(-1).log()\n    costs")],
    believes="a softmax, then a logarithm", shows=stops_at(LARGE, "finite", "value"),
)
ex.wrong(
    "padding multiplied by zero",
    "Zero times infinity is NaN: select the real tokens, do not multiply.",
    [("student[real]", "student"), ("teacher[real]", "teacher"),
     (MEAN, "(costs * real).sum() / real.sum().clamp(min=1)")],
    believes="zero times anything is zero", shows=stops_at(PADDED, "finite", "gradient"),
)
ex.wrong(
    "no gradient into the student",
    "The teacher is fixed, and the student learns: detach the teacher only.",
    [("(student[real] /", "(student[real].detach() /"), (".detach() / temperature)", " / temperature)")],
    believes="the student is compared with a fixed result", shows=lambda symptom: symptom.stage == "gradient",
)
ex.wrong(
    "the library does the work",
    source="""
def distillation_loss(student, teacher, real, temperature=2.0):
    log_q = (student[real] / temperature).log_softmax(-1)
    p = (teacher[real] / temperature).softmax(-1)
    return temperature**2 * F.kl_div(log_q, p, reduction="batchmean")
""", believes="the function is the exercise",
)
ex.wrong(
    "the library does the work",
    source="""
def distillation_loss(student, teacher, real, temperature=2.0):
    from pioneers.objectives import soft_target_loss

    return soft_target_loss(student[real], teacher[real], temperature=temperature)
""", believes="the package has a function for that",
)
ex.wrong(
    "a mean of means",
    "Every real token counts the same: one sum over all rows, divided by the number of real tokens.",
    (MEAN, "torch.stack([c.sum() / max(1, len(c)) for c in costs.split(real.sum(1).tolist())]).mean()"),
    (MEAN, "(torch.stack([c.sum() / max(1, len(c)) for c in costs.split(real.sum(1).tolist())]).sum()"
           " / real.any(1).sum().clamp(min=1))"),
    believes="a mean for each text, then their mean",
)
ex.wrong(
    "divided by τ² instead of multiplied",
    "Dividing both logits by τ makes the gradient smaller by τ²: the factor brings it back.",
    ("temperature**2 * costs.sum()", "costs.sum() / temperature**2"), believes="a temperature divides",
)

ex.right(
    "cross-entropy minus the teacher's entropy",
    (COSTS, "(log_p.exp() * log_p).sum(-1) - (log_p.exp() * log_q).sum(-1)"),
)
ex.right(
    "logsumexp, at the real tokens of a table",
    source="""
def distillation_loss(student, teacher, real, temperature=2.0):
    keep = real[..., None]
    z = torch.where(keep, student, 0) / temperature
    t = torch.where(keep, teacher.detach(), 0) / temperature
    p = t.softmax(-1)
    costs = (p * (t - z)).sum(-1) - t.logsumexp(-1) + z.logsumexp(-1)
    return temperature**2 * ((costs * real).sum() / real.sum().clamp(min=1))
""",
)
ex.right(
    "token by token",
    source="""
def distillation_loss(student, teacher, real, temperature=2.0):
    total, places = student.new_zeros(()), real.nonzero().tolist()
    for b, t in places:
        log_q = F.log_softmax(student[b, t] / temperature, 0)
        log_p = F.log_softmax(teacher[b, t].detach() / temperature, 0)
        total = total + torch.dot(log_p.exp(), log_p - log_q)
    return total / max(1, len(places)) * temperature * temperature
""",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("] / temperature).log_softmax(-1)", "] / temperature).log_softmax(1)"),
    (") / temperature).log_softmax(-1)", ") / temperature).log_softmax(1)"), ("m(-1)", "m(1)"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (") / temperature).log_softmax(-1)", ") / temperature).log_softmax(-1).detach()"),
)
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    (".detach()", ""),
)
ex.equivalent(
    "In a sum or mean over everything the additional axis, or the order, does not matter.",
    ("(log_p.exp() * (log_p - log_q)).sum(-1", "log_p.exp() * (log_p - log_q"),
    (".sum(-1)", ".sum(-1, keepdim=True)"),
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("] / temperature).log_softmax(-1)", "] / temperature).log_softmax(1)"),
    (") / temperature).log_softmax(-1)", ") / temperature).log_softmax(1)"), ("(-1) ", "(1) "),
    ("log_q).sum(-1)", "log_q).sum(1)"),
    of="cross-entropy minus the teacher's entropy",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (") / temperature).log_softmax(-1)", ") / temperature).log_softmax(-1).detach()"),
    of="cross-entropy minus the teacher's entropy",
)
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    (".detach()", ""),
    of="cross-entropy minus the teacher's entropy",
)
ex.right("an einsum over tokens and classes", source='''
def distillation_loss(student, teacher, real, temperature=2.0):
    z, t = student[real] / temperature, teacher[real].detach() / temperature
    off = t.log_softmax(-1) - z.log_softmax(-1)
    total = torch.einsum("nv,nv->", t.softmax(-1), off)
    return total * temperature**2 / max(1, len(z))
''')
ex.right("row by row", source='''
def distillation_loss(student, teacher, real, temperature=2.0):
    total = student.new_zeros(())
    for z, t, here in zip(student, teacher, real):
        log_q = torch.log_softmax(z[here] / temperature, dim=1)
        log_p = torch.log_softmax(t[here].detach() / temperature, dim=1)
        total = total + (torch.exp(log_p) * (log_p - log_q)).sum()
    return temperature**2 * total / real.sum().clamp(min=1)
''')
ex.right("a helper for log-probabilities, padding set to zero", source='''
def distillation_loss(student, teacher, real, temperature=2.0):
    def log_probs(logits):
        z = logits.masked_fill(~real.unsqueeze(-1), 0) / temperature
        return z - z.logsumexp(dim=-1, keepdim=True)

    log_q, log_p = log_probs(student), log_probs(teacher.detach())
    costs = torch.sum(log_p.exp() * (log_p - log_q), dim=-1)
    return costs[real].sum() / max(1, int(real.sum())) * temperature**2
''')
ex.right("class by class", source='''
def distillation_loss(student, teacher, real, temperature=2.0):
    log_q = F.log_softmax(student[real].div(temperature), dim=-1)
    log_p = F.log_softmax(teacher.detach()[real].div(temperature), dim=-1)
    costs = torch.zeros_like(log_q[:, 0])
    for c in range(student.shape[-1]):
        costs = costs + log_p[:, c].exp() * (log_p[:, c] - log_q[:, c])
    return temperature**2 * costs.sum() / max(1, costs.numel())
''')
ex.right("the teacher without gradients, rows times columns as a matmul", source='''
def distillation_loss(student, teacher, real, temperature=2.0):
    with torch.no_grad():
        log_p = (teacher[real] / temperature).log_softmax(-1)
    log_q = (student[real] / temperature).log_softmax(-1)
    costs = log_p.exp()[:, None, :] @ (log_p - log_q)[:, :, None]
    return costs.sum() * (temperature * temperature / max(1, len(log_p)))
''')
