"""Llama: today's decoder, a GPT whose parts have been swapped one by one.

With a norm more it is Qwen3, with experts Mixtral.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    GatedFeedForward,
    KVCache,
    MixtureOfExperts,
    MultiHeadAttention,
    Rotary,
    Stack,
    TokenEmbedding,
    TopKRouter,
    TransformerBlock,
    init_weights,
    initial_std,
)
from pioneers.models.pretrained import Pretrained


@dataclass(frozen=True, kw_only=True)
class LlamaConfig(Config):
    """The sizes of a Llama, a Qwen3 or a Mixtral.

    Attributes:
        vocab_size: V.
        max_seq_len: longest sequence.
        d_model: D.
        d_ff: F, near 8 D / 3 for as many parameters as GPT has with F = 4 D.
        num_layers: number of blocks.
        num_heads: H.
        num_kv_heads: number of key/value heads, each shared by a group of query heads; None is H.
        head_dim: K; None is D / H.
        qk_norm: whether the queries and keys of each head are normalised, as in Qwen3.
        num_experts: E, feed-forward networks of width F in each block; None is a dense one.
        experts_per_token: k, how many of them a token goes through.
        tied_head: whether the output layer is the token embedding.
        rotary_base: base of the rotary positions, see :class:`pioneers.layers.Rotary`.
        norm_eps: added to the mean square in every RMSNorm.

    Raises:
        ValueError: a size is not positive, the key/value heads or the width do not fit the heads, or a token
            goes through more experts than there are.
    """

    vocab_size: int
    max_seq_len: int
    d_model: int
    d_ff: int
    num_layers: int
    num_heads: int
    num_kv_heads: int | None = None
    head_dim: int | None = None
    qk_norm: bool = False
    num_experts: int | None = None
    experts_per_token: int = 2
    tied_head: bool = False
    rotary_base: float = 10000.0
    norm_eps: float = 1e-6

    presets: ClassVar = {
        "llama-7b": {
            "vocab_size": 32000, "max_seq_len": 2048, "d_model": 4096, "d_ff": 11008, "num_layers": 32,
            "num_heads": 32,
        },
        "llama-3-8b": {
            "vocab_size": 128256, "max_seq_len": 8192, "d_model": 4096, "d_ff": 14336, "num_layers": 32,
            "num_heads": 32, "num_kv_heads": 8, "rotary_base": 500000.0, "norm_eps": 1e-5,
        },
        "qwen3-0.6b": {
            "vocab_size": 151936, "max_seq_len": 40960, "d_model": 1024, "d_ff": 3072, "num_layers": 28,
            "num_heads": 16, "num_kv_heads": 8, "head_dim": 128, "qk_norm": True, "tied_head": True,
            "rotary_base": 1000000.0,
        },
        "mixtral-8x7b": {
            "vocab_size": 32000, "max_seq_len": 32768, "d_model": 4096, "d_ff": 14336, "num_layers": 32,
            "num_heads": 32, "num_kv_heads": 8, "num_experts": 8, "rotary_base": 1000000.0, "norm_eps": 1e-5,
        },
        "mini": {
            "vocab_size": 1024, "max_seq_len": 128, "d_model": 128, "d_ff": 344, "num_layers": 4,
            "num_heads": 4, "num_kv_heads": 2, "tied_head": True,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._require_positive("vocab_size", "max_seq_len", "d_model", "d_ff", "num_layers", "num_heads")
        self._require_positive_or_none("num_kv_heads")
        self._require_positive_or_none("head_dim")
        self._require_positive_or_none("num_experts")
        self._require_positive("experts_per_token")
        if self.head_dim is None:
            self._require_heads_divide(self.d_model, self.num_heads)
        shared = self.num_kv_heads is None or self.num_heads % self.num_kv_heads == 0
        self._require(shared, "num_kv_heads", f"a divisor of num_heads={self.num_heads}")
        enough = self.num_experts is None or self.experts_per_token <= self.num_experts
        self._require(enough, "experts_per_token", f"at most num_experts={self.num_experts}")


class Llama(Pretrained):
    """A decoder-only language model: RMSNorm, rotary positions, SwiGLU, grouped queries and no biases.

    Touvron et al. 2023, section 2.2; Llama 3: Grattafiori et al. 2024, section 3.2; Qwen3: Yang et al. 2025,
    section 2; Mixtral: Jiang et al. 2024, section 2. All functions of :mod:`pioneers.generation` run it as
    they run GPT.

    Args:
        config: sizes, for instance ``LlamaConfig.preset("llama-3-8b")``.

    Example:
        >>> import torch
        >>> model = Llama(LlamaConfig.preset("mini"))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 1024])
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        norm = partial(nn.RMSNorm, eps=config.norm_eps)
        blocks = [self._block(config, norm) for _ in range(config.num_layers)]
        self.embed = TokenEmbedding(config.vocab_size, config.d_model)
        self.rotary = Rotary(blocks[0].attn.head_dim, max_seq_len=config.max_seq_len, base=config.rotary_base)
        self.stack = Stack(blocks, norm(config.d_model))
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tied_head:
            self.lm_head.weight = self.embed.token.weight
        init_weights(self, std=initial_std(config.d_model))

    @staticmethod
    def _block(config: LlamaConfig, norm: partial[nn.RMSNorm]) -> TransformerBlock:
        attn = MultiHeadAttention(
            config.d_model,
            config.num_heads,
            num_kv_heads=config.num_kv_heads,
            head_dim=config.head_dim,
            bias=False,
            qk_norm=norm if config.qk_norm else None,
        )
        return TransformerBlock(attn, Llama._feed_forward(config), norm=norm)

    @staticmethod
    def _feed_forward(config: LlamaConfig) -> nn.Module:
        if config.num_experts is None:
            return GatedFeedForward(config.d_model, config.d_ff)
        router = TopKRouter(config.d_model, config.num_experts, k=config.experts_per_token)
        experts = (GatedFeedForward(config.d_model, config.d_ff) for _ in range(config.num_experts))
        return MixtureOfExperts(router, experts)

    def hidden_states(self, input_ids: Tensor, *, caches: Sequence[KVCache] | None = None) -> Tensor:
        """``input_ids (B, T)`` → the stack's output ``(B, T, D)``; ``caches`` as in :class:`GPT`."""
        return self.stack(self.embed(input_ids), causal=True, rotary=self.rotary, caches=caches)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Ids ``(B, T)`` → logits ``(B, T, V)``; those at position t are for token t + 1."""
        return self.lm_head(self.hidden_states(input_ids))

    def new_caches(self) -> list[KVCache]:
        """Empty key/value caches, one per block, for generation."""
        return [KVCache(self.config.max_seq_len) for _ in range(self.config.num_layers)]
