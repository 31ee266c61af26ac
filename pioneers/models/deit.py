"""DeiT: a ViT with a second token, which learns to say what a teacher says."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from pioneers.layers import (
    DeiTEmbedding,
    FeedForward,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    init_weights,
    initial_std,
)
from pioneers.models.pretrained import Pretrained
from pioneers.models.vit import ViTConfig

_IMAGENET = {"image_size": 224, "patch_size": 16, "num_classes": 1000, "num_layers": 12, "drop_path": 0.1}


@dataclass(frozen=True, kw_only=True)
class DeiTConfig(ViTConfig):
    """The sizes of a DeiT, those of a :class:`~pioneers.models.ViTConfig`.

    A DeiT without a distillation token is a ViT: ``ViT(DeiTConfig.preset("base"))``.

    Raises:
        ValueError: as in :class:`~pioneers.models.ViTConfig`, or there are no classes.
    """

    presets: ClassVar = {
        "tiny": {**_IMAGENET, "d_model": 192, "num_heads": 3},
        "small": {**_IMAGENET, "d_model": 384, "num_heads": 6},
        "base": {**_IMAGENET, "d_model": 768, "num_heads": 12},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive("num_classes")


class DeiTLogits(NamedTuple):
    """What the two heads say in training.

    Attributes:
        class_token: of the class token's head, which learns the labels, ``(B, num_classes)``.
        distillation_token: of the distillation token's head, which learns what the teacher says, likewise.
    """

    class_token: Tensor
    distillation_token: Tensor


class DeiT(Pretrained):
    """A ViT with a class token that learns from labels and a distillation token that learns from a teacher.

    :func:`pioneers.objectives.distillation_token_loss` trains it: Touvron et al. 2021, section 4. Where the
    paper adds the probabilities of the two heads, the authors' code takes the mean of their logits, and so
    does this model.

    Args:
        config: sizes, for instance ``DeiTConfig.preset("tiny")``.

    Example:
        >>> import torch
        >>> model = DeiT(DeiTConfig.preset("tiny", image_size=32, num_layers=1, num_classes=10))
        >>> model.eval()(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
        >>> [logits.shape for logits in model.train()(torch.zeros(2, 3, 32, 32))]
        [torch.Size([2, 10]), torch.Size([2, 10])]
    """

    def __init__(self, config: DeiTConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = DeiTEmbedding(
            config.image_size,
            config.patch_size,
            in_channels=config.in_channels,
            d_model=config.d_model,
            dropout=config.dropout,
        )
        blocks = [self._block(config) for _ in range(config.num_layers)]
        self.stack = Stack(blocks, nn.LayerNorm(config.d_model, eps=config.norm_eps))
        self.head = nn.Linear(config.d_model, config.num_classes)
        self.distillation_head = nn.Linear(config.d_model, config.num_classes)
        init_weights(self, std=initial_std(config.d_model))

    @staticmethod
    def _block(config: DeiTConfig) -> TransformerBlock:
        return TransformerBlock(
            MultiHeadAttention(config.d_model, config.num_heads, dropout=config.dropout),
            FeedForward(config.d_model, config.d_ff),
            norm=partial(nn.LayerNorm, eps=config.norm_eps),
            dropout=config.dropout,
            drop_path=config.drop_path,
        )

    def hidden_states(self, images: Tensor) -> Tensor:
        """``images (B, C, height, width)`` → the stack's output ``(B, 2 + N, D)``, the two tokens first."""
        return self.stack(self.embed(images))

    def forward(self, images: Tensor) -> Tensor | DeiTLogits:
        """Images ``(B, C, height, width)`` → logits: those of both heads in training, else their mean."""
        hidden = self.hidden_states(images)
        logits = DeiTLogits(self.head(hidden[:, 0]), self.distillation_head(hidden[:, 1]))
        return logits if self.training else (logits.class_token + logits.distillation_token) / 2
