"""BERT: an encoder without a mask over token, position and segment embeddings."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    BERTEmbedding,
    FeedForward,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    init_weights,
    initial_std,
)
from pioneers.layers.feedforward import ACTIVATIONS
from pioneers.models.pretrained import Pretrained


@dataclass(frozen=True, kw_only=True)
class BERTConfig(Config):
    """The sizes of a BERT.

    Attributes:
        vocab_size: V.
        max_seq_len: longest sequence.
        d_model: D.
        num_layers: number of blocks.
        num_heads: H.
        d_ff: F; None is 4 D, as in every published size.
        num_segments: kinds of sentences, each with a vector of its own; 0 for no such vectors.
        dropout: share dropped in training, throughout.
        activation: of the feed-forward networks and of :class:`MaskedLMHead`, see
            :class:`pioneers.layers.FeedForward`.
        norm_eps: ε of every LayerNorm.

    Raises:
        ValueError: a size is not positive, the heads do not divide the width, dropout is not in [0, 1), or
            the activation is unknown.
    """

    vocab_size: int
    max_seq_len: int
    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int | None = None
    num_segments: int = 2
    dropout: float = 0.1
    activation: str = "gelu"
    norm_eps: float = 1e-12

    presets: ClassVar = {
        "base": {
            "vocab_size": 30522, "max_seq_len": 512, "d_model": 768, "num_layers": 12, "num_heads": 12,
        },
        "large": {
            "vocab_size": 30522, "max_seq_len": 512, "d_model": 1024, "num_layers": 24, "num_heads": 16,
        },
        "multilingual": {
            "vocab_size": 119547, "max_seq_len": 512, "d_model": 768, "num_layers": 12, "num_heads": 12,
        },
        "mini": {
            "vocab_size": 1024, "max_seq_len": 128, "d_model": 128, "num_layers": 4, "num_heads": 4,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive("vocab_size", "max_seq_len", "d_model", "num_layers", "num_heads")
        self._require(self.num_segments >= 0, "num_segments", "0 or more")
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require_dropout(self.dropout)
        self._require_positive_or_none("d_ff")
        self._require_known("activation", ACTIVATIONS)


class Encoder(Pretrained):
    """BERT and its descendants: token ids to hidden states, and these to one vector.

    A subclass makes the parts, ``embed`` and ``stack``; its lines are what sets it apart from BERT.

    Args:
        config: sizes.
    """

    embed: BERTEmbedding
    stack: Stack

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = config

    @staticmethod
    def _embedding(config: BERTConfig, width: int) -> BERTEmbedding:
        return BERTEmbedding(
            config.vocab_size,
            width,
            max_seq_len=config.max_seq_len,
            num_segments=config.num_segments,
            dropout=config.dropout,
            eps=config.norm_eps,
        )

    @staticmethod
    def _block(config: BERTConfig) -> TransformerBlock:
        return TransformerBlock(
            MultiHeadAttention(config.d_model, config.num_heads, dropout=config.dropout),
            FeedForward(config.d_model, config.d_ff, activation=config.activation),
            norm=partial(nn.LayerNorm, eps=config.norm_eps),
            norm_placement="post",
            dropout=config.dropout,
        )

    def forward(
        self, input_ids: Tensor, *, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """``input_ids (B, T)`` → hidden states ``(B, T, D)``.

        Args:
            segment_ids: ``(B, T)``, 0 for the first sentence and 1 for the second.
            mask: which keys are real, from :func:`pioneers.layers.padding_mask`.

        Raises:
            ValueError: there are segments, and the model does not tell them apart.
        """
        return self.stack(self.embed(input_ids, segment_ids), mask=mask)

    def pool(self, hidden: Tensor) -> Tensor:
        """Hidden states ``(B, T, D)`` → one vector ``(B, D)``, that of [CLS], the first position."""
        return hidden[:, 0]


class BERT(Encoder):
    """The encoder with its pooler; :class:`MaskedLMHead` and the others use it. Devlin et al. 2019.

    Args:
        config: sizes, for instance ``BERTConfig.preset("base")``.

    Example:
        >>> import torch
        >>> model = BERT(BERTConfig(vocab_size=11, max_seq_len=7, d_model=6, num_layers=1, num_heads=2))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 6])
    """

    def __init__(self, config: BERTConfig) -> None:
        super().__init__(config)
        self.embed = self._embedding(config, config.d_model)
        self.stack = Stack(self._block(config) for _ in range(config.num_layers))
        self.pooler = nn.Linear(config.d_model, config.d_model)
        init_weights(self, std=initial_std(config.d_model))

    def pool(self, hidden: Tensor) -> Tensor:
        """Hidden states ``(B, T, D)`` → one vector ``(B, D)``, from [CLS], the first position."""
        return self.pooler(hidden[:, 0]).tanh()


class MaskedLMHead(nn.Module):
    """Predicts the tokens that were hidden; its output matrix is the token embedding.

    Args:
        bert: the model whose states it reads: an ``Encoder``, or another with a token embedding in
            ``embed.token`` and a ``norm_eps`` and an ``activation`` in its configuration.

    Example:
        >>> import torch
        >>> sizes = {"vocab_size": 11, "max_seq_len": 7, "d_model": 6, "num_layers": 1, "num_heads": 2}
        >>> MaskedLMHead(BERT(BERTConfig(**sizes)))(torch.zeros(3, 6)).shape
        torch.Size([3, 11])
    """

    def __init__(self, bert: Any) -> None:
        super().__init__()
        config, width = bert.config, bert.embed.token.embedding_dim
        self.transform = nn.Linear(config.d_model, width)
        self.activation = ACTIVATIONS[config.activation]
        self.norm = nn.LayerNorm(width, eps=config.norm_eps)
        self.lm_head = nn.Linear(width, config.vocab_size)
        init_weights(self, std=initial_std(config.d_model))
        self.lm_head.weight = bert.embed.token.weight

    def forward(self, hidden: Tensor) -> Tensor:
        """Hidden states ``(…, D)`` → logits ``(…, V)``; pass only the positions that are to be predicted."""
        return self.lm_head(self.norm(self.activation(self.transform(hidden))))
