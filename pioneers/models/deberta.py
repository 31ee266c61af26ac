"""DeBERTa: BERT with disentangled attention, which knows distances and no absolute positions."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    BucketedDistances,
    ClippedDistances,
    DisentangledAttention,
    FeedForward,
    Stack,
    TokenEmbedding,
    TransformerBlock,
    init_weights,
    initial_std,
)
from pioneers.models.bert import MaskedLMHead
from pioneers.models.pretrained import Pretrained

_V3 = {"vocab_size": 128100, "num_buckets": 256}


@dataclass(frozen=True, kw_only=True)
class DeBERTaConfig(Config):
    """The sizes of a DeBERTa.

    Attributes:
        vocab_size: V.
        d_model: D.
        num_layers: number of blocks.
        num_heads: H.
        d_ff: F; None is 4 D, as in every published size.
        max_distance: k; all tokens that are further away share one vector on either side.
        num_buckets: of distances on either side. None is the first version of DeBERTa; with buckets it is
            the third, in which distances also share the projections of the content.
        dropout: share dropped in training, throughout.

    Raises:
        ValueError: a size is not positive, the heads do not divide the width, or dropout is not in [0, 1).
    """

    vocab_size: int = 50265
    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int | None = None
    max_distance: int = 512
    num_buckets: int | None = None
    dropout: float = 0.1

    norm_eps: ClassVar = 1e-7
    activation: ClassVar = "gelu"
    presets: ClassVar = {
        "base": {"d_model": 768, "num_layers": 12, "num_heads": 12},
        "large": {"d_model": 1024, "num_layers": 24, "num_heads": 16},
        "v3-small": _V3 | {"d_model": 768, "num_layers": 6, "num_heads": 12},
        "v3-base": _V3 | {"d_model": 768, "num_layers": 12, "num_heads": 12},
        "v3-large": _V3 | {"d_model": 1024, "num_layers": 24, "num_heads": 16},
    }

    def __post_init__(self) -> None:
        self._require_positive("vocab_size", "d_model", "num_layers", "num_heads", "max_distance")
        self._require_heads_divide(self.d_model, self.num_heads)
        self._require_dropout(self.dropout)
        self._require_positive_or_none("d_ff")
        self._require_positive_or_none("num_buckets")


class DeBERTa(Pretrained):
    """The encoder: token vectors alone go in, and every block adds distances to its scores.

    He et al. 2021; the third version, with buckets of distances: He et al. 2023. It has no limit on the
    length of a sequence. Like the published models it has no segments either.

    Args:
        config: sizes, for instance ``DeBERTaConfig.preset("base")``.

    Example:
        >>> import torch
        >>> model = DeBERTa(DeBERTaConfig(vocab_size=11, d_model=6, num_layers=1, num_heads=2))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 6])
    """

    def __init__(self, config: DeBERTaConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = TokenEmbedding(config.vocab_size, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)
        self.distances = (
            ClippedDistances(config.d_model, config.max_distance)
            if config.num_buckets is None
            else BucketedDistances(
                config.d_model, config.num_buckets, config.max_distance, eps=config.norm_eps
            )
        )
        self.stack = Stack(self._block(config) for _ in range(config.num_layers))
        init_weights(self, std=initial_std(config.d_model))

    def _block(self, config: DeBERTaConfig) -> TransformerBlock:
        d, h, shared = config.d_model, config.num_heads, config.num_buckets is not None
        return TransformerBlock(
            DisentangledAttention(d, h, self.distances, shared=shared, dropout=config.dropout),
            FeedForward(config.d_model, config.d_ff),
            norm=partial(nn.LayerNorm, eps=config.norm_eps),
            norm_placement="post",
            dropout=config.dropout,
        )

    def forward(self, input_ids: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """``input_ids (B, T)`` → hidden states ``(B, T, D)``.

        Args:
            mask: which keys are real, from :func:`pioneers.layers.padding_mask`.
        """
        x = self.dropout(self.norm(self.embed(input_ids)))  # (B, T, D)
        return self.stack(x, mask=mask)


class DeBERTaForMaskedLM(Pretrained):
    """DeBERTa with BERT's masked-language-model head.

    The paper's enhanced mask decoder, which adds absolute positions before the last block runs again, is not
    here: Hugging Face's model leaves it out as well.

    Args:
        config: sizes, for instance ``DeBERTaConfig.preset("base")``.

    Example:
        >>> import torch
        >>> model = DeBERTaForMaskedLM(DeBERTaConfig(vocab_size=11, d_model=6, num_layers=1, num_heads=2))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 11])
    """

    def __init__(self, config: DeBERTaConfig) -> None:
        super().__init__()
        self.config = config
        self.deberta = DeBERTa(config)
        self.masked_lm = MaskedLMHead(self.deberta)

    def forward(self, input_ids: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """``input_ids (B, T)`` and ``mask`` as for DeBERTa → logits ``(B, T, V)``."""
        return self.masked_lm(self.deberta(input_ids, mask=mask))
