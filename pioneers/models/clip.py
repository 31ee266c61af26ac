"""CLIP: an image tower and a text tower whose vectors are close where picture and caption belong together."""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    FeedForward,
    GPTEmbedding,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    ViTEmbedding,
    init_weights,
    initial_std,
)
from pioneers.layers.feedforward import ACTIVATIONS
from pioneers.models.pretrained import Pretrained
from pioneers.objectives.contrastive import pair_logits

MAX_SCALE = 100.0
_TEXT = {"vocab_size": 49408, "max_seq_len": 77, "text_layers": 12}
_BASE = {
    "image_size": 224, "image_d_model": 768, "image_layers": 12, "image_heads": 12,
    "text_d_model": 512, "text_heads": 8, "d_embed": 512, **_TEXT,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CLIPConfig(Config):
    """The sizes of both towers of a CLIP.

    Attributes:
        image_size: height and width in pixels.
        patch_size: P, which must divide it.
        image_d_model: width of the image tower.
        image_layers: its blocks.
        image_heads: its heads.
        vocab_size: V.
        max_seq_len: longest text, with its start and end tokens.
        text_d_model: width of the text tower.
        text_layers: its blocks.
        text_heads: its heads.
        d_embed: E, the length of the vectors that are compared.
        in_channels: C.
        end_id: id of the end-of-text token, whose first state in each text is read; None reads that of the
            highest id, which is this token in the published vocabulary.
        image_d_ff: F of the image tower; None is four times its width.
        text_d_ff: F of the text tower; likewise.
        activation: of both feed-forward networks; ``"gelu_sigmoid"`` as published, see
            :class:`~pioneers.layers.FeedForward`.
        norm_eps: ε of every norm.

    Raises:
        ValueError: a size is not positive, the patch size does not divide the image size or the heads their
            width, or the activation is unknown.
    """

    image_size: int
    patch_size: int
    image_d_model: int
    image_layers: int
    image_heads: int
    vocab_size: int
    max_seq_len: int
    text_d_model: int
    text_layers: int
    text_heads: int
    d_embed: int
    in_channels: int = 3
    end_id: int | None = None
    image_d_ff: int | None = None
    text_d_ff: int | None = None
    activation: str = "gelu_sigmoid"
    norm_eps: float = 1e-5

    presets: ClassVar = {
        "base32": {"patch_size": 32, **_BASE},
        "base16": {"patch_size": 16, **_BASE},
        "large14": {
            "image_size": 224, "patch_size": 14, "image_d_model": 1024, "image_layers": 24,
            "image_heads": 16, "text_d_model": 768, "text_heads": 12, "d_embed": 768, **_TEXT,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive(
            "image_size", "patch_size", "image_d_model", "image_layers", "image_heads", "vocab_size",
            "max_seq_len", "text_d_model", "text_layers", "text_heads", "d_embed", "in_channels",
        )  # fmt: skip
        self._require_positive_or_none("image_d_ff")
        self._require_positive_or_none("text_d_ff")
        self._require_heads_divide(self.image_d_model, self.image_heads)
        self._require_heads_divide(self.text_d_model, self.text_heads)
        self._require_known("activation", ACTIVATIONS)
        divides = self.image_size % self.patch_size == 0
        self._require(divides, "patch_size", f"a divisor of image_size={self.image_size}")


class CLIP(Pretrained):
    """Two encoders with one space of vectors: Radford et al. 2021, sections 2.3 and 2.4.

    The image tower is a ViT with a norm before its blocks, read at the class token; the text tower is a GPT
    without a head, read at the end-of-text token. The published models expect images in [0, 1] from which
    (0.4815, 0.4578, 0.4082) was subtracted by channel, divided by (0.2686, 0.2613, 0.2758), and texts between
    the tokens ``<|startoftext|>`` and ``<|endoftext|>``, which their tokenizer does not add by itself here.

    Args:
        config: sizes, for instance ``CLIPConfig.preset("base32")``.

    Example:
        >>> image = {"image_d_model": 6, "image_layers": 1, "image_heads": 2}
        >>> text = {"text_d_model": 4, "text_layers": 1, "text_heads": 2, "vocab_size": 11}
        >>> model = CLIP(CLIPConfig.preset("base32", image_size=32, d_embed=5, **image, **text))
        >>> model(torch.zeros(2, 3, 32, 32), torch.tensor([[3, 10, 0], [4, 1, 10], [5, 10, 0]])).shape
        torch.Size([2, 3])
    """

    def __init__(self, config: CLIPConfig) -> None:
        super().__init__()
        self.config = config
        norm = partial(nn.LayerNorm, eps=config.norm_eps)
        self.image_embed = ViTEmbedding(
            config.image_size,
            config.patch_size,
            in_channels=config.in_channels,
            d_model=config.image_d_model,
            patch_bias=False,
            norm=norm,
        )
        self.text_embed = GPTEmbedding(config.vocab_size, config.text_d_model, max_seq_len=config.max_seq_len)
        self.image_stack, self.text_stack = (self._stack(config, tower) for tower in ("image", "text"))
        self.image_proj = nn.Linear(config.image_d_model, config.d_embed, bias=False)
        self.text_proj = nn.Linear(config.text_d_model, config.d_embed, bias=False)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))
        image = nn.ModuleList([self.image_embed, self.image_stack, self.image_proj])
        text = nn.ModuleList([self.text_embed, self.text_stack, self.text_proj])
        init_weights(image, std=initial_std(config.image_d_model))
        init_weights(text, std=initial_std(config.text_d_model))

    @staticmethod
    def _stack(config: CLIPConfig, tower: str) -> Stack:
        width, layers, heads, d_ff = (
            getattr(config, f"{tower}_{size}") for size in ("d_model", "layers", "heads", "d_ff")
        )
        norm = partial(nn.LayerNorm, eps=config.norm_eps)

        def block() -> TransformerBlock:
            ffn = FeedForward(width, d_ff, activation=config.activation)
            return TransformerBlock(MultiHeadAttention(width, heads), ffn, norm=norm)

        return Stack([block() for _ in range(layers)], norm(width))

    @property
    def scale(self) -> Tensor:
        """The inverse of the learned temperature, at most 100; it begins at 1 / 0.07."""
        return self.log_scale.clamp(max=math.log(MAX_SCALE)).exp()

    def encode_images(self, images: Tensor) -> Tensor:
        """``images (B, C, height, width)`` → vectors ``(B, E)``, not yet of length 1."""
        hidden = self.image_stack(self.image_embed(images))  # (B, 1 + N, D)
        return self.image_proj(hidden[:, 0])

    def encode_texts(self, input_ids: Tensor) -> Tensor:
        """``input_ids (S, T)`` → vectors ``(S, E)``, not yet of length 1.

        Every row has an end-of-text token. What follows it is padding and changes nothing, because no token
        sees those after it.
        """
        hidden = self.text_stack(self.text_embed(input_ids), causal=True)  # (S, T, D)
        wanted = input_ids if self.config.end_id is None else input_ids == self.config.end_id
        end = wanted.int().argmax(dim=1)  # (S,)
        return self.text_proj(hidden[torch.arange(len(end), device=end.device), end])

    def forward(self, images: Tensor, input_ids: Tensor) -> Tensor:
        """Compare ``images (B, C, height, width)`` with texts ``input_ids (S, T)``: logits ``(B, S)``.

        For a batch of pairs they go into :func:`pioneers.objectives.contrastive_loss`; for zero-shot
        classification the texts name the classes.
        """
        return pair_logits(self.encode_images(images), self.encode_texts(input_ids), self.scale)
