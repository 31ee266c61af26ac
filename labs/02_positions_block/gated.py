"""Exercise 2.8: a feed-forward network with a gate, GeGLU. Matrices act from the right, as ``x @ w``."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def geglu(
    x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor
) -> Tensor:
    """Gated feed-forward network with exact GELU: x (..., D) → (..., D)."""
    gate = x @ w_gate
    gelu = gate * (1 + torch.erf(gate / math.sqrt(2))) / 2
    return (gelu * (x @ w_up)) @ w_down
'''
ex = exercise(
    "2.8", ANSWER, points=9, minutes=12, difficulty=2, reread="sec-activations", equation="eq-gelu",
    refuse=("gelu", "glu"),
)


@ex.maker
def matrices(normal, shape, F, factor=1.0, dtype=torch.float32):
    """``shape`` is that of x, whose last axis is D; F is the hidden width."""
    D = shape[-1]
    args = {"x": factor * normal(*shape), "w_gate": normal(D, F) / D**0.5, "w_up": normal(D, F) / D**0.5}
    args["w_down"] = normal(F, D) / F**0.5
    return {name: x.to(dtype) for name, x in args.items()}


ex.probe("hidden units wider than the stream", shape=(2, 3, 5), F=11)
ex.probe("hidden units narrower than the stream", shape=(3, 7), F=2)
ex.probe("large inputs", shape=(5, 3), F=7, factor=3)
ex.probe("one number in, one unit", shape=(5, 1, 1), F=1)
ex.probe("a batch of one", shape=(1, 3, 5), F=7)
ex.probe("double precision", shape=(2, 3, 7), F=5, dtype=torch.float64)
ex.probe("bfloat16", shape=(2, 3, 5), F=7, factor=0.5, dtype=torch.bfloat16)
ex.probe("numbers with gaps in memory", shape=(2, 3, 5), F=3, strided=True)
ex.hidden("no axes in front", shape=(7,), F=13, factor=2)
ex.hidden("four axes", shape=(2, 1, 3, 5), F=3)
ex.hidden("double precision", shape=(3, 11), F=5, dtype=torch.float64)


@ex.law(
    "each position is treated by itself",
    "The feed-forward network computes and moves nothing.",
    section="sec-ffn",
    equation="eq-ffn",
)
def each_position_alone(run, probe):
    return run(probe.having("law", x=probe.args["x"][0, :1])), run(probe)[0, :1]


PHI, GELU = "(1 + torch.erf(gate / math.sqrt(2))) / 2", "gate * (1 + torch.erf(gate / math.sqrt(2))) / 2"
RESULT = "(gelu * (x @ w_up)) @ w_down"
ex.wrong(
    "the tanh form",
    "That is an approximation, off by up to 0.0005; the exercise asks for the definition, x Φ(x).",
    ("torch.erf(gate / math.sqrt(2))", "torch.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3))"),
    believes="the tanh form is GELU", section="sec-gelu-forms", equation="eq-gelu-tanh",
)
ex.wrong(
    "the sigmoid form",
    "That is an approximation, off by up to 0.02; the exercise asks for the definition, x Φ(x).",
    (PHI, "torch.sigmoid(1.702 * gate)"), believes="1.702 makes a sigmoid the distribution",
    section="sec-gelu-forms", equation="eq-gelu-sigmoid",
)
ex.wrong(
    "no root of two inside erf",
    "erf belongs to a bell curve of variance 1/2: Φ(x) is (1 + erf(x/√2)) / 2.",
    (" / math.sqrt(2)", ""), believes="erf is the distribution of a standard normal",
)
ex.wrong(
    "not halved",
    "erf runs from -1 to 1 and Φ from 0 to 1: Φ(x) is (1 + erf(x/√2)) / 2.",
    ("))) / 2", ")))"), believes="1 + erf is a probability",
)
ex.wrong(
    "the density in place of the distribution",
    "Φ is the share of numbers below x, which grows from 0 to 1; the bell itself falls again.",
    (PHI, "torch.exp(-(gate**2) / 2) / math.sqrt(2 * math.pi)"), believes="Φ is the bell",
)
ex.wrong(
    "Φ without x",
    "Φ(x) is how far the gate is open; GELU is what comes through, x Φ(x).",
    ("gate * ", ""), believes="the activation is Φ",
)
ex.wrong(
    "Swish in place of GELU",
    "That is SwiGLU; here the activation is GELU.",
    (GELU, "F.silu(gate)"), believes="a gated network is SwiGLU", section="sec-gated", equation="eq-swiglu",
)
ex.wrong(
    "ReLU in place of GELU",
    "ReLU is open or shut; GELU opens little by little.",
    (GELU, "F.relu(gate)"), believes="activations are ReLU",
)
ex.wrong(
    "up and gate swapped",
    "The activation acts on x W_gate; x W_up stays linear.",
    [("x @ w_gate", "x @ w_up"), ("* (x @ w_up)", "* (x @ w_gate)")],
    believes="the activation belongs to the way up, as in the plain network", section="sec-gated",
    equation="eq-swiglu",
)
ex.wrong(
    "both branches go through the activation",
    "Only x W_gate goes through GELU; x W_up stays linear.",
    (RESULT, "(gelu * (up := x @ w_up) * (1 + torch.erf(up / math.sqrt(2))) / 2) @ w_down"),
    believes="every layer ends with its activation", section="sec-gated", equation="eq-swiglu",
)
ex.wrong(
    "added instead of multiplied",
    "A gate multiplies, component by component.",
    ("gelu * (x", "gelu + (x"), believes="two branches are added", section="sec-gated", equation="eq-swiglu",
)
ex.wrong(
    "the gate is ignored",
    "Without w_gate this is the plain feed-forward network.",
    [("x @ w_gate", "x @ w_up"), (RESULT, "gelu @ w_down")],
    believes="the plain network, and nothing of the gate", section="sec-gated", equation="eq-swiglu",
)
ex.wrong(
    "nothing for the gate to multiply",
    "Without w_up this is the plain feed-forward network.",
    (RESULT, "gelu @ w_down"), believes="the gate alone is the hidden layer", section="sec-gated",
    equation="eq-swiglu",
)
ex.wrong(
    "activation after the product",
    "Only x W_gate goes through the activation; what comes out multiplies x W_up.",
    [("x @ w_gate", "(x @ w_gate) * (x @ w_up)"), (RESULT, "gelu @ w_down")],
    believes="the product goes through the activation", section="sec-gated", equation="eq-swiglu",
)
ex.wrong(
    "never brought back down",
    "The hidden units are F wide; w_down brings them back to D.",
    (" @ w_down", ""), believes="the gate is the last step", section="sec-ffn", equation="eq-ffn",
)
ex.wrong(
    "the library does the work",
    "",
    (GELU, "torch.nn.GELU()(gate)"), believes="a library call is an answer",
)
ex.wrong(
    "the one forgotten",
    "erf runs from -1 to 1: Φ(x) is (1 + erf(x/√2)) / 2.",
    ("(1 + torch", "(torch"), believes="erf is the distribution",
)
ex.wrong(
    "the gate multiplied twice",
    "GELU(x) is x Φ(x): the x is in it already.",
    ("(gelu * (x", "(gate * gelu * (x"), believes="the gate opens once more",
)

ex.right("ndtr", (PHI, "torch.special.ndtr(gate)"))
ex.right(
    "one product for both projections, erfc",
    source="""
def geglu(x, w_gate, w_up, w_down):
    gate, up = (x @ torch.cat((w_gate, w_up), dim=1)).chunk(2, dim=-1)
    return torch.einsum("...f,fd->...d", 0.5 * gate * torch.erfc(-gate / 2**0.5) * up, w_down)
""",
)
ex.right("half of the product, matmul", source='''
def geglu(x, w_gate, w_up, w_down):
    gate = torch.matmul(x, w_gate)
    gelu = 0.5 * gate * (1.0 + torch.special.erf(gate * 2**-0.5))
    return torch.matmul(gelu * torch.matmul(x, w_up), w_down)
''')
ex.right("a helper for GELU", source='''
def geglu(x, w_gate, w_up, w_down):
    def gelu(h):
        return h * (0.5 + 0.5 * torch.erf(h / 2**0.5))

    return gelu(x @ w_gate) * (x @ w_up) @ w_down
''')
ex.right("einsum", source='''
def geglu(x, w_gate, w_up, w_down):
    gate = torch.einsum("...d,df->...f", x, w_gate)
    up = torch.einsum("...d,df->...f", x, w_up)
    return torch.einsum("...f,...f,fd->...d", gate * (1 + torch.erf(gate / math.sqrt(2))) / 2, up, w_down)
''')
ex.right("linear layers", source='''
def geglu(x, w_gate, w_up, w_down):
    gate, up = F.linear(x, w_gate.T), F.linear(x, w_up.T)
    return F.linear(up * gate * torch.special.ndtr(gate), w_down.T)
''')
ex.right("unit by unit", source='''
def geglu(x, w_gate, w_up, w_down):
    out = 0
    for f in range(w_down.shape[0]):
        gate = x @ w_gate[:, f]
        unit = gate * (1 + torch.erf(gate / math.sqrt(2))) / 2 * (x @ w_up[:, f])
        out = out + unit[..., None] * w_down[f]
    return out
''')
ex.right("as in the library's own formula, by erfc", source='''
def geglu(x, w_gate, w_up, w_down):
    gate = x.matmul(w_gate)
    share = torch.special.erfc(-gate * math.sqrt(0.5)).div(2)
    return (x.matmul(w_up) * share.mul(gate)).matmul(w_down)
''')
