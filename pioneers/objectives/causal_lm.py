"""Causal language modelling: every position predicts the next token."""

import torch.nn.functional as F
from torch import Tensor


def causal_lm(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Split ``tokens (B, T + 1)`` into ``input_ids`` and ``targets``, both ``(B, T)``, one step apart.

    Example:
        >>> import torch
        >>> causal_lm(torch.tensor([[5, 6, 7]]))
        (tensor([[5, 6]]), tensor([[6, 7]]))
    """
    return tokens[:, :-1], tokens[:, 1:]


def causal_lm_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Average the negative log-likelihood, in nats, of ``targets (B, T)`` under ``logits (B, T, V)``.

    Targets of -100 (padding) are ignored; if all are, the loss is NaN. Radford et al. 2018, equation (1),
    divided by the token count.

    Example:
        >>> import torch
        >>> causal_lm_loss(torch.zeros(1, 3, 8), torch.tensor([[1, 2, -100]]))  # log 8: no idea
        tensor(2.0794)
    """
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
