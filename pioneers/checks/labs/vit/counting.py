"""Exercise 6.7: parameters and multiply-adds of a ViT for several patch sizes.

All inputs and results are whole numbers; the counts go beyond what float32 can hold exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom


@dataclass(frozen=True)
class Sizes:
    """What a count is made of; patch sizes ``P`` and numbers of patches ``N`` are (K,)."""

    P: Tensor
    N: Tensor
    C: int
    D: int
    L: int
    classes: int


def parameters(s: Sizes) -> Tensor:
    """Equation eq-vit-parameters of lecture 13."""
    embedding = s.D * (s.C * s.P**2 + 1) + s.D + (s.N + 1) * s.D
    return embedding + s.L * (12 * s.D**2 + 13 * s.D) + 2 * s.D + (s.D + 1) * s.classes


def _macs(s: Sizes, T: Tensor, token: int, pair: int) -> Tensor:
    """Multiply-adds from those of a block, for each token and for each pair of tokens."""
    return s.N * s.P**2 * s.C * s.D + s.L * (token * T + pair * T**2) + s.D * s.classes


def multiply_adds(s: Sizes) -> Tensor:
    """Every block in full."""
    return _macs(s, s.N + 1, 12 * s.D**2, 2 * s.D)


def _count(
    weights: Callable[[Sizes], Tensor] = parameters,
    work: Callable[[Sizes], Tensor] = multiply_adds,
    patches: Callable[[Tensor, int, int], Tensor] = lambda P, height, width: (height // P) * (width // P),
) -> Callable[..., Tensor]:
    """Counts with another formula; the defaults give the reference."""

    def count(patch_sizes, height, width, channels, d_model, num_layers, num_classes) -> Tensor:
        N = patches(patch_sizes, height, width)
        s = Sizes(patch_sizes, N, channels, d_model, num_layers, num_classes)
        return torch.stack((weights(s), work(s)), dim=1)

    return count


def _size_probes() -> list[Probe]:
    names = ("height", "width", "channels", "d_model", "num_layers", "num_classes")

    def probe(name: str, patch_sizes: list[int], *sizes: int) -> Probe:
        return Probe(name, {"patch_sizes": torch.tensor(patch_sizes), **dict(zip(names, sizes, strict=True))})

    return [
        probe("ViT-B with patches of 32, 16 and 8 pixels", [32, 16, 8], 224, 224, 3, 768, 12, 1000),
        probe("ViT-H with patches of 14 and 8 pixels", [14, 8], 224, 224, 3, 1280, 32, 1000),
        probe("a small model, a wide image", [2, 6, 1], 12, 30, 5, 14, 3, 7),
        probe("one patch size, a tall image, one block", [5], 35, 15, 2, 6, 1, 11),
        probe("the whole image one patch", [7], 7, 7, 1, 10, 2, 3),
    ]


def _blocks_add_up(run: Run) -> tuple[Tensor, Tensor]:
    two, three, four = (run(_size_probes()[2].having("law", num_layers=L)).tensor for L in (2, 3, 4))
    return three - two, four - three


def _only_class_token_asks(s: Sizes) -> Tensor:
    T = s.N + 1
    return multiply_adds(s) - 10 * (T - 1) * s.D**2 - 2 * (T - 1) * T * s.D


def _no_biases(s: Sizes) -> Tensor:
    return parameters(s) - s.D - s.L * 9 * s.D - s.classes


def _no_norms(s: Sizes) -> Tensor:
    return parameters(s) - s.L * 4 * s.D - 2 * s.D


def _is_fraction(symptom: Symptom) -> bool:
    return symptom.stage == "dtype" and symptom.case.outcome.tensor.is_floating_point()


def _is_rounded(symptom: Symptom) -> bool:
    """Right to the seven digits of float32, and not beyond."""
    pairs = ((case.outcome.tensor.double(), case.expected.tensor.double()) for case in symptom.cases)
    return symptom.stage == "value" and all(torch.allclose(*pair, rtol=1e-6, atol=0) for pair in pairs)


MISTAKES = (
    Mistake(
        "a count that is no whole number",
        "Use // where you divide, and keep whole numbers: the result is int64.",
        shows=_is_fraction,
    ),
    Mistake(
        "counted in single precision",
        "float32 has seven digits, and the counts have more: stay with int64 all the way.",
        shows=_is_rounded,
    ),
    Mistake(
        "the class token forgotten",
        "T = N + 1: the class token has a vector, a row of the table, and goes through every block.",
        _count(lambda s: parameters(s) - 2 * s.D, lambda s: _macs(s, s.N, 12 * s.D**2, 2 * s.D)),
    ),
    Mistake(
        "the class token costs nothing",
        "It goes through every block as the patches do: T = N + 1 tokens.",
        _count(work=lambda s: _macs(s, s.N, 12 * s.D**2, 2 * s.D)),
    ),
    Mistake(
        "two vectors of D numbers are missing",
        "The class token and its row of the position table, or gain and bias of the last LayerNorm.",
        _count(lambda s: parameters(s) - 2 * s.D),
    ),
    Mistake(
        "a vector of D numbers is missing",
        "The class token, its row of the position table (1 + N rows), or the bias of the patch matrix.",
        _count(lambda s: parameters(s) - s.D),
    ),
    Mistake(
        "biases forgotten",
        "The patch matrix, the head, and all six linear maps of a block have a bias.",
        _count(_no_biases),
    ),
    Mistake(
        "norms forgotten",
        "Each LayerNorm has a gain and a bias, 2 D numbers: two in a block, one after the last.",
        _count(_no_norms),
    ),
    Mistake(
        "scores without their use",
        "T² D multiply-adds make the scores, and as many mix the values with them.",
        _count(work=lambda s: _macs(s, s.N + 1, 12 * s.D**2, s.D)),
        section="sec-vit-patch-size",
        equation="eq-vit-cost",
    ),
    Mistake(
        "attention without pairs",
        "Every token looks at every token: this part grows with T², not with T.",
        _count(work=lambda s: _macs(s, s.N + 1, 12 * s.D**2 + 2 * s.D, 0)),
        section="sec-vit-pixels",
        equation="eq-vit-patches",
    ),
    Mistake(
        "the last block cut short",
        "The lecture's models save most of their last block; here every block is counted in full.",
        _count(work=_only_class_token_asks),
        section="sec-vit-patch-size",
        equation="eq-vit-cost",
    ),
    Mistake(
        "square images only",
        "Height and width are given: the grid has height/P rows and width/P columns.",
        _count(patches=lambda P, height, width: (height // P) ** 2),
        section="sec-vit-pixels",
        equation="eq-vit-patches",
    ),
    Mistake(
        "colours forgotten",
        "A patch has C P² numbers: the patch matrix reads every channel.",
        _count(
            lambda s: parameters(s) - s.D * (s.C - 1) * s.P**2,
            lambda s: multiply_adds(s) - s.N * s.P**2 * (s.C - 1) * s.D,
        ),
    ),
    Mistake(
        "one block only",
        "There are L blocks with weights of their own.",
        _count(
            lambda s: parameters(s) - (s.L - 1) * (12 * s.D**2 + 13 * s.D),
            lambda s: multiply_adds(s) - (s.L - 1) * (12 * (s.N + 1) * s.D**2 + 2 * (s.N + 1) ** 2 * s.D),
        ),
    ),
)

EXERCISES = (
    Exercise(
        key="6.7",
        name="vit_costs",
        parameters=(
            "patch_sizes", "height", "width", "channels", "d_model", "num_layers", "num_classes",
        ),
        points=9,
        section="sec-vit-parameters",
        equation="eq-vit-parameters",
        reference=_count(),
        probes=_size_probes,
        mistakes=MISTAKES,
        properties=(
            Property("each further block costs the same", "Blocks are alike.", _blocks_add_up),
        ),
    ),
)  # fmt: skip
