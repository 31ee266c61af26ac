"""Exercise 4.2: the loss of a language model. Logits are (B, T, V), targets (B, T); -100 has no target."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import FUSED, Exercise, Mistake, Probe, Property, Run, Symptom

IGNORED = -100
Mean = Callable[[Tensor, Tensor], Tensor]


def _mean(nll: Tensor, real: Tensor) -> Tensor:
    return (nll * real).sum() / real.sum()


def _loss(
    nll: Callable[[Tensor, Tensor], Tensor] = lambda z, right: z.logsumexp(-1) - _at(z, right),
    mean: Mean = _mean,
) -> Callable[[Tensor, Tensor], Tensor]:
    """A loss from the cost of each position and a way to average them; -100 is scored as token 0 first."""

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        real = targets != IGNORED
        return mean(nll(logits, targets.where(real, 0)), real)

    return loss


def _at(z: Tensor, right: Tensor) -> Tensor:
    return z.gather(-1, right[..., None]).squeeze(-1)


lm_loss = _loss()


def _loss_probes() -> list[Probe]:
    normal = normals(421)

    def probe(name: str, targets: list[list[int]], V: int, *, strided: bool = False, **how) -> Probe:
        ids = torch.tensor(targets)
        return Probe(name, {"logits": 2 * normal(*ids.shape, V, **how), "targets": ids}, strided)

    sure = probe("very sure, and right", [[3, 0, 2]], 5)
    sure.args["logits"].scatter_(-1, sure.args["targets"][..., None], 200.0)
    surprised = probe("very sure, and wrong", [[1, 4, 4], [0, 2, 3]], 5)
    surprised.args["logits"].scatter_(-1, (surprised.args["targets"][..., None] + 1) % 5, 60.0)
    surprised.args["logits"].scatter_(-1, surprised.args["targets"][..., None], -60.0)
    return [
        probe("no padding", [[4, 0, 6], [2, 5, 1]], 7),
        probe("rows of unequal length", [[4, 0, 6, 3], [1, -100, -100, -100], [5, 2, -100, -100]], 7),
        probe("a row of nothing but padding", [[1, 2, -100], [-100, -100, -100]], 3),
        sure,
        surprised,
        probe("padding in front and in the middle", [[-100, 3, -100, 0, 4]], 5),
        probe("double precision", [[8, 10], [0, -100], [3, 7]], 11, dtype=torch.float64),
        probe("numbers with gaps in memory", [[2, -100, 1]], 3, strided=True),
    ]


def _longer_padding(run: Run) -> tuple[Tensor, Tensor]:
    normal = normals(422)
    targets = torch.tensor([[3, 1, 4, 1], [5, 2, -100, -100]])
    short = Probe("law", {"logits": normal(2, 4, 7), "targets": targets})
    logits = torch.cat((short.args["logits"], 9 * normal(2, 3, 7)), dim=1)
    longer = short.having("law", logits=logits, targets=torch.nn.functional.pad(targets, (0, 3), value=-100))
    return run(short).tensor, run(longer).tensor


def _shifted_again(logits: Tensor, targets: Tensor) -> Tensor:
    return lm_loss(logits[:, :-1], targets[:, 1:])


def _of_rows(nll: Tensor, real: Tensor) -> Tensor:
    return ((nll * real).sum(-1) / real.sum(-1)).mean()


def _index_of_padding(symptom: Symptom) -> bool:
    return symptom.stage == "runs" and "-100" in symptom.case.outcome.error


PLAIN_NUMBER = Mistake(
    "a plain number instead of a tensor",
    "item() leaves the graph behind: without a tensor there is nothing to call backward on.",
    shows=lambda symptom: symptom.case.outcome.kind in ("float", "int"),
)
MISTAKES = (
    PLAIN_NUMBER,
    Mistake(
        "-100 used as an index",
        "-100 is no token: put some token in its place before you look it up, and leave the position out.",
        shows=_index_of_padding,
    ),
    Mistake(
        "padding scored as a token",
        "Where the target is -100 nothing is asked, so nothing may be added, whatever token is put there.",
        _loss(mean=lambda nll, real: nll.mean()),
    ),
    Mistake(
        "padding counted in the mean",
        "Divide by the number of targets that are real, not by B·T: padding would make the loss small.",
        _loss(mean=lambda nll, real: (nll * real).mean()),
    ),
    Mistake(
        "a mean of row means",
        "Every token counts the same: tokens of short rows would weigh more, and an empty row is 0/0.",
        _loss(mean=_of_rows),
    ),
    Mistake(
        "a mean of row means",
        "Every token counts the same: tokens of short rows would weigh more than those of long ones.",
        _loss(mean=lambda nll, real: ((nll * real).sum(-1) / real.sum(-1).clamp(min=1)).mean()),
    ),
    Mistake(
        "a sum instead of a mean",
        "Divide by the number of real targets, or texts of different length cannot be compared.",
        _loss(mean=lambda nll, real: (nll * real).sum()),
    ),
    Mistake(
        "the minus sign is missing",
        "The loss is the *negative* log-likelihood: training makes it small.",
        _loss(mean=lambda nll, real: -_mean(nll, real)),
    ),
    Mistake(
        "the logit alone",
        "A logit is no log-probability yet: subtract the logsumexp over the vocabulary.",
        _loss(lambda z, right: -_at(z, right)),
        equation="eq-cross-entropy",
    ),
    Mistake(
        "the probability without its logarithm",
        "Maximum likelihood multiplies probabilities, so the loss adds their logarithms.",
        _loss(lambda z, right: -_at(z.softmax(-1), right)),
    ),
    Mistake(
        "the logarithm of a mean",
        "First the logarithm of each probability, then the mean.",
        _loss(lambda z, right: _at(z.softmax(-1), right), lambda p, real: -_mean(p, real).log()),
    ),
    Mistake(
        "bits instead of nats",
        "The loss is asked for in nats: the logarithm is the natural one.",
        _loss(mean=lambda nll, real: _mean(nll, real) / torch.log(torch.tensor(2.0, dtype=nll.dtype))),
        section="sec-bits",
    ),
    Mistake(
        "exp overflows",
        "exp(89) is more than float32 can hold: logsumexp subtracts the largest logit first.",
        _loss(lambda z, right: z.exp().sum(-1).log() - _at(z, right)),
        equation="eq-cross-entropy",
    ),
    Mistake(
        "the logarithm of a softmax",
        "A probability below 1e-45 is 0 in float32, and its logarithm -inf: use logsumexp or log_softmax.",
        _loss(lambda z, right: -_at(z.softmax(-1), right).log()),
        equation="eq-cross-entropy",
    ),
    Mistake(
        "shifted once more",
        "Logits and targets are one step apart already: position t of both belongs together.",
        _shifted_again,
        section="sec-teacher-forcing",
        equation="eq-chain-rule",
    ),
    Mistake(
        "the softmax runs over positions",
        "At each position the probabilities of the V tokens sum to one: the last axis.",
        _loss(lambda z, right: -_at(z.log_softmax(1), right)),
        equation="eq-cross-entropy",
    ),
)

EXERCISES = (
    Exercise(
        key="4.2",
        name="lm_loss",
        parameters=("logits", "targets"),
        points=10,
        section="sec-lm-objective",
        equation="eq-lm-loss",
        reference=lm_loss,
        probes=_loss_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "more padding changes nothing", "Where nothing is asked nothing counts.", _longer_padding
            ),
        ),
        refuse=FUSED | {"cross_entropy", "cross_entropy_loss", "nll_loss", "nll_loss_nd"},
    ),
)
