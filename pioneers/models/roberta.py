"""RoBERTa: BERT's architecture without segments, trained for longer and on masked tokens alone."""

from dataclasses import dataclass
from typing import ClassVar

from pioneers.models.bert import BERT, BERTConfig
from pioneers.models.bert_masked_lm import BERTForMaskedLM


@dataclass(frozen=True, kw_only=True)
class RoBERTaConfig(BERTConfig):
    """The sizes of a RoBERTa: those of :class:`~pioneers.models.BERTConfig`, with other defaults.

    Attributes:
        num_segments: as in BERT, and 1: it does not tell sentences apart, and adds one vector to every token.
        norm_eps: as in BERT, and 1e-5.
    """

    num_segments: int = 1
    norm_eps: float = 1e-5

    presets: ClassVar = {
        size: {**BERTConfig.presets[size], "vocab_size": 50265} for size in ("base", "large")
    }


class RoBERTa(BERT):
    """BERT; what is new is how it is trained, and a byte-level BPE. Liu et al. 2019, sections 3 and 4.

    Its pooler is not pretrained, for there is no next-sentence prediction.

    Args:
        config: sizes, for instance ``RoBERTaConfig.preset("base")``.

    Example:
        >>> import torch
        >>> model = RoBERTa(RoBERTaConfig.preset("base", vocab_size=11, d_model=12, num_layers=1))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 12])
    """


class RoBERTaForMaskedLM(BERTForMaskedLM):
    """RoBERTa with the head it is pretrained with: Liu et al. 2019, section 4.

    Args:
        config: sizes, for instance ``RoBERTaConfig.preset("base")``. The pooler is not used.

    Example:
        >>> import torch
        >>> model = RoBERTaForMaskedLM(RoBERTaConfig.preset("base", vocab_size=11, d_model=12, num_layers=1))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 11])
    """

    body = RoBERTa
