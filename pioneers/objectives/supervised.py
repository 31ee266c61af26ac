"""Losses with labels: translation, classification, spans and tags."""

import torch.nn.functional as F
from torch import Tensor

from pioneers.objectives.causal_lm import causal_lm_loss


def seq2seq_loss(logits: Tensor, targets: Tensor, *, label_smoothing: float = 0.1) -> Tensor:
    """Compute the label-smoothed cross-entropy of ``targets (B, T)`` under ``logits (B, T, V)``, in nats.

    The target has probability ``1 - label_smoothing + label_smoothing / V`` and every other token
    ``label_smoothing / V``. Targets of -100 (padding) are ignored; if all are, the loss is NaN. Szegedy et
    al. 2016, section 7; Vaswani et al. 2017, section 5.4.

    Example:
        >>> import torch
        >>> logits = torch.tensor([[[9.0, 0.0, 0.0, 0.0]]])
        >>> seq2seq_loss(logits, torch.tensor([[0]]))  # being too sure costs
        tensor(0.6754)
    """
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=-100, label_smoothing=label_smoothing
    )


def classification_loss(
    logits: Tensor,
    labels: Tensor,
    *,
    lm_logits: Tensor | None = None,
    lm_targets: Tensor | None = None,
    lm_weight: float = 0.5,
) -> Tensor:
    """Compute the cross-entropy of ``labels (B,)`` under ``logits (B, C)``, plus an auxiliary LM loss.

    ``L = L_classification + λ · L_lm``; Radford et al. 2018, equation (5), where λ = 0.5. Labels and targets
    of -100 are ignored; a part in which all are -100 is NaN.

    Args:
        lm_logits: ``(B, T, V)``; if omitted, there is no auxiliary loss.
        lm_targets: ``(B, T)``.
        lm_weight: λ.

    Example:
        >>> import torch
        >>> classification_loss(torch.zeros(2, 4), torch.tensor([0, 3]))
        tensor(1.3863)
    """
    loss = F.cross_entropy(logits, labels, ignore_index=-100)
    if lm_logits is None or lm_targets is None:
        return loss
    return loss + lm_weight * causal_lm_loss(lm_logits, lm_targets)


def span_loss(logits: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """Average the cross-entropies of start and end position, in nats: Devlin et al. 2019, section 4.2.

    Args:
        logits: ``(B, T, 2)``, the scores of each token as start and as end of the answer.
        starts: ``(B,)``, the position of the first token of each answer; -100 ignores the row.
        ends: ``(B,)``, the position of its last token; likewise.

    Example:
        >>> import torch
        >>> span_loss(torch.zeros(1, 4, 2), torch.tensor([1]), torch.tensor([3]))
        tensor(1.3863)
    """
    start_logits, end_logits = logits.unbind(dim=-1)
    return (F.cross_entropy(start_logits, starts) + F.cross_entropy(end_logits, ends)) / 2


def tagging_loss(logits: Tensor, tags: Tensor) -> Tensor:
    """Compute the cross-entropy of one tag per token, ``tags (B, T)`` under ``logits (B, T, num_tags)``.

    Word pieces that continue a word, and padding, have the tag -100 and are ignored; if all are -100, the
    loss is NaN.

    Example:
        >>> import torch
        >>> tagging_loss(torch.zeros(1, 3, 4), torch.tensor([[0, -100, 2]]))
        tensor(1.3863)
    """
    return F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=-100)
