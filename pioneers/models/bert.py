"""BERT: an encoder without a mask over token, position and segment embeddings."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

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
from pioneers.models.heads import ClassificationHead


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
        num_segments: kinds of sentences, each with a vector of its own.
        dropout: share dropped in training, throughout.

    Raises:
        ValueError: a size is not positive, the heads do not divide the width, or dropout is not in [0, 1).
    """

    vocab_size: int
    max_seq_len: int
    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int | None = None
    num_segments: int = 2
    dropout: float = 0.1

    presets: ClassVar = {
        "base": {
            "vocab_size": 30522, "max_seq_len": 512, "d_model": 768, "num_layers": 12, "num_heads": 12,
        },
        "large": {
            "vocab_size": 30522, "max_seq_len": 512, "d_model": 1024, "num_layers": 24, "num_heads": 16,
        },
        "mini": {
            "vocab_size": 1024, "max_seq_len": 128, "d_model": 128, "num_layers": 4, "num_heads": 4,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive(
            "vocab_size", "max_seq_len", "d_model", "num_layers", "num_heads", "num_segments"
        )
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require_dropout(self.dropout)
        self._require_positive_or_none("d_ff")


class BERT(nn.Module):
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
        super().__init__()
        self.config = config
        self.embed = BERTEmbedding(
            config.vocab_size,
            config.d_model,
            max_seq_len=config.max_seq_len,
            num_segments=config.num_segments,
            dropout=config.dropout,
        )
        self.stack = Stack(self._block(config) for _ in range(config.num_layers))
        self.pooler = nn.Linear(config.d_model, config.d_model)
        init_weights(self, std=initial_std(config.d_model))

    @staticmethod
    def _block(config: BERTConfig) -> TransformerBlock:
        return TransformerBlock(
            MultiHeadAttention(config.d_model, config.num_heads, dropout=config.dropout),
            FeedForward(config.d_model, config.d_ff),
            norm=partial(nn.LayerNorm, eps=1e-12),
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
        """
        return self.stack(self.embed(input_ids, segment_ids), mask=mask)

    def pool(self, hidden: Tensor) -> Tensor:
        """Hidden states ``(B, T, D)`` → one vector ``(B, D)``, from [CLS], the first position."""
        return self.pooler(hidden[:, 0]).tanh()


class MaskedLMHead(nn.Module):
    """Predicts the tokens that were hidden; its output matrix is the token embedding.

    Args:
        bert: the model whose states it reads.

    Example:
        >>> import torch
        >>> sizes = {"vocab_size": 11, "max_seq_len": 7, "d_model": 6, "num_layers": 1, "num_heads": 2}
        >>> MaskedLMHead(BERT(BERTConfig(**sizes)))(torch.zeros(3, 6)).shape
        torch.Size([3, 11])
    """

    def __init__(self, bert: BERT) -> None:
        super().__init__()
        config = bert.config
        self.transform = nn.Linear(config.d_model, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=1e-12)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size)
        init_weights(self, std=initial_std(config.d_model))
        self.lm_head.weight = bert.embed.token.weight

    def forward(self, hidden: Tensor) -> Tensor:
        """Hidden states ``(…, D)`` → logits ``(…, V)``; pass only the positions that are to be predicted."""
        return self.lm_head(self.norm(nn.functional.gelu(self.transform(hidden))))


class PretrainingLogits(NamedTuple):
    """The two predictions of BERT in pretraining.

    Attributes:
        masked_lm: logits of the hidden tokens, ``(B, T, V)``, or ``(M, V)`` for M chosen ones.
        next_sentence: logits ``(B, 2)`` of "follows" (0) and "does not" (1).
    """

    masked_lm: Tensor
    next_sentence: Tensor


class BERTForPretraining(nn.Module):
    """BERT with both heads of its pretraining: Devlin et al. 2019, section 3.1. Published weights are these.

    Args:
        config: sizes, for instance ``BERTConfig.preset("base")``.

    Example:
        >>> import torch
        >>> sizes = {"vocab_size": 11, "max_seq_len": 7, "d_model": 6, "num_layers": 1, "num_heads": 2}
        >>> model, ids = BERTForPretraining(BERTConfig(**sizes)), torch.zeros(2, 5, dtype=torch.long)
        >>> [tuple(logits.shape) for logits in model(ids)]
        [(2, 5, 11), (2, 2)]
        >>> tuple(model(ids, predict_mask=ids == torch.arange(5)).masked_lm.shape)
        (2, 11)
    """

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = BERT(config)
        self.masked_lm = MaskedLMHead(self.bert)
        self.next_sentence = ClassificationHead(config.d_model, 2, dropout=0.0)

    def forward(
        self,
        input_ids: Tensor,
        *,
        segment_ids: Tensor | None = None,
        mask: Tensor | None = None,
        predict_mask: Tensor | None = None,
    ) -> PretrainingLogits:
        """``input_ids (B, T)`` → logits of the hidden tokens, and of "follows" (0) and "does not" (1).

        Args:
            segment_ids: ``(B, T)``, 0 for the first sentence and 1 for the second.
            mask: which keys are real, from :func:`pioneers.layers.padding_mask`.
            predict_mask: boolean ``(B, T)``, True at the M tokens to predict, whose logits are ``(M, V)`` in
                reading order; without it those of all tokens, ``(B, T, V)``.
        """
        hidden = self.bert(input_ids, segment_ids=segment_ids, mask=mask)
        wanted = hidden if predict_mask is None else hidden[predict_mask]
        return PretrainingLogits(self.masked_lm(wanted), self.next_sentence(self.bert.pool(hidden)))
