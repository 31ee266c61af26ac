"""Exercise 2.1: sinusoids.

The inputs are whole numbers, the result float32. Positions stay below 50, so that angles computed in float32
are exact enough.
"""

from typing import Any

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.positions_block.symptoms import is_another_float

BASE = 10000.0


def frequencies(width: int, base: float = BASE) -> Tensor:
    """The angle (width / 2,) by which each pair turns from one position to the next."""
    return base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def waves(positions: Tensor, omega: Tensor) -> Tensor:
    """Sine and cosine of every angle in turn: (T,) and (D/2,) → (T, D)."""
    angles = positions.double()[:, None] * omega.to(positions.device)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()


def sinusoids(positions: Tensor, d_model: int, base: float = BASE) -> Tensor:
    """The reference of 2.1."""
    return waves(positions, frequencies(d_model, base))


def _sinusoid_probes() -> list[Probe]:
    def probe(name: str, positions: list[int], d_model: int, dtype=torch.int64, **more) -> Probe:
        args: dict[str, Any] = {"positions": torch.tensor(positions, dtype=dtype), "d_model": d_model}
        return Probe(name, args | more)

    return [
        probe("positions 0 to 6", list(range(7)), 10),
        probe("positions in no order, one of them twice", [31, 0, 7, 7, 12], 6),
        probe("one pair", [3, 5, 2], 2),
        probe("a single position, 32-bit", [41], 14, torch.int32),
        probe("another base", [5, 11, 2], 10, base=100.0),
    ]


def _distance_alone(run: Run) -> tuple[Tensor, Tensor]:
    here = run(Probe("law", {"positions": torch.tensor([3, 8]), "d_model": 22})).tensor
    there = run(Probe("law", {"positions": torch.tensor([19, 24]), "d_model": 22})).tensor
    return here[0] @ here[1], there[0] @ there[1]


def _own_frequency_each(positions: Tensor, d_model: int, base: float = BASE) -> Tensor:
    omega = base ** (-torch.arange(d_model, dtype=torch.float64) / d_model)
    angles = positions.double()[:, None] * omega
    return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos()).float()


NOT_FLOAT32 = Mistake(
    "another type than float32",
    "The inputs are whole numbers and the result is asked for in float32: convert it at the end.",
    shows=is_another_float,
)
TWICE = (
    "the exponent runs too fast",
    "The exponent is -2i/D with i = 0, 1, …, D/2-1: torch.arange(0, D, 2) is 2i already.",
)
SINUSOID_MISTAKES = (
    NOT_FLOAT32,
    Mistake(
        "positions counted from zero",
        "The positions are given, and need not be 0, 1, 2, …: a cache or a packed batch begins elsewhere.",
        lambda positions, d_model, base=BASE: sinusoids(torch.arange(len(positions)), d_model, base),
    ),
    Mistake(
        "all sines, then all cosines",
        "Sine and cosine of one frequency are neighbours here: columns 2i and 2i+1.",
        lambda positions, d_model, base=BASE: (
            sinusoids(positions, d_model, base).unflatten(1, (-1, 2)).transpose(1, 2).flatten(1)
        ),
    ),
    Mistake(
        "sine and cosine swapped",
        "The even columns are sines: position 0 is 0, 1, 0, 1, …",
        lambda positions, d_model, base=BASE: (
            sinusoids(positions, d_model, base).unflatten(1, (-1, 2)).flip(2).flatten(1)
        ),
    ),
    Mistake(
        "the exponent runs half as fast",
        "The exponent is -2i/D, where i counts pairs: the slowest pair is nearly base times slower.",
        lambda positions, d_model, base=BASE: waves(positions, frequencies(d_model, base) ** 0.5),
    ),
    Mistake(*TWICE, lambda positions, d_model, base=BASE: waves(positions, frequencies(d_model, base) ** 2)),
    Mistake(
        "a frequency for each column",
        "Sine and cosine of a pair share one angle; otherwise no rotation moves one position to another.",
        _own_frequency_each,
        section="sec-shift",
        equation="eq-shift-pair",
    ),
    Mistake(
        "base is ignored",
        "10000 is only the default: use the parameter base.",
        lambda positions, d_model, base=BASE: sinusoids(positions, d_model),
    ),
    Mistake(
        "one frequency for all pairs",
        "With one frequency all pairs are copies of each other, and positions 0 and 44 nearly coincide.",
        lambda positions, d_model, base=BASE: waves(positions, torch.ones(d_model // 2)),
    ),
)


EXERCISES = (
    Exercise(
        key="2.1",
        name="sinusoids",
        parameters=("positions", "d_model", "base=10000.0"),
        points=8,
        section="sec-sinusoids",
        equation="eq-sinusoids",
        reference=sinusoids,
        probes=_sinusoid_probes,
        mistakes=SINUSOID_MISTAKES,
        properties=(
            Property(
                "the product of two positions depends on their distance alone",
                "Each pair contributes the cosine of the angle between the two.",
                _distance_alone,
                section="sec-distance",
                equation="eq-distance",
            ),
        ),
    ),
)
