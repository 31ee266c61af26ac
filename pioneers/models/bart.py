"""BART: the Transformer with GPT's embedding and GELU, pretrained to restore texts that were damaged."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    FeedForward,
    GPTEmbedding,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    init_weights,
    initial_std,
)
from pioneers.models.encoder_decoder import Caches, EncoderDecoderModel


@dataclass(frozen=True, kw_only=True)
class BARTConfig(Config):
    """The sizes of a BART.

    Attributes:
        vocab_size: V.
        max_seq_len: longest source, and longest target.
        d_model: D.
        num_layers: number of blocks in the encoder.
        num_decoder_layers: number of blocks in the decoder; None is as many as in the encoder.
        num_heads: H.
        d_ff: F; None is 4 D, as in every published size.
        dropout: share dropped in training from the embeddings and from what each layer adds.
        inner_dropout: share dropped in training of the attention weights and the hidden units.

    Raises:
        ValueError: a size is not positive, the heads do not divide the width, or a dropout is not in [0, 1).
    """

    vocab_size: int = 50265
    max_seq_len: int = 1024
    d_model: int
    num_layers: int
    num_decoder_layers: int | None = None
    num_heads: int
    d_ff: int | None = None
    dropout: float = 0.1
    inner_dropout: float = 0.1

    presets: ClassVar = {
        "base": {"d_model": 768, "num_layers": 6, "num_heads": 12},
        "large": {"d_model": 1024, "num_layers": 12, "num_heads": 16},
    }

    def __post_init__(self) -> None:
        self._require_positive("vocab_size", "max_seq_len", "d_model", "num_layers", "num_heads")
        self._require_positive_or_none("num_decoder_layers")
        self._require_positive_or_none("d_ff")
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require_dropout(self.dropout)
        self._require_dropout(self.inner_dropout)


class BART(EncoderDecoderModel):
    """A post-norm encoder–decoder with learned positions; both embeddings and the head share their tokens.

    Lewis et al. 2020, section 2.1. The norm between the embedding and the first block is not in the paper,
    but in the authors' code and in all published weights.

    Args:
        config: sizes, for instance ``BARTConfig.preset("base")``.

    Example:
        >>> import torch
        >>> model = BART(BARTConfig(vocab_size=11, max_seq_len=7, d_model=6, num_layers=1, num_heads=2))
        >>> model(torch.zeros(2, 5, dtype=torch.long), torch.zeros(2, 3, dtype=torch.long)).shape
        torch.Size([2, 3, 11])
    """

    def __init__(self, config: BARTConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder_embed, self.decoder_embed = self._embedding(config), self._embedding(config)
        self.encoder = self._stack(config, config.num_layers, cross=False)
        self.decoder = self._stack(config, config.num_decoder_layers or config.num_layers, cross=True)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.decoder_embed.token.weight = self.lm_head.weight = self.encoder_embed.token.weight
        init_weights(self, std=initial_std(config.d_model))

    @staticmethod
    def _embedding(config: BARTConfig) -> GPTEmbedding:
        return GPTEmbedding(
            config.vocab_size,
            config.d_model,
            max_seq_len=config.max_seq_len,
            norm=nn.LayerNorm,
            dropout=config.dropout,
        )

    @staticmethod
    def _stack(config: BARTConfig, num_layers: int, *, cross: bool) -> Stack:
        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(config.d_model, config.num_heads, dropout=config.inner_dropout)

        return Stack(
            TransformerBlock(
                attention(),
                FeedForward(config.d_model, config.d_ff, dropout=config.inner_dropout),
                cross_attn=attention() if cross else None,
                norm_placement="post",
                dropout=config.dropout,
            )
            for _ in range(num_layers)
        )

    def encode(self, source_ids: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """``source_ids (B, S)`` → memory ``(B, S, D)``; ``mask`` says which tokens are real."""
        return self.encoder(self.encoder_embed(source_ids), mask=mask)

    def decode(
        self, target_ids: Tensor, memory: Tensor, *, mask: Tensor | None = None, caches: Caches | None = None
    ) -> Tensor:
        """``target_ids``, ``memory``, ``mask`` and ``caches`` → logits: see :meth:`Transformer.decode`."""
        x = self.decoder_embed(target_ids, caches[0].length if caches else 0)  # (B, T, D)
        x = self.decoder(x, memory, causal=True, memory_mask=mask, caches=caches)  # (B, T, D)
        return self.lm_head(x)
