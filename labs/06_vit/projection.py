"""Exercise 6.3: the kernel of a convolution from the weight of a linear map.

``weight`` is (D, P · Q · C), as ``nn.Linear`` keeps it, for patches flattened in the order row, column,
channel. The kernel is (D, C, P, Q), as ``nn.Conv2d`` keeps it.
"""

import torch
from torch.nn.functional import conv2d, unfold

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals

ANSWER = '''
def conv_kernel(
    weight: Tensor, patch_height: int, patch_width: int
) -> Tensor:
    """The kernel (D, C, P, Q) of a convolution that does what weight
    (D, P·Q·C) does to flat patches."""
    return weight.reshape(len(weight), patch_height, patch_width, -1).permute(0, 3, 1, 2)
'''
ex = exercise(
    "6.3", ANSWER, points=9, minutes=10, difficulty=2, reread="sec-vit-projection", equation="eq-vit-conv"
)


@ex.maker
def linear(normal, D, C, patch, dtype=torch.float32):
    P, Q = patch
    return {"weight": normal(D, P * Q * C, dtype=dtype), "patch_height": P, "patch_width": Q}


ex.probe("flat patches", D=7, C=3, patch=(2, 5))
ex.probe("tall patches", D=11, C=2, patch=(5, 3))
ex.probe("square patches of a grey image", D=5, C=1, patch=(3, 3))
ex.probe("as many channels as rows and columns", D=3, C=3, patch=(3, 3))
ex.probe("one pixel, five channels", D=2, C=5, patch=(1, 1))
ex.probe("double precision", D=3, C=2, patch=(3, 2), dtype=torch.float64)
ex.probe("numbers with gaps in memory", D=5, C=3, patch=(2, 7), strided=True)
ex.hidden("five channels", D=3, C=5, patch=(7, 2))
ex.hidden("one vector", D=1, C=2, patch=(3, 5))


@ex.law(
    "the convolution is the linear map",
    "With a stride of one patch both add the same products.",
    equation="eq-vit-linear",
)
def same_numbers(run, probe):
    normal = normals(631)
    images, weight = normal(2, 3, 10, 6, dtype=torch.float64), normal(7, 5 * 2 * 3, dtype=torch.float64)
    kernel = run(probe.having("law", weight=weight, patch_height=5, patch_width=2))
    patches = unfold(images, (5, 2), stride=(5, 2)).unflatten(1, (3, 10)).transpose(1, 2).flatten(1, 2)
    return conv2d(images, kernel, stride=(5, 2)).flatten(2), weight @ patches


SPLIT, MOVE = "len(weight), patch_height, patch_width, -1", "permute(0, 3, 1, 2)"
ex.wrong(
    "the order of another patch",
    "Here a patch lists row, column, channel: split its axis in this order, and move the channels after.",
    [(SPLIT, "len(weight), -1, patch_height, patch_width"), (f".{MOVE}", "")],
    believes="all patches are flattened as in the lecture",
)
ex.wrong(
    "the weight taken for the matrix E",
    "nn.Linear keeps the transposed matrix: D comes first, and only the second axis is split.",
    [(SPLIT, "patch_height, patch_width, -1, len(weight)"), (MOVE, "permute(3, 2, 0, 1)")],
    believes="a linear layer keeps its matrix as it is written",
)
ex.wrong(
    "columns before rows",
    "Row, column, channel: the axis is split into (P, Q, C), with the height of a patch first.",
    [(SPLIT, "len(weight), patch_width, patch_height, -1"), (MOVE, "permute(0, 3, 2, 1)")],
    believes="the width comes first",
)
ex.wrong(
    "the kernel turned by 90 degrees",
    "The kernel is (D, C, P, Q): its rows come before its columns.",
    (MOVE, "transpose(1, 3)"), believes="reverse the axes and they fit",
)
ex.wrong(
    "the channels left behind",
    "nn.Conv2d wants the channels in the second place: (D, C, P, Q).",
    (f".{MOVE}", ""), believes="split, and done",
)
ex.wrong(
    "the kernel flipped",
    "The convolution of signal processing turns its kernel round; that of PyTorch does not.",
    (MOVE, f"{MOVE}.flip(2, 3)"), believes="a convolution turns its kernel round",
)
ex.wrong(
    "the kernel flipped",
    "PyTorch's convolution does not turn its kernel round, and the channels have no direction at all.",
    ("weight.reshape", "weight.flip(1).reshape"), believes="turn the whole patch round",
)
ex.wrong(
    "the gradient is cut",
    "",
    [("weight.reshape", "nn.Parameter(weight.reshape"), (MOVE, f"{MOVE})")],
    believes="a kernel is a parameter, so make one",
)

ex.right(
    "an unflatten and a movedim",
    source="""
def conv_kernel(weight, patch_height, patch_width):
    return weight.unflatten(1, (patch_height, patch_width, -1)).movedim(-1, 1)
""",
)
ex.right(
    "one pixel of the kernel at a time",
    source="""
def conv_kernel(weight, patch_height, patch_width):
    D, size = weight.shape
    C = size // (patch_height * patch_width)
    pixels = [weight[:, i : i + C] for i in range(0, size, C)]
    return torch.stack(pixels, dim=-1).reshape(D, C, patch_height, patch_width)
""",
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("weight.reshape", "weight.view"),
)
ex.right("einsum", source='''
def conv_kernel(weight, patch_height, patch_width):
    pixels = weight.view(weight.size(0), patch_height, patch_width, -1)
    return torch.einsum("dpqc->dcpq", pixels)
''')
ex.right("number by number", source='''
def conv_kernel(weight, patch_height, patch_width):
    D, size = weight.shape
    C = size // (patch_height * patch_width)
    kernel = weight.new_empty(D, C, patch_height, patch_width)
    for i in range(patch_height):
        for j in range(patch_width):
            for c in range(C):
                kernel[:, c, i, j] = weight[:, (i * patch_width + j) * C + c]
    return kernel
''')
ex.right("every C-th number", source='''
def conv_kernel(weight, patch_height, patch_width):
    C = weight.shape[1] // (patch_height * patch_width)
    channels = [weight[:, c::C].unflatten(1, (patch_height, patch_width)) for c in range(C)]
    return torch.stack(channels, dim=1)
''')
ex.right("a new order of the columns", source='''
def conv_kernel(weight, patch_height, patch_width):
    size = (patch_height, patch_width)
    order = torch.arange(weight.shape[1], device=weight.device).reshape(patch_height * patch_width, -1)
    return weight.index_select(1, order.T.flatten()).reshape(len(weight), -1, *size)
''')
ex.right("a transposed matrix for each vector", source='''
def conv_kernel(weight, patch_height, patch_width):
    D, area = len(weight), patch_height * patch_width
    return weight.reshape(D, area, -1).transpose(1, 2).reshape(D, -1, patch_height, patch_width)
''')
ex.right("row by row of the patch", source='''
def conv_kernel(weight, patch_height, patch_width):
    lines = weight.chunk(patch_height, dim=1)
    lines = [line.reshape(len(weight), patch_width, -1).mT for line in lines]
    return torch.cat([line.unsqueeze(2) for line in lines], dim=2)
''')
