"""XLNet: a language model over every order of the tokens, in two streams."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    FeedForward,
    RelativeAttention,
    TokenEmbedding,
    TwoStreamBlock,
    init_weights,
    initial_std,
    relative_sinusoids,
)
from pioneers.models.pretrained import Pretrained


@dataclass(frozen=True, kw_only=True)
class XLNetConfig(Config):
    """The sizes of an XLNet.

    Attributes:
        vocab_size: V.
        d_model: D, even.
        num_layers: number of blocks.
        num_heads: H.
        d_ff: F; None is 4 D, as in every published size.
        dropout: share dropped in training, throughout.

    Raises:
        ValueError: a size is not positive, the heads or 2 do not divide the width, or dropout is not in
            [0, 1).
    """

    vocab_size: int = 32000
    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int | None = None
    dropout: float = 0.1

    presets: ClassVar = {
        "base": {"d_model": 768, "num_layers": 12, "num_heads": 12},
        "large": {"d_model": 1024, "num_layers": 24, "num_heads": 16},
    }

    def __post_init__(self) -> None:
        self._require_positive("vocab_size", "d_model", "num_layers", "num_heads")
        self._require(self.d_model % 2 == 0, "d_model", "even, for pairs of sine and cosine")
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require_dropout(self.dropout)
        self._require_positive_or_none("d_ff")


class Streams(NamedTuple):
    """The two streams of XLNet.

    Attributes:
        content: states that know the token at their position, ``(B, T, D)``; fine-tuning reads these.
        query: states ``(B, T, D)`` that do not, and predict it; None without a ``query_mask``.
    """

    content: Tensor
    query: Tensor | None


class XLNet(Pretrained):
    """Permutation language model with two-stream attention and relative positions: Yang et al. 2019.

    The output layer shares its matrix with the token embedding. There is no memory of earlier segments
    (section 2.4): every text is read on its own, as in fine-tuning. The query stream runs at every position,
    and ``predict_mask`` says where its logits are wanted.

    Args:
        config: sizes, for instance ``XLNetConfig.preset("base")``.

    Example:
        >>> model = XLNet(XLNetConfig(vocab_size=11, d_model=6, num_layers=1, num_heads=2))
        >>> ids, earlier = torch.zeros(2, 5, dtype=torch.long), torch.ones(2, 5, 5, dtype=torch.bool).tril(-1)
        >>> model(ids).shape  # all tokens see each other
        torch.Size([2, 5, 11])
        >>> model(ids, content_mask=earlier | torch.eye(5, dtype=torch.bool), query_mask=earlier).shape
        torch.Size([2, 5, 11])
    """

    def __init__(self, config: XLNetConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = TokenEmbedding(config.vocab_size, config.d_model, dropout=config.dropout)
        self.query_token = nn.Parameter(torch.empty(config.d_model).normal_(std=0.02))  # where g begins
        self.blocks = nn.ModuleList(self._block(config) for _ in range(config.num_layers))
        self.dropout = nn.Dropout(config.dropout)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size)
        self.lm_head.weight = self.embed.token.weight
        init_weights(self, std=initial_std(config.d_model))

    @staticmethod
    def _block(config: XLNetConfig) -> TwoStreamBlock:
        return TwoStreamBlock(
            RelativeAttention(config.d_model, config.num_heads, dropout=config.dropout),
            FeedForward(config.d_model, config.d_ff, dropout=config.dropout),
            d_model=config.d_model,
            eps=1e-12,
            dropout=config.dropout,
        )

    def hidden_states(
        self,
        input_ids: Tensor,
        *,
        segment_ids: Tensor | None = None,
        mask: Tensor | None = None,
        content_mask: Tensor | None = None,
        query_mask: Tensor | None = None,
    ) -> Streams:
        """``input_ids (B, T)`` → both streams, each ``(B, T, D)``.

        ``segment_ids``, ``mask``, ``content_mask`` and ``query_mask`` are those of :meth:`forward`.
        """
        h = self.embed(input_ids)  # (B, T, D)
        g = None if query_mask is None else self.dropout(self.query_token.expand_as(h))  # (B, T, D)
        distances = relative_sinusoids(h.shape[1], self.config.d_model, device=h.device)  # (2T - 1, D)
        distances = self.dropout(distances.to(h.dtype))
        other = None if segment_ids is None else (segment_ids[:, :, None] != segment_ids[:, None]).long()
        masks = {"content_mask": _both(mask, content_mask), "query_mask": _both(mask, query_mask)}
        for block in self.blocks:
            h, g = block(h, g, distances, other_segment=other, **masks)
        return Streams(self.dropout(h), None if g is None else self.dropout(g))

    def forward(
        self,
        input_ids: Tensor,
        *,
        segment_ids: Tensor | None = None,
        mask: Tensor | None = None,
        content_mask: Tensor | None = None,
        query_mask: Tensor | None = None,
        predict_mask: Tensor | None = None,
    ) -> Tensor:
        """``input_ids (B, T)`` → logits ``(B, T, V)`` of the query stream; of the content if there is none.

        Args:
            segment_ids: ``(B, T)``; what counts is whether two are equal. Without it segments play no part.
            mask: which keys are real, from :func:`pioneers.layers.padding_mask`.
            content_mask: boolean ``(B, T, T)``: position t itself, and what comes before it in the order.
            query_mask: boolean ``(B, T, T)``: what comes before t in the order, and not t. The first of an
                order sees nothing, so that its logits are the same whatever the text is.
            predict_mask: boolean ``(B, T)``, True at the M tokens to predict, whose logits are ``(M, V)`` in
                reading order.
        """
        content, query = self.hidden_states(
            input_ids, segment_ids=segment_ids, mask=mask, content_mask=content_mask, query_mask=query_mask
        )
        hidden = content if query is None else query
        return self.lm_head(hidden if predict_mask is None else hidden[predict_mask])


def _both(mask: Tensor | None, order: Tensor | None) -> Tensor | None:
    """What is real and comes early enough: ``(B, 1, T, T)``."""
    if order is None:
        return mask
    return order[:, None] if mask is None else order[:, None] & mask
