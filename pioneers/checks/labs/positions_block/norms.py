"""What the two norms share: probes, a law, and mistakes made in either.

They ask for float32 inside, so no probe is in double precision.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import FUSED, Mistake, Probe, Property, Run
from pioneers.checks.labs.positions_block.symptoms import bends_the_gradient, wrong_only_in_half_precision

LIBRARY = FUSED | {"layer_norm", "native_layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm"}
Norm = Callable[..., Tensor]


def norm_probes(seed: int, *vectors: str) -> list[Probe]:
    """Probes for a norm with these learned ``vectors``."""
    normal = normals(seed)

    def probe(name: str, *shape: int, factor=1.0, dtype=torch.float32, strided=False, **more) -> Probe:
        args = {"x": (factor * normal(*shape)).to(dtype)}
        return Probe(name, args | {v: normal(shape[-1], dtype=dtype) for v in vectors} | more, strided)

    return [
        probe("three axes", 3, 5, 7),
        probe("a large eps", 5, 11, eps=0.7),
        probe("vectors of very different lengths", 3, 7, factor=torch.tensor([[0.01], [1.0], [500.0]])),
        probe("no axes in front", 13),
        probe("a batch of one", 1, 3, 5),
        Probe("a vector of equal numbers", {"x": torch.zeros(2, 3), **{v: normal(3) for v in vectors}}),
        probe("float16, numbers in the hundreds", 2, 11, factor=400, dtype=torch.float16),
        probe("bfloat16", 3, 7, dtype=torch.bfloat16),
        probe("numbers with gaps in memory", 2, 3, 5, strided=True),
    ]


def one_by_one(*vectors: str) -> Property:
    """The law that no vector sees another."""

    def sides(run: Run) -> tuple[Tensor, Tensor]:
        normal = normals(264)
        x = normal(5, 7)
        learned = {v: normal(7) for v in vectors}
        alone = [run(Probe("law", {"x": row, **learned})).tensor for row in x]
        return run(Probe("law", {"x": x, **learned})).tensor, torch.stack(alone)

    return Property("each vector is normalised by itself", "No vector sees another.", sides)


def wide(norm: Norm) -> Norm:
    """The norm computed in float32 at least, its result in the type of ``x``."""

    def widened(x: Tensor, *rest: Any) -> Tensor:
        x32, *rest32 = (
            r.to(torch.promote_types(r.dtype, torch.float32)) if isinstance(r, Tensor) else r
            for r in (x, *rest)
        )
        return norm(x32, *rest32).to(x.dtype)

    return widened


def both_ways(*mistakes: Mistake) -> list[Mistake]:
    """Each mistake made in the type of ``x``, and made in float32."""
    return [replace(m, twin=way(m.twin)) for m in mistakes if m.twin for way in (lambda norm: norm, wide)]


HALF = Mistake(
    "squares overflow in half precision",
    "float16 ends at 65504, and 300² is more: compute in x.float(), return the type of x.",
    shows=wrong_only_in_half_precision,
)
EPS_OUTSIDE = ("eps outside the root", "eps is added to the mean square, before the root is taken.")
EPS_FORGOTTEN = ("eps forgotten", "Without eps a vector of equal numbers is 0/0.")
DETACHED = Mistake(
    "statistics taken for constants",
    "Mean and deviation depend on x, and the gradient must pass through them: no detach, no no_grad.",
    shows=bends_the_gradient,
    section="sec-layernorm",
    equation="eq-norm-jacobian",
)
