"""One more token for a GPT, as fast as its weights can be read: what generation runs on.

A step for one token multiplies matrices by single vectors. That takes as long as reading the matrices, and
as long as Python takes to call them; so the three projections of attention become one, tall matrices lie in
memory column by column, and no module is called. The numbers are those of :class:`GPT`, by test.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.layers import KVCache, Stack, TextEmbedding


def _columns(*layers: nn.Linear) -> tuple[Tensor, Tensor]:
    """The matrices of layers that read the same vector, side by side ``(in, out)``, and their biases."""
    weight = torch.cat([layer.weight.detach() for layer in layers]).T.contiguous()
    return weight, torch.cat([layer.bias.detach() for layer in layers])


class _BlockStep:
    def __init__(self, block: Any) -> None:
        attn, ffn = block.attn, block.ffn
        self.norm_attn, self.norm_ffn, self.activation = block.norm_attn, block.norm_ffn, ffn.activation
        self.heads = (-1, 3, attn.num_heads, 1, attn.head_dim)
        self.qkv, self.qkv_bias = _columns(attn.q_proj, attn.k_proj, attn.v_proj)
        self.up, self.up_bias = _columns(ffn.up)
        self.o_proj, self.down = attn.o_proj, ffn.down

    def __call__(self, x: Tensor, cache: KVCache) -> Tensor:
        """``x (B, D)``, the newest token → ``(B, D)``."""
        qkv = torch.addmm(self.qkv_bias, _norm(self.norm_attn, x), self.qkv)
        q, k, v = qkv.view(self.heads).unbind(1)
        seen = F.scaled_dot_product_attention(q, *cache.update(k, v))
        x = x + F.linear(seen.flatten(1), self.o_proj.weight, self.o_proj.bias)
        hidden = self.activation(torch.addmm(self.up_bias, _norm(self.norm_ffn, x), self.up))
        return x + F.linear(hidden, self.down.weight, self.down.bias)


class GPTStep:
    """The logits of the next token from the newest one and the caches of those before it.

    Args:
        embed: the embedding of a GPT.
        stack: its stack, pre-norm and in eval mode.
        lm_head: its output layer. Of most weights a copy is made, as they are now.
    """

    def __init__(self, embed: TextEmbedding, stack: Stack, lm_head: nn.Linear) -> None:
        self.embed, self.norm = embed, stack.norm
        self.blocks = [_BlockStep(block) for block in stack.blocks]
        self.head = lm_head.weight.detach().T.contiguous()

    def __call__(self, newest: Tensor, caches: Sequence[KVCache]) -> Tensor:
        """``newest (B, 1)`` → logits ``(B, V)``; the caches take it in."""
        x = self.embed(newest, caches[0].length)[:, 0]
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, cache)
        return _norm(self.norm, x) @ self.head


def _norm(norm: Any, x: Tensor) -> Tensor:
    return torch.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
