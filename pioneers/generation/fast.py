"""One more token for a plain GPT, as fast as its weights can be read: what generation runs on by default.

A step for one token multiplies matrices by single vectors. That takes as long as reading the matrices, and
as long as Python takes to call them; so the three projections of attention become one, tall matrices are
stored column by column, and no module is called. A test compares its numbers with the model's own.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.layers import FeedForward, GPTEmbedding, KVCache, MultiHeadAttention, Stack, TransformerBlock

FastStep = Callable[[Tensor, Sequence[KVCache]], Tensor]

# Above this (GPT-2 of 124M is just below) memory is more expensive than time: the weights are not copied.
MAX_EMBEDDING = 40_000_000
PARTS = {TransformerBlock, MultiHeadAttention, FeedForward, nn.Linear, nn.LayerNorm, nn.Identity, nn.Dropout}


def fast_decode_step(model: Any) -> FastStep | None:
    """Return a fast form of one step for ``model``, ids ``(B, 1)`` and caches → logits ``(B, V)``, or None.

    The fast form knows one architecture: a :class:`pioneers.models.GPT` made of the parts its class puts in.
    Any other part (a gate, experts, an adapter around a matrix), a subclass and a hook get None, and then the
    model itself is run. Weights are copied as they are now.
    """
    if not _is_plain(model) or model.embed.token.weight.numel() > MAX_EMBEDDING:
        return None
    return FastDecoder(model.embed, model.stack, model.lm_head)


def _is_plain(model: Any) -> bool:
    cls = type(model)
    if (cls.__module__, cls.__name__) != ("pioneers.models.gpt", "GPT") or type(
        model.lm_head
    ) is not nn.Linear:
        return False
    if type(model.embed) is not GPTEmbedding or type(model.stack) is not Stack or _is_hooked(model):
        return False
    return type(model.stack.norm) is nn.LayerNorm and all(map(_is_plain_block, model.stack.blocks))


def _is_plain_block(block: nn.Module) -> bool:
    if {type(module) for module in block.modules()} - PARTS or not isinstance(block, TransformerBlock):
        return False
    attn = block.attn
    standard = attn.num_kv_heads == attn.num_heads and attn.scale is None and attn.q_proj.bias is not None
    standard = standard and type(attn.q_norm) is type(attn.k_norm) is nn.Identity
    ours = isinstance(block.ffn, FeedForward) and block.ffn.up.bias is not None
    usual = block.norm_placement == "pre" and block.residual_scale == 1 and block.cross_attn is None
    return standard and ours and usual and type(block.norm_attn) is type(block.norm_ffn) is nn.LayerNorm


def _is_hooked(model: nn.Module) -> bool:
    return any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def _columns(*layers: nn.Linear) -> tuple[Tensor, Tensor]:
    """The matrices of layers that read the same vector, side by side ``(in, out)``, and their biases."""
    weight = torch.cat([layer.weight.detach() for layer in layers]).T.contiguous()
    return weight, torch.cat([layer.bias.detach() for layer in layers])


class _FastBlock:
    def __init__(self, block: Any) -> None:
        attn, ffn = block.attn, block.ffn
        self.norm_attn, self.norm_ffn, self.activation = block.norm_attn, block.norm_ffn, ffn.activation
        self.heads = (-1, 3, attn.num_heads, 1, attn.head_dim)
        self.qkv, self.qkv_bias = _columns(attn.q_proj, attn.k_proj, attn.v_proj)
        self.up, self.up_bias = _columns(ffn.up)
        self.o_proj, self.down = attn.o_proj, ffn.down

    def __call__(self, x: Tensor, cache: KVCache) -> Tensor:
        """``x (B, D)``, the newest token → ``(B, D)``."""
        qkv = torch.addmm(self.qkv_bias, _norm(self.norm_attn, x), self.qkv)  # (B, 3 D)
        q, k, v = qkv.view(self.heads).unbind(1)  # (B, H, 1, K) each
        seen = F.scaled_dot_product_attention(q, *cache.update(k, v))  # (B, H, 1, K)
        x = x + F.linear(seen.flatten(1), self.o_proj.weight, self.o_proj.bias)
        hidden = self.activation(torch.addmm(self.up_bias, _norm(self.norm_ffn, x), self.up))  # (B, F)
        return x + F.linear(hidden, self.down.weight, self.down.bias)


class FastDecoder:
    """Compute the logits of the next token from the newest one and the caches of those before it.

    Args:
        embed: the embedding of a GPT.
        stack: its stack, pre-norm and in eval mode.
        lm_head: its output layer. Of most weights a copy is made, as they are now.
    """

    def __init__(self, embed: GPTEmbedding, stack: Stack, lm_head: nn.Linear) -> None:
        self.embed, self.norm = embed, stack.norm
        self.blocks = [_FastBlock(block) for block in stack.blocks]
        self.head = lm_head.weight.detach().T.contiguous()

    def __call__(self, newest: Tensor, caches: Sequence[KVCache]) -> Tensor:
        """``newest (B, 1)`` → logits ``(B, V)``; the caches take it in."""
        x = self.embed(newest, caches[0].length)[:, 0]  # (B, D)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, cache)
        return _norm(self.norm, x) @ self.head


def _norm(norm: Any, x: Tensor) -> Tensor:
    return torch.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
