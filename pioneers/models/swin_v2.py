"""Swin Transformer V2: the norm after each layer, scores from angles, biases computed from distances."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from pioneers.layers import CosineAttention, FeedForward, LogWindowBias, PatchMerging, TransformerBlock
from pioneers.models.swin import Swin, SwinConfig

_IMAGENET = {"image_size": 256, "patch_size": 4, "num_classes": 1000, "window_size": 8}


@dataclass(frozen=True, kw_only=True)
class SwinV2Config(SwinConfig):
    """The sizes of a Swin Transformer V2: those of :class:`~pioneers.models.SwinConfig`, and one more.

    Attributes:
        trained_windows: M of each stage where the weights were trained, if the windows were smaller there; ()
            if they are the same.

    Raises:
        ValueError: as in :class:`~pioneers.models.SwinConfig`, or there is not one positive M per stage.
    """

    trained_windows: tuple[int, ...] = ()

    presets: ClassVar = {
        "tiny": {
            **_IMAGENET, "d_model": 96, "num_layers": (2, 2, 6, 2), "num_heads": (3, 6, 12, 24),
            "drop_path": 0.2,
        },
        "small": {
            **_IMAGENET, "d_model": 96, "num_layers": (2, 2, 18, 2), "num_heads": (3, 6, 12, 24),
            "drop_path": 0.3,
        },
        "base": {
            **_IMAGENET, "d_model": 128, "num_layers": (2, 2, 18, 2), "num_heads": (4, 8, 16, 32),
            "drop_path": 0.5,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        good = len(self.trained_windows) in (0, len(self.num_layers)) and all(
            isinstance(size, int) and size > 0 for size in self.trained_windows
        )
        self._require(good, "trained_windows", "(), or a positive integer for each stage")


class SwinV2(Swin):
    """A Swin Transformer that trains stably when large and moves to larger windows: Liu et al. 2022.

    Three parts differ from :class:`~pioneers.models.Swin`: the norm follows each layer, attention compares
    angles, and a small network computes the biases.

    Args:
        config: sizes, for instance ``SwinV2Config.preset("tiny")``.

    Example:
        >>> import torch
        >>> sizes = {"image_size": 24, "patch_size": 2, "d_model": 6, "window_size": 3, "in_channels": 1}
        >>> model = SwinV2(SwinV2Config(num_classes=10, num_layers=(2, 2), num_heads=(2, 3), **sizes))
        >>> model(torch.zeros(5, 1, 24, 24)).shape
        torch.Size([5, 10])
    """

    config: SwinV2Config

    def __init__(self, config: SwinV2Config) -> None:
        super().__init__(config)

    def _block(self, width: int, num_heads: int, drop_path: float) -> TransformerBlock:
        return TransformerBlock(
            CosineAttention(width, num_heads, dropout=self.config.dropout),
            FeedForward(width),
            norm_placement="res-post",
            dropout=self.config.dropout,
            drop_path=drop_path,
        )

    def _bias(self, stage: int) -> nn.Module:
        trained = self.config.trained_windows
        return LogWindowBias(
            self.config.num_heads[stage],
            self.config.window(stage),
            trained_size=trained[stage] if trained else None,
        )

    def _merge(self, width: int) -> PatchMerging:
        return PatchMerging(width, norm_first=False)
