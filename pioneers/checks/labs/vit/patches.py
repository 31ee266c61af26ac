"""Exercises 6.1 and 6.2: an image becomes a row of flat patches, and patches become an image again.

``images`` is (B, C, height, width) and ``patches`` (B, N, C · patch_height · patch_width). In the patterns p
and q are the sides of a patch, h and w those of the grid of patches. Both sides of a patch divide both sides
of every image, so that swapped sides still give an answer.
"""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

IMAGE = "b c (h p) (w q)"
PATCHES = "b (h w) (c p q)"


def _cut(patches: str = PATCHES, image: str = IMAGE) -> Callable[[Tensor, int, int], Tensor]:
    """Cutting by other patterns; the right ones give the reference of 6.1."""
    return lambda images, P, Q: rearrange(images, f"{image} -> {patches}", p=P, q=Q)


def _join(patches: str = PATCHES, image: str = IMAGE) -> Callable[[Tensor, int, int, int], Tensor]:
    """Joining by other patterns; the right ones give the reference of 6.2."""

    def join(x: Tensor, P: int, Q: int, height: int) -> Tensor:
        return rearrange(x, f"{patches} -> {image}", p=P, q=Q, h=height // P)

    return join


def _images(seed: int) -> list[Probe]:
    normal = normals(seed)

    def probe(name: str, B: int, C: int, height: int, width: int, P: int, Q: int, **more) -> Probe:
        images = normal(B, C, height, width, dtype=more.pop("dtype", torch.float32))
        return Probe(name, {"images": images, "patch_height": P, "patch_width": Q}, **more)

    return [
        probe("flat patches, a wide image", 2, 3, 6, 12, 2, 3),
        probe("tall patches, a tall image", 3, 2, 20, 10, 5, 2),
        probe("square patches, one channel", 2, 1, 6, 15, 3, 3),
        probe("one image", 1, 5, 6, 18, 3, 2),
        probe("one patch", 2, 3, 3, 3, 3, 3),
        probe("every pixel a patch", 2, 3, 5, 7, 1, 1),
        probe("double precision", 2, 3, 12, 6, 2, 3, dtype=torch.float64),
        probe("numbers with gaps in memory", 2, 3, 6, 12, 3, 2, strided=True),
    ]


def _patches() -> list[Probe]:
    """The probes of 6.2: other images, cut by the reference."""

    def cut(probe: Probe) -> Probe:
        images, P, Q = probe.args.values()
        args = {"patches": _cut()(images, P, Q), "patch_height": P, "patch_width": Q}
        return Probe(probe.name, args | {"height": images.shape[2]}, probe.strided)

    return [cut(probe) for probe in _images(62)]


def _nothing_is_lost(run: Run) -> tuple[Tensor, Tensor]:
    images = normals(611)(2, 3, 10, 14)
    patches = run(Probe("law", {"images": images, "patch_height": 5, "patch_width": 2})).tensor
    return patches.flatten(1).sort().values, images.flatten(1).sort().values


def _there_and_back(run: Run) -> tuple[Tensor, Tensor]:
    images = normals(621)(2, 3, 14, 10)
    args = {"patches": _cut()(images, 7, 2), "patch_height": 7, "patch_width": 2, "height": 14}
    return run(Probe("law", args)).tensor, images


def _no_transposition(images: Tensor, P: int, Q: int) -> Tensor:
    B, C, height, width = images.shape
    return images.reshape(B, height // P * (width // Q), C * P * Q)


def _stacked(patches: Tensor, P: int, Q: int, height: int) -> Tensor:
    B, N, size = patches.shape
    return patches.reshape(B, size // (P * Q), height, N * P * Q // height)


def _height_for_width(patches: Tensor, P: int, Q: int, height: int) -> Tensor:
    return rearrange(patches, f"{PATCHES} -> {IMAGE}", p=P, q=Q, w=height // Q)


BY_COLUMNS = ("patches numbered column by column", "Reading order: patch 1 stands to the right of patch 0.")
TURNED = (
    "the pixels of a patch column by column",
    "Inside a patch too the rows come first: component (c P + i) Q + j is row i, column j.",
)
CHANNELS_LAST = (
    "channels last inside a patch",
    "The order is channel, row, column: first all pixels of channel 0, then those of channel 1.",
)
APART = (
    "patches of pixels that lie far apart",
    "Split the height into (rows of patches, rows of a patch), in this order: a patch is a neighbourhood.",
)
TURNED_IMAGE = (
    "columns before rows, everywhere",
    "This is the transposed image: rows come first, among the patches and inside each of them.",
)
SIDES = ("height and width of a patch mixed up", "patch_height divides the height, patch_width the width.")
SQUARE = (
    "square patches only",
    "A patch has patch_height rows and patch_width columns: the two need not be equal.",
)
CUT_MISTAKES = (
    Mistake(
        "a reshape without a transposition",
        "A reshape leaves the pixels in memory order, so a row of patches is cut into strips: permute first.",
        _no_transposition,
    ),
    Mistake(*BY_COLUMNS, _cut("b (w h) (c p q)")),
    Mistake(*TURNED, _cut("b (h w) (c q p)")),
    Mistake(*TURNED_IMAGE, _cut("b (w h) (c q p)")),
    Mistake(*CHANNELS_LAST, _cut("b (h w) (p q c)")),
    Mistake(*APART, _cut(image="b c (p h) (q w)")),
    Mistake(*SIDES, lambda images, P, Q: _cut()(images, Q, P)),
    Mistake(*SQUARE, lambda images, P, Q: _cut()(images, P, P)),
    Mistake(*SQUARE, lambda images, P, Q: _cut()(images, Q, Q)),
    Mistake(
        "a token for each channel",
        "One patch is one token and holds all its channels: N does not depend on C.",
        _cut("b (c h w) (p q)"),
    ),
)
JOIN_MISTAKES = (
    Mistake(
        "a reshape without a transposition",
        "Neighbouring pixels of one row lie in different patches: split all axes, permute, then join.",
        _stacked,
    ),
    Mistake(*BY_COLUMNS, _join("b (w h) (c p q)")),
    Mistake(*TURNED, _join("b (h w) (c q p)")),
    Mistake(*TURNED_IMAGE, _join("b (w h) (c q p)")),
    Mistake(*CHANNELS_LAST, _join("b (h w) (p q c)")),
    Mistake(
        APART[0],
        "The height is joined from (row of the grid, row of the patch), in this order: patches stay whole.",
        _join(image="b c (p h) (q w)"),
    ),
    Mistake(*SIDES, lambda patches, P, Q, height: _join()(patches, Q, P, height)),
    Mistake("height taken for width", "height is given; the width follows from N.", _height_for_width),
)

EXERCISES = (
    Exercise(
        key="6.1",
        name="cut",
        parameters=("images", "patch_height", "patch_width"),
        points=9,
        section="sec-vit-patchify",
        equation="",
        reference=_cut(),
        probes=lambda: _images(61),
        mistakes=CUT_MISTAKES,
        properties=(Property("nothing is lost", "Each pixel has one place in one patch.", _nothing_is_lost),),
    ),
    Exercise(
        key="6.2",
        name="join",
        parameters=("patches", "patch_height", "patch_width", "height"),
        points=8,
        section="sec-vit-patchify",
        equation="",
        reference=_join(),
        probes=_patches,
        mistakes=JOIN_MISTAKES,
        properties=(
            Property("cut and joined, an image is itself again", "The two are inverse.", _there_and_back),
        ),
    ),
)
