"""Exercise 6.1: an image becomes a row of flat patches.

Both sides of a patch divide both sides of every image, so that swapped sides still give an answer.
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.rng import normals

ANSWER = '''
def cut(images: Tensor, patch_height: int, patch_width: int) -> Tensor:
    """Flat patches in reading order:
    images (B, C, height, width) → (B, N, C·P·Q)."""
    B, C, height, width = images.shape
    rows, columns = height // patch_height, width // patch_width
    grid = images.reshape(B, C, rows, patch_height, columns, patch_width)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(B, rows * columns, C * patch_height * patch_width)
'''
ex = exercise("6.1", ANSWER, points=9, minutes=12, difficulty=2, reread="sec-vit-patchify")


@ex.maker
def pixels(normal, images, patch, dtype=torch.float32):
    return {"images": normal(*images, dtype=dtype), "patch_height": patch[0], "patch_width": patch[1]}


ex.probe("flat patches, a wide image", images=(2, 3, 6, 12), patch=(2, 3))
ex.probe("tall patches, a tall image", images=(3, 2, 20, 10), patch=(5, 2))
ex.probe("square patches, one channel", images=(2, 1, 6, 15), patch=(3, 3))
ex.probe("one image", images=(1, 5, 6, 18), patch=(3, 2))
ex.probe("one patch", images=(2, 3, 3, 3), patch=(3, 3))
ex.probe("every pixel a patch", images=(2, 3, 5, 7), patch=(1, 1))
ex.probe("double precision", images=(2, 3, 12, 6), patch=(2, 3), dtype=torch.float64)
ex.probe("numbers with gaps in memory", images=(2, 3, 6, 12), patch=(3, 2), strided=True)
ex.hidden("four channels", images=(3, 4, 14, 21), patch=(7, 3))
ex.hidden("strips", images=(2, 2, 5, 11), patch=(1, 11))
ex.hidden("one tall image", images=(1, 3, 22, 6), patch=(11, 2))


@ex.law("nothing is lost", "Each pixel has one place in one patch.")
def all_pixels(run, probe):
    images = normals(611)(2, 3, 10, 14)
    patches = run(probe.having("law", images=images, patch_height=5, patch_width=2))
    return patches.flatten(1).sort().values, images.flatten(1).sort().values


ORDER, START = "permute(0, 2, 4, 1, 3, 5)", "    B, C, height, width ="
ex.wrong(
    "a reshape without a transposition",
    "A reshape leaves the pixels in memory order, so a row of patches is cut into strips: permute first.",
    (f".{ORDER}", ""), believes="a reshape is enough",
)
ex.wrong(
    "patches numbered column by column",
    "Reading order: patch 1 stands to the right of patch 0.",
    (ORDER, "permute(0, 4, 2, 1, 3, 5)"), believes="columns come before rows",
)
ex.wrong(
    "the pixels of a patch column by column",
    "Inside a patch too the rows come first: component (c P + i) Q + j is row i, column j.",
    (ORDER, "permute(0, 2, 4, 1, 5, 3)"), believes="inside a patch the order does not matter",
)
ex.wrong(
    "columns before rows, everywhere",
    "This is the transposed image: rows come first, among the patches and inside each of them.",
    (ORDER, "permute(0, 4, 2, 1, 5, 3)"), believes="an image is (width, height)",
)
ex.wrong(
    "channels last inside a patch",
    "The order is channel, row, column: first all pixels of channel 0, then those of channel 1.",
    (ORDER, "permute(0, 2, 4, 3, 5, 1)"), believes="the channels come last, as in image files",
)
ex.wrong(
    "patches of pixels that lie far apart",
    "Split the height into (rows of patches, rows of a patch), in this order: a patch is a neighbourhood.",
    [("rows, patch_height, columns, patch_width", "patch_height, rows, patch_width, columns"),
     (ORDER, "permute(0, 3, 5, 1, 2, 4)")], believes="an axis splits into (inside, outside)",
)
ex.wrong(
    "height and width of a patch mixed up",
    "patch_height divides the height, patch_width the width.",
    (START, f"    patch_height, patch_width = patch_width, patch_height\n{START}"),
    believes="the first size of a patch is its width",
)
ex.wrong(
    "square patches only",
    "A patch has patch_height rows and patch_width columns: the two need not be equal.",
    (START, f"    patch_width = patch_height\n{START}"), (START, f"    patch_height = patch_width\n{START}"),
    believes="a patch is a square, as in the lecture",
)
ex.wrong(
    "a token for each channel",
    "One patch is one token and holds all its channels: N does not depend on C.",
    [(ORDER, "permute(0, 1, 2, 4, 3, 5)"), ("rows * columns, C * ", "C * rows * columns, ")],
    believes="each channel is an image of its own",
)
ex.wrong(
    "axes in another order",
    source="""
def cut(images, patch_height, patch_width):
    size = (patch_height, patch_width)
    return F.unfold(images, size, stride=size)
""", believes="unfold gives the patches as rows",
)
ex.wrong(
    "view on a tensor with gaps",
    "",
    [("images.reshape", "images.view"), (f"{ORDER}.reshape", f"{ORDER}.view")],
    believes="view and reshape are the same",
)
ex.wrong(
    "the library does the work",
    source="""
def cut(images, patch_height, patch_width):
    from pioneers.layers import patchify

    return patchify(images, patch_height)
""", believes="the function from the package is an answer",
)

ex.right(
    "a loop over patches",
    source="""
def cut(images, patch_height, patch_width):
    patches = []
    for top in range(0, images.shape[2], patch_height):
        for left in range(0, images.shape[3], patch_width):
            patch = images[:, :, top : top + patch_height, left : left + patch_width]
            patches.append(patch.flatten(1))
    return torch.stack(patches, dim=1)
""",
)
ex.right(
    "unfold of a tensor",
    source="""
def cut(images, patch_height, patch_width):
    x = images.unfold(2, patch_height, patch_height).unfold(3, patch_width, patch_width)
    return x.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
""",
)
ex.right(
    "unfold of torch.nn.functional",
    source="""
def cut(images, patch_height, patch_width):
    size = (patch_height, patch_width)
    return F.unfold(images, size, stride=size).transpose(1, 2)
""",
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    ("images.reshape", "images.view"),
)
ex.right("axes split by unflatten, moved by einsum", source='''
def cut(images, patch_height, patch_width):
    grid = images.unflatten(3, (-1, patch_width)).unflatten(2, (-1, patch_height))
    return torch.einsum("bcrpsq->brscpq", grid).flatten(3).flatten(1, 2)
''')
ex.right("strips, then pieces", source='''
def cut(images, patch_height, patch_width):
    strips = images.split(patch_height, dim=2)
    pieces = [piece for strip in strips for piece in strip.split(patch_width, dim=3)]
    return torch.cat([piece.reshape(len(images), 1, -1) for piece in pieces], dim=1)
''')
ex.right("one pixel of every patch at a time", source='''
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    rows, columns = height // patch_height, width // patch_width
    patches = images.new_empty(B, rows, columns, C, patch_height, patch_width)
    for i in range(patch_height):
        for j in range(patch_width):
            patches[..., i, j] = images[:, :, i::patch_height, j::patch_width].permute(0, 2, 3, 1)
    return patches.view(B, rows * columns, -1)
''')
ex.right("the number of each pixel looked up", source='''
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    n, k = torch.arange(height * width // (patch_height * patch_width))[:, None], patch_height * patch_width
    at = torch.arange(C * k)
    r, s = n // (width // patch_width), n % (width // patch_width)
    c, i, j = at // k, at % k // patch_width, at % patch_width
    return images[:, c, r * patch_height + i, s * patch_width + j]
''')
ex.right("a convolution with the identity", source='''
def cut(images, patch_height, patch_width):
    C, size = images.shape[1], (patch_height, patch_width)
    eye = torch.eye(C * patch_height * patch_width, dtype=images.dtype, device=images.device)
    return F.conv2d(images, eye.unflatten(1, (C, *size)), stride=size).flatten(2).mT
''')
