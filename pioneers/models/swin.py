"""Swin Transformer: the block in windows, shifted in every second block, over grids that become coarser."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    FeedForward,
    MultiHeadAttention,
    PatchMerging,
    Stack,
    SwinEmbedding,
    TransformerBlock,
    WindowBias,
    cyclic_shift,
    init_weights,
    initial_std,
    shifted_window_mask,
    window_merge,
    window_partition,
)
from pioneers.models.labels import label_names
from pioneers.models.pretrained import Pretrained

_IMAGENET = {"image_size": 224, "patch_size": 4, "num_classes": 1000, "window_size": 7}


@dataclass(frozen=True, kw_only=True)
class SwinConfig(Config):
    """The sizes of a Swin Transformer. Stage s, from 0, has width ``2^s D`` and a grid ``2^s`` times smaller.

    Attributes:
        image_size: height and width in pixels.
        patch_size: P, which must divide it.
        num_classes: number of labels; 0 for a model without a head, which gives the mean of the last grid.
        d_model: D, the width of the first stage.
        num_layers: number of blocks of each stage.
        num_heads: H of each stage.
        window_size: M, the side of a window in tokens; where a grid is smaller, it is one window.
        in_channels: C.
        dropout: share dropped in training, throughout.
        drop_path: how often, in training, a layer of the last block is skipped; it rises linearly from 0 in
            the first block.
        labels: as in :class:`~pioneers.models.ViTConfig`, and so are ``image_mean`` and ``image_std``.

    Raises:
        ValueError: a size is not positive, there is not one number of heads per stage or it does not divide
            the width, the patches do not divide the image, a grid cannot be halved or cut into windows, a
            share is not in [0, 1), or labels, means or deviations do not fit.
    """

    image_size: int
    patch_size: int
    num_classes: int
    d_model: int
    num_layers: tuple[int, ...]
    num_heads: tuple[int, ...]
    window_size: int
    in_channels: int = 3
    dropout: float = 0.0
    drop_path: float = 0.0
    labels: tuple[str, ...] = ()
    image_mean: tuple[float, ...] = ()
    image_std: tuple[float, ...] = ()

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
        "large": {
            **_IMAGENET, "d_model": 192, "num_layers": (2, 2, 18, 2), "num_heads": (6, 12, 24, 48),
            "drop_path": 0.2,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive("image_size", "patch_size", "d_model", "window_size", "in_channels")
        self._require(self.num_classes >= 0, "num_classes", "positive, or 0 for a model without a head")
        label_names(self.labels, self.num_classes)
        statistics = {len(self.image_mean), len(self.image_std)}
        self._require(
            statistics in ({0}, {self.in_channels}), "image_mean", "one number a channel, like image_std"
        )
        self._require_dropout(self.dropout)
        self._require(0 <= self.drop_path < 1, "drop_path", "at least 0 and less than 1")
        for name in ("num_layers", "num_heads"):
            numbers = getattr(self, name)
            good = isinstance(numbers, tuple) and all(isinstance(n, int) and n > 0 for n in numbers)
            self._require(good and numbers != (), name, "positive integers, one for each stage")
        same = len(self.num_heads) == len(self.num_layers)
        self._require(same, "num_heads", f"as many numbers as num_layers={self.num_layers}")
        unit = self.patch_size * 2 ** (len(self.num_layers) - 1)
        self._require(self.image_size % unit == 0, "image_size", f"a multiple of {unit} for so many stages")
        for stage, heads in enumerate(self.num_heads):
            self._require_heads_divide(self.width(stage), heads)
            side = self.side(stage)
            divides = side % self.window(stage) == 0
            self._require(divides, "window_size", f"a divisor of the {side} x {side} tokens of stage {stage}")

    def width(self, stage: int) -> int:
        """The width of a stage."""
        return self.d_model * 2**stage

    def side(self, stage: int) -> int:
        """The side of the grid of a stage, in tokens."""
        return self.image_size // self.patch_size // 2**stage

    def window(self, stage: int) -> int:
        """The side of the windows of a stage, in tokens."""
        return min(self.window_size, self.side(stage))

    def drop_paths(self) -> list[list[float]]:
        """The share of skipped layers for every block of every stage, rising from 0 to ``drop_path``."""
        last = max(sum(self.num_layers) - 1, 1)
        shares = iter([self.drop_path * i / last for i in range(sum(self.num_layers))])
        return [[next(shares) for _ in range(blocks)] for blocks in self.num_layers]


class SwinStage(nn.Module):
    """Blocks at one resolution. Each works in the windows of a grid, every second one in shifted windows.

    Windows are short sequences side by side, so the blocks are those of any other model.

    Args:
        blocks: the blocks, first one first.
        biases: for each block, a module that gives its bias ``(H, M · M, M · M)``.
        side: of the grid, in tokens.
        window_size: M, which must divide the side.

    Raises:
        ValueError: the window does not divide the side.
    """

    mask: Tensor

    def __init__(
        self, blocks: list[TransformerBlock], biases: list[nn.Module], *, side: int, window_size: int
    ) -> None:
        super().__init__()
        self.stack = Stack(blocks)
        self.biases = nn.ModuleList(biases)
        self.window_size = window_size
        self.shift = 0 if window_size == side else window_size // 2
        mask = shifted_window_mask(side, side, window_size, self.shift)[:, None]  # (W, 1, M · M, M · M)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """``x (B, side, side, D)`` → the same shape."""
        for i, (block, bias) in enumerate(zip(self.stack.blocks, self.biases, strict=True)):
            shift = self.shift if i % 2 else 0
            windows = window_partition(cyclic_shift(x, shift), self.window_size)  # (B, W, M · M, D)
            windows = block(windows, mask=self.mask if shift else None, bias=bias())
            x = cyclic_shift(window_merge(windows, x.shape[1]), -shift)
        return x


class Swin(Pretrained):
    """An encoder over a grid of patches, with attention in windows: Liu et al. 2021, section 3.

    Its cost grows with the number of patches, not with its square. The head reads the mean of the last grid.

    Args:
        config: sizes, for instance ``SwinConfig.preset("tiny")``.

    Example:
        >>> import torch
        >>> sizes = {"image_size": 24, "patch_size": 2, "d_model": 6, "window_size": 3, "in_channels": 1}
        >>> model = Swin(SwinConfig(num_classes=10, num_layers=(2, 2), num_heads=(2, 3), **sizes))
        >>> model(torch.zeros(5, 1, 24, 24)).shape
        torch.Size([5, 10])
    """

    def __init__(self, config: SwinConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = SwinEmbedding(
            config.image_size,
            config.patch_size,
            in_channels=config.in_channels,
            d_model=config.d_model,
            dropout=config.dropout,
        )
        stages = range(len(config.num_layers))
        self.stages = nn.ModuleList(self._stage(stage) for stage in stages)
        self.merges = nn.ModuleList(self._merge(config.width(stage)) for stage in stages[:-1])
        width = config.width(stages[-1])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, config.num_classes) if config.num_classes else nn.Identity()
        init_weights(self, std=initial_std(width))

    def _stage(self, stage: int) -> SwinStage:
        config, shares = self.config, self.config.drop_paths()[stage]
        blocks = [self._block(config.width(stage), config.num_heads[stage], share) for share in shares]
        biases = [self._bias(stage) for _ in shares]
        return SwinStage(blocks, biases, side=config.side(stage), window_size=config.window(stage))

    def _block(self, width: int, num_heads: int, drop_path: float) -> TransformerBlock:
        return TransformerBlock(
            MultiHeadAttention(width, num_heads, dropout=self.config.dropout),
            FeedForward(width),
            dropout=self.config.dropout,
            drop_path=drop_path,
        )

    def _bias(self, stage: int) -> nn.Module:
        return WindowBias(self.config.num_heads[stage], self.config.window(stage))

    def _merge(self, width: int) -> PatchMerging:
        return PatchMerging(width)

    def hidden_states(self, images: Tensor) -> Tensor:
        """``images (B, C, height, width)`` → the last grid ``(B, side, side, D)``, D its width."""
        x = self.embed(images)  # (B, side, side, D)
        for stage, merge in zip(self.stages, [*self.merges, nn.Identity()], strict=True):
            x = merge(stage(x))  # (B, side / 2, side / 2, 2 D)
        return self.norm(x)

    def forward(self, images: Tensor) -> Tensor:
        """Images ``(B, C, height, width)`` → logits ``(B, num_classes)``, or ``(B, D)`` without a head."""
        return self.head(self.hidden_states(images).mean(dim=(1, 2)))
