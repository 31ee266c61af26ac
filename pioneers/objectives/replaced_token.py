"""Replaced-token detection: a small model fills the gaps, a second one says which tokens are not original."""

import torch
import torch.nn.functional as F
from torch import Tensor

from pioneers.objectives.masked_lm import masked_lm_loss


def replaced_token_loss(
    generator_logits: Tensor,
    targets: Tensor,
    logits: Tensor,
    corrupted_ids: Tensor,
    *,
    mask: Tensor | None = None,
    weight: float = 50.0,
) -> Tensor:
    """Add the losses of both models: ``L = L_MLM + λ · L_Disc``, in nats. Clark et al. 2020, section 2.

    ``L_Disc`` is the binary cross-entropy, averaged over all real tokens and not only over the gaps. A sample
    that happens to be the original token counts as original. In the paper the label 1 means "original"; here,
    as in the published weights, it means "replaced".

    Args:
        generator_logits: ``(M, V)`` or ``(B, T, V)``, as for :func:`masked_lm_loss`.
        targets: ``(B, T)``, the original tokens at the gaps and -100 elsewhere, from :func:`masked_lm` with
            ``shares=(1.0, 0.0, 0.0)``.
        logits: ``(B, T)``, the discriminator's; positive says "replaced".
        corrupted_ids: what the discriminator has read, ``(B, T)``, with samples in the gaps.
        mask: ``(B, T)``, True at the tokens that the discriminator is asked about; if omitted, at all.
        weight: λ; large because a binary decision costs much less than a token.

    Example:
        >>> generator_logits, targets = torch.zeros(1, 8), torch.tensor([[-100, 5, -100]])
        >>> corrupted_ids = torch.tensor([[2, 5, 7]])  # the sample is the right token: nothing is replaced
        >>> replaced_token_loss(generator_logits, targets, torch.zeros(1, 3), corrupted_ids, weight=1.0)
        tensor(2.7726)
    """
    replaced = (targets != -100) & (corrupted_ids != targets)
    asked = torch.ones_like(replaced) if mask is None else mask
    detection = F.binary_cross_entropy_with_logits(logits[asked], replaced[asked].to(logits.dtype))
    return masked_lm_loss(generator_logits, targets) + weight * detection
