"""BERT that fills gaps: the encoder with the head that predicts hidden tokens."""

from typing import ClassVar

from torch import Tensor

from pioneers.models.bert import BERT, BERTConfig, Encoder, MaskedLMHead
from pioneers.models.pretrained import Pretrained


class BERTForMaskedLM(Pretrained):
    """BERT with its masked-language-model head alone, as it was trained from RoBERTa on.

    Devlin et al. 2019, section 3.1, task 1. :class:`~pioneers.models.BERTForPretraining` has both heads.

    Args:
        config: sizes, for instance ``BERTConfig.preset("base")``. The pooler is not used.

    Attributes:
        body: the class of the encoder; a descendant of BERT names its own.

    Example:
        >>> import torch
        >>> model = BERTForMaskedLM(BERTConfig.preset("mini"))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 1024])
    """

    body: ClassVar[type[Encoder]] = BERT

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = self.body(config)
        self.masked_lm = MaskedLMHead(self.bert)

    def forward(
        self,
        input_ids: Tensor,
        *,
        segment_ids: Tensor | None = None,
        mask: Tensor | None = None,
        predict_mask: Tensor | None = None,
    ) -> Tensor:
        """``input_ids (B, T)``, ``segment_ids`` and ``mask`` as for BERT → logits ``(B, T, V)``.

        Args:
            predict_mask: boolean ``(B, T)``, True at the M tokens to predict, whose logits are ``(M, V)`` in
                reading order; without it those of all tokens.
        """
        hidden = self.bert(input_ids, segment_ids=segment_ids, mask=mask)  # (B, T, D)
        return self.masked_lm(hidden if predict_mask is None else hidden[predict_mask])
