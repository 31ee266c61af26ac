"""Exercise 2.3: rotary positions, channel i paired with channel i + K/2.

Axes: T tokens, K width of a head. Angles are asked for in float32: positions of float32 probes stay below 50.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.positions_block.sinusoids import BASE, TWICE, frequencies
from pioneers.checks.labs.positions_block.symptoms import wrong_only_in_half_precision

Turn = Callable[[Tensor, Tensor, Tensor], Tensor]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each plane (i, i + K/2) of ``x`` (..., T, K); cos and sin are (T, K/2)."""
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)


def _with(turn: Turn, theta: Callable[[int, float], Tensor] = frequencies) -> Callable[..., Tensor]:
    """Rotary positions with another way to turn or other angles, in the type of ``x``."""

    def rotary(x: Tensor, positions: Tensor, base: float = BASE) -> Tensor:
        angles = positions.double()[:, None] * theta(x.shape[-1], base).to(x.device)
        return turn(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))

    return rotary


rotary = _with(rotate)


def _rotary_probes() -> list[Probe]:
    normal = normals(231)

    def probe(
        name: str, shape: tuple[int, ...], positions: list[int], strided=False, dtype=torch.float32, **more
    ) -> Probe:
        args: dict[str, Any] = {"x": normal(*shape, dtype=dtype), "positions": torch.tensor(positions)}
        return Probe(name, args | more, strided)

    return [
        probe("positions in no order", (2, 3, 5, 14), [17, 0, 31, 3, 7]),
        probe("no axes in front", (7, 10), [0, 1, 2, 3, 4, 5, 6]),
        probe("a batch of one, one token", (1, 2, 1, 6), [41]),
        probe("a single plane", (3, 5, 2), [2, 11, 5, 0, 7]),
        probe("another base", (2, 3, 10), [5, 0, 13], base=100.0),
        probe("bfloat16, positions in the hundreds", (2, 3, 14), [300, 7, 211], dtype=torch.bfloat16),
        probe("numbers with gaps in memory", (2, 3, 5, 6), [9, 2, 4, 8, 1], strided=True),
    ]


def _keeps_lengths(run: Run) -> tuple[Tensor, Tensor]:
    x = normals(232)(3, 5, 22)
    turned = run(Probe("law", {"x": x, "positions": torch.tensor([4, 19, 0, 33, 8])})).tensor
    return turned.norm(dim=-1), x.norm(dim=-1)


def _distance_alone(run: Run) -> tuple[Tensor, Tensor]:
    query_and_key = normals(233)(2, 22)
    here = run(Probe("law", {"x": query_and_key, "positions": torch.tensor([9, 4])})).tensor
    there = run(Probe("law", {"x": query_and_key, "positions": torch.tensor([27, 22])})).tensor
    return here[0] @ here[1], there[0] @ there[1]


def _neighbours(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1).flatten(-2)


def _not_put_back(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat((even * cos - odd * sin, odd * cos + even * sin), dim=-1)


def _reflected(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cos - right * sin, right * cos - left * sin), dim=-1)


def _all_plus(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cos + right * sin, right * cos + left * sin), dim=-1)


def _two_conventions(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x.chunk(2, dim=-1)
    partner = torch.cat((-right, left), dim=-1)
    return x * cos.repeat_interleave(2, -1) + partner * sin.repeat_interleave(2, -1)


def _from_zero(x: Tensor, positions: Tensor, base: float = BASE) -> Tensor:
    return rotary(x, torch.arange(x.shape[-2]), base)


NO_ROTATION = (
    "a sign is wrong",
    "A rotation is (a cos - b sin, b cos + a sin): exactly one minus. Any other sign changes lengths.",
)
MISTAKES = (
    Mistake(
        "neighbouring channels paired",
        "Here, as in pioneers, channel i and channel i + K/2 form a plane, not channels 2i and 2i+1.",
        _with(_neighbours),
    ),
    Mistake(
        "two conventions mixed",
        "The channels are paired across the halves, the angles are laid out for neighbours.",
        _with(_two_conventions),
    ),
    Mistake(
        "taken apart one way, put together another",
        "Even and odd channels were taken apart but joined as halves: a turned channel must come back home.",
        _with(_not_put_back),
    ),
    Mistake(
        "turned the other way",
        "Position p turns a plane by plus p θ: the minus stands in the first half.",
        _with(lambda x, cos, sin: rotate(x, cos, -sin)),
    ),
    Mistake(*NO_ROTATION, _with(_reflected)),
    Mistake(*NO_ROTATION, _with(_all_plus)),
    Mistake(
        "positions counted from zero",
        "The positions are given: with a cache the first token of x does not stand at 0.",
        _from_zero,
    ),
    Mistake(
        "the exponent runs half as fast",
        "θ_i is base^(-2i/K), where i counts the K/2 planes; the slowest is nearly base times slower.",
        _with(rotate, lambda width, base: frequencies(width, base) ** 0.5),
    ),
    Mistake(*TWICE, _with(rotate, lambda width, base: frequencies(width, base) ** 2)),
    Mistake(
        "one angle for all planes",
        "Each plane has its own angle θ_i, so that near and far can both be told.",
        _with(rotate, lambda width, base: torch.ones(width // 2)),
    ),
    Mistake(
        "base is ignored",
        "10000 is only the default: use the parameter base.",
        _with(rotate, lambda width, base: frequencies(width)),
    ),
    Mistake(
        "added instead of turned",
        "Sinusoids are added to words; rotary positions multiply the queries and keys.",
        _with(lambda x, cos, sin: x + torch.stack((sin, cos), dim=-1).flatten(1)),
    ),
    Mistake(
        "angles in half precision",
        "bfloat16 cannot tell 300 from 301: compute the angles in float32, cast only their cosine and sine.",
        shows=wrong_only_in_half_precision,
    ),
)

EXERCISES = (
    Exercise(
        key="2.3",
        name="rotary",
        parameters=("x", "positions", "base=10000.0"),
        points=12,
        section="sec-rope",
        equation="eq-rope-complex",
        reference=rotary,
        probes=_rotary_probes,
        mistakes=MISTAKES,
        properties=(
            Property("turning changes no length", "Every turn is an orthogonal matrix.", _keeps_lengths),
            Property(
                "a score depends on the distance alone",
                "That is the wish from which the rotations were derived.",
                _distance_alone,
                section="sec-rope-derived",
                equation="eq-rope-wish",
            ),
        ),
    ),
)
