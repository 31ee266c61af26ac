"""GPT: a causal stack over learned positions, trained to predict the next token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    FeedForward,
    GPTEmbedding,
    KVCache,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    init_weights,
    initial_std,
)
from pioneers.layers.block import NORM_PLACEMENTS
from pioneers.layers.feedforward import ACTIVATIONS
from pioneers.models.pretrained import Pretrained


@dataclass(frozen=True, kw_only=True)
class GPTConfig(Config):
    """The sizes of a GPT.

    Attributes:
        vocab_size: V.
        max_seq_len: longest sequence.
        d_model: D.
        num_layers: number of blocks.
        num_heads: H.
        d_ff: F; None is 4 D, as in every published size.
        dropout: share dropped in training, throughout.
        norm_placement: ``"pre"`` as in GPT-2, ``"post"`` as in the first GPT, or ``"sandwich"``.
        activation: of the feed-forward networks, see :class:`pioneers.layers.FeedForward`.

    Raises:
        ValueError: a size is not positive, the heads do not divide the width, dropout is not in [0, 1), or
            the norm placement or the activation is unknown.
    """

    vocab_size: int
    max_seq_len: int
    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int | None = None
    dropout: float = 0.0
    norm_placement: str = "pre"
    activation: str = "gelu_tanh"

    presets: ClassVar = {
        "gpt": {
            "vocab_size": 40478, "max_seq_len": 512, "d_model": 768, "num_layers": 12, "num_heads": 12,
            "dropout": 0.1, "norm_placement": "post",
        },
        "gpt2": {
            "vocab_size": 50257, "max_seq_len": 1024, "d_model": 768, "num_layers": 12, "num_heads": 12,
            "dropout": 0.1,
        },
        "gpt2-medium": {
            "vocab_size": 50257, "max_seq_len": 1024, "d_model": 1024, "num_layers": 24, "num_heads": 16,
            "dropout": 0.1,
        },
        "gpt2-large": {
            "vocab_size": 50257, "max_seq_len": 1024, "d_model": 1280, "num_layers": 36, "num_heads": 20,
            "dropout": 0.1,
        },
        "gpt2-xl": {
            "vocab_size": 50257, "max_seq_len": 1024, "d_model": 1600, "num_layers": 48, "num_heads": 25,
            "dropout": 0.1,
        },
        "gpt3": {
            "vocab_size": 50257, "max_seq_len": 2048, "d_model": 12288, "num_layers": 96, "num_heads": 96,
        },
        "mini": {
            "vocab_size": 1024, "max_seq_len": 128, "d_model": 128, "num_layers": 4, "num_heads": 4,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive("vocab_size", "max_seq_len", "d_model", "num_layers", "num_heads")
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require_dropout(self.dropout)
        self._require_positive_or_none("d_ff")
        self._require_known("norm_placement", NORM_PLACEMENTS)
        self._require_known("activation", ACTIVATIONS)


class GPT(Pretrained):
    """A decoder-only language model; the output layer shares its matrix with the token embedding.

    Radford et al. 2018 (GPT: post-norm, 117M) and 2019 (GPT-2: pre-norm).

    Args:
        config: sizes, for instance ``GPTConfig.preset("gpt2")``.

    Example:
        >>> import torch
        >>> model = GPT(GPTConfig.preset("mini"))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 1024])
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = GPTEmbedding(
            config.vocab_size, config.d_model, max_seq_len=config.max_seq_len, dropout=config.dropout
        )
        blocks = [self._block(config) for _ in range(config.num_layers)]
        last_norm = None if config.norm_placement == "post" else nn.LayerNorm(config.d_model)
        self.stack = Stack(blocks, last_norm)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.lm_head.weight = self.embed.token.weight
        init_weights(self, std=initial_std(config.d_model))

    @staticmethod
    def _block(config: GPTConfig) -> TransformerBlock:
        return TransformerBlock(
            MultiHeadAttention(config.d_model, config.num_heads, dropout=config.dropout),
            FeedForward(config.d_model, config.d_ff, activation=config.activation),
            norm_placement=config.norm_placement,
            dropout=config.dropout,
        )

    def hidden_states(self, input_ids: Tensor, *, caches: Sequence[KVCache] | None = None) -> Tensor:
        """``input_ids (B, T)`` → the stack's output ``(B, T, D)``.

        With ``caches`` (one per block, from :meth:`new_caches`) the ids are the next T of a longer sequence.
        """
        start = caches[0].length if caches else 0
        x = self.embed(input_ids, start)  # (B, T, D)
        return self.stack(x, causal=True, caches=caches)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Ids ``(B, T)`` → logits ``(B, T, V)``; those at position t are for token t + 1."""
        return self.lm_head(self.hidden_states(input_ids))

    def new_caches(self) -> list[KVCache]:
        """Empty key/value caches, one per block, for generation."""
        return [KVCache(self.config.max_seq_len) for _ in range(self.config.num_layers)]
