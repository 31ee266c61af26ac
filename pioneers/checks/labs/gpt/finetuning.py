"""Exercise 4.9: the loss of fine-tuning with the auxiliary language-model loss.

``logits`` are (B, C), ``lm_logits`` (B, T, V), ``input_ids`` (B, T); ``extract`` (B,) is the place of each
row's last real token. Token 0 is a token of texts too, so padding cannot be told by its number.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.gpt.language_loss import PLAIN_NUMBER

Real = Callable[[Tensor, Tensor], Tensor]
Mean = Callable[[Tensor, Tensor], Tensor]


def _before_extract(input_ids: Tensor, extract: Tensor) -> Tensor:
    """Positions (B, T - 1) whose next token is asked for."""
    return torch.arange(input_ids.shape[1] - 1, device=input_ids.device) < extract[:, None]


def _mean(nll: Tensor, real: Tensor) -> Tensor:
    return (nll * real).sum() / real.sum()


def _lm(
    real: Real = _before_extract,
    mean: Mean = _mean,
    pair: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = lambda z, ids: (z[:, :-1], ids[:, 1:]),
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The auxiliary loss with another idea of what is asked where, and of the mean."""

    def loss(lm_logits: Tensor, input_ids: Tensor, extract: Tensor) -> Tensor:
        z, targets = pair(lm_logits, input_ids)
        return mean(F.cross_entropy(z.transpose(1, 2), targets, reduction="none"), real(input_ids, extract))

    return loss


def _with(
    lm: Callable[[Tensor, Tensor, Tensor], Tensor] = _lm(),  # noqa: B008  (a function that never changes)
    join: Callable[[Tensor, Tensor, float], Tensor] = lambda l2, l1, weight: l2 + weight * l1,
) -> Callable[..., Tensor]:
    """The whole loss from the auxiliary one and the way the two are joined."""

    def loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5) -> Tensor:
        return join(F.cross_entropy(logits, labels), lm(lm_logits, input_ids, extract), lm_weight)

    return loss


finetuning_loss = _with()


def _loss_probes() -> list[Probe]:
    normal = normals(491)

    def probe(name: str, lengths: list[int], C: int, V: int, strided=False, dtype=torch.float32, **more):
        B, T = len(lengths), max(lengths)
        ids = (torch.arange(B * T).square() * 3 + 2).reshape(B, T) % (V - 1)
        ids[torch.arange(T) >= torch.tensor(lengths)[:, None]] = 0
        extract = torch.tensor(lengths) - 1
        ids[torch.arange(B), extract] = V - 1
        args = {"logits": normal(B, C, dtype=dtype), "labels": torch.arange(B) % C}
        args |= {"lm_logits": normal(B, T, V, dtype=dtype), "input_ids": ids, "extract": extract}
        return Probe(name, args | more, strided)

    zero = probe("token 0 is a token like any other", [5, 3], 2, 7, lm_weight=0.9)
    zero.args["input_ids"][:, 1] = 0
    return [
        probe("rows of unequal length", [7, 3, 5], 2, 11),
        probe("rows of equal length", [5, 5], 3, 7, lm_weight=0.3),
        probe("a batch of one", [3], 2, 5),
        zero,
        probe("without the auxiliary loss", [3, 5], 3, 7, lm_weight=0.0),
        probe("mostly the auxiliary loss", [2, 11, 3], 5, 7, lm_weight=4.0),
        probe("double precision", [3, 7], 2, 5, dtype=torch.float64),
        probe("numbers with gaps in memory", [5, 3, 2], 3, 7, strided=True),
    ]


def _padding_changed(run: Run) -> tuple[Tensor, Tensor]:
    probe = _loss_probes()[0]
    padding = torch.arange(7) > probe.args["extract"][:, None]
    changed = {
        "input_ids": probe.args["input_ids"].masked_fill(padding, 4),
        "lm_logits": probe.args["lm_logits"] + 10 * normals(492)(3, 7, 11) * padding[..., None],
    }
    return run(probe).tensor, run(probe.having("law", **changed)).tensor


def _all(input_ids: Tensor, extract: Tensor) -> Tensor:
    return torch.ones_like(input_ids[:, 1:], dtype=torch.bool)


def _of_rows(nll: Tensor, real: Tensor) -> Tensor:
    return ((nll * real).sum(1) / real.sum(1)).mean()


def _no_shift(input_ids: Tensor, extract: Tensor) -> Tensor:
    return torch.arange(input_ids.shape[1], device=input_ids.device) <= extract[:, None]


def _short(input_ids: Tensor, extract: Tensor) -> Tensor:
    return _before_extract(input_ids, extract - 1)


MISTAKES = (
    PLAIN_NUMBER,
    Mistake(
        "λ is ignored",
        "lm_weight says how much the auxiliary loss counts; 0.5 is only the default.",
        _with(join=lambda l2, l1, weight: l2 + l1),
    ),
    Mistake(
        "λ is ignored",
        "lm_weight says how much the auxiliary loss counts; 0.5 is only the default.",
        _with(join=lambda l2, l1, weight: l2 + 0.5 * l1),
    ),
    Mistake(
        "λ on the wrong loss",
        "The task counts in full, and the language model with the factor λ.",
        _with(join=lambda l2, l1, weight: weight * l2 + l1),
    ),
    Mistake(
        "a mixture of the two",
        "The auxiliary loss is added; the task's own loss keeps the factor 1.",
        _with(join=lambda l2, l1, weight: (1 - weight) * l2 + weight * l1),
    ),
    Mistake(
        "the auxiliary loss is missing",
        "Without it nothing asks the weights to remain a language model.",
        _with(join=lambda l2, l1, weight: l2),
        section="sec-forgetting",
    ),
    Mistake(
        "padding scored as a token",
        "The extract token is the last target: at its own position and behind it nothing is asked.",
        _with(_lm(_all)),
    ),
    Mistake(
        "padding told by its number",
        "Token 0 can be a token of the text as well: extract says where a row ends.",
        _with(_lm(lambda input_ids, extract: input_ids[:, 1:] != 0)),
    ),
    Mistake(
        "padding counted in the mean",
        "Divide by the number of tokens that are asked for, not by all places.",
        _with(_lm(mean=lambda nll, real: (nll * real).mean())),
    ),
    Mistake(
        "the target is the input",
        "Position t predicts token t + 1: shift the tokens by one.",
        _with(_lm(_no_shift, pair=lambda z, ids: (z, ids))),
        section="sec-teacher-forcing",
        equation="eq-lm-loss",
    ),
    Mistake(
        "the token before is the target",
        "Logits of position t belong to token t + 1: logits[:, :-1] beside input_ids[:, 1:].",
        _with(_lm(pair=lambda z, ids: (z[:, 1:], ids[:, :-1]))),
        section="sec-teacher-forcing",
        equation="eq-lm-loss",
    ),
    Mistake(
        "the extract token is not asked for",
        "The last target is the extract token itself, at the position before it.",
        _with(_lm(_short)),
    ),
    Mistake(
        "one prediction too many",
        "The extract token is the end of the row: what follows is padding, and no target.",
        _with(_lm(lambda input_ids, extract: _before_extract(input_ids, extract + 1))),
    ),
    Mistake(
        "a mean of row means",
        "Every token counts the same: tokens of short rows would weigh more than those of long ones.",
        _with(_lm(mean=_of_rows)),
    ),
    Mistake(
        "a sum over the tokens",
        "Both losses are means; with a sum long texts would drown the task.",
        _with(_lm(mean=lambda nll, real: (nll * real).sum())),
    ),
)

EXERCISES = (
    Exercise(
        key="4.9",
        name="finetuning_loss",
        parameters=("logits", "labels", "lm_logits", "input_ids", "extract", "lm_weight=0.5"),
        points=8,
        section="sec-gpt-auxiliary",
        equation="eq-tasks-auxiliary",
        reference=finetuning_loss,
        probes=_loss_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "padding leaves the loss alone",
                "Behind the extract token nothing is asked.",
                _padding_changed,
            ),
        ),
    ),
)
