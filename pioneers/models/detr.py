"""DETR: detection as the prediction of a set, by an encoder–decoder that reads a convolutional network."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import FeedForward, MultiHeadAttention, Stack, TransformerBlock
from pioneers.layers.block import NORM_PLACEMENTS
from pioneers.layers.positions import sinusoids
from pioneers.models.baselines import ConvBackbone
from pioneers.models.labels import label_names
from pioneers.models.pretrained import Pretrained


@dataclass(frozen=True, kw_only=True)
class DETRConfig(Config):
    """The sizes of a DETR.

    Attributes:
        num_classes: C, without "no object".
        num_queries: Q, more than the objects of any picture.
        d_model: D, divisible by 4.
        d_ff: F.
        num_layers: number of blocks in the encoder.
        num_decoder_layers: number of blocks in the decoder; None is as many.
        num_heads: H.
        backbone_channels: channels of the feature map that the backbone gives.
        in_channels: channels of the images.
        dropout: share dropped in training, throughout the encoder and the decoder.
        norm_placement: see :class:`pioneers.layers.TransformerBlock`; the paper's is ``"post"``.
        labels: the names of the classes, in the order of the logits.

    Raises:
        ValueError: a size is not positive, the heads or 4 do not divide the width, dropout is not in [0, 1),
            there are more or fewer labels than classes, or the placement is unknown.
    """

    num_classes: int
    num_queries: int
    d_model: int
    d_ff: int
    num_layers: int
    num_decoder_layers: int | None = None
    num_heads: int
    backbone_channels: int
    in_channels: int = 3
    dropout: float = 0.1
    norm_placement: str = "post"
    labels: tuple[str, ...] = ()

    presets: ClassVar = {
        "resnet50": {
            "num_classes": 91, "num_queries": 100, "d_model": 256, "d_ff": 2048, "num_layers": 6,
            "num_heads": 8, "backbone_channels": 2048,
        },
        "digits": {
            "num_classes": 10, "num_queries": 10, "d_model": 64, "d_ff": 128, "num_layers": 2,
            "num_decoder_layers": 3, "num_heads": 4, "backbone_channels": 128, "dropout": 0.0,
            "norm_placement": "pre",
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive(
            "num_classes", "num_queries", "d_model", "d_ff", "num_layers", "num_heads", "backbone_channels"
        )
        self._require_positive("in_channels")
        self._require_positive_or_none("num_decoder_layers")
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require(self.d_model % 4 == 0, "d_model", "divisible by 4, for sine and cosine of x and of y")
        self._require_dropout(self.dropout)
        self._require_known("norm_placement", NORM_PLACEMENTS)
        label_names(self.labels, self.num_classes)


class Detections(NamedTuple):
    """What every decoder layer predicts; the last layer's is the answer, the others are for training.

    Attributes:
        logits: ``(L, B, Q, C + 1)``, the last for "no object".
        boxes: ``(L, B, Q, 4)``: (cx, cy, w, h), as shares of the picture.
    """

    logits: Tensor
    boxes: Tensor


class Memory(NamedTuple):
    """What the decoder attends to.

    Attributes:
        states: of the encoder, ``(B, N, D)``, the cells of the feature map row by row.
        positions: ``(1 or B, N, D)``, added to the keys; None for none.
        mask: ``(B, 1, 1, N)``, which cells are of the picture; None if all are.
    """

    states: Tensor
    positions: Tensor | None
    mask: Tensor | None


class BoxHead(nn.Sequential):
    """Three linear maps with ReLU between, from a state to the logits of a box.

    Args:
        d_model: D.
    """

    def __init__(self, d_model: int) -> None:
        hidden = [nn.Linear(d_model, d_model), nn.ReLU(), nn.Linear(d_model, d_model), nn.ReLU()]
        super().__init__(*hidden, nn.Linear(d_model, 4))


class Detector(Pretrained):
    """What all DETRs have: a backbone, an encoder, a decoder and two heads; a subclass has the queries.

    Args:
        config: sizes.
        backbone: images ``(B, C, height, width)`` → feature map ``(B, backbone_channels, h, w)``; a small
            one, :class:`~pioneers.models.ConvBackbone`, if left out.
    """

    def __init__(self, config: DETRConfig, backbone: nn.Module | None = None) -> None:
        super().__init__()
        self.config = config
        channels, width = config.backbone_channels, config.d_model
        self.backbone = ConvBackbone(config.in_channels, channels) if backbone is None else backbone
        self.proj = nn.Conv2d(channels, width, kernel_size=1)
        post = config.norm_placement == "post"
        blocks = [_block(config, cross=False) for _ in range(config.num_layers)]
        self.encoder = Stack(blocks, None if post else nn.LayerNorm(width))
        blocks = [_block(config, cross=True) for _ in range(config.num_decoder_layers or config.num_layers)]
        self.decoder = Stack(blocks, nn.LayerNorm(width))
        for p in (*self.encoder.parameters(), *self.decoder.parameters()):
            if p.ndim >= 2:
                nn.init.xavier_uniform_(p)
        self.class_head = nn.Linear(width, config.num_classes + 1)
        self.box_head = BoxHead(width)

    def features(self, images: Tensor, mask: Tensor | None = None) -> Memory:
        """The feature map of ``images`` as tokens, before the encoder; ``mask`` as in :meth:`encode`."""
        grid = self.proj(self.backbone(images))  # (B, D, h, w)
        size = grid.shape[-2:]
        if mask is None:
            cells = torch.ones(1, *size, dtype=torch.bool, device=images.device)
        else:
            cells = F.interpolate(mask[:, None].float(), size).bool()[:, 0]  # (B, h, w)
        tokens = grid.flatten(2).transpose(1, 2)  # (B, N, D)
        positions = grid_positions(cells, self.config.d_model).to(tokens.dtype)
        return Memory(tokens, positions, None if mask is None else cells.flatten(1)[:, None, None])

    def encode(self, images: Tensor, mask: Tensor | None = None) -> Memory:
        """``images (B, C, height, width)`` → what the decoder attends to.

        ``mask (B, height, width)`` says which pixels are of the picture, where smaller ones were filled up.
        """
        tokens, positions, seen = self.features(images, mask)
        return Memory(self.encoder(tokens, positions=positions, mask=seen), positions, seen)

    def decode(self, memory: Memory) -> Detections:
        """What was encoded → a class and a box for every query, by every decoder layer."""
        raise NotImplementedError

    def forward(self, images: Tensor, mask: Tensor | None = None) -> Detections:
        """``images (B, C, height, width)`` → :class:`Detections`; ``mask`` as in :meth:`encode`."""
        return self.decode(self.encode(images, mask))


class DETR(Detector):
    """The detector as published: every query is a learned position, its content starts at zero.

    Carion et al. 2020, section 3.2. Positions are added to queries and keys in every layer, never to values.

    Args:
        config: sizes, for instance ``DETRConfig.preset("digits")``. The preset ``"resnet50"`` is the model
            as published around a ResNet-50, which must be given as backbone.
        backbone: see :class:`~pioneers.models.detr.Detector`.

    Example:
        >>> model = DETR(DETRConfig.preset("digits"))
        >>> [x.shape for x in model(torch.zeros(2, 3, 48, 48))]
        [torch.Size([3, 2, 10, 11]), torch.Size([3, 2, 10, 4])]
    """

    def __init__(self, config: DETRConfig, backbone: nn.Module | None = None) -> None:
        super().__init__(config, backbone)
        self.queries = nn.Embedding(config.num_queries, config.d_model)

    def decode(self, memory: Memory) -> Detections:
        """What was encoded → a class and a box for every query, by every decoder layer."""
        states, positions, mask = memory
        queries = self.queries.weight.expand(len(states), -1, -1)  # (B, Q, D)
        x, outputs = torch.zeros_like(queries), []
        for block in self.decoder.blocks:
            x = block(x, states, positions=queries, memory_positions=positions, memory_mask=mask)
            outputs.append(self.decoder.norm(x))
        found = torch.stack(outputs)  # (L, B, Q, D)
        return Detections(self.class_head(found), self.box_head(found).sigmoid())


def grid_positions(cells: Tensor, d_model: int) -> Tensor:
    """Fixed positions ``(B, N, D)`` of the cells of pictures: half of the channels for y, half for x.

    Rows and columns are counted within the picture and scaled to (0, 2π]: Carion et al. 2020, section A.4.

    Args:
        cells: ``(B, h, w)``, boolean: which cells are of the picture.
        d_model: D.

    Example:
        >>> grid_positions(torch.ones(1, 2, 3, dtype=torch.bool), 8).shape
        torch.Size([1, 6, 8])
    """
    axes = []
    for axis in (1, 2):
        place = cells.float().cumsum(axis)  # (B, h, w)
        last = place.narrow(axis, -1, 1)
        axes.append(sinusoids(2 * math.pi * place / (last + 1e-6), d_model // 2))
    return torch.cat(axes, dim=-1).flatten(1, 2)  # (B, N, D)


def _block(config: DETRConfig, *, cross: bool) -> TransformerBlock:
    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(config.d_model, config.num_heads, dropout=config.dropout)

    return TransformerBlock(
        attention(),
        cross_attn=attention() if cross else None,
        ffn=FeedForward(config.d_model, config.d_ff, activation="relu", dropout=config.dropout),
        norm_placement=config.norm_placement,
        dropout=config.dropout,
    )
