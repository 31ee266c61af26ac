"""Two losses that keep a router usable: one for balanced experts, one for small logits."""

import torch.nn.functional as F
from torch import Tensor


def balance_loss(logits: Tensor, *, k: int = 1, mask: Tensor | None = None) -> Tensor:
    """Compute E times the sum over the experts of their share of tokens times their mean probability.

    ``E · Σ_i f_i P_i``; Fedus et al. 2022, equations (4) to (6), before the factor α. f_i is the share of the
    tokens that have expert i among their k choices and P_i the mean of its probability; only P_i has a
    gradient. At balance the loss is k; if the router is sure of the same k experts for every token, it is E.

    Args:
        logits: of one router, ``(B, T, E)``.
        k: experts per token.
        mask: ``(B, T)``, True for the tokens that count; all do without it.

    Raises:
        ValueError: the mask does not fit the logits.

    Example:
        >>> import torch
        >>> balance_loss(torch.tensor([[[9.0, 0.0], [0.0, 9.0]]]))
        tensor(1.)
    """
    logits = _counted(logits, mask)  # (n, E)
    probabilities = logits.float().softmax(dim=-1)
    chosen = F.one_hot(probabilities.topk(k, dim=-1).indices, logits.shape[-1]).sum(dim=1)  # (n, E)
    share, probability = chosen.float().mean(dim=0), probabilities.mean(dim=0)  # (E,)
    return logits.shape[-1] * (share * probability).sum()


def router_z_loss(logits: Tensor, *, mask: Tensor | None = None) -> Tensor:
    """Compute the mean square of the logarithm of the softmax's denominator: Zoph et al. 2022, equation (5).

    It keeps the logits of a router small, where few digits of a low precision are lost.

    Args:
        logits: of one router, ``(B, T, E)``.
        mask: as in :func:`balance_loss`.

    Raises:
        ValueError: the mask does not fit the logits.

    Example:
        >>> import torch
        >>> router_z_loss(torch.zeros(1, 3, 8))  # (log 8)²
        tensor(4.3241)
    """
    return _counted(logits, mask).float().logsumexp(dim=-1).square().mean()


def _counted(logits: Tensor, mask: Tensor | None) -> Tensor:
    """The logits of the tokens that count, ``(n, E)``."""
    if mask is None:
        return logits.flatten(0, -2)
    if mask.shape != logits.shape[:-1]:
        raise ValueError(
            f"the mask needs one entry per token: {tuple(logits.shape[:-1])}, not {tuple(mask.shape)}"
        )
    return logits[mask.bool()]
