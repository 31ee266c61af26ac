"""BERT at work: one linear map for each shape of task."""

from collections.abc import Sequence

from torch import Tensor

from pioneers.models.bert import Encoder
from pioneers.models.heads import ClassificationHead, SpanHead
from pioneers.models.labels import label_names
from pioneers.models.pretrained import Pretrained


class BERTClassifier(Pretrained):
    """Sequence classification: one label for a text or a pair, from the pooled vector.

    Devlin et al. 2019, section 4.1.

    Args:
        bert: the model to fine-tune, BERT or a descendant; that of a
            :class:`~pioneers.models.BERTForPretraining` is its ``bert``.
        num_classes: number of labels.
        labels: the names of the classes, in the order of the logits.

    Raises:
        ValueError: there are more or fewer labels than classes.

    Example:
        >>> import torch
        >>> from pioneers.models import BERT, BERTConfig
        >>> model = BERTClassifier(BERT(BERTConfig.preset("mini")), num_classes=3)
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 3])
    """

    def __init__(self, bert: Encoder, num_classes: int, *, labels: Sequence[str] = ()) -> None:
        super().__init__()
        self.bert, self.num_classes, self.labels = bert, num_classes, label_names(labels, num_classes)
        self.head = ClassificationHead(bert.config.d_model, num_classes, dropout=bert.config.dropout)

    def forward(
        self, input_ids: Tensor, *, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """``input_ids (B, T)``, ``segment_ids`` and ``mask`` as for BERT → logits ``(B, num_classes)``."""
        return self.head(self.bert.pool(self.bert(input_ids, segment_ids=segment_ids, mask=mask)))


class BERTTagger(Pretrained):
    """Token classification: one tag for every token, from its own hidden state.

    Devlin et al. 2019, section 5.3.

    Args:
        bert: the model to fine-tune, BERT or a descendant; its pooler is not used.
        num_tags: number of tags.
        labels: the names of the tags, in the order of the logits.

    Raises:
        ValueError: there are more or fewer labels than tags.

    Example:
        >>> import torch
        >>> from pioneers.models import BERT, BERTConfig
        >>> model = BERTTagger(BERT(BERTConfig.preset("mini")), num_tags=3)
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 3])
    """

    def __init__(self, bert: Encoder, num_tags: int, *, labels: Sequence[str] = ()) -> None:
        super().__init__()
        self.bert, self.num_tags, self.labels = bert, num_tags, label_names(labels, num_tags)
        self.head = ClassificationHead(bert.config.d_model, num_tags, dropout=bert.config.dropout)

    def forward(
        self, input_ids: Tensor, *, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """``input_ids (B, T)``, ``segment_ids`` and ``mask`` as for BERT → logits ``(B, T, num_tags)``."""
        return self.head(self.bert(input_ids, segment_ids=segment_ids, mask=mask))


class BERTReader(Pretrained):
    """Extractive question answering: every token's scores as the start and the end of the answer.

    Devlin et al. 2019, section 4.2.

    Args:
        bert: the model to fine-tune, BERT or a descendant; its pooler is not used.

    Example:
        >>> import torch
        >>> from pioneers.models import BERT, BERTConfig
        >>> model = BERTReader(BERT(BERTConfig.preset("mini")))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 2])
    """

    def __init__(self, bert: Encoder) -> None:
        super().__init__()
        self.bert = bert
        self.head = SpanHead(bert.config.d_model)

    def forward(
        self,
        input_ids: Tensor,
        *,
        segment_ids: Tensor | None = None,
        mask: Tensor | None = None,
        allowed: Tensor | None = None,
    ) -> Tensor:
        """``input_ids (B, T)`` → logits ``(B, T, 2)`` of start and end.

        Args:
            segment_ids: ``(B, T)``, 0 for the question and 1 for the context.
            mask: which keys are real, from :func:`pioneers.layers.padding_mask`.
            allowed: see :class:`SpanHead`.
        """
        return self.head(self.bert(input_ids, segment_ids=segment_ids, mask=mask), allowed=allowed)
