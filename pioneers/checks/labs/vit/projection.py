"""Exercise 6.3: the kernel of a convolution from the weight of a linear map.

``weight`` is (D, P · Q · C), as ``nn.Linear`` keeps it, for patches flattened in the order row, column,
channel. The kernel is (D, C, P, Q), as ``nn.Conv2d`` keeps it.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

KERNEL = "d c p q"


def _kernel(weight: str = "d (p q c)", kernel: str = KERNEL) -> Callable[[Tensor, int, int], Tensor]:
    """The kernel by other patterns; the right ones give the reference."""

    def build(x: Tensor, P: int, Q: int) -> Tensor:
        return rearrange(x, f"{weight} -> {kernel}", p=P, q=Q)

    return build


def _weights() -> list[Probe]:
    normal = normals(63)

    def probe(name: str, D: int, C: int, P: int, Q: int, strided=False, dtype=torch.float32) -> Probe:
        args = {"weight": normal(D, P * Q * C, dtype=dtype), "patch_height": P, "patch_width": Q}
        return Probe(name, args, strided)

    return [
        probe("flat patches", 7, 3, 2, 5),
        probe("tall patches", 11, 2, 5, 3),
        probe("square patches of a grey image", 5, 1, 3, 3),
        probe("as many channels as rows and columns", 3, 3, 3, 3),
        probe("one pixel, five channels", 2, 5, 1, 1),
        probe("double precision", 3, 2, 3, 2, dtype=torch.float64),
        probe("numbers with gaps in memory", 5, 3, 2, 7, strided=True),
    ]


def _same_numbers(run: Run) -> tuple[Tensor, Tensor]:
    normal = normals(631)
    images, weight = normal(2, 3, 10, 6, dtype=torch.float64), normal(7, 5 * 2 * 3, dtype=torch.float64)
    kernel = run(Probe("law", {"weight": weight, "patch_height": 5, "patch_width": 2})).tensor
    patches = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=5, q=2)
    return F.conv2d(images, kernel, stride=(5, 2)).flatten(2).transpose(1, 2), patches @ weight.T


def _taken_for_matrix(weight: Tensor, P: int, Q: int) -> Tensor:
    D, C = len(weight), weight.shape[1] // (P * Q)
    return weight.reshape(P, Q, C, D).permute(3, 2, 0, 1)


MISTAKES = (
    Mistake(
        "the order of another patch",
        "Here a patch lists row, column, channel: split its axis in this order, and move the channels after.",
        _kernel("d (c p q)"),
    ),
    Mistake(
        "the weight taken for the matrix E",
        "nn.Linear keeps the transposed matrix: D comes first, and only the second axis is split.",
        _taken_for_matrix,
    ),
    Mistake(
        "columns before rows",
        "Row, column, channel: the axis is split into (P, Q, C), with the height of a patch first.",
        _kernel("d (q p c)"),
    ),
    Mistake(
        "the kernel turned by 90 degrees",
        "The kernel is (D, C, P, Q): its rows come before its columns.",
        _kernel(kernel="d c q p"),
    ),
    Mistake(
        "the channels left behind",
        "nn.Conv2d wants the channels in the second place: (D, C, P, Q).",
        _kernel(kernel="d p q c"),
    ),
    Mistake(
        "the kernel flipped",
        "The convolution of signal processing turns its kernel round; that of PyTorch does not.",
        lambda weight, P, Q: _kernel()(weight, P, Q).flip(2, 3),
    ),
    Mistake(
        "the kernel flipped",
        "PyTorch's convolution does not turn its kernel round, and the channels have no direction at all.",
        lambda weight, P, Q: _kernel()(weight.flip(1), P, Q),
    ),
)

EXERCISES = (
    Exercise(
        key="6.3",
        name="conv_kernel",
        parameters=("weight", "patch_height", "patch_width"),
        points=9,
        section="sec-vit-projection",
        equation="eq-vit-conv",
        reference=_kernel(),
        probes=_weights,
        mistakes=MISTAKES,
        properties=(
            Property(
                "the convolution is the linear map",
                "With a stride of one patch both add the same products.",
                _same_numbers,
                equation="eq-vit-linear",
            ),
        ),
    ),
)
