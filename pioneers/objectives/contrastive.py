"""Contrastive learning: of all pairs in a batch, tell which images and texts belong together."""

import torch
import torch.nn.functional as F
from torch import Tensor


def pair_logits(images: Tensor, texts: Tensor, scale: Tensor | float) -> Tensor:
    """Compare every image with every text: the cosine of their vectors, times ``scale``.

    Radford et al. 2021, figure 3.

    Args:
        images: ``(B, E)``, of any length but 0.
        texts: ``(S, E)``, likewise.
        scale: the inverse of the temperature.

    Returns:
        ``(B, S)``, one row per image.

    Example:
        >>> pair_logits(torch.tensor([[3.0, 4.0]]), torch.tensor([[2.0, 0.0], [0.0, 1.0]]), 10.0)
        tensor([[6., 8.]])
    """
    return scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T


def contrastive_loss(logits: Tensor) -> Tensor:
    """Compute the symmetric cross-entropy of a batch of pairs, in nats: Radford et al. 2021, figure 3.

    Each image chooses among the B texts and each text among the B images; the partner of number i is number
    i. The loss is the mean of both directions; that of a model without an idea is log B. If a batch holds the
    same text twice, the other copy counts as wrong.

    Args:
        logits: ``(B, B)``, from :func:`pair_logits` of B pairs.

    Raises:
        ValueError: the logits are not square.

    Example:
        >>> contrastive_loss(torch.zeros(8, 8))  # log 8
        tensor(2.0794)
    """
    if logits.ndim != 2 or logits.shape[0] != logits.shape[1]:
        raise ValueError(f"pairs need as many images as texts: logits (B, B), not {tuple(logits.shape)}")
    partner = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, partner) + F.cross_entropy(logits.T, partner)) / 2
