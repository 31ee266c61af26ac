"""Exercise 5.4: what becomes of the chosen tokens, and what must be predicted.

All chance comes from outside, as draws between 0 and 1 and random tokens, so that there is one right result.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run


def corrupt(
    masked: Callable[[Tensor], Tensor] = lambda fate: fate < 0.8,
    replaced: Callable[[Tensor], Tensor] = lambda fate: (fate >= 0.8) & (fate < 0.9),
) -> Callable[..., Tensor]:
    """Inputs and targets (2, B, T), with other rules for what becomes [MASK] and what a random token."""

    def corrupted(input_ids, chosen, fate, random_ids, mask_id) -> Tensor:
        inputs = torch.where(chosen & masked(fate), mask_id, input_ids)
        inputs = torch.where(chosen & replaced(fate), random_ids, inputs)
        return torch.stack((inputs, torch.where(chosen, input_ids, -100)))

    return corrupted


def _corruption_probes() -> list[Probe]:
    ids = torch.tensor([[2, 9, 5, 11, 3, 0, 0], [2, 1, 6, 13, 10, 7, 3], [2, 14, 8, 6, 8, 13, 3]])
    chosen = torch.tensor([[0, 1, 0, 1, 0, 0, 0], [0, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 0, 1, 0]]).bool()
    fate = torch.tensor(
        [
            [0.95, 0.79, 0.82, 0.85, 0.83, 0.2, 0.4],
            [0.1, 0.93, 0.05, 0.88, 0.97, 0.6, 0.3],
            [0.5, 0.87, 0.3, 0.81, 0.7, 0.99, 0.84],
        ]
    )
    others = torch.tensor([[5, 7, 9, 1, 6, 8, 5], [10, 11, 13, 9, 1, 14, 6], [7, 13, 1, 10, 5, 9, 11]])
    args = {"input_ids": ids, "chosen": chosen, "fate": fate, "random_ids": others, "mask_id": 4}
    some = {name: x[1:2] for name, x in args.items() if isinstance(x, Tensor)}
    probe = Probe("three rows", args)
    edge = torch.tensor([[0.8, 0.0, 0.8, 0.5, 0.85, 0.95, 0.8]])
    return [
        probe,
        probe.having("a batch of one, another [MASK]", **some, mask_id=103),
        probe.having("nothing chosen", chosen=torch.zeros_like(chosen)),
        probe.having(
            "everything chosen, a draw of exactly 0.8", **some | {"fate": edge, "chosen": chosen[:1] | True}
        ),
        Probe("numbers with gaps in memory", args, strided=True),
    ]


def _unasked_stay(run: Run) -> tuple[Tensor, Tensor]:
    probe = _corruption_probes()[0]
    unasked = ~probe.args["chosen"]
    return run(probe).tensor[0][unasked], probe.args["input_ids"][unasked]


def _targets(target: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The right inputs, with targets made from ids, inputs, chosen and fate."""

    def corrupted(input_ids, chosen, fate, random_ids, mask_id) -> Tensor:
        read = corrupt()(input_ids, chosen, fate, random_ids, mask_id)[0]
        return torch.stack((read, target(input_ids, read, chosen, fate)))

    return corrupted


def _all_tokens(input_ids, chosen, fate, random_ids, mask_id) -> Tensor:
    everywhere = corrupt()(input_ids, chosen | True, fate, random_ids, mask_id)
    return torch.stack((everywhere[0], torch.where(chosen, input_ids, -100)))


NOT_IGNORED = (
    "another number than -100",
    "Only -100 is left out of the loss; 0 and -1 are not: 0 is a token like any other.",
)
MISTAKES = (
    Mistake(
        "the targets are the corrupted tokens",
        "What must be predicted is the token that stood there, not the one that stands there now.",
        _targets(lambda ids, read, chosen, fate: torch.where(chosen, read, -100)),
    ),
    Mistake(
        "targets everywhere",
        "Only chosen tokens are asked for; all others have the target -100.",
        _targets(lambda ids, read, chosen, fate: ids),
    ),
    Mistake(
        "only [MASK] is asked for",
        "All chosen tokens are asked for, random and kept ones too: that is what they are there for.",
        _targets(lambda ids, read, chosen, fate: torch.where(chosen & (fate < 0.8), ids, -100)),
        section="sec-mlm-rates",
        equation="eq-mlm-bayes",
    ),
    Mistake(
        "kept tokens are not asked for",
        "A kept token is asked for all the same: it teaches the model to trust what it reads.",
        _targets(lambda ids, read, chosen, fate: torch.where(chosen & (fate < 0.9), ids, -100)),
        section="sec-mlm-rates",
        equation="eq-mlm-bayes",
    ),
    Mistake(*NOT_IGNORED, _targets(lambda ids, read, chosen, fate: torch.where(chosen, ids, 0))),
    Mistake(*NOT_IGNORED, _targets(lambda ids, read, chosen, fate: torch.where(chosen, ids, -1))),
    Mistake(
        "targets where nothing is asked",
        "chosen is True where a token is asked for: there the target is the token, elsewhere -100.",
        _targets(lambda ids, read, chosen, fate: torch.where(chosen, -100, ids)),
    ),
    Mistake(
        "targets first",
        "What BERT reads comes first, what it must predict second.",
        lambda *args: corrupt()(*args).flip(0),
    ),
    Mistake(
        "tokens that were not chosen are corrupted",
        "Only chosen tokens change; fate is drawn for every token, for the sake of its shape.",
        _all_tokens,
    ),
    Mistake(
        "[MASK] overwritten by random tokens",
        "fate < 0.9 holds for those that are [MASK] already: a random token needs 0.8 ≤ fate < 0.9.",
        corrupt(replaced=lambda fate: fate < 0.9),
    ),
    Mistake(
        "every chosen token becomes [MASK]",
        "A tenth becomes a random token and a tenth stays: after pretraining nobody shows BERT a [MASK].",
        corrupt(masked=lambda fate: fate < 2, replaced=lambda fate: fate > 2),
        section="sec-mlm-rates",
    ),
    Mistake(
        "no token is kept",
        "From 0.9 on the token stays: with random tokens alone, what is read tells nothing.",
        corrupt(replaced=lambda fate: fate >= 0.8),
        section="sec-mlm-rates",
        equation="eq-mlm-bayes",
    ),
    Mistake(
        "no token is random",
        "Between 0.8 and 0.9 a random token takes its place: with kept tokens alone, copying is right.",
        corrupt(replaced=lambda fate: fate > 2),
        section="sec-mlm-rates",
        equation="eq-mlm-bayes",
    ),
    Mistake(
        "kept and random exchanged",
        "Here 0.8 ≤ fate < 0.9 becomes random and 0.9 ≤ fate stays.",
        corrupt(replaced=lambda fate: fate >= 0.9),
    ),
    Mistake(
        "a draw of exactly 0.8",
        "fate < 0.8 becomes [MASK]; a draw of 0.8 itself belongs to the random tokens.",
        corrupt(masked=lambda fate: fate <= 0.8, replaced=lambda fate: (fate > 0.8) & (fate < 0.9)),
    ),
)

EXERCISES = (
    Exercise(
        key="5.4",
        name="corrupt",
        parameters=("input_ids", "chosen", "fate", "random_ids", "mask_id"),
        points=12,
        section="sec-masked-lm",
        equation="eq-mlm",
        reference=corrupt(),
        probes=_corruption_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "a token that is not asked for stays as it is",
                "It is the context from which the others are predicted.",
                _unasked_stay,
            ),
        ),
    ),
)
