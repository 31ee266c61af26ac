"""Exercise 5.3: which tokens BERT is asked for.

All chance comes from outside, as draws between 0 and 1, so that there is one right result.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.exercise import Case, Exercise, Mistake, Probe, Symptom

DRAWS = [
    [0.01, 0.11, 0.31, 0.74, 0.21, 0.14, 0.03],
    [0.99, 0.13, 0.07, 0.52, 0.16, 0.23, 0.02],
    [0.24, 0.08, 0.91, 0.12, 0.05, 0.64, 0.18],
]
IDS = [[2, 9, 5, 12, 3, 0, 0], [2, 1, 4, 12, 10, 7, 3], [2, 11, 3, 6, 8, 13, 3]]
SPECIAL = [0, 2, 3, 12]


def choose(
    near: Callable[[Tensor, float], Tensor] = lambda draws, p: draws < p,
    ordinary: Callable[[Tensor, Tensor], Tensor] = lambda ids, special: ~torch.isin(ids, special),
) -> Callable[..., Tensor]:
    """A choice with another rule for the draws or for what is no special token."""

    def chosen(input_ids, special_ids, draws, mask_prob=0.15) -> Tensor:
        return near(draws, mask_prob) & ordinary(input_ids, special_ids)

    return chosen


def _choice_probes() -> list[Probe]:
    def probe(name: str, rows: slice, special: list[int] = SPECIAL, **more: Any) -> Probe:
        args = {"input_ids": torch.tensor(IDS[rows]), "special_ids": torch.tensor(special)}
        return Probe(name, args | {"draws": torch.tensor(DRAWS[rows])} | more)

    every = slice(None)
    edge = torch.tensor([[0.1, 0.25, 0.0, 0.0, 0.75, 0.25, 0.25]])
    return [
        probe("three rows, 15%", every),
        probe("a batch of one, 15%", slice(1, 2)),
        probe("40%", every, mask_prob=0.4),
        probe("draws that equal the probability", slice(2, 3), draws=edge, mask_prob=0.25),
        probe("every ordinary token", every, mask_prob=1.0),
        probe("another set of special tokens", every, special=[7, 13, 4]),
    ]


def _fixed_number(input_ids, special_ids, draws, mask_prob=0.15) -> Tensor:
    ordinary = ~torch.isin(input_ids, special_ids)
    order = draws.masked_fill(~ordinary, torch.inf).argsort(-1).argsort(-1)
    return ordinary & (order < (mask_prob * ordinary.sum(-1, keepdim=True)).round())


def _own_dice(symptom: Symptom) -> bool:
    """Right where every token is chosen and wrong in a way of its own elsewhere."""

    def is_right(case: Case) -> bool:
        return torch.equal(case.outcome.tensor, case.expected.tensor)

    sure = [case for case in symptom.cases if case.probe.args.get("mask_prob") == 1.0]
    return symptom.stage == "value" and bool(sure) and all(map(is_right, sure))


MISTAKES = (
    Mistake(
        "numbers instead of True and False",
        "The result says yes or no for each token: a comparison gives booleans, join them with &.",
        shows=lambda symptom: symptom.stage == "dtype",
    ),
    Mistake(
        "special tokens are chosen too",
        "Nobody learns anything from guessing [CLS], [SEP] or [PAD]: leave special_ids out.",
        choose(ordinary=lambda ids, special: torch.ones_like(ids, dtype=torch.bool)),
    ),
    Mistake(
        "only padding is left out",
        "[CLS] and [SEP] are special too: leave out every id of special_ids.",
        choose(ordinary=lambda ids, special: ids != 0),
    ),
    Mistake(
        "only special tokens are chosen",
        "isin says which tokens are special: choose among the others, with ~.",
        choose(ordinary=torch.isin),
    ),
    Mistake(
        "special ids taken for the smallest ones",
        "special_ids may be any numbers: compare with the list, not with its largest or a fixed number.",
        choose(ordinary=lambda ids, special: ids > special.max()),
    ),
    Mistake(
        "special ids taken for the smallest ones",
        "special_ids may be any numbers: compare with the list, not with its largest or a fixed number.",
        choose(ordinary=lambda ids, special: ids >= len(special)),
    ),
    Mistake(
        "draws above the probability",
        "A uniform draw is below p with probability p, and above it with probability 1 - p.",
        choose(near=lambda draws, p: draws > p),
    ),
    Mistake(
        "draws above the probability",
        "A uniform draw is below p with probability p, and above it with probability 1 - p.",
        choose(near=lambda draws, p: draws >= p),
    ),
    Mistake(
        "a draw that equals the probability",
        "Draws lie in [0, 1), 0 included: the comparison is <, so that p = 0 chooses nothing.",
        choose(near=lambda draws, p: draws <= p),
    ),
    Mistake(
        "mask_prob is ignored",
        "0.15 is only the default: use the parameter.",
        choose(near=lambda draws, p: draws < 0.15),
    ),
    Mistake(
        "a fixed number in each row",
        "Here each token is drawn by itself, so that rows differ in how many are chosen.",
        _fixed_number,
        section="sec-bert-sources",
    ),
    Mistake(
        "dice of its own",
        "The draws are given: compare them, and throw no others.",
        shows=_own_dice,
    ),
)

EXERCISES = (
    Exercise(
        key="5.3",
        name="choose_tokens",
        parameters=("input_ids", "special_ids", "draws", "mask_prob=0.15"),
        points=6,
        section="sec-masked-lm",
        equation="eq-mlm",
        reference=choose(),
        probes=_choice_probes,
        mistakes=MISTAKES,
    ),
)
