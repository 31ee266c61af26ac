"""Exercise 4.3: perplexity and bits per character, from the losses of windows of unequal length.

A measure is not trained on, so the reference asks for no gradient.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

Part = Callable[[Tensor, Tensor, int], Tensor]


def _perplexity(nats: Tensor, tokens: Tensor, characters: int) -> Tensor:
    return (nats / tokens).exp()


def _bits(nats: Tensor, tokens: Tensor, characters: int) -> Tensor:
    return nats / math.log(2) / characters


def _measure(
    perplexity: Part = _perplexity,
    bits: Part = _bits,
    total: Callable[[Tensor, Tensor], Tensor] = lambda losses, counts: (losses * counts).sum(),
) -> Part:
    """Both measures from all nats of a text, its tokens and its characters."""

    def measure(losses: Tensor, num_tokens: Tensor, num_characters: int) -> Tensor:
        nats, tokens = total(losses.detach(), num_tokens), num_tokens.sum()
        return torch.stack((perplexity(nats, tokens, num_characters), bits(nats, tokens, num_characters)))

    return measure


perplexity_and_bits = _measure()


def _perplexity_probes() -> list[Probe]:
    normal = normals(431)

    def probe(name: str, counts: list[int], characters: int, strided=False) -> Probe:
        losses = 1.5 + normal(len(counts)).abs()
        args = {"losses": losses, "num_tokens": torch.tensor(counts), "num_characters": characters}
        return Probe(name, args, strided)

    return [
        probe("a long window and a short one", [127, 5], 431),
        probe("a single window", [17], 53),
        probe("many windows, the last of one token", [31, 31, 31, 31, 1], 389),
        probe("fewer characters than tokens", [7, 13, 3], 19),
        probe("numbers with gaps in memory", [3, 29], 101, strided=True),
    ]


def _cut_elsewhere(run: Run) -> tuple[Tensor, Tensor]:
    losses = torch.tensor([2.0, 3.0, 5.0])
    whole = Probe("law", {"losses": losses, "num_tokens": torch.tensor([7, 2, 2]), "num_characters": 41})
    joined = torch.tensor([2.0, 4.0])
    return run(whole).tensor, run(whole.having("law", losses=joined, num_tokens=torch.tensor([7, 4]))).tensor


def _mean_perplexity(losses: Tensor, num_tokens: Tensor, num_characters: int) -> Tensor:
    right = perplexity_and_bits(losses, num_tokens, num_characters)
    return torch.stack((losses.exp().mean(), right[1]))


def _weighted_perplexity(losses: Tensor, num_tokens: Tensor, num_characters: int) -> Tensor:
    right = perplexity_and_bits(losses, num_tokens, num_characters)
    return torch.stack(((losses.exp() * num_tokens).sum() / num_tokens.sum(), right[1]))


OF_PERPLEXITIES = (
    "a mean of perplexities",
    "Perplexity is e to the mean loss: first the mean, then the exponential, which is no straight line.",
)
MISTAKES = (
    Mistake(
        "two numbers instead of one tensor",
        "Both numbers come back in one tensor (2,): torch.stack, or torch.tensor of the two.",
        shows=lambda symptom: symptom.case.outcome.kind in ("tuple", "list", "float"),
    ),
    Mistake(
        "every window weighs the same",
        "A mean over 5 tokens is not worth one over 127: sum the nats of all tokens first.",
        _measure(total=lambda losses, counts: losses.mean() * counts.sum()),
    ),
    Mistake(
        "means taken for sums",
        "Each loss is a mean over its window; times num_tokens it is the sum.",
        _measure(total=lambda losses, counts: losses.sum()),
    ),
    Mistake(*OF_PERPLEXITIES, _mean_perplexity),
    Mistake(*OF_PERPLEXITIES, _weighted_perplexity),
    Mistake(
        "nats per character",
        "A bit is ln 2 nats: divide the nats by ln 2.",
        _measure(bits=lambda nats, tokens, characters: nats / characters),
    ),
    Mistake(
        "multiplied by ln 2",
        "A bit is smaller than a nat, so there are more of them: divide by ln 2.",
        _measure(bits=lambda nats, tokens, characters: nats * math.log(2) / characters),
    ),
    Mistake(
        "bits per token",
        "Divide all bits of the text by its characters: only then can two tokenizers be compared.",
        _measure(bits=lambda nats, tokens, characters: nats / math.log(2) / tokens),
    ),
    Mistake(
        "perplexity per character",
        "Perplexity belongs to the tokens: divide the nats by their number.",
        _measure(lambda nats, tokens, characters: (nats / characters).exp()),
    ),
    Mistake(
        "two to the nats",
        "Perplexity is e to the loss in nats, or 2 to the loss in *bits*.",
        _measure(lambda nats, tokens, characters: 2.0 ** (nats / tokens)),
    ),
    Mistake(
        "no exponential",
        "The mean loss is in nats per token; perplexity is e to that.",
        _measure(lambda nats, tokens, characters: nats / tokens),
    ),
    Mistake(
        "the two in the wrong order",
        "First the perplexity, then the bits per character.",
        lambda *args: perplexity_and_bits(*args).flip(0),
    ),
)

EXERCISES = (
    Exercise(
        key="4.3",
        name="perplexity_and_bits",
        parameters=("losses", "num_tokens", "num_characters"),
        points=6,
        section="sec-bits",
        equation="eq-lm-loss",
        reference=perplexity_and_bits,
        probes=_perplexity_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "where the text is cut does not matter",
                "The nats of two windows are the nats of the two together.",
                _cut_elsewhere,
            ),
        ),
    ),
)
