"""Attention weights of a running model, recorded by hooks; the model's code is unchanged."""

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pioneers.layers import MultiHeadAttention


@contextlib.contextmanager
def record_attention(model: nn.Module) -> Iterator[list[Tensor]]:
    """Collect the weights ``(B, H, T, S)`` of every attention layer that runs inside the ``with`` block.

    The list fills in the order in which the layers run. Weights are detached, without dropout, and in
    explicit form even where the model runs a fused kernel.

    Args:
        model: any module with :class:`pioneers.layers.MultiHeadAttention` in it.

    Raises:
        ValueError: an attention layer runs with a key/value cache.

    Example:
        >>> attn = MultiHeadAttention(12, 3)
        >>> with record_attention(attn) as maps:
        ...     _ = attn(torch.zeros(2, 5, 12), causal=True)
        >>> maps[0].shape
        torch.Size([2, 3, 5, 5])
    """
    maps: list[Tensor] = []

    def remember(module: MultiHeadAttention, args: tuple[Any, ...], how: dict[str, Any]) -> None:
        if how.get("cache") is not None:
            raise ValueError("attention weights cannot be recorded while a key/value cache is in use")
        how = {
            name: value for name, value in how.items() if name in ("key", "mask", "bias", "causal", "rotary")
        }
        with torch.no_grad():
            maps.append(module.weights(*args[:2], **how))

    handles = [
        module.register_forward_pre_hook(remember, with_kwargs=True)
        for module in model.modules()
        if isinstance(module, MultiHeadAttention)
    ]
    try:
        yield maps
    finally:
        for handle in handles:
            handle.remove()


def attention_rollout(maps: Sequence[Tensor]) -> Tensor:
    """Estimate how much each output token draws on each input token: ``(B, T, T)``, rows sum to one.

    Each layer is assumed to mix tokens by ``(A + I) / 2``, where A is the mean over its heads and I the
    residual connection; the matrices are multiplied, the last on the left. Abnar & Zuidema 2020, section 3.

    Args:
        maps: the weights ``(B, H, T, T)`` of every layer, first layer first, as :func:`record_attention`
            collects them.

    Raises:
        ValueError: there are no maps, or one is not from self-attention.

    Example:
        >>> attention_rollout([torch.full((1, 3, 2, 2), 0.5)])
        tensor([[[0.7500, 0.2500],
                 [0.2500, 0.7500]]])
    """
    if not maps:
        raise ValueError("no attention maps: run the model inside `with record_attention(model) as maps:`")
    rollout = torch.eye(maps[0].shape[-1], dtype=maps[0].dtype, device=maps[0].device)
    for weights in maps:
        if weights.shape[-2:] != rollout.shape[-2:]:
            raise ValueError(
                f"rollout multiplies square maps (T, T) of one size: got {tuple(weights.shape[-2:])} after "
                f"{tuple(rollout.shape[-2:])}; leave cross-attention out"
            )
        mean = weights.mean(dim=1)
        rollout = (mean @ rollout + rollout) / 2
    return rollout


def attention_distance(weights: Tensor, patch_size: int) -> Tensor:
    """Measure how far a ViT's heads look: mean distance in pixels between query and key patches, ``(H,)``.

    Dosovitskiy et al. 2021, fig. 7. The class token is ignored; the other weights are rescaled to sum to 1.

    Args:
        weights: ``(B, H, 1 + N, 1 + N)`` of one layer, class token first; the N patches form a square.
        patch_size: the side of a patch in pixels.

    Raises:
        ValueError: the patches do not form a square.

    Example:
        >>> attention_distance(torch.full((1, 1, 5, 5), 0.2), patch_size=10)
        tensor([8.5355])
    """
    among_patches = weights[:, :, 1:, 1:]
    side = math.isqrt(among_patches.shape[-1])
    if among_patches.shape[-2:] != (side**2, side**2):
        raise ValueError(
            f"weights must be (B, H, 1 + N, 1 + N) with N patches in a square, got {tuple(weights.shape)}"
        )
    shares = among_patches / among_patches.sum(-1, keepdim=True)
    axis = torch.arange(side, device=weights.device) * float(patch_size)
    places = torch.cartesian_prod(axis, axis)
    return (shares * torch.cdist(places, places)).sum(-1).mean(dim=(0, 2))
