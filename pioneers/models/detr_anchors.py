"""A DETR whose queries are boxes: each begins with an anchor of its own, and every layer moves it."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.layers import FeedForward, MultiHeadAttention, Stack, TransformerBlock
from pioneers.layers.positions import sinusoids
from pioneers.models.detr import Detections, Detector, DETRConfig, Memory

ANCHOR_SIZE = 0.3  # width and height of all anchors at the start, as shares of the picture
PLACE_GAIN = 3.0  # of the maps that compare places: how narrowly a head looks at the start


class ConditionalBlock(TransformerBlock):
    """A decoder block that compares content with content and position with position, and adds the scores.

    In the block of :class:`DETR`, content and position are added before they are compared, which gives two
    cross terms, too. Meng et al. 2021, section 3.3.

    Args:
        config: sizes of the DETR.
    """

    cross_attn: MultiHeadAttention

    def __init__(self, config: DETRConfig) -> None:
        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(config.d_model, config.num_heads, dropout=config.dropout)

        super().__init__(
            attention(),
            FeedForward(config.d_model, config.d_ff, activation="relu", dropout=config.dropout),
            cross_attn=attention(),
            norm_placement=config.norm_placement,
            dropout=config.dropout,
        )
        self.q_place, self.k_place = (nn.Linear(config.d_model, config.d_model, bias=False) for _ in "qk")
        turns = 2 * math.pi * torch.arange(config.num_heads) / config.num_heads
        self.offsets = nn.Parameter(torch.stack([turns.cos(), turns.sin()], dim=1))  # (H, 2)

    def place_scores(self, boxes: Tensor, memory_positions: Tensor) -> Tensor:
        """Scores ``(B, H, Q, N)`` of the places that the heads look at, and of the positions of the cells.

        Args:
            boxes: of the queries, ``(B, Q, 4)``.
            memory_positions: ``(1 or B, N, D)``.
        """
        centre, size = boxes.float()[:, :, None].split(2, dim=-1)  # (B, Q, 1, 2)
        waves = box_waves(centre + self.offsets * size / 2, self.q_place.in_features // 2)  # (B, Q, H, D)
        heads = (-1, self.cross_attn.head_dim)
        weight = self.q_place.weight.unflatten(0, heads)  # (H, K, D)
        q = torch.einsum("bqhd,hkd->bhqk", waves.to(weight.dtype), weight)  # (B, H, Q, K)
        k = self.k_place(memory_positions).unflatten(-1, heads).permute(0, 2, 3, 1)  # (B, H, K, N)
        return q.to(k.dtype) @ k / math.sqrt(heads[1])

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        memory: Memory,
        *,
        positions: Tensor,
        boxes: Tensor,
    ) -> Tensor:
        """``x (B, Q, D)`` and a memory of N cells → ``(B, Q, D)``.

        Args:
            positions: ``(B, Q, D)``, added to queries and keys of self-attention.
            boxes: ``(B, Q, 4)``, around which the heads of cross-attention look.
        """
        h = self._normed(x, self.norm_attn)
        h = self.attn(h + positions, h + positions, h)
        x = self._add(x, h, self.norm_attn, self.norm_attn_out)
        scores = None if memory.positions is None else self.place_scores(boxes, memory.positions)
        h = self.cross_attn(self._normed(x, self.norm_cross), memory.states, mask=memory.mask, bias=scores)
        x = self._add(x, h, self.norm_cross, self.norm_cross_out)
        h = self.ffn(self._normed(x, self.norm_ffn))
        return self._add(x, h, self.norm_ffn, self.norm_ffn_out)


class AnchorDETR(Detector):
    """A DETR whose queries are learned anchor boxes, refined from one decoder layer to the next.

    The position of a query is made from its box, as in Liu et al. 2022, section 4, without their scaling by
    width and height; its content begins as its position. A layer predicts how the box that it was given is to
    be moved, ``σ(σ⁻¹(box) + δ)``, and gives it on without a gradient: Zhu et al. 2021, section 4.2.

    Args:
        config: sizes, as for :class:`DETR`.
        backbone: see :class:`DETR`.

    Example:
        >>> model = AnchorDETR(DETRConfig.preset("digits"))
        >>> [x.shape for x in model(torch.zeros(2, 3, 48, 48))]
        [torch.Size([3, 2, 10, 11]), torch.Size([3, 2, 10, 4])]
    """

    def __init__(self, config: DETRConfig, backbone: nn.Module | None = None) -> None:
        super().__init__(config, backbone)
        width = config.d_model
        blocks = [ConditionalBlock(config) for _ in self.decoder.blocks]
        self.decoder = Stack(blocks, self.decoder.norm)
        for name, p in self.decoder.named_parameters():
            if name.endswith("place.weight"):
                p.data.copy_(_fastest_waves(width, config.num_heads))
            elif name.endswith("weight") and p.ndim == 2:
                nn.init.xavier_uniform_(p)
        centres = torch.rand(config.num_queries, 2) * 0.8 + 0.1
        sizes = torch.full((config.num_queries, 2), ANCHOR_SIZE)
        self.anchors = nn.Parameter(torch.cat([centres, sizes], dim=1).logit())  # (Q, 4)
        self.position = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))
        for p in self.box_head[-1].parameters():
            nn.init.zeros_(p)  # the boxes begin as the anchors

    def decode(self, memory: Memory) -> Detections:
        """What was encoded → a class and a box for every query, by every decoder layer."""
        box = self.anchors.expand(len(memory.states), -1, -1)  # (B, Q, 4), as logits
        x: Tensor | None = None
        logits, boxes = [], []
        for block in self.decoder.blocks:
            given = box.sigmoid()
            waves = box_waves(given, self.config.d_model // 2).to(memory.states.dtype)  # (B, Q, 2 D)
            positions = self.position(waves)  # (B, Q, D)
            x = block(positions if x is None else x, memory, positions=positions, boxes=given)
            found = self.decoder.norm(x)
            moved = self.box_head(found)
            moved = moved + box.to(moved.dtype)  # (B, Q, 4)
            logits.append(self.class_head(found))
            boxes.append(moved.sigmoid())
            box = moved.detach()
        return Detections(torch.stack(logits), torch.stack(boxes))


def box_waves(numbers: Tensor, width: int) -> Tensor:
    """Sinusoids of places or boxes ``(…, n)``, y first as in :func:`grid_positions`: ``(…, n · width)``."""
    pairs = numbers.float().unflatten(-1, (-1, 2)).flip(-1).flatten(-2)  # (cy, cx) or (cy, cx, h, w)
    return sinusoids(2 * math.pi * pairs, width).flatten(-2)


def _fastest_waves(d_model: int, num_heads: int) -> Tensor:
    """Make a map ``(D, D)`` that gives every head the fastest waves of y and of x, half of its width each."""
    half = d_model // num_heads // 2
    chosen = torch.cat([torch.arange(half), d_model // 2 + torch.arange(half)])
    head = PLACE_GAIN * torch.eye(d_model)[chosen]  # (K, D)
    return F.pad(head, (0, 0, 0, d_model // num_heads - 2 * half)).repeat(num_heads, 1)
