"""MAE: a ViT that sees a quarter of an image's patches, and a light decoder that paints the others."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from einops import rearrange
from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    FeedForward,
    LearnedPositions,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    init_weights,
    initial_std,
    sinusoidal_table_2d,
)
from pioneers.models.pretrained import Pretrained
from pioneers.models.vit import ViT, ViTConfig
from pioneers.objectives.masked_patches import keep_patches, restore_patches

_DECODER = {"decoder_d_model": 512, "decoder_layers": 8, "decoder_heads": 16}


@dataclass(frozen=True, kw_only=True)
class MAEConfig(Config):
    """The sizes of an MAE.

    Attributes:
        image_size: height and width in pixels.
        patch_size: P, which must divide it.
        d_model: D of the encoder, divisible by 4.
        num_layers: blocks of the encoder.
        num_heads: heads of the encoder.
        decoder_d_model: width of the decoder, divisible by 4.
        decoder_layers: blocks of the decoder.
        decoder_heads: heads of the decoder.
        d_ff: F of the encoder; None is 4 D.
        decoder_d_ff: F of the decoder; None is four times its width.
        in_channels: C.
        norm_eps: ε of every norm: 1e-6 as published, 1e-12 in Hugging Face's copies of the weights.
        image_mean: as in :class:`~pioneers.models.ViTConfig`, and so is ``image_std``.
        image_std: likewise.

    Raises:
        ValueError: as in :class:`~pioneers.models.ViTConfig`, and for the decoder likewise; or a width is not
            divisible by 4, as two axes of sine and cosine need.
    """

    image_size: int
    patch_size: int
    d_model: int
    num_layers: int
    num_heads: int
    decoder_d_model: int
    decoder_layers: int
    decoder_heads: int
    d_ff: int | None = None
    decoder_d_ff: int | None = None
    in_channels: int = 3
    norm_eps: float = 1e-6
    image_mean: tuple[float, ...] = ()
    image_std: tuple[float, ...] = ()

    presets: ClassVar = {
        "base16": {
            "image_size": 224, "patch_size": 16, "d_model": 768, "num_layers": 12, "num_heads": 12,
            **_DECODER,
        },
        "large16": {
            "image_size": 224, "patch_size": 16, "d_model": 1024, "num_layers": 24, "num_heads": 16,
            **_DECODER,
        },
        "huge14": {
            "image_size": 224, "patch_size": 14, "d_model": 1280, "num_layers": 32, "num_heads": 16,
            **_DECODER,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive("decoder_d_model", "decoder_layers", "decoder_heads")
        self._require_positive_or_none("decoder_d_ff")
        self.vit()  # checks the encoder's sizes
        self._require_heads_divide(self.decoder_d_model, self.decoder_heads)
        for name in ("d_model", "decoder_d_model"):
            self._require(getattr(self, name) % 4 == 0, name, "divisible by 4")

    def vit(self, num_classes: int = 0) -> ViTConfig:
        """The sizes of the encoder as a ViT, with a head for ``num_classes`` or without one."""
        return ViTConfig(
            image_size=self.image_size,
            patch_size=self.patch_size,
            num_classes=num_classes,
            d_model=self.d_model,
            num_layers=self.num_layers,
            num_heads=self.num_heads,
            d_ff=self.d_ff,
            in_channels=self.in_channels,
            norm_eps=self.norm_eps,
            image_mean=self.image_mean,
            image_std=self.image_std,
        )


class MAE(Pretrained):
    """A masked autoencoder: He et al. 2022, section 3.

    The encoder reads the class token and the visible patches alone. The decoder has a learned mask token in
    place of every hidden patch. Positions are fixed sines in both, zero at the class token.

    Args:
        config: sizes, for instance ``MAEConfig.preset("base16")``.

    Example:
        >>> from pioneers.objectives import mask_patches
        >>> sizes = {"d_model": 8, "num_layers": 2, "num_heads": 2}
        >>> light = {"decoder_d_model": 4, "decoder_layers": 1, "decoder_heads": 2}
        >>> model = MAE(MAEConfig(image_size=8, patch_size=2, in_channels=1, **sizes, **light))
        >>> hidden = mask_patches(torch.rand(3, 16))
        >>> model(torch.zeros(3, 1, 8, 8), hidden.visible, hidden.restore).shape
        torch.Size([3, 16, 4])
    """

    def __init__(self, config: MAEConfig) -> None:
        super().__init__()
        self.config, width = config, config.decoder_d_model
        self.vit = ViT(config.vit())
        self.to_decoder = nn.Linear(config.d_model, width)
        self.mask_token = nn.Parameter(torch.empty(width).normal_(std=0.02))
        self.position = LearnedPositions(1 + self.vit.embed.patch.num_patches, width)
        blocks = [self._block(config) for _ in range(config.decoder_layers)]
        self.decoder = Stack(blocks, nn.LayerNorm(width, eps=config.norm_eps))
        self.head = nn.Linear(width, config.in_channels * config.patch_size**2)
        for module in (self.to_decoder, self.decoder, self.head):
            init_weights(module, std=initial_std(width))
        for position in (self.vit.embed.position, self.position):
            self._fix(position)

    @staticmethod
    def _block(config: MAEConfig) -> TransformerBlock:
        return TransformerBlock(
            MultiHeadAttention(config.decoder_d_model, config.decoder_heads),
            FeedForward(config.decoder_d_model, config.decoder_d_ff),
            norm=partial(nn.LayerNorm, eps=config.norm_eps),
        )

    def _fix(self, position: LearnedPositions) -> None:
        """Write sines of row and column into a table, zeros for the class token, and freeze it."""
        side = self.config.image_size // self.config.patch_size
        table = position.table.requires_grad_(False)
        table.zero_()[1:] = sinusoidal_table_2d(side, side, table.shape[1])

    def encode(self, images: Tensor, visible: Tensor) -> Tensor:
        """``images (B, C, height, width)`` and ``visible (B, K)`` patches → states ``(B, 1 + K, D)``."""
        tokens = self.vit.embed(images)  # (B, 1 + N, D), each already with its position
        kept = keep_patches(tokens[:, 1:], visible)  # (B, K, D)
        return self.vit.stack(torch.cat([tokens[:, :1], kept], dim=1))

    def forward(self, images: Tensor, visible: Tensor, restore: Tensor) -> Tensor:
        """Predict the pixels of every patch: ``(B, N, C · P · P)``, in the order of :func:`.patchify`.

        Args:
            images: ``(B, C, height, width)``.
            visible: ``(B, K)``, from :func:`pioneers.objectives.mask_patches`, and so is ``restore``.
            restore: ``(B, N)``.
        """
        x = self.to_decoder(self.encode(images, visible))  # (B, 1 + K, D')
        patches = restore_patches(x[:, 1:], self.mask_token, restore)  # (B, N, D')
        x = torch.cat([x[:, :1], patches], dim=1)  # (B, 1 + N, D')
        x = self.decoder(x + self.position(x.shape[1]))
        pixels = self.head(x[:, 1:])  # (B, N, P · P · C): the published order
        return rearrange(pixels, "b n (p c) -> b n (c p)", c=self.config.in_channels)

    def to_vit(self, num_classes: int = 0) -> ViT:
        """Copy the encoder into a ViT with a new head, or without one, to be probed or fine-tuned.

        Its positions are learned from here on, beginning with the sines.
        """
        vit = ViT(self.config.vit(num_classes)).to(self.mask_token.device)
        vit.load_state_dict(self.vit.state_dict(), strict=False)  # all but the head, which is new
        return vit
