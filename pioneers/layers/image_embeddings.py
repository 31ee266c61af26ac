"""From pixels to vectors, for the descendants of ViT, whose own embedding is in ``embeddings.py``."""

import torch
from torch import Tensor, nn

from pioneers.layers.embeddings import ViTEmbedding
from pioneers.layers.patches import PatchEmbedding
from pioneers.layers.positions import LearnedPositions


class DeiTEmbedding(ViTEmbedding):
    """ViT's embedding with a second token, the distillation token, between the class token and the patches.

    Touvron et al. 2021, section 4 and figure 2.

    Args:
        image_size: height and width of the square images, in pixels.
        patch_size: P, which must divide it.
        in_channels: C.
        d_model: D.
        dropout: share of the sums dropped in training.

    Raises:
        ValueError: the patch size does not divide the image size.

    Example:
        >>> DeiTEmbedding(8, 2, in_channels=1, d_model=6)(torch.zeros(3, 1, 8, 8)).shape
        torch.Size([3, 18, 6])
    """

    def __init__(
        self, image_size: int, patch_size: int, *, in_channels: int, d_model: int, dropout: float = 0.0
    ) -> None:
        super().__init__(image_size, patch_size, in_channels=in_channels, d_model=d_model, dropout=dropout)
        self.distillation_token = nn.Parameter(torch.empty(d_model).normal_(std=0.02))
        self.position = LearnedPositions(2 + self.patch.num_patches, d_model)

    def forward(self, images: Tensor) -> Tensor:
        """``images (B, C, height, width)`` → vectors ``(B, 2 + N, D)``, class and distillation token first.

        Raises:
            ValueError: the images do not have the promised shape.
        """
        patches = self.patch(images)  # (B, N, D)
        both = torch.stack([self.cls_token, self.distillation_token])  # (2, D)
        tokens = torch.cat([both.expand(images.shape[0], -1, -1), patches], dim=1)  # (B, 2 + N, D)
        return self.dropout(tokens + self.position(tokens.shape[1]))


class SwinEmbedding(nn.Module):
    """Patches as a grid of normalised vectors, without class token and without positions.

    Liu et al. 2021, section 3.1: positions come in as biases, inside the windows.

    Args:
        image_size: height and width of the square images, in pixels.
        patch_size: P, which must divide it.
        in_channels: C.
        d_model: D.
        dropout: share of the vectors' numbers dropped in training.

    Raises:
        ValueError: the patch size does not divide the image size.

    Example:
        >>> SwinEmbedding(8, 2, in_channels=1, d_model=6)(torch.zeros(3, 1, 8, 8)).shape
        torch.Size([3, 4, 4, 6])
    """

    def __init__(
        self, image_size: int, patch_size: int, *, in_channels: int, d_model: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.patch = PatchEmbedding(image_size, patch_size, in_channels=in_channels, d_model=d_model)
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.side = image_size // patch_size

    def forward(self, images: Tensor) -> Tensor:
        """``images (B, C, height, width)`` → vectors ``(B, height / P, width / P, D)``.

        Raises:
            ValueError: the images do not have the promised shape.
        """
        patches = self.dropout(self.norm(self.patch(images)))  # (B, N, D)
        return patches.unflatten(1, (self.side, self.side))
