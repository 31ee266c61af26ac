"""Exercise 2.6: LayerNorm. It asks for float32 inside, so no probe is in double precision."""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals
from pioneers.checks.symptoms import bends_the_gradient, wrong_on, wrong_only_in_half_precision

ANSWER = '''
def layer_norm(
    x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5
) -> Tensor:
    """Normalise each vector of x (..., D),
    then rescale it with gain and bias (D,)."""
    h = x.float()
    centred = h - h.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return (gain * centred / (variance + eps).sqrt() + bias).to(x.dtype)
'''
LIBRARY = ("layer_norm", "native_layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm")
ex = exercise(
    "2.6", ANSWER, points=11, minutes=12, difficulty=2, reread="sec-layernorm", equation="eq-layernorm",
    refuse=LIBRARY,
)


@ex.maker
def vectors(normal, shape, factor=1.0, dtype=torch.float32, **given):
    args = {"x": (factor * normal(*shape)).to(dtype)}
    return args | {name: normal(shape[-1], dtype=dtype) for name in ("gain", "bias")} | given


OFFSET = "a small spread on a large mean"
WHOLE = torch.tensor([[-9.0, 4.0, 0.0, -1.0, 6.0], [3.0, -2.0, 1.0, -7.0, 5.0]])  # each row sums to zero
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
ex.probe(OFFSET, shape=(2, 5), x=4096 + WHOLE)
ex.hidden("four axes", shape=(2, 1, 3, 11))
ex.hidden("a very large eps", shape=(3, 5), eps=13.0)
ex.hidden("far from zero", shape=(2, 3), x=[[2048.0, 2051.0, 2045.0], [-2048.0, -2048.0, -2048.0]])
ex.hidden("width 1", shape=(5, 1))


@ex.law(
    "shifting and stretching a vector changes nothing",
    "The mean drops out, then the scale.",
    section="sec-norm-jacobian",
    equation="eq-invariance",
)
def shifted_and_scaled(run, probe):
    plain = probe.having("law", **vectors(normals(263), (3, 11)), eps=0.0)
    return run(plain), run(plain.having("law", x=3 * plain.args["x"] + 5))


@ex.law("each vector is normalised by itself", "No vector sees another.")
def one_by_one(run, probe):
    several = probe.having("law", **vectors(normals(264), (5, 7)))
    return run(several), torch.stack([run(several.having("law", x=row)) for row in several.args["x"]])


def both_ways(*pairs):
    """Edits made together: in the type of x, and in float32."""
    return [*pairs, ("x.float()", "x")], list(pairs)


MEAN, ROOT = "h.mean(-1, keepdim=True)", "(variance + eps).sqrt()"
VARIANCE = "centred.square().mean(-1, keepdim=True)"
ex.wrong(
    "variance divided by D - 1",
    "torch.var and torch.std divide by D - 1 unless told otherwise: pass correction=0.",
    *both_ways((VARIANCE, "centred.square().sum(-1, keepdim=True) / (h.shape[-1] - 1)")),
    believes="torch.var is the variance",
)
ex.wrong(
    "eps outside the root",
    "eps is added to the mean square, before the root is taken.",
    *both_ways((ROOT, "(variance.sqrt() + eps)")),
    believes="eps keeps the divisor from zero, wherever it is added",
)
ex.wrong(
    "eps forgotten",
    "Without eps a vector of equal numbers is 0/0.",
    *both_ways((ROOT, "variance.sqrt()")), believes="eps is for proofs",
)
ex.wrong(
    "D - 1, and eps outside the root",
    "torch.std divides by D - 1 unless told otherwise, and eps is added before the root is taken.",
    *both_ways((ROOT, "(centred.std(-1, keepdim=True) + eps)")),
    believes="x.std() + eps, as a well-known tutorial has it",
)
ex.wrong(
    "the reduced axis is lost",
    "Without keepdim=True mean and variance have one axis fewer, and meet the wrong axis of x.",
    *both_ways((MEAN, "h.mean(-1)"), (VARIANCE, "h.var(-1, correction=0)")),
    believes="a reduced axis pairs itself up again",
)
ex.wrong(
    "divided by the variance",
    "Divide by the deviation, the root of the variance; only then is the result's variance 1.",
    *both_ways((".sqrt()", "")), believes="σ² is what one divides by",
)
ex.wrong(
    "the root taken twice",
    "Divide by σ, which is a root already: √σ does not normalise.",
    *both_ways((".sqrt()", ".sqrt().sqrt()")), believes="the formula has a root, and so has σ",
)
ex.wrong(
    "normalised over the first axis",
    "Each token is normalised by itself, over its own D numbers; this is closer to BatchNorm.",
    *both_ways((MEAN, "h.mean(0, keepdim=True)"), (VARIANCE, "centred.square().mean(0, keepdim=True)")),
    believes="one normalises over the batch",
)
ex.wrong(
    "normalised over all axes",
    "Each token is normalised by itself; here the other tokens decide about its mean.",
    *both_ways((MEAN, "h.mean()"), (VARIANCE, "centred.square().mean()")),
    believes="the layer is the whole tensor",
)
ex.wrong(
    "the mean stays",
    "LayerNorm subtracts the mean; leaving it in is RMSNorm.",
    *both_ways((" - " + MEAN, "")), believes="only the size matters", section="sec-rmsnorm",
    equation="eq-rmsnorm",
)
ex.wrong(
    "gain forgotten",
    "The normalised vector is multiplied by the learned gain, component by component.",
    *both_ways(("gain * ", "")), believes="normalised is normalised",
)
ex.wrong(
    "bias forgotten",
    "The learned bias is added at the end.",
    *both_ways((" + bias)", ")")), believes="the mean is zero",
)
ex.wrong(
    "gain and bias in the wrong order",
    "First multiply by the gain, then add the bias: the gain does not scale the bias.",
    *both_ways(("(gain * centred", "(gain * (centred"), (" + bias)", " + bias))")),
    believes="gain and bias rescale in any order",
)
ex.wrong(
    "variance as a difference of squares",
    "E[x²] - E[x]² cancels when the mean is large: subtract the mean first, then square.",
    *both_ways((VARIANCE, f"h.square().mean(-1, keepdim=True) - {MEAN}.square()")),
    believes="E[x²] - E[x]² is the variance", shows=wrong_on(OFFSET),
)
ex.wrong(
    "squares overflow in half precision",
    "float16 ends at 65504, and 300² is more: compute in x.float(), return the type of x.",
    ("x.float()", "x"), believes="half precision is only less precise", shows=wrong_only_in_half_precision,
)
ex.wrong(
    "statistics taken for constants",
    "Mean and deviation depend on x, and the gradient must pass through them: no detach, no no_grad.",
    [(MEAN, f"{MEAN}.detach()"), (VARIANCE, f"{VARIANCE}.detach()")], believes="statistics are constants",
    shows=bends_the_gradient, section="sec-norm-jacobian", equation="eq-norm-jacobian",
)
ex.wrong(
    "the library does the work",
    source="""
def layer_norm(x, gain, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gain, bias, eps)
""", believes="a library call is an answer",
)

ex.right(
    "var_mean and rsqrt",
    source="""
def layer_norm(x, gain, bias, eps=1e-5):
    variance, mean = torch.var_mean(x.float(), -1, correction=0, keepdim=True)
    return ((x.float() - mean) * torch.rsqrt(variance + eps) * gain.float() + bias.float()).to(x.dtype)
""",
)
ex.right(
    "a matrix that centres",
    source="""
def layer_norm(x, gain, bias, eps=1e-5):
    D, h = x.shape[-1], x.double()
    centred = h @ (torch.eye(D, dtype=h.dtype, device=x.device) - 1 / D)
    length = torch.einsum("...d,...d->...", centred, centred)[..., None]
    return torch.addcmul(bias.double(), gain.double(), centred / (length / D + eps) ** 0.5).to(x.dtype)
""",
)
ex.right("mean and variance as sums", source='''
def layer_norm(x, gain, bias, eps=1e-5):
    h, D = x.float(), x.shape[-1]
    h = h - h.sum(-1, keepdim=True) / D
    h = h / torch.sqrt((h * h).sum(-1, keepdim=True) / D + eps)
    return (h * gain + bias).to(x.dtype)
''')
ex.right("population variance by var", source='''
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.to(torch.float32)
    h = (h - torch.mean(h, dim=-1, keepdim=True)) / (h.var(-1, unbiased=False, keepdim=True) + eps) ** 0.5
    return (gain.float() * h + bias.float()).type_as(x)
''')
ex.right("axes put back with unsqueeze", source='''
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    mean, variance = h.mean(-1).unsqueeze(-1), h.var(-1, correction=0).unsqueeze(-1)
    return torch.addcmul(bias.float(), (h - mean) * (variance + eps).rsqrt(), gain.float()).to(x.dtype)
''')
ex.right("a vector times itself, in double precision", source='''
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.double()
    h = h - h.mean(-1, keepdim=True)
    variance = h[..., None, :] @ h[..., None]
    return (gain * (h * torch.rsqrt(variance[..., 0] / h.shape[-1] + eps)) + bias).to(x.dtype)
''')
ex.right("vector by vector", source='''
def layer_norm(x, gain, bias, eps=1e-5):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        h = row.float() - row.float().mean()
        rows.append((gain * h / ((h**2).mean() + eps).sqrt() + bias).to(x.dtype))
    return torch.stack(rows).view(x.shape)
''')
ex.right("a helper for the mean", source='''
def layer_norm(x, gain, bias, eps=1e-5):
    def mean(h):
        return torch.einsum("...d->...", h)[..., None] / h.shape[-1]

    h = x.float() - mean(x.float())
    return (h.mul(torch.rsqrt(mean(h.pow(2)).add(eps))) * gain.float() + bias.float()).to(dtype=x.dtype)
''')
ex.equivalent(
    "torch does the conversion by itself.",
    ("x.float() ", "x "), ("gain.float()", "gain"), ("bias.float()", "bias"),
    of="var_mean and rsqrt",
)
