"""BERT in pretraining: the encoder with both heads."""

from typing import NamedTuple

from torch import Tensor

from pioneers.models.bert import BERT, BERTConfig, MaskedLMHead
from pioneers.models.heads import ClassificationHead
from pioneers.models.pretrained import Pretrained


class PretrainingLogits(NamedTuple):
    """The two predictions of BERT in pretraining.

    Attributes:
        masked_lm: logits of the hidden tokens, ``(B, T, V)``, or ``(M, V)`` for M chosen ones.
        next_sentence: logits ``(B, 2)`` of "follows" (0) and "does not" (1).
    """

    masked_lm: Tensor
    next_sentence: Tensor


class BERTForPretraining(Pretrained):
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
