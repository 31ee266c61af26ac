"""Masked autoencoding: hide most patches of an image, predict their pixels from the others."""

from typing import NamedTuple

import torch
from torch import Tensor

from pioneers.layers.patches import patchify


class MaskedPatches(NamedTuple):
    """Which of the N patches of each image stay visible.

    Attributes:
        visible: ``(B, K)``, the numbers of the K visible patches, in random order.
        restore: ``(B, N)``, the inverse permutation: the place of each patch in the order that has the
            visible ones first.
        masked: boolean ``(B, N)``, True at the hidden patches.
    """

    visible: Tensor
    restore: Tensor
    masked: Tensor


def mask_patches(noise: Tensor, *, mask_ratio: float = 0.75) -> MaskedPatches:
    """Hide the same share of the patches of every image, those with the largest noise: He et al. 2022.

    Sorting random numbers draws the patches without replacement, section 3.1. Of N patches
    ``K = floor(N (1 - mask_ratio))`` stay visible.

    Args:
        noise: ``(B, N)``, one random number per patch, such as ``torch.rand(B, N)``.
        mask_ratio: share of the patches that are hidden.

    Raises:
        ValueError: the ratio leaves no patch visible, or hides none.

    Example:
        >>> hidden = mask_patches(torch.tensor([[0.9, 0.1, 0.4, 0.3]]), mask_ratio=0.5)
        >>> hidden.visible, hidden.masked
        (tensor([[1, 3]]), tensor([[ True, False,  True, False]]))
    """
    num_patches = noise.shape[1]
    num_visible = int(num_patches * (1 - mask_ratio) + 1e-6)  # 10 patches at 0.9 are one, in floats too
    if not 0 < num_visible < num_patches:
        raise ValueError(
            f"mask_ratio={mask_ratio} leaves {num_visible} of {num_patches} patches visible; some must stay "
            f"visible and some must be hidden"
        )
    order = noise.argsort(dim=1)  # (B, N): place → patch
    restore = order.argsort(dim=1)  # (B, N): patch → place
    return MaskedPatches(order[:, :num_visible], restore, restore >= num_visible)


def keep_patches(patches: Tensor, visible: Tensor) -> Tensor:
    """Choose the visible ones of ``patches (B, N, D)`` by their numbers ``visible (B, K)``: ``(B, K, D)``.

    Example:
        >>> keep_patches(torch.arange(4).view(1, 4, 1), torch.tensor([[1, 3]])).flatten()
        tensor([1, 3])
    """
    return patches.gather(1, visible[:, :, None].expand(-1, -1, patches.shape[2]))


def restore_patches(kept: Tensor, filler: Tensor, restore: Tensor) -> Tensor:
    """Put the visible patches back where they were: the inverse of :func:`keep_patches`.

    Args:
        kept: ``(B, K, D)``.
        filler: ``(D,)``, what a hidden patch is replaced by.
        restore: ``(B, N)``, from :func:`mask_patches`.

    Example:
        >>> hidden = mask_patches(torch.tensor([[0.9, 0.1, 0.4, 0.3]]), mask_ratio=0.5)
        >>> kept = keep_patches(torch.arange(4).view(1, 4, 1), hidden.visible)
        >>> restore_patches(kept, torch.tensor([-1]), hidden.restore).flatten()
        tensor([-1,  1, -1,  3])
    """
    batch, num_visible, width = kept.shape
    fillers = filler.to(kept.dtype).expand(batch, restore.shape[1] - num_visible, width)
    return keep_patches(torch.cat([kept, fillers], dim=1), restore)  # (B, N, D)


def masked_pixel_loss(
    predicted: Tensor, images: Tensor, masked: Tensor, *, patch_size: int, normalise: bool = True
) -> Tensor:
    """Average the squared error of the pixels of the hidden patches: He et al. 2022, section 3.

    Normalised targets have mean 0 and variance 1 in each patch, so that its contrast counts and not its
    brightness. To predict 0 everywhere then costs about 1, and less where patches are of one colour.

    Args:
        predicted: ``(B, N, C · P · P)``, in the order of :func:`pioneers.layers.patchify`.
        images: ``(B, C, height, width)``.
        masked: boolean ``(B, N)``, True at the hidden patches, of which there is at least one.
        patch_size: P.
        normalise: whether the target of a patch are its normalised pixels; otherwise they are the pixels.

    Raises:
        ValueError: P does not divide the image.

    Example:
        >>> images = torch.tensor([0.0, 0, 1, 1]).view(1, 1, 1, 4).expand(1, 1, 2, 4)
        >>> masked = torch.tensor([[False, True]])
        >>> masked_pixel_loss(torch.zeros(1, 2, 4), images, masked, patch_size=2, normalise=False)
        tensor(1.)
    """
    targets = patchify(images, patch_size)  # (B, N, C · P · P)
    if normalise:
        variance, mean = torch.var_mean(targets, dim=-1, keepdim=True)
        targets = (targets - mean) / (variance + 1e-6).sqrt()
    error = (predicted - targets).square().mean(dim=-1)  # (B, N)
    return (error * masked).sum() / masked.sum()
