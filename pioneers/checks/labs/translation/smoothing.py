"""Exercise 3.5: the loss with smoothed labels, in nats per real token. The target -100 marks padding."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import FUSED, Exercise, Mistake, Probe, Property, Run, Symptom
from pioneers.objectives import seq2seq_loss

REFUSED = FUSED | {
    "cross_entropy", "cross_entropy_loss", "nll_loss", "nll_loss_nd", "nll_loss2d", "kl_div",
    "linear_cross_entropy",
}  # fmt: skip


def smoothed_loss(logits: Tensor, targets: Tensor, smoothing: float = 0.1) -> Tensor:
    """The reference of 3.5."""
    return seq2seq_loss(logits, targets, label_smoothing=smoothing)


def _by_hand(
    *,
    costs: Callable[[Tensor], Tensor] = lambda logits: -logits.log_softmax(-1),
    right: Callable[[float, int], float] = lambda eps, V: 1 - eps,
    all_tokens: Callable[[float, int], float] = lambda eps, V: eps / V,
    mean: Callable[[Tensor, Tensor], Tensor] = lambda loss, real: loss[real].mean(),
) -> Callable[..., Tensor]:
    """The loss from its two parts, one of its steps made otherwise."""

    def answer(logits: Tensor, targets: Tensor, smoothing: float = 0.1) -> Tensor:
        real, cost, V = targets != -100, costs(logits), logits.shape[-1]
        of_right = cost.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
        loss = right(smoothing, V) * of_right + all_tokens(smoothing, V) * cost.sum(-1)
        return mean(loss, real)

    return answer


def _probes() -> list[Probe]:
    normal = normals(351)

    def probe(
        name: str, targets: list[list[int]], V: int, dtype=torch.float32, strided=False, **more
    ) -> Probe:
        rows = torch.tensor(targets)
        args = {"logits": 3 * normal(*rows.shape, V, dtype=dtype), "targets": rows}
        return Probe(name, args | more, strided)

    padded = [[3, 6, 1, 2, -100], [5, 2, -100, -100, -100], [4, 4, 0, 6, 2]]
    return [
        probe("three sentences of different lengths", padded, 7),
        probe("no padding", [[1, 0, 4], [2, 2, 3]], 5),
        probe("much smoothing", padded, 11, smoothing=0.4),
        probe("no smoothing", [[3, 1, -100], [0, -100, -100]], 5, smoothing=0.0),
        probe("one token, one sentence", [[2]], 3),
        probe("a sentence of padding only", [[1, 3, 2], [-100, -100, -100]], 5, smoothing=0.2),
        probe("numbers with gaps in memory", padded, 7, strided=True),
    ]


def _lifted(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[0]
    logits = probe.args["logits"]
    return run(probe.having("law", logits=logits + 5 * logits[..., :1])).tensor, run(probe).tensor


def _other_padding(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[0]
    padding = (probe.args["targets"] == -100)[..., None]
    other = probe.args["logits"] * (1 - 3 * padding.float())
    return run(probe.having("law", logits=other)).tensor, run(probe).tensor


def _sentence_by_sentence(loss: Tensor, real: Tensor) -> Tensor:
    return ((loss * real).sum(1) / real.sum(1)).mean()


def _smoothed_prediction(logits: Tensor, targets: Tensor, smoothing: float = 0.1) -> Tensor:
    p = logits.softmax(-1).gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    loss = -((1 - smoothing) * p + smoothing / logits.shape[-1]).log()
    return loss[targets != -100].mean()


def _penalty_everywhere(logits: Tensor, targets: Tensor, smoothing: float = 0.1) -> Tensor:
    cost = -logits.log_softmax(-1)
    plain = smoothed_loss(logits, targets, 0.0)
    return (1 - smoothing) * plain + smoothing * cost.mean()


UNEVEN = (
    "the right token gets no share of ε",
    "ε is spread over all V tokens, the right one among them: its target is 1 - ε + ε/V, theirs ε/V.",
)
COMPLAINTS = ("out of bounds", "non-negative")


def _looks_up_the_mark(symptom: Symptom) -> bool:
    return symptom.stage == "runs" and any(words in symptom.case.outcome.error for words in COMPLAINTS)


COUNTED = (
    "padding counts as tokens",
    "The mean is over real tokens: leave the others out of the sum and out of its number.",
)
MISTAKES = (
    Mistake(
        "-100 looked up as a token",
        "-100 is no token: put any token in its place (clamp) before gather, and leave it out afterwards.",
        shows=_looks_up_the_mark,
    ),
    Mistake(
        *UNEVEN,
        _by_hand(right=lambda eps, V: 1 - eps - eps / (V - 1), all_tokens=lambda eps, V: eps / (V - 1)),
    ),
    Mistake(*UNEVEN, _by_hand(right=lambda eps, V: 1 - eps - eps / V)),
    Mistake(*COUNTED, _by_hand(mean=lambda loss, real: (loss * real).mean())),
    Mistake(*COUNTED, _by_hand(mean=lambda loss, real: loss.mean())),
    Mistake(
        "the penalty counts the padding",
        "Both parts of the loss are means over real tokens, the average cost of all tokens too.",
        _penalty_everywhere,
    ),
    Mistake(
        "each sentence counts the same",
        "The mean is over tokens: a long sentence has more of them, and more weight.",
        _by_hand(mean=_sentence_by_sentence),
    ),
    Mistake(
        "a sum over tokens",
        "The loss is a mean per real token, or its size would change with every batch.",
        _by_hand(mean=lambda loss, real: loss[real].sum()),
    ),
    Mistake(
        "a sum over the vocabulary",
        "The second part is ε times the mean cost of the V tokens; a sum is V times as much.",
        _by_hand(all_tokens=lambda eps, V: eps),
    ),
    Mistake(
        "smoothing is ignored",
        "This is the usual cross-entropy: the target here has ε/V on every token.",
        _by_hand(right=lambda eps, V: 1, all_tokens=lambda eps, V: 0),
    ),
    Mistake(
        "smoothing always 0.1",
        "0.1 is only the default: use the parameter smoothing.",
        lambda logits, targets, smoothing=0.1: smoothed_loss(logits, targets, 0.1),
    ),
    Mistake(
        "the right cost is not reduced",
        "The target is a distribution: what is spread over all tokens is taken from the right one, 1 - ε.",
        _by_hand(right=lambda eps, V: 1),
    ),
    Mistake(
        "the prediction is smoothed",
        "The target is smoothed, not the prediction: the logarithm is taken of p alone.",
        _smoothed_prediction,
    ),
    Mistake(
        "the softmax is missing",
        "Logits are no probabilities: log p is logits.log_softmax(-1).",
        _by_hand(costs=lambda logits: -logits),
    ),
    Mistake(
        "the logarithm is missing",
        "The cost of a token is -log p, not -p.",
        _by_hand(costs=lambda logits: -logits.softmax(-1)),
    ),
    Mistake(
        "softmax over the positions",
        "Each position has a distribution over the vocabulary: the last axis.",
        _by_hand(costs=lambda logits: -logits.log_softmax(1)),
    ),
)

EXERCISES = (
    Exercise(
        key="3.5",
        name="smoothed_loss",
        parameters=("logits", "targets", "smoothing=0.1"),
        points=12,
        section="sec-label-smoothing",
        equation="eq-smoothing",
        reference=smoothed_loss,
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "a number added to all logits of a position changes nothing",
                "The softmax sees differences only.",
                _lifted,
            ),
            Property(
                "what is predicted in the padding changes nothing", "Nothing is asked there.", _other_padding
            ),
        ),
        refuse=REFUSED,
    ),
)
