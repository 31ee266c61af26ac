"""BERT that fills gaps: the encoder with the head that predicts hidden tokens."""

from torch import Tensor, nn

from pioneers.models.bert import BERT, BERTConfig, MaskedLMHead


class BERTForMaskedLM(nn.Module):
    """BERT with its masked-language-model head alone, as it was trained from RoBERTa on.

    Devlin et al. 2019, section 3.1, task 1. :class:`~pioneers.models.BERTForPretraining` has both heads.

    Args:
        config: sizes, for instance ``BERTConfig.preset("base")``. The pooler is not used.

    Example:
        >>> import torch
        >>> model = BERTForMaskedLM(BERTConfig.preset("mini"))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 1024])
    """

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = BERT(config)
        self.masked_lm = MaskedLMHead(self.bert)

    def forward(
        self, input_ids: Tensor, *, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """``input_ids (B, T)``, ``segment_ids`` and ``mask`` as for BERT → logits ``(B, T, V)``."""
        return self.masked_lm(self.bert(input_ids, segment_ids=segment_ids, mask=mask))
