"""Exercise 2.6: LayerNorm. D, the last axis, is normalised."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers import layers
from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
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
from pioneers.checks.labs.positions_block.symptoms import wrong_on

OFFSET = "a small spread on a large mean"


def _layer_norm_probes() -> list[Probe]:
    normal = normals(262)
    whole = torch.tensor([[-9.0, 4.0, 0.0, -1.0, 6.0], [3.0, -2.0, 1.0, -7.0, 5.0]])  # each row sums to zero
    far = Probe(OFFSET, {"x": 4096 + whole, "gain": normal(5), "bias": normal(5)})
    return [*norm_probes(261, "gain", "bias"), far]


def _shifted_and_scaled(run: Run) -> tuple[Tensor, Tensor]:
    normal = normals(263)
    plain = Probe("law", {"x": normal(3, 11), "gain": normal(11), "bias": normal(11), "eps": 0.0})
    return run(plain).tensor, run(plain.having("law", x=3 * plain.args["x"] + 5)).tensor


def _layer(
    scale: Callable[[Tensor, float], Tensor] = lambda c, eps: (c.square().mean(-1, True) + eps).sqrt(),
) -> Norm:
    """LayerNorm that divides the centred vector by another scale."""

    def norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return gain * centred / scale(centred, eps) + bias

    return norm


def _lost_axis(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * (x - x.mean(-1)) / (x.var(-1, correction=0) + eps).sqrt() + bias


def _over(*dims: int) -> Norm:
    def norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
        axes = dims or tuple(range(x.dim()))
        variance, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
        return gain * (x - mean) / (variance + eps).sqrt() + bias

    return norm


MISTAKES = (
    *both_ways(
        Mistake(
            "variance divided by D - 1",
            "torch.var and torch.std divide by D - 1 unless told otherwise: pass correction=0.",
            _layer(lambda c, eps: (c.square().sum(-1, True) / (c.shape[-1] - 1) + eps).sqrt()),
        ),
        Mistake(*EPS_OUTSIDE, _layer(lambda c, eps: c.square().mean(-1, True).sqrt() + eps)),
        Mistake(*EPS_FORGOTTEN, _layer(lambda c, eps: c.square().mean(-1, True).sqrt())),
        Mistake(
            "D - 1, and eps outside the root",
            "torch.std divides by D - 1 unless told otherwise, and eps is added before the root is taken.",
            _layer(lambda c, eps: c.std(-1, keepdim=True) + eps),
        ),
        Mistake(
            "the reduced axis is lost",
            "Without keepdim=True mean and variance have one axis fewer, and meet the wrong axis of x.",
            _lost_axis,
        ),
        Mistake(
            "divided by the variance",
            "Divide by the deviation, the root of the variance; only then is the result's variance 1.",
            _layer(lambda c, eps: c.square().mean(-1, True) + eps),
        ),
        Mistake(
            "the root taken twice",
            "Divide by σ, which is a root already: √σ does not normalise.",
            _layer(lambda c, eps: (c.square().mean(-1, True) + eps).sqrt().sqrt()),
        ),
        Mistake(
            "normalised over the first axis",
            "Each token is normalised by itself, over its own D numbers; this is closer to BatchNorm.",
            _over(0),
        ),
        Mistake(
            "normalised over all axes",
            "Each token is normalised by itself; here the other tokens decide about its mean.",
            _over(),
        ),
        Mistake(
            "the mean stays",
            "LayerNorm subtracts the mean; leaving it in is RMSNorm.",
            lambda x, gain, bias, eps=1e-5: layers.rms_norm(x, gain, eps=eps) + bias,
            section="sec-rmsnorm",
            equation="eq-rmsnorm",
        ),
        Mistake(
            "gain forgotten",
            "The normalised vector is multiplied by the learned gain, component by component.",
            lambda x, gain, bias, eps=1e-5: layers.layer_norm(x, torch.ones_like(gain), bias, eps=eps),
        ),
        Mistake(
            "bias forgotten",
            "The learned bias is added at the end.",
            lambda x, gain, bias, eps=1e-5: layers.layer_norm(x, gain, 0 * bias, eps=eps),
        ),
        Mistake(
            "gain and bias in the wrong order",
            "First multiply by the gain, then add the bias: the gain does not scale the bias.",
            lambda x, gain, bias, eps=1e-5: gain * layers.layer_norm(x, 1 + 0 * gain, bias, eps=eps),
        ),
    ),
    Mistake(
        "variance as a difference of squares",
        "E[x²] - E[x]² cancels when the mean is large: subtract the mean first, then square.",
        shows=wrong_on(OFFSET),
    ),
    HALF,
    DETACHED,
)

EXERCISES = (
    Exercise(
        key="2.6",
        name="layer_norm",
        parameters=("x", "gain", "bias", "eps=1e-05"),
        points=11,
        section="sec-layernorm",
        equation="eq-layernorm",
        reference=wide(_layer()),
        probes=_layer_norm_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "shifting and stretching a vector changes nothing",
                "The mean drops out, then the scale.",
                _shifted_and_scaled,
                equation="eq-invariance",
            ),
            one_by_one("gain", "bias"),
        ),
        refuse=LIBRARY,
    ),
)
