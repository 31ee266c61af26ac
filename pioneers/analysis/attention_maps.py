"""Attention weights of a running model, through hooks: the model's own code stays as it is."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from pioneers.layers import MultiHeadAttention


@contextlib.contextmanager
def record_attention(model: nn.Module) -> Iterator[list[Tensor]]:
    """Collect the weights ``(B, H, T, S)`` of every attention layer that runs inside the ``with`` block.

    The list fills in the order in which the layers run. Weights are detached, without dropout, and in
    explicit form even where the model runs a fused kernel.

    Example:
        >>> attn = MultiHeadAttention(12, 3)
        >>> with record_attention(attn) as maps:
        ...     _ = attn(torch.zeros(2, 5, 12), causal=True)
        >>> maps[0].shape
        torch.Size([2, 3, 5, 5])
    """
    maps: list[Tensor] = []

    def remember(module: nn.Module, args: tuple[Any, ...], how: dict[str, Any]) -> None:
        if how.get("cache") is not None:
            raise ValueError("attention weights cannot be recorded while a key/value cache is in use")
        how = {name: value for name, value in how.items() if name in ("key", "mask", "bias", "causal")}
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
