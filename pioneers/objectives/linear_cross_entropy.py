"""The loss of a language model without storing its logits: they are computed a few rows at a time."""

from typing import Any

import torch
from torch import Tensor

# Rows of logits that exist at one time. With 8,192 tokens a chunk stays in the processor's cache.
CHUNK_ROWS = 256


def linear_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Compute ``causal_lm_loss(hidden @ weight.T, targets)`` without storing the logits ``(B, T, V)``.

    The gradient of cross-entropy is softmax minus target, so each chunk of logits is turned into gradients at
    once, and nothing is kept for the backward pass. With a large vocabulary this saves most of the memory
    and half of the time of the loss. It computes in the precision of the surrounding autocast.
    Wijmans et al. 2024, section 4, where it is one kernel.

    Args:
        hidden: ``(…, D)``, the input of the output layer.
        weight: ``(V, D)``, the matrix of the output layer, which has no bias.
        targets: ``(…,)`` integers; -100 is ignored, and if all are -100, the loss is NaN.

    Raises:
        ValueError: there is not one target per row of ``hidden``.

    Example:
        >>> hidden, weight = torch.zeros(1, 3, 4), torch.zeros(8, 4)
        >>> linear_cross_entropy(hidden, weight, torch.tensor([[1, 2, -100]]))  # log 8: no idea
        tensor(2.0794)
    """
    if hidden.shape[:-1] != targets.shape:
        raise ValueError(
            f"one target per row: hidden is {tuple(hidden.shape)}, targets {tuple(targets.shape)}"
        )
    rows = hidden.flatten(0, -2)
    loss: Tensor = _LinearCrossEntropy.apply(rows, weight, targets.flatten(), torch.is_grad_enabled())
    return loss


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, backward: bool) -> Tensor:
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        with torch.autocast(device, enabled=False):
            loss, *grads = _work_through(hidden.to(dtype), weight.to(dtype), targets, backward)
        ctx.save_for_backward(grads[0].to(hidden.dtype), grads[1].to(weight.dtype))
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        d_hidden, d_weight = ctx.saved_tensors
        return d_hidden * grads[0], d_weight * grads[0], None, None


def _work_through(
    hidden: Tensor, weight: Tensor, targets: Tensor, backward: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the mean loss of rows ``(N, D)`` and its gradients for ``hidden`` and ``weight``."""
    exact = torch.promote_types(weight.dtype, torch.float32)
    d_hidden, d_weight = torch.zeros_like(hidden), torch.zeros_like(weight, dtype=exact)
    counted = targets != -100
    share = (counted / counted.sum()).to(exact)
    wanted = targets.clamp(min=0)[:, None]
    loss = share.new_zeros(())
    for first in range(0, len(hidden), CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        log_probs = (hidden[rows] @ weight.T).to(exact).log_softmax(dim=-1)
        loss -= log_probs.gather(1, wanted[rows])[:, 0] @ share[rows]
        if backward:
            gradient = log_probs.exp_().scatter_add_(1, wanted[rows], -torch.ones_like(log_probs[:, :1]))
            gradient = gradient.mul_(share[rows, None]).to(hidden.dtype)
            torch.mm(gradient, weight, out=d_hidden[rows])
            d_weight += gradient.T @ hidden[rows]
    return loss, d_hidden, d_weight
