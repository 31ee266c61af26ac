"""Exercise 5.5: the loss of masked language modelling, with logits only where tokens are asked for.

``hidden`` is (B, T, D), ``tokens`` (V, D) the embedding, ``bias`` (V,), and ``targets`` (B, T).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import FUSED, Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.bert.symptoms import stops_at

PADDING, NOTHING, LARGE = "padding that holds infinities", "nothing is asked for", "very large logits"
LIBRARY = frozenset({"cross_entropy", "nll_loss"})


def _costs(hidden: Tensor, tokens: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """The surprise (M,) of each target, in nats."""
    asked = targets != -100
    log_p = (hidden[asked] @ tokens.T + bias).log_softmax(-1)
    return -log_p.gather(1, targets[asked][:, None])[:, 0]


def loss_of(
    mean: Callable[[Tensor, Tensor], Tensor] = lambda costs, targets: costs.sum() / max(1, len(costs)),
) -> Callable[..., Tensor]:
    """The loss with another mean of the costs."""
    return lambda hidden, tokens, bias, targets: mean(_costs(hidden, tokens, bias, targets), targets)


def _loss_probes() -> list[Probe]:
    normal = normals(551)

    def probe(
        name: str, targets: list[list[int]], D: int, V: int, strided=False, size=1.0, dtype=torch.float32
    ) -> Probe:
        wanted = torch.tensor(targets)
        args = {"hidden": size * normal(*wanted.shape, D), "tokens": normal(V, D), "bias": normal(V)}
        args = {name: x.to(dtype) for name, x in args.items()}
        return Probe(name, {**args, "targets": wanted}, strided)

    _ = -100
    some = [[_, 7, _, 3, 5, _, _], [_, _, 0, _, _, _, _], [_, 4, 6, _, 1, 2, _]]
    padded = probe(PADDING, [[_, 7, _, 3, _, _, _], [_, _, 0, 9, 5, 2, _]], 3, 13)
    hidden = padded.args["hidden"].clone()
    hidden[0, 4:] = torch.inf
    return [
        probe("three rows, six, one and four gaps", some, 5, 11),
        probe("a batch of one, a single gap", [[_, _, 2, _, _]], 7, 3),
        probe("every token is asked for", [[1, 0, 2], [4, 4, 3]], 3, 5),
        probe(LARGE, some, 5, 11, size=200.0),
        probe(NOTHING, [[_, _, _]], 5, 7),
        padded.having(PADDING, hidden=hidden),
        probe("double precision", some, 5, 11, dtype=torch.float64),
        probe("half precision", some, 5, 11, size=0.5, dtype=torch.float16),
        probe("numbers with gaps in memory", some, 3, 13, strided=True),
    ]


def _unasked_changed(run: Run) -> tuple[Tensor, Tensor]:
    probe = _loss_probes()[0]
    unasked = (probe.args["targets"] == -100)[..., None]
    return run(probe).tensor, run(probe.having("law", hidden=probe.args["hidden"] + 7 * unasked)).tensor


def _row_means(costs: Tensor, targets: Tensor) -> Tensor:
    counts = (targets != -100).sum(1)
    rows = costs.split(counts.tolist())
    return torch.stack([row.sum() / max(1, len(row)) for row in rows]).mean()


def _without_id_zero(hidden: Tensor, tokens: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    return loss_of()(hidden, tokens, bias, targets.masked_fill(targets == 0, -100))


def _unasked_as_zero(hidden: Tensor, tokens: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    return _costs(hidden, tokens, bias, targets.clamp(min=0)).mean()


def _over_positions(hidden: Tensor, tokens: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    asked = targets != -100
    log_p = (hidden[asked] @ tokens.T + bias).log_softmax(0)
    return -log_p.gather(1, targets[asked][:, None]).sum() / max(1, int(asked.sum()))


def _logits_only(hidden: Tensor, tokens: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    asked = targets != -100
    logits = hidden[asked] @ tokens.T + bias
    return -logits.gather(1, targets[asked][:, None]).sum() / max(1, int(asked.sum()))


NO_LOGARITHM = (
    "no logarithm",
    "The loss is the mean of -ln p, which is large for a bad guess, not of -p or of a logit.",
)
DIVIDED = (
    "divided by all positions",
    "The mean runs over the M tokens that are asked for: others are no questions and count for nothing.",
)
MISTAKES = (
    Mistake(*DIVIDED, loss_of(lambda costs, targets: costs.sum() / targets.numel())),
    Mistake(
        "divided by the number of rows",
        "The mean runs over the M tokens that are asked for, however many rows they stand in.",
        loss_of(lambda costs, targets: costs.sum() / len(targets)),
    ),
    Mistake(
        "the sum instead of the mean",
        "The sum grows with the number of gaps, so that two batches cannot be compared: divide by M.",
        loss_of(lambda costs, targets: costs.sum()),
    ),
    Mistake(
        "every row counts the same",
        "A mean of means gives a row with one gap the weight of one with ten: take one mean over all gaps.",
        loss_of(_row_means),
    ),
    Mistake(
        "the sign is missing",
        "A logarithm of a probability is negative: the loss is its mean with a minus.",
        loss_of(lambda costs, targets: -costs.sum() / max(1, len(costs))),
    ),
    Mistake(
        "bits instead of nats",
        "Losses are in nats here, with the natural logarithm.",
        loss_of(lambda costs, targets: costs.sum() / max(1, len(costs)) / math.log(2)),
    ),
    Mistake(
        "the bias is forgotten",
        "The output matrix is the embedding; its bias is the only part of it that is new.",
        lambda hidden, tokens, bias, targets: loss_of()(hidden, tokens, 0 * bias, targets),
        section="sec-mlm-cost",
    ),
    Mistake(
        "token 0 is left out",
        "Only -100 means that nothing is asked; 0 is an id like any other.",
        _without_id_zero,
    ),
    Mistake(
        "tokens that were not asked for are marked too",
        "Where the target is -100 nothing is asked, and nothing may enter the loss.",
        _unasked_as_zero,
    ),
    Mistake(
        "the softmax runs over positions",
        "At each gap the probabilities of the V tokens sum to one: the softmax runs over the last axis.",
        _over_positions,
    ),
    Mistake(*NO_LOGARITHM, loss_of(lambda costs, targets: -(-costs).exp().sum() / max(1, len(costs)))),
    Mistake(*NO_LOGARITHM, _logits_only),
    Mistake(
        "the exponential overflows",
        "exp of a large logit is infinite, and ln 0 too: use log_softmax or logsumexp.",
        shows=stops_at(LARGE, "finite"),
    ),
    Mistake(
        "-100 used as an index",
        "-100 is no token: select the places that are asked for before you look up their targets.",
        shows=lambda symptom: symptom.stage == "runs" and "-100" in symptom.case.outcome.error,
        section="sec-mlm-cost",
    ),
    Mistake(
        "0/0 when nothing is asked",
        "A batch of short rows may have no gap at all: its loss is 0, not 0/0.",
        shows=stops_at(NOTHING, "finite", "runs"),
    ),
    Mistake(
        "logits computed for every token",
        "Select the hidden states first: what stands where nothing is asked must not even be looked at.",
        shows=stops_at(PADDING, "finite", "gradient"),
        section="sec-mlm-cost",
    ),
)

EXERCISES = (
    Exercise(
        key="5.5",
        name="masked_lm_loss",
        parameters=("hidden", "tokens", "bias", "targets"),
        points=12,
        section="sec-masked-lm",
        equation="eq-mlm",
        reference=loss_of(),
        probes=_loss_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "what stands where nothing is asked does not matter",
                "Logits are computed at the gaps only.",
                _unasked_changed,
                section="sec-mlm-cost",
            ),
        ),
        refuse=FUSED | LIBRARY,
    ),
)
