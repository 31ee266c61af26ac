"""Exercise 2.2: the matrix that moves sinusoids from one position to another.

The inputs are whole numbers, the result float32.
"""

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.positions_block.sinusoids import BASE, NOT_FLOAT32, frequencies, sinusoids


def shift(offset: int, d_model: int, base: float = BASE) -> Tensor:
    """The reference of 2.2: one rotation per pair."""
    return _turns(offset * frequencies(d_model, base))


def _turns(angles: Tensor) -> Tensor:
    cos, sin = angles.cos(), angles.sin()
    return _blocks(cos, -sin, sin, cos)


def _blocks(*entries: Tensor) -> Tensor:
    """Blocks of two by two along the diagonal, each entry given for all blocks."""
    return torch.block_diag(*torch.stack(entries, dim=-1).view(-1, 2, 2)).float()


def _shift_probes() -> list[Probe]:
    return [
        Probe("one step, width 6", {"offset": 1, "d_model": 6}),
        Probe("five steps, width 10", {"offset": 5, "d_model": 10}),
        Probe("three steps back", {"offset": -3, "d_model": 6}),
        Probe("no step", {"offset": 0, "d_model": 14}),
        Probe("one pair", {"offset": 7, "d_model": 2}),
        Probe("another base", {"offset": 11, "d_model": 10, "base": 100.0}),
    ]


def _moves_positions(run: Run) -> tuple[Tensor, Tensor]:
    matrix = run(Probe("law", {"offset": 13, "d_model": 22})).tensor
    return sinusoids(torch.tensor([2, 17, 5]), 22) @ matrix, sinusoids(torch.tensor([15, 30, 18]), 22)


def _steps_add_up(run: Run) -> tuple[Tensor, Tensor]:
    first, second, both = (run(Probe("law", {"offset": k, "d_model": 6})).tensor for k in (4, 7, 11))
    return first @ second, both


def _planes_apart(offset: int, d_model: int, base: float = BASE) -> Tensor:
    order = torch.arange(d_model).view(-1, 2).T.flatten()
    return shift(offset, d_model, base)[order][:, order]


def _position_as_coefficients(offset: int, d_model: int, base: float = BASE) -> Tensor:
    angles = offset * frequencies(d_model, base)
    return _blocks(angles.sin(), -angles.cos(), angles.cos(), angles.sin())


def _no_minus(offset: int, d_model: int, base: float = BASE) -> Tensor:
    angles = offset * frequencies(d_model, base)
    return _blocks(angles.cos(), angles.sin(), angles.sin(), angles.cos())


SHIFT_MISTAKES = (
    NOT_FLOAT32,
    Mistake(
        "the shift goes the other way",
        "Positions are rows here and the matrix acts from the right: what you return moves them back.",
        lambda offset, d_model, base=BASE: shift(-offset, d_model, base),
    ),
    Mistake(
        "the minus sign is missing",
        "The cosine row of the addition theorems has a minus sign; without it the block is no rotation.",
        _no_minus,
        equation="eq-addition",
    ),
    Mistake(
        "the position itself as coefficients",
        "The coefficients are not the vector of position k: the sine row needs cos ωk in its first place.",
        _position_as_coefficients,
        equation="eq-addition",
    ),
    Mistake(
        "planes of channels far apart",
        "In the sinusoids of 2.1 a pair is two neighbouring columns, so the blocks lie along the diagonal.",
        _planes_apart,
    ),
    Mistake(
        "one angle for all pairs",
        "Pair i turns by ω_i for each step, the first fast and the last hardly at all.",
        lambda offset, d_model, base=BASE: _turns(offset * torch.ones(d_model // 2)),
    ),
    Mistake(
        "the exponent runs half as fast",
        "The exponent is -2i/D, where i counts pairs: the slowest pair is nearly base times slower.",
        lambda offset, d_model, base=BASE: _turns(offset * frequencies(d_model, base) ** 0.5),
        section="sec-sinusoids",
        equation="eq-sinusoids",
    ),
    Mistake(
        "base is ignored",
        "10000 is only the default: use the parameter base.",
        lambda offset, d_model, base=BASE: shift(offset, d_model),
        section="sec-sinusoids",
        equation="eq-sinusoids",
    ),
)

EXERCISES = (
    Exercise(
        key="2.2",
        name="shift_matrix",
        parameters=("offset", "d_model", "base=10000.0"),
        points=8,
        section="sec-shift",
        equation="eq-shift",
        reference=shift,
        probes=_shift_probes,
        mistakes=SHIFT_MISTAKES,
        properties=(
            Property(
                "it moves every position by the same offset",
                "The matrix knows the offset only, not where it starts.",
                _moves_positions,
            ),
            Property("two shifts add up", "Four steps and seven steps are eleven steps.", _steps_add_up),
        ),
    ),
)
