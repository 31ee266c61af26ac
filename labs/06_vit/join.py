"""Exercise 6.2: patches become an image again.

Both sides of a patch divide both sides of every image, so that swapped sides still give an answer.
"""

import torch
from torch.nn.functional import unfold

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals

ANSWER = '''
def join(
    patches: Tensor, patch_height: int, patch_width: int, height: int
) -> Tensor:
    """The inverse of cut: patches (B, N, C·P·Q) → images
    (B, C, height, width)."""
    B, N, _ = patches.shape
    rows = height // patch_height
    grid = patches.reshape(B, rows, N // rows, -1, patch_height, patch_width)
    return grid.permute(0, 3, 1, 4, 2, 5).reshape(B, -1, height, N // rows * patch_width)
'''
ex = exercise("6.2", ANSWER, points=8, minutes=10, difficulty=2, reread="sec-vit-patchify")


@ex.maker
def flat(normal, images, patch, dtype=torch.float32):
    """Patches of ``images`` (B, C, height, width)."""
    (B, C, height, width), (P, Q) = images, patch
    patches = normal(B, (height // P) * (width // Q), C * P * Q, dtype=dtype)
    return {"patches": patches, "patch_height": P, "patch_width": Q, "height": height}


ex.probe("flat patches, a wide image", images=(2, 3, 6, 12), patch=(2, 3))
ex.probe("tall patches, a tall image", images=(3, 2, 20, 10), patch=(5, 2))
ex.probe("square patches, one channel", images=(2, 1, 6, 15), patch=(3, 3))
ex.probe("one image", images=(1, 5, 6, 18), patch=(3, 2))
ex.probe("one patch", images=(2, 3, 3, 3), patch=(3, 3))
ex.probe("every pixel a patch", images=(2, 3, 5, 7), patch=(1, 1))
ex.probe("double precision", images=(2, 3, 12, 6), patch=(2, 3), dtype=torch.float64)
ex.probe("numbers with gaps in memory", images=(2, 3, 6, 12), patch=(3, 2), strided=True)
ex.hidden("four channels", images=(3, 4, 14, 9), patch=(7, 3))
ex.hidden("strips", images=(2, 2, 5, 11), patch=(1, 11))


@ex.law("cut and joined, an image is itself again", "The two are inverse.")
def there_and_back(run, probe):
    images = normals(621)(2, 3, 14, 10)
    patches = unfold(images, (7, 2), stride=(7, 2)).transpose(1, 2)
    return run(probe.having("law", patches=patches, patch_height=7, patch_width=2, height=14)), images


ORDER, START = "permute(0, 3, 1, 4, 2, 5)", "    B, N, _ ="
EMPTY = "torch.zeros(B, grid.shape[3], height, N // rows * patch_width, device=patches.device)"
BY_COLUMNS = ("B, rows, N // rows", "B, N // rows, rows")
ex.wrong(
    "a reshape without a transposition",
    "Neighbouring pixels of one row lie in different patches: split all axes, permute, then join.",
    (f".{ORDER}", ""), believes="a reshape is enough",
)
ex.wrong(
    "patches numbered column by column",
    "Reading order: patch 1 stands to the right of patch 0.",
    [BY_COLUMNS, (ORDER, "permute(0, 3, 2, 4, 1, 5)")], believes="columns come before rows",
)
ex.wrong(
    "the pixels of a patch column by column",
    "Inside a patch too the rows come first: component (c P + i) Q + j is row i, column j.",
    [("-1, patch_height, patch_width", "-1, patch_width, patch_height"),
     (ORDER, "permute(0, 3, 1, 5, 2, 4)")], believes="inside a patch the columns come first",
)
ex.wrong(
    "columns before rows, everywhere",
    "This is the transposed image: rows come first, among the patches and inside each of them.",
    [BY_COLUMNS, ("-1, patch_height, patch_width", "-1, patch_width, patch_height"),
     (ORDER, "permute(0, 3, 2, 5, 1, 4)")], believes="an image is (width, height)",
)
ex.wrong(
    "channels last inside a patch",
    "The order is channel, row, column: first all pixels of channel 0, then those of channel 1.",
    [("-1, patch_height, patch_width", "patch_height, patch_width, -1"),
     (ORDER, "permute(0, 5, 1, 3, 2, 4)")], believes="the channels come last, as in image files",
)
ex.wrong(
    "patches of pixels that lie far apart",
    "The height is joined from (row of the grid, row of the patch), in this order: patches stay whole.",
    (ORDER, "permute(0, 3, 4, 1, 5, 2)"), believes="the last axes may be joined in any order",
)
ex.wrong(
    "height and width of a patch mixed up",
    "patch_height divides the height, patch_width the width.",
    (START, f"    patch_height, patch_width = patch_width, patch_height\n{START}"),
    believes="the first size of a patch is its width",
)
ex.wrong(
    "height taken for width",
    "height is given; the width follows from N.",
    [("rows = height // patch_height", "rows = N // (height // patch_width)"),
     ("height, N // rows * patch_width", "rows * patch_height, height")],
    believes="height counts the columns",
)
ex.wrong(
    "another precision comes out",
    "",
    [("return grid", f"images = {EMPTY}\n    images[:] = grid"),
     ("* patch_width)", "* patch_width)\n    return images")],
    believes="an empty image, to be filled, is float32",
)
ex.wrong(
    "nothing returned",
    "",
    ("return grid", "images = grid"), believes="a patch list is an image list",
)
ex.wrong(
    "the permutation of 6.1 once more",
    "The way back needs the inverse permutation: rows, columns, channel, row, column → channel first.",
    source="""
def join(patches, patch_height, patch_width, height):
    B, N, _ = patches.shape
    rows = height // patch_height
    grid = patches.reshape(B, rows, N // rows, -1, patch_height, patch_width)
    grid = grid.permute(0, 2, 4, 1, 3, 5)
    return grid.reshape(B, -1, height, N // rows * patch_width)
""", believes="what cuts also joins",
)
ex.wrong(
    "a square grid taken for granted",
    "The grid need not be square: height says how many rows there are, the rest are columns.",
    ("rows = height // patch_height", "rows = math.isqrt(N)"),
    ("rows = height // patch_height", "rows = int(N**0.5)"),
    believes="images are square",
)

ex.right(
    "a row of patches at a time",
    source="""
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    C, rows = size // (patch_height * patch_width), height // patch_height
    pictures = patches.reshape(B, N, C, patch_height, patch_width)
    strips = [torch.cat(list(strip.unbind(1)), dim=-1) for strip in pictures.chunk(rows, dim=1)]
    return torch.cat(strips, dim=2)
""",
)
ex.right(
    "fold",
    source="""
def join(patches, patch_height, patch_width, height):
    size = (patch_height, patch_width)
    width = patches.shape[1] * patch_height * patch_width // height
    return F.fold(patches.transpose(1, 2), (height, width), size, stride=size)
""",
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("patches.reshape", "patches.view"),
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("patches.reshape", "patches.view"),
    of="a row of patches at a time",
)
ex.right("axes split by unflatten, moved by einsum", source='''
def join(patches, patch_height, patch_width, height):
    x = patches.unflatten(2, (-1, patch_height, patch_width)).unflatten(1, (height // patch_height, -1))
    return torch.einsum("brscpq->bcrpsq", x).flatten(4).flatten(2, 3)
''')
ex.right("patch by patch into an empty image", source='''
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    columns = N * patch_height // height
    images = patches.new_zeros(B, size // (patch_height * patch_width), height, columns * patch_width)
    for n in range(N):
        top, left = n // columns * patch_height, n % columns * patch_width
        patch = patches[:, n].reshape(B, -1, patch_height, patch_width)
        images[:, :, top : top + patch_height, left : left + patch_width] = patch
    return images
''')
ex.right("one pixel of every patch at a time", source='''
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    P, Q, rows = patch_height, patch_width, height // patch_height
    images = patches.new_empty(B, size // (P * Q), height, N // rows * Q)
    for k in range(P * Q):
        pixels = patches[:, :, k :: P * Q].transpose(1, 2)
        images[:, :, k // Q :: P, k % Q :: Q] = pixels.unflatten(2, (rows, -1))
    return images
''')
ex.right("a transposed convolution with the identity", source='''
def join(patches, patch_height, patch_width, height):
    size, numbers = (patch_height, patch_width), patches.shape[2]
    eye = torch.eye(numbers, dtype=patches.dtype, device=patches.device)
    grid = patches.mT.unflatten(2, (height // patch_height, -1))
    return F.conv_transpose2d(grid, eye.reshape(numbers, -1, *size), stride=size)
''')
ex.right("each number put at its place", source='''
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    rows, area = height // patch_height, patch_height * patch_width
    C, width = size // area, N * area // height
    numbers = torch.arange(C * height * width, device=patches.device)
    numbers = numbers.view(C, rows, patch_height, width // patch_width, patch_width)
    images = torch.empty_like(patches).reshape(B, -1)
    images[:, numbers.permute(1, 3, 0, 2, 4).flatten()] = patches.flatten(1)
    return images.view(B, C, height, width)
''')
ex.right("two transpositions, one after the other", source='''
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    rows = height // patch_height
    lines = patches.reshape(B, rows, N // rows, size // patch_width, patch_width).transpose(2, 3)
    lines = lines.reshape(B, rows, size // (patch_height * patch_width), patch_height, -1)
    return lines.transpose(1, 2).flatten(2, 3)
''')
