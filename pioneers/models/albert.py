"""ALBERT: a BERT in which all blocks are one, over narrow token vectors."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from pioneers.layers import Stack, init_weights, initial_std
from pioneers.models.bert import BERTConfig, Encoder, MaskedLMHead
from pioneers.models.bert_masked_lm import BERTForMaskedLM
from pioneers.models.heads import ClassificationHead
from pioneers.models.pretrained import Pretrained

_SIZES = {"vocab_size": 30000, "max_seq_len": 512}


@dataclass(frozen=True, kw_only=True)
class ALBERTConfig(BERTConfig):
    """The sizes of an ALBERT: those of :class:`~pioneers.models.BERTConfig`, and one more.

    Attributes:
        d_embed: E, the width of the token, position and segment vectors.
        num_layers: how often the block is applied.
        activation: as in BERT, and the approximation of GELU by a hyperbolic tangent.
    """

    d_embed: int = 128
    activation: str = "gelu_tanh"

    presets: ClassVar = {
        "base": {**_SIZES, "d_model": 768, "num_layers": 12, "num_heads": 12},
        "large": {**_SIZES, "d_model": 1024, "num_layers": 24, "num_heads": 16},
        "xlarge": {**_SIZES, "d_model": 2048, "num_layers": 24, "num_heads": 16},
        "xxlarge": {**_SIZES, "d_model": 4096, "num_layers": 12, "num_heads": 64},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive("d_embed")


class ALBERT(Encoder):
    """BERT with its token matrix in two factors, and one block for all layers: Lan et al. 2020, section 3.1.

    Args:
        config: sizes, for instance ``ALBERTConfig.preset("base")``.

    Example:
        >>> import torch
        >>> model = ALBERT(ALBERTConfig.preset("base", vocab_size=11, d_model=12, num_layers=3))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(self, config: ALBERTConfig) -> None:
        super().__init__(config)
        self.embed = self._embedding(config, config.d_embed)
        self.project = nn.Linear(config.d_embed, config.d_model)
        self.stack = Stack([self._block(config)] * config.num_layers)
        self.pooler = nn.Linear(config.d_model, config.d_model)
        init_weights(self, std=initial_std(config.d_model))

    def forward(
        self, input_ids: Tensor, *, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """``input_ids (B, T)``, ``segment_ids`` and ``mask`` as for BERT → hidden states ``(B, T, D)``."""
        x = self.project(self.embed(input_ids, segment_ids))  # (B, T, E) → (B, T, D)
        return self.stack(x, mask=mask)

    def pool(self, hidden: Tensor) -> Tensor:
        """Hidden states ``(B, T, D)`` → one vector ``(B, D)``, from [CLS], the first position."""
        return self.pooler(hidden[:, 0]).tanh()


class ALBERTForMaskedLM(BERTForMaskedLM):
    """ALBERT with its masked-language-model head alone.

    Args:
        config: sizes, for instance ``ALBERTConfig.preset("base")``. The pooler is not used.

    Example:
        >>> import torch
        >>> model = ALBERTForMaskedLM(ALBERTConfig.preset("base", vocab_size=11, d_model=12))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 11])
    """

    body = ALBERT


class ALBERTLogits(NamedTuple):
    """The two predictions of ALBERT in pretraining.

    Attributes:
        masked_lm: logits of the hidden tokens, ``(B, T, V)``, or ``(M, V)`` for M chosen ones.
        sentence_order: logits ``(B, 2)`` of "in this order" (0) and "swapped" (1).
    """

    masked_lm: Tensor
    sentence_order: Tensor


class ALBERTForPretraining(Pretrained):
    """ALBERT with both heads of its pretraining: Lan et al. 2020, section 3.1.

    Args:
        config: sizes, for instance ``ALBERTConfig.preset("base")``.

    Example:
        >>> import torch
        >>> model = ALBERTForPretraining(ALBERTConfig.preset("base", vocab_size=11, d_model=12))
        >>> [tuple(logits.shape) for logits in model(torch.zeros(2, 5, dtype=torch.long))]
        [(2, 5, 11), (2, 2)]
    """

    def __init__(self, config: ALBERTConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = ALBERT(config)
        self.masked_lm = MaskedLMHead(self.bert)
        self.sentence_order = ClassificationHead(config.d_model, 2, dropout=0.0)

    def forward(
        self,
        input_ids: Tensor,
        *,
        segment_ids: Tensor | None = None,
        mask: Tensor | None = None,
        predict_mask: Tensor | None = None,
    ) -> ALBERTLogits:
        """``input_ids (B, T)``, ``segment_ids`` and ``mask`` as for BERT → both predictions.

        Args:
            predict_mask: boolean ``(B, T)``, True at the M tokens to predict, whose logits are ``(M, V)`` in
                reading order; without it those of all tokens.
        """
        hidden = self.bert(input_ids, segment_ids=segment_ids, mask=mask)  # (B, T, D)
        wanted = hidden if predict_mask is None else hidden[predict_mask]
        return ALBERTLogits(self.masked_lm(wanted), self.sentence_order(self.bert.pool(hidden)))
