"""ViT: patches as tokens, a class token in front, no mask."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    FeedForward,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    ViTEmbedding,
    init_weights,
    initial_std,
)
from pioneers.models.labels import label_names
from pioneers.models.pretrained import Pretrained


@dataclass(frozen=True, kw_only=True)
class ViTConfig(Config):
    """The sizes of a ViT.

    Attributes:
        image_size: height and width in pixels.
        patch_size: P, which must divide it.
        num_classes: number of labels; 0 for a model without a head, which gives the class token's state.
        d_model: D.
        num_layers: number of blocks.
        num_heads: H.
        d_ff: F; None is 4 D, as in the paper's sizes.
        in_channels: C.
        dropout: share dropped in training, throughout.
        norm_eps: ε of every norm: 1e-6 as published, 1e-12 in Hugging Face's copies of the weights.
        drop_path: how often, in training, a layer is skipped for an image.
        labels: the names of the classes, in the order of the logits.
        image_mean: what was subtracted from each channel of the images, in [0, 1], that the model was trained
            on; () if nothing was. The model does not do this itself: prepare its images in the same way.
        image_std: what each channel was then divided by; () likewise.

    Raises:
        ValueError: a size is not positive, the patch size does not divide the image size or the heads the
            width, dropout or drop_path is not in [0, 1), there are more or fewer labels than classes, or mean
            and standard deviation are not given for every channel.
    """

    image_size: int
    patch_size: int
    num_classes: int
    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int | None = None
    in_channels: int = 3
    dropout: float = 0.0
    norm_eps: float = 1e-6
    drop_path: float = 0.0
    labels: tuple[str, ...] = ()
    image_mean: tuple[float, ...] = ()
    image_std: tuple[float, ...] = ()

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
            "image_size", "patch_size", "d_model", "num_layers", "num_heads", "in_channels"
        )
        self._require(self.num_classes >= 0, "num_classes", "positive, or 0 for a model without a head")
        label_names(self.labels, self.num_classes)
        statistics = {len(self.image_mean), len(self.image_std)}
        self._require(
            statistics in ({0}, {self.in_channels}), "image_mean", "one number a channel, like image_std"
        )
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require_dropout(self.dropout)
        self._require(0 <= self.drop_path < 1, "drop_path", "at least 0 and less than 1")
        self._require_positive_or_none("d_ff")
        divides = self.image_size % self.patch_size == 0
        self._require(divides, "patch_size", f"a divisor of image_size={self.image_size}")


class ViT(Pretrained):
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
        self.embed = ViTEmbedding(
            config.image_size,
            config.patch_size,
            in_channels=config.in_channels,
            d_model=config.d_model,
            dropout=config.dropout,
        )
        blocks = [self._block(config) for _ in range(config.num_layers)]
        self.stack = Stack(blocks, nn.LayerNorm(config.d_model, eps=config.norm_eps))
        self.head = nn.Linear(config.d_model, config.num_classes) if config.num_classes else nn.Identity()
        init_weights(self, std=initial_std(config.d_model))

    @staticmethod
    def _block(config: ViTConfig) -> TransformerBlock:
        return TransformerBlock(
            MultiHeadAttention(config.d_model, config.num_heads, dropout=config.dropout),
            FeedForward(config.d_model, config.d_ff),
            norm=partial(nn.LayerNorm, eps=config.norm_eps),
            dropout=config.dropout,
            drop_path=config.drop_path,
        )

    def hidden_states(self, images: Tensor) -> Tensor:
        """``images (B, C, height, width)`` → the stack's output ``(B, 1 + N, D)``, class token first."""
        return self.stack(self.embed(images))

    def forward(self, images: Tensor) -> Tensor:
        """Images ``(B, C, height, width)`` → logits ``(B, num_classes)``, or ``(B, D)`` without a head."""
        if self.training and not self.stack.blocks[-1]._forward_hooks:  # FSDP, for one, needs whole calls
            return self.head(self._class_state(images))
        return self.head(self.hidden_states(images)[:, 0])

    def _class_state(self, images: Tensor) -> Tensor:
        """Return ``hidden_states(images)[:, 0]`` faster: the last block computes the class token alone."""
        x = self.embed(images)  # (B, 1 + N, D)
        for block in self.stack.blocks[:-1]:
            x = block(x)
        last: Any = self.stack.blocks[-1]
        h = last.norm_attn(x)
        x = last._add(x[:, :1], last.attn(h[:, :1], h), last.norm_attn, last.norm_attn_out)  # (B, 1, D)
        x = last._add(x, last.ffn(last.norm_ffn(x)), last.norm_ffn, last.norm_ffn_out)
        return self.stack.norm(x[:, 0])  # (B, D)
