"""Exercise 2.7: RMSNorm. It asks for float32 inside, so no probe is in double precision."""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals
from pioneers.checks.symptoms import bends_the_gradient, wrong_only_in_half_precision

ANSWER = '''
def rms_norm(x: Tensor, gain: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide each vector of x (..., D) by its root mean square,
    then multiply by gain (D,)."""
    h = x.float()
    return (gain * h / (h.square().mean(-1, keepdim=True) + eps).sqrt()).to(x.dtype)
'''
LIBRARY = ("layer_norm", "native_layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm")
ex = exercise(
    "2.7", ANSWER, points=5, minutes=5, difficulty=1, reread="sec-rmsnorm", equation="eq-rmsnorm",
    refuse=LIBRARY,
)


@ex.maker
def vectors(normal, shape, factor=1.0, offset=0.0, dtype=torch.float32, **given):
    x = (offset + factor * normal(*shape)).to(dtype)
    return {"x": x, "gain": normal(shape[-1], dtype=dtype)} | given


LENGTHS = torch.tensor([[0.01], [1.0], [500.0]])
ex.probe("three axes", shape=(3, 5, 7))
ex.probe("a large eps", shape=(5, 11), eps=0.7)
ex.probe("vectors of very different lengths", shape=(3, 7), factor=LENGTHS)
ex.probe("no axes in front", shape=(13,))
ex.probe("a batch of one", shape=(1, 3, 5))
ex.probe("a vector of equal numbers", shape=(2, 3), factor=0.0)
ex.probe("float16, numbers in the hundreds", shape=(2, 11), factor=400, dtype=torch.float16)
ex.probe("bfloat16", shape=(3, 7), dtype=torch.bfloat16)
ex.probe("numbers with gaps in memory", shape=(2, 3, 5), strided=True)
ex.hidden("four axes, far from zero", shape=(2, 1, 3, 11), offset=5)
ex.hidden("a very large eps", shape=(3, 5), eps=13.0)
ex.hidden("width 1", shape=(5, 1))


@ex.law("each vector is normalised by itself", "No vector sees another.")
def one_by_one(run, probe):
    several = probe.having("law", **vectors(normals(264), (5, 7)))
    return run(several), torch.stack([run(several.having("law", x=row)) for row in several.args["x"]])


def both_ways(*pairs):
    """Edits made together: in the type of x, and in float32."""
    return [*pairs, ("x.float()", "x")], list(pairs)


SQUARE, ROOT = "h.square().mean(-1, keepdim=True)", "(h.square().mean(-1, keepdim=True) + eps).sqrt()"
ex.wrong(
    "the mean subtracted",
    "RMSNorm leaves the mean alone; subtracting it is LayerNorm.",
    *both_ways(("    return", "    h = h - h.mean(-1, keepdim=True)\n    return")),
    believes="a norm subtracts the mean",
)
ex.wrong(
    "sum instead of mean",
    "The root of the *mean* square: with the sum the result shrinks as D grows.",
    *both_ways((".mean(", ".sum(")), believes="the length is the root mean square",
)
ex.wrong(
    "eps outside the root",
    "eps is added to the mean square, before the root is taken.",
    *both_ways((ROOT, f"({SQUARE}.sqrt() + eps)")),
    believes="eps keeps the divisor from zero, wherever it is added",
)
ex.wrong(
    "eps forgotten",
    "Without eps a vector of equal numbers is 0/0.",
    *both_ways((" + eps", "")), believes="eps is for proofs",
)
ex.wrong(
    "no root",
    "Divided by the mean square itself, a vector twice as long comes out half as long.",
    *both_ways((".sqrt()", "")), believes="mean square and root mean square are the same",
)
ex.wrong(
    "mean of absolute values",
    "Square, then mean, then root: large components count for more.",
    *both_ways((".square()", ".abs()"), (".sqrt()", "")),
    believes="the size of a number is its absolute value",
)
ex.wrong(
    "normalised over all axes",
    "Each token is normalised by itself; here the other tokens decide about its length.",
    *both_ways(("mean(-1, keepdim=True)", "mean()")), believes="the layer is the whole tensor",
)
ex.wrong(
    "gain forgotten",
    "The normalised vector is multiplied by the learned gain, component by component.",
    *both_ways(("gain * ", "")), believes="normalised is normalised",
)
ex.wrong(
    "squares overflow in half precision",
    "float16 ends at 65504, and 300² is more: compute in x.float(), return the type of x.",
    ("x.float()", "x"), believes="half precision is only less precise", shows=wrong_only_in_half_precision,
)
ex.wrong(
    "statistics taken for constants",
    "Mean and deviation depend on x, and the gradient must pass through them: no detach, no no_grad.",
    (SQUARE, f"{SQUARE}.detach()"), believes="statistics are constants", shows=bends_the_gradient,
    section="sec-norm-jacobian", equation="eq-norm-jacobian",
)
ex.wrong(
    "the library does the work",
    source="""
def rms_norm(x, gain, eps=1e-6):
    return torch.rms_norm(x, gain.shape, gain, eps)
""", believes="a library call is an answer",
)
ex.wrong(
    "one added to the gain",
    "Some models store the gain minus one; here it is used as it is.",
    *both_ways(("gain * h", "(1 + gain) * h")), believes="a gain is a change of 1",
)

ex.right(
    "rescaled before squaring, in the type of x",
    source="""
def rms_norm(x, gain, eps=1e-6):
    size = x.detach().abs().amax(-1, keepdim=True).clamp(min=1)
    h = x / size
    return gain * h / (h.square().mean(-1, keepdim=True) + eps / size / size).sqrt()
""",
)
ex.right(
    "rsqrt, gain after the cast",
    source="""
def rms_norm(x, gain, eps=1e-6):
    h = x.double()
    return (h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) / x.shape[-1] + eps)).to(x.dtype) * gain
""",
)
ex.right("torch.sqrt and pow", source='''
def rms_norm(x, gain, eps=1e-6):
    h = x.float()
    return (h / torch.sqrt(torch.mean(h.pow(2), dim=-1, keepdim=True) + eps) * gain.float()).to(x.dtype)
''')
ex.right("an einsum for the square", source='''
def rms_norm(x, gain, eps=1e-6):
    h = x.to(torch.float32)
    mean = torch.einsum("...d,...d->...", h, h).unsqueeze(-1) / h.shape[-1]
    return (h * (mean + eps).rsqrt() * gain).type_as(x)
''')
ex.right("vector by vector", source='''
def rms_norm(x, gain, eps=1e-6):
    rows = [row / (row @ row / len(row) + eps) ** 0.5 for row in x.float().reshape(-1, x.shape[-1])]
    return (torch.stack(rows).view(x.shape) * gain.float()).to(x.dtype)
''')
ex.right("the sum divided by the width", source='''
def rms_norm(x, gain, eps=1e-6):
    h = x.float()
    scale = ((h * h).sum(dim=-1, keepdim=True) / x.size(-1)).add(eps).pow(-0.5)
    return gain.mul(h).mul(scale).to(x.dtype)
''')
ex.right("a matrix of ones", source='''
def rms_norm(x, gain, eps=1e-6):
    h, D = x.double(), x.shape[-1]
    mean = h.square() @ torch.full((D, D), 1 / D, dtype=h.dtype, device=x.device)
    return (gain * h * torch.rsqrt(mean + eps)).to(x.dtype)
''')
ex.right("the axis put back with unsqueeze", source='''
def rms_norm(x, gain, eps=1e-6):
    h = x.float()
    root = torch.sqrt(h.square().mean(-1) + eps)
    return torch.div(gain * h, root.unsqueeze(-1)).to(x.dtype)
''')
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("1)", "1).detach()"),
    of="rescaled before squaring, in the type of x",
)
ex.equivalent(
    "Any size will do, because eps is divided by it too.",
    (".amax(-1, keepdim=True", ".amax(keepdim=True"), (".amax", ".amin"), (".amax", ".mean"),
    (".abs().amax", ".amax"), (".abs", ".relu"), ("1)", "2)"),
    of="rescaled before squaring, in the type of x",
)
ex.equivalent(
    "Whether a gradient reaches this input is not asked.",
    ("x.detach().abs", "x.abs"),
    of="rescaled before squaring, in the type of x",
)
