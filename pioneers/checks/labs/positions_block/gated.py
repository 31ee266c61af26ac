"""Exercise 2.8: a feed-forward network with a gate, GeGLU.

``x`` is (..., D), ``w_gate`` and ``w_up`` are (D, F), ``w_down`` is (F, D), each used as ``x @ w``.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import FUSED, Exercise, Mistake, Probe, Property, Run
from pioneers.layers.feedforward import ACTIVATIONS

Activation = Callable[[Tensor], Tensor]


def geglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    """The reference."""
    return _with(F.gelu)(x, w_gate, w_up, w_down)


def _with(activation: Activation) -> Callable[..., Tensor]:
    return lambda x, w_gate, w_up, w_down: (activation(x @ w_gate) * (x @ w_up)) @ w_down


def _geglu_probes() -> list[Probe]:
    normal = normals(281)

    def probe(
        name: str, lead: tuple[int, ...], D: int, F: int, factor=1.0, dtype=torch.float32, strided=False
    ) -> Probe:
        args = {
            "x": factor * normal(*lead, D),
            "w_gate": normal(D, F) / D**0.5,
            "w_up": normal(D, F) / D**0.5,
            "w_down": normal(F, D) / F**0.5,
        }
        return Probe(name, {name: x.to(dtype) for name, x in args.items()}, strided)

    return [
        probe("hidden units wider than the stream", (2, 3), 5, 11),
        probe("hidden units narrower than the stream", (3,), 7, 2),
        probe("large inputs", (5,), 3, 7, factor=3),
        probe("one number in, one unit", (5, 1), 1, 1),
        probe("a batch of one", (1, 3), 5, 7),
        probe("double precision", (2, 3), 7, 5, dtype=torch.float64),
        probe("bfloat16", (2, 3), 5, 7, factor=0.5, dtype=torch.bfloat16),
        probe("numbers with gaps in memory", (2, 3), 5, 3, strided=True),
    ]


def _each_position_alone(run: Run) -> tuple[Tensor, Tensor]:
    probe = _geglu_probes()[0]
    x = probe.args["x"]
    return run(probe.having("law", x=x[0, :1])).tensor, run(probe).tensor[0, :1]


def _density(x: Tensor) -> Tensor:
    return x * torch.exp(-x * x / 2) / (2 * torch.pi) ** 0.5


DOWN = ("never brought back down", "The hidden units are F wide; w_down brings them back to D.")
MISTAKES = (
    Mistake(
        "the tanh form",
        "That is an approximation, off by up to 0.0005; the exercise asks for the definition, x Φ(x).",
        _with(ACTIVATIONS["gelu_tanh"]),
        equation="eq-gelu-tanh",
    ),
    Mistake(
        "the sigmoid form",
        "That is an approximation, off by up to 0.02; the exercise asks for the definition, x Φ(x).",
        _with(ACTIVATIONS["gelu_sigmoid"]),
        equation="eq-gelu-sigmoid",
    ),
    Mistake(
        "no root of two inside erf",
        "erf belongs to a bell curve of variance 1/2: Φ(x) is (1 + erf(x/√2)) / 2.",
        _with(lambda h: h * (1 + torch.erf(h)) / 2),
    ),
    Mistake(
        "not halved",
        "erf runs from -1 to 1 and Φ from 0 to 1: Φ(x) is (1 + erf(x/√2)) / 2.",
        _with(lambda h: h * (1 + torch.erf(h / 2**0.5))),
    ),
    Mistake(
        "the density in place of the distribution",
        "Φ is the share of numbers below x, which grows from 0 to 1; the bell itself falls again.",
        _with(_density),
    ),
    Mistake(
        "Φ without x",
        "Φ(x) is how far the gate is open; GELU is what comes through, x Φ(x).",
        _with(torch.special.ndtr),
    ),
    Mistake(
        "Swish in place of GELU",
        "That is SwiGLU; here the activation is GELU.",
        _with(F.silu),
        section="sec-gated",
        equation="eq-swiglu",
    ),
    Mistake(
        "ReLU in place of GELU",
        "ReLU is open or shut; GELU opens little by little.",
        _with(F.relu),
    ),
    Mistake(
        "up and gate swapped",
        "The activation acts on x W_gate; x W_up stays linear.",
        lambda x, w_gate, w_up, w_down: geglu(x, w_up, w_gate, w_down),
        section="sec-gated",
        equation="eq-swiglu",
    ),
    Mistake(
        "added instead of multiplied",
        "A gate multiplies, component by component.",
        lambda x, w_gate, w_up, w_down: (F.gelu(x @ w_gate) + x @ w_up) @ w_down,
        section="sec-gated",
        equation="eq-swiglu",
    ),
    Mistake(
        "the gate is ignored",
        "Without w_gate this is the plain feed-forward network.",
        lambda x, w_gate, w_up, w_down: F.gelu(x @ w_up) @ w_down,
        section="sec-gated",
        equation="eq-swiglu",
    ),
    Mistake(
        "nothing for the gate to multiply",
        "Without w_up this is the plain feed-forward network.",
        lambda x, w_gate, w_up, w_down: F.gelu(x @ w_gate) @ w_down,
        section="sec-gated",
        equation="eq-swiglu",
    ),
    Mistake(
        "activation after the product",
        "Only x W_gate goes through the activation; what comes out multiplies x W_up.",
        lambda x, w_gate, w_up, w_down: F.gelu((x @ w_gate) * (x @ w_up)) @ w_down,
        section="sec-gated",
        equation="eq-swiglu",
    ),
    Mistake(
        *DOWN,
        lambda x, w_gate, w_up, w_down: F.gelu(x @ w_gate) * (x @ w_up),
        section="sec-ffn",
        equation="eq-ffn",
    ),
)

EXERCISES = (
    Exercise(
        key="2.8",
        name="geglu",
        parameters=("x", "w_gate", "w_up", "w_down"),
        points=9,
        section="sec-activations",
        equation="eq-gelu",
        reference=geglu,
        probes=_geglu_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "each position is treated by itself",
                "The feed-forward network computes and moves nothing.",
                _each_position_alone,
                section="sec-ffn",
                equation="eq-ffn",
            ),
        ),
        refuse=FUSED | {"gelu", "glu"},
    ),
)
