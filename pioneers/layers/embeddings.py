"""From token ids and pixels to vectors."""

import torch
from einops import rearrange
from torch import Tensor, nn

from pioneers.layers.positions import LearnedPositions


class TextEmbedding(nn.Module):
    """Token vectors plus learned position vectors, then dropout: the input of GPT.

    Args:
        vocab_size: V.
        d_model: D.
        max_seq_len: longest sequence.
        dropout: share of the sums dropped in training.

    Example:
        >>> embed = TextEmbedding(11, 6, max_seq_len=7)
        >>> embed(torch.tensor([[3, 1, 4, 1, 5]])).shape
        torch.Size([1, 5, 6])
    """

    def __init__(self, vocab_size: int, d_model: int, *, max_seq_len: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.position = LearnedPositions(max_seq_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Tensor, start: int = 0) -> Tensor:
        """``input_ids (B, T)`` → vectors ``(B, T, D)``; the first id stands at position ``start``.

        Raises:
            ValueError: the ids are not a ``(B, T)`` integer tensor, or are longer than ``max_seq_len``.
        """
        if input_ids.ndim != 2 or input_ids.is_floating_point():
            raise ValueError(
                f"input_ids must be an integer tensor (B, T), got {input_ids.dtype} of shape "
                f"{tuple(input_ids.shape)}; for one sequence use ids[None]"
            )
        return self.dropout(self.token(input_ids) + self.position(input_ids.shape[1], start))


def patchify(images: Tensor, patch_size: int) -> Tensor:
    """Cut images into flat patches ``(B, N, C · P · P)``, row by row; :func:`unpatchify` is the inverse.

    Args:
        images: ``(B, C, height, width)``.
        patch_size: P, which must divide height and width.

    Raises:
        ValueError: it does not.

    Example:
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

    Raises:
        ValueError: the patch size does not divide the image size.

    Example:
        >>> embed = PatchEmbedding(8, 2, in_channels=1, d_model=6)
        >>> embed(torch.zeros(3, 1, 8, 8)).shape
        torch.Size([3, 16, 6])
    """

    def __init__(self, image_size: int, patch_size: int, *, in_channels: int, d_model: int) -> None:
        super().__init__()
        if image_size % patch_size:
            raise ValueError(f"patch_size={patch_size} must divide image_size={image_size}")
        self.image_size, self.in_channels = image_size, in_channels
        self.num_patches = (image_size // patch_size) ** 2
        self.proj = nn.Conv2d(in_channels, d_model, kernel_size=patch_size, stride=patch_size)

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


class ClassToken(nn.Module):
    """A learned vector put in front of the sequence; its final state stands for the whole of it.

    Args:
        d_model: D.

    Example:
        >>> ClassToken(6)(torch.zeros(2, 5, 6)).shape
        torch.Size([2, 6, 6])
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(d_model).normal_(std=0.02))

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, D) → (B, 1 + N, D)."""
        return torch.cat([self.vector.expand(len(x), 1, -1), x], dim=1)
