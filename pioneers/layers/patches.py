"""Images as sequences of patches, and back; patches as tokens."""

from einops import rearrange
from torch import Tensor, nn


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


class PatchEmbedding(nn.Module):
    """Patches as tokens: one linear map for every patch, which is a convolution whose stride is its size.

    Dosovitskiy et al. 2021, section 3.1, equation (1).

    Args:
        image_size: height and width of the square images, in pixels.
        patch_size: P, which must divide it.
        in_channels: C.
        d_model: D.
        bias: whether the map has a bias.

    Raises:
        ValueError: the patch size does not divide the image size.

    Example:
        >>> import torch
        >>> embed = PatchEmbedding(8, 2, in_channels=1, d_model=6)
        >>> embed(torch.zeros(3, 1, 8, 8)).shape
        torch.Size([3, 16, 6])
    """

    def __init__(
        self, image_size: int, patch_size: int, *, in_channels: int, d_model: int, bias: bool = True
    ) -> None:
        super().__init__()
        if image_size % patch_size:
            raise ValueError(f"patch_size={patch_size} must divide image_size={image_size}")
        self.image_size, self.in_channels = image_size, in_channels
        self.num_patches = (image_size // patch_size) ** 2
        self.proj = nn.Conv2d(in_channels, d_model, kernel_size=patch_size, stride=patch_size, bias=bias)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, height, width) → (B, N, D).

        Raises:
            ValueError: the images do not have the promised shape.
        """
        expected = (self.in_channels, self.image_size, self.image_size)
        if images.ndim != 4 or tuple(images.shape[1:]) != expected:
            raise ValueError(
                f"images must be (B, C, height, width) with {expected}, got {tuple(images.shape)}"
            )
        return self.proj(images).flatten(2).transpose(1, 2)


class PatchMerging(nn.Module):
    """Every 2 x 2 neighbours become one token of twice the width: half the height and width of a grid.

    Liu et al. 2021, section 3.1. In the authors' second version the norm follows the linear map.

    Args:
        d_model: D.
        norm_first: whether the norm, of width 4 D, comes before the linear map; else it has width 2 D.

    Example:
        >>> import torch
        >>> PatchMerging(6)(torch.zeros(3, 4, 10, 6)).shape
        torch.Size([3, 2, 5, 12])
    """

    def __init__(self, d_model: int, *, norm_first: bool = True) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.proj = nn.Linear(4 * d_model, 2 * d_model, bias=False)
        self.norm = nn.LayerNorm((4 if norm_first else 2) * d_model)

    def forward(self, x: Tensor) -> Tensor:
        """``x (B, height, width, D)`` → ``(B, height / 2, width / 2, 2 D)``.

        Raises:
            ValueError: height or width is odd.
        """
        if x.shape[1] % 2 or x.shape[2] % 2:
            raise ValueError(f"merging halves a grid; one of {x.shape[1]} x {x.shape[2]} tokens has no half")
        fours = rearrange(x, "b (h p) (w q) d -> b h w (q p d)", p=2, q=2)  # (B, height / 2, width / 2, 4 D)
        return self.proj(self.norm(fours)) if self.norm_first else self.norm(self.proj(fours))
