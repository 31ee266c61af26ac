"""ViT: patches as tokens, a class token in front, no mask."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import ClassToken, LearnedPositions, PatchEmbedding, Stack, init_weights, initial_std


@dataclass(frozen=True, kw_only=True)
class ViTConfig(Config):
    """The sizes of a ViT. ``d_ff`` is ``4 * d_model``, as in the paper's sizes.

    Attributes:
        image_size: height and width in pixels.
        patch_size: P, which must divide it.
        num_classes: number of labels.
        d_model: D.
        num_layers: number of blocks.
        num_heads: H.
        in_channels: C.
        dropout: share dropped in training, throughout.
        norm_eps: ε of every norm: 1e-6 as published, 1e-12 in Hugging Face's copies of the weights.

    Raises:
        ValueError: a size is not positive, the patch size does not divide the image size or the heads the
            width, or dropout is not in [0, 1).
    """

    image_size: int
    patch_size: int
    num_classes: int
    d_model: int
    num_layers: int
    num_heads: int
    in_channels: int = 3
    dropout: float = 0.0
    norm_eps: float = 1e-6

    presets: ClassVar = {
        "base16": {
            "image_size": 224, "patch_size": 16, "num_classes": 1000, "d_model": 768, "num_layers": 12,
            "num_heads": 12,
        },
        "large16": {
            "image_size": 224, "patch_size": 16, "num_classes": 1000, "d_model": 1024, "num_layers": 24,
            "num_heads": 16,
        },
        "huge14": {
            "image_size": 224, "patch_size": 14, "num_classes": 1000, "d_model": 1280, "num_layers": 32,
            "num_heads": 16,
        },
        "digits": {
            "image_size": 8, "patch_size": 2, "num_classes": 10, "d_model": 64, "num_layers": 4,
            "num_heads": 4, "in_channels": 1, "dropout": 0.1,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive(
            "image_size", "patch_size", "num_classes", "d_model", "num_layers", "num_heads", "in_channels"
        )
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require_dropout(self.dropout)
        divides = self.image_size % self.patch_size == 0
        self._require(divides, "patch_size", f"a divisor of image_size={self.image_size}")


class ViT(nn.Module):
    """An encoder over image patches; the class token's final state is what the head reads.

    Dosovitskiy et al. 2021, section 3.1. A model expects images scaled as those it was trained on. For the
    published weights that is ``(x - 0.5) / 0.5`` in every channel, with x in [0, 1]. The models of this
    course take [0, 1] itself, as :func:`pioneers.data.digits` and :func:`pioneers.data.mnist` give it.

    Args:
        config: sizes, for instance ``ViTConfig.preset("base16")``.

    Example:
        >>> import torch
        >>> model = ViT(ViTConfig.preset("digits"))
        >>> model(torch.zeros(2, 1, 8, 8)).shape
        torch.Size([2, 10])
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        self.patch = PatchEmbedding(
            config.image_size, config.patch_size, in_channels=config.in_channels, d_model=config.d_model
        )
        self.cls_token = ClassToken(config.d_model)
        self.position = LearnedPositions(1 + self.patch.num_patches, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.stack = Stack(
            config.num_layers,
            config.d_model,
            config.num_heads,
            dropout=config.dropout,
            norm=partial(nn.LayerNorm, eps=config.norm_eps),
        )
        self.head = nn.Linear(config.d_model, config.num_classes)
        init_weights(self, std=initial_std(config.d_model))

    def hidden_states(self, images: Tensor, *, first: int | None = None) -> Tensor:
        """``images (B, C, height, width)`` → the stack's output ``(B, 1 + N, D)``, class token first.

        Args:
            first: number of tokens whose output is wanted, if not all are: see
                :meth:`pioneers.layers.Stack.forward`.
        """
        tokens = self.cls_token(self.patch(images))
        return self.stack(self.dropout(tokens + self.position(tokens.shape[1])), first=first)

    def forward(self, images: Tensor) -> Tensor:
        """Images ``(B, C, height, width)`` → logits ``(B, num_classes)``.

        In the last block only the class token asks; record attention maps with :meth:`hidden_states`.
        """
        return self.head(self.hidden_states(images, first=1)[:, 0])
