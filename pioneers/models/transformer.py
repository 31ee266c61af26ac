"""The Transformer: an encoder and a decoder that attends to it."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import FeedForward, MultiHeadAttention, Stack, TransformerBlock, TransformerEmbedding
from pioneers.layers.block import NORM_PLACEMENTS
from pioneers.models.encoder_decoder import Caches, EncoderDecoderModel


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(Config):
    """The sizes of a Transformer; source and target share one vocabulary, as in the paper.

    Attributes:
        vocab_size: V.
        max_seq_len: longest source, and longest target.
        d_model: D.
        d_ff: F.
        num_layers: number of blocks in the encoder, and in the decoder.
        num_heads: H.
        dropout: share dropped in training, throughout.
        norm_placement: see :class:`pioneers.layers.TransformerBlock`; the paper's is ``"post"``.

    Raises:
        ValueError: a size is not positive, the heads do not divide the width, dropout is not in [0, 1), or
            the placement is unknown.
    """

    vocab_size: int
    max_seq_len: int
    d_model: int
    d_ff: int
    num_layers: int
    num_heads: int
    dropout: float = 0.1
    norm_placement: str = "post"

    presets: ClassVar = {
        "base": {
            "vocab_size": 37000, "max_seq_len": 512, "d_model": 512, "d_ff": 2048, "num_layers": 6,
            "num_heads": 8,
        },
        "big": {
            "vocab_size": 37000, "max_seq_len": 512, "d_model": 1024, "d_ff": 4096, "num_layers": 6,
            "num_heads": 16, "dropout": 0.3,
        },
        "mini": {
            "vocab_size": 512, "max_seq_len": 64, "d_model": 128, "d_ff": 512, "num_layers": 3,
            "num_heads": 4,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive("vocab_size", "max_seq_len", "d_model", "d_ff", "num_layers", "num_heads")
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require_dropout(self.dropout)
        self._require_known("norm_placement", NORM_PLACEMENTS)


class Transformer(EncoderDecoderModel):
    """Encoder–decoder; both embeddings and the output layer are one matrix.

    Vaswani et al. 2017, section 3; the shared matrix is in section 3.4.

    Args:
        config: sizes, for instance ``TransformerConfig.preset("base")``.

    Example:
        >>> import torch
        >>> sizes = {"vocab_size": 11, "max_seq_len": 7, "d_model": 6, "d_ff": 8}
        >>> model = Transformer(TransformerConfig(**sizes, num_layers=1, num_heads=2))
        >>> source, target = torch.zeros(2, 5, dtype=torch.long), torch.zeros(2, 3, dtype=torch.long)
        >>> model(source, target).shape
        torch.Size([2, 3, 11])
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = TransformerEmbedding(
            config.vocab_size, config.d_model, max_seq_len=config.max_seq_len, dropout=config.dropout
        )
        self.encoder = self._stack(config, cross=False)
        self.decoder = self._stack(config, cross=True)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.lm_head.weight = self.embed.token.weight
        for p in self.parameters():
            if p.ndim >= 2:
                nn.init.xavier_uniform_(p)
        nn.init.normal_(self.embed.token.weight, std=config.d_model**-0.5)

    @staticmethod
    def _stack(config: TransformerConfig, *, cross: bool) -> Stack:
        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(config.d_model, config.num_heads, dropout=config.dropout)

        blocks = [
            TransformerBlock(
                attention(),
                cross_attn=attention() if cross else None,
                ffn=FeedForward(config.d_model, config.d_ff, activation="relu"),
                norm_placement=config.norm_placement,
                dropout=config.dropout,
            )
            for _ in range(config.num_layers)
        ]
        return Stack(blocks, None if config.norm_placement == "post" else nn.LayerNorm(config.d_model))

    def encode(self, source_ids: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """``source_ids (B, S)`` → memory ``(B, S, D)``.

        ``mask`` says which tokens are real: see :func:`pioneers.layers.padding_mask`.
        """
        return self.encoder(self.embed(source_ids), mask=mask)

    def decode(
        self, target_ids: Tensor, memory: Tensor, *, mask: Tensor | None = None, caches: Caches | None = None
    ) -> Tensor:
        """``target_ids (B, T)`` and ``memory (B, S, D)`` → logits ``(B, T, V)`` for the next tokens.

        ``mask`` is that of the source, as in :meth:`encode`. With ``caches`` (one per block, from
        ``new_caches``) the ids are the next T of a longer sequence, and the keys and values of the memory
        are computed once, by the first call.
        """
        x = self.embed(target_ids, caches[0].length if caches else 0)  # (B, T, D)
        x = self.decoder(x, memory, causal=True, memory_mask=mask, caches=caches)  # (B, T, D)
        return self.lm_head(x)
