"""Images as sequences of patches, and back."""

from einops import rearrange
from torch import Tensor


def patchify(images: Tensor, patch_size: int) -> Tensor:
    """Cut images into flat patches ``(B, N, C · P · P)``, row by row; :func:`unpatchify` is the inverse.

    Args:
        images: ``(B, C, height, width)``.
        patch_size: P, which must divide height and width.

    Raises:
        ValueError: it does not.

    Example:
        >>> import torch
        >>> patchify(torch.arange(8).view(1, 1, 2, 4), 2).tolist()
        [[[0, 1, 4, 5], [2, 3, 6, 7]]]
    """
    height, width = images.shape[-2:]
    if height % patch_size or width % patch_size:
        raise ValueError(f"patch_size={patch_size} must divide the image, which is {height} x {width} pixels")
    return rearrange(images, "b c (h p) (w q) -> b (h w) (c p q)", p=patch_size, q=patch_size)


def unpatchify(patches: Tensor, patch_size: int, height: int) -> Tensor:
    """The inverse of :func:`patchify`: ``patches (B, N, C · P · P)`` → ``(B, C, height, width)``.

    ``patch_size`` is P and ``height`` that of the image in pixels; its width follows.

    Raises:
        ValueError: the patches are not of this size, or do not fill an image of this height.

    Example:
        >>> import torch
        >>> unpatchify(torch.tensor([[[0, 1, 4, 5], [2, 3, 6, 7]]]), 2, height=2).tolist()
        [[[[0, 1, 2, 3], [4, 5, 6, 7]]]]
    """
    rows = height // patch_size
    if rows * patch_size != height or not rows or patches.shape[1] % rows or patches.shape[2] % patch_size**2:
        raise ValueError(
            f"patches (B, N, C · P · P) = {tuple(patches.shape)} with P={patch_size} make no image of "
            f"{height=}: it must be a multiple of P that divides N · P"
        )
    return rearrange(patches, "b (h w) (c p q) -> b c (h p) (w q)", h=rows, p=patch_size, q=patch_size)
