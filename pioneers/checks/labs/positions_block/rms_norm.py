"""Exercise 2.7: RMSNorm. D, the last axis, is normalised."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers import layers
from pioneers.checks.exercise import Exercise, Mistake
from pioneers.checks.labs.positions_block.norms import (
    DETACHED,
    EPS_FORGOTTEN,
    EPS_OUTSIDE,
    HALF,
    LIBRARY,
    Norm,
    both_ways,
    norm_probes,
    one_by_one,
    wide,
)


def _rms(
    scale: Callable[[Tensor, float], Tensor] = lambda x, eps: (x.square().mean(-1, True) + eps).sqrt(),
) -> Norm:
    """RMSNorm that divides by another scale."""
    return lambda x, gain, eps=1e-6: gain * x / scale(x, eps)


MISTAKES = (
    *both_ways(
        Mistake(
            "the mean subtracted",
            "RMSNorm leaves the mean alone; subtracting it is LayerNorm.",
            lambda x, gain, eps=1e-6: layers.layer_norm(x, gain, 0 * gain, eps=eps),
        ),
        Mistake(
            "sum instead of mean",
            "The root of the *mean* square: with the sum the result shrinks as D grows.",
            _rms(lambda x, eps: (x.square().sum(-1, True) + eps).sqrt()),
        ),
        Mistake(*EPS_OUTSIDE, _rms(lambda x, eps: x.square().mean(-1, True).sqrt() + eps)),
        Mistake(*EPS_FORGOTTEN, _rms(lambda x, eps: x.square().mean(-1, True).sqrt())),
        Mistake(
            "no root",
            "Divided by the mean square itself, a vector twice as long comes out half as long.",
            _rms(lambda x, eps: x.square().mean(-1, True) + eps),
        ),
        Mistake(
            "mean of absolute values",
            "Square, then mean, then root: large components count for more.",
            _rms(lambda x, eps: x.abs().mean(-1, True) + eps),
        ),
        Mistake(
            "normalised over all axes",
            "Each token is normalised by itself; here the other tokens decide about its length.",
            _rms(lambda x, eps: (x.square().mean() + eps).sqrt()),
        ),
        Mistake(
            "gain forgotten",
            "The normalised vector is multiplied by the learned gain, component by component.",
            lambda x, gain, eps=1e-6: layers.rms_norm(x, torch.ones_like(gain), eps=eps),
        ),
    ),
    HALF,
    DETACHED,
)

EXERCISES = (
    Exercise(
        key="2.7",
        name="rms_norm",
        parameters=("x", "gain", "eps=1e-06"),
        points=5,
        section="sec-rmsnorm",
        equation="eq-rmsnorm",
        reference=wide(_rms()),
        probes=lambda: norm_probes(271, "gain"),
        mistakes=MISTAKES,
        properties=(one_by_one("gain"),),
        refuse=LIBRARY,
    ),
)
