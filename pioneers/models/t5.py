"""T5: an encoder–decoder that knows positions only as a learned bias on its scores."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from torch import Tensor, nn

from pioneers.config import Config
from pioneers.layers import (
    FeedForward,
    GatedFeedForward,
    MultiHeadAttention,
    RelativeBias,
    Stack,
    TokenEmbedding,
    TransformerBlock,
    init_by_inputs,
)  # fmt: skip
from pioneers.models.encoder_decoder import Caches, EncoderDecoderModel

_V1_1 = {"d_model": 512, "d_ff": 1024, "num_layers": 8, "num_heads": 6, "gated": True, "tied_head": False}


def _byt5(d_model: int, d_ff: int, num_layers: int, num_heads: int) -> dict[str, Any]:
    """Make the sizes of a ByT5, whose decoder has a third of the encoder's blocks."""
    sizes = {"d_model": d_model, "d_ff": d_ff, "num_layers": num_layers, "num_heads": num_heads}
    return _V1_1 | sizes | {"vocab_size": 384, "num_decoder_layers": num_layers // 3}


@dataclass(frozen=True, kw_only=True)
class T5Config(Config):
    """The sizes of a T5.

    Attributes:
        vocab_size: V.
        d_model: D.
        d_ff: F.
        num_layers: number of blocks in the encoder.
        num_decoder_layers: number of blocks in the decoder; None is as many as in the encoder.
        num_heads: H.
        head_dim: K, which need not be D / H.
        gated: whether the feed-forward networks have a gate and GELU (T5 v1.1, mT5), or neither and ReLU.
        tied_head: whether the output layer is the token embedding, as it was before T5 v1.1.
        dropout: share dropped in training, throughout.
        max_seq_len: longest target that generation makes room for; the model itself has no limit.

    Raises:
        ValueError: a size is not positive, or dropout is not in [0, 1).
    """

    vocab_size: int = 32128
    d_model: int
    d_ff: int
    num_layers: int
    num_decoder_layers: int | None = None
    num_heads: int
    head_dim: int = 64
    gated: bool = False
    tied_head: bool = True
    dropout: float = 0.1
    max_seq_len: int = 512

    presets: ClassVar = {
        "small": {"d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8},
        "base": {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12},
        "large": {"d_model": 1024, "d_ff": 4096, "num_layers": 24, "num_heads": 16},
        "3b": {"d_model": 1024, "d_ff": 16384, "num_layers": 24, "num_heads": 32, "head_dim": 128},
        "11b": {"d_model": 1024, "d_ff": 65536, "num_layers": 24, "num_heads": 128, "head_dim": 128},
        "small-v1.1": _V1_1,
        "mt5-small": _V1_1 | {"vocab_size": 250112},
        "byt5-small": _byt5(1472, 3584, 12, 6),
        "byt5-base": _byt5(1536, 3968, 18, 12),
        "byt5-large": _byt5(1536, 3840, 36, 16),
        "byt5-xl": _byt5(2560, 6720, 36, 32),
        "byt5-xxl": _byt5(4672, 12352, 36, 64),
    }

    def __post_init__(self) -> None:
        sizes = ("vocab_size", "d_model", "d_ff", "num_layers", "num_heads", "head_dim", "max_seq_len")
        self._require_positive(*sizes)
        self._require_positive_or_none("num_decoder_layers")
        self._require_dropout(self.dropout)


class T5(EncoderDecoderModel):
    """Encoder–decoder in which all blocks of a stack share one relative bias.

    Raffel et al. 2020, section 2.1; mT5: Xue et al. 2021; ByT5: Xue et al. 2022. Unlike the
    Transformer it has RMSNorm in front of each layer, unscaled scores and no biases;
    :func:`pioneers.layers.init_by_inputs` draws its weights.

    Args:
        config: sizes, for instance ``T5Config.preset("small")``.

    Example:
        >>> import torch
        >>> model = T5(T5Config.preset("small", vocab_size=11, d_model=6, d_ff=8, num_layers=1))
        >>> model(torch.zeros(2, 5, dtype=torch.long), torch.zeros(2, 3, dtype=torch.long)).shape
        torch.Size([2, 3, 11])
    """

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.config = config
        self.embed = TokenEmbedding(config.vocab_size, config.d_model, dropout=config.dropout)
        self.encoder_bias = RelativeBias(config.num_heads)
        self.encoder = self._stack(config, config.num_layers, cross=False)
        self.decoder_bias = RelativeBias(config.num_heads, bidirectional=False)
        self.decoder = self._stack(config, config.num_decoder_layers or config.num_layers, cross=True)
        self.dropout = nn.Dropout(config.dropout)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        init_by_inputs(self, d_model=config.d_model, head_dim=config.head_dim)
        if config.tied_head:
            self.lm_head.weight = self.embed.token.weight

    @staticmethod
    def _stack(config: T5Config, num_layers: int, *, cross: bool) -> Stack:
        d, h, f, p = config.d_model, config.num_heads, config.d_ff, config.dropout
        norm = partial(nn.RMSNorm, eps=1e-6)
        attn = partial(MultiHeadAttention, d, h, head_dim=config.head_dim, bias=False, dropout=p, scale=1.0)
        plain = partial(FeedForward, d, f, activation="relu", bias=False, dropout=p)
        gated = partial(GatedFeedForward, d, f, activation="gelu_tanh", dropout=p)
        ffn: partial[Any] = gated if config.gated else plain
        blocks = [
            TransformerBlock(attn(), ffn(), cross_attn=attn() if cross else None, norm=norm, dropout=p)
            for _ in range(num_layers)
        ]
        return Stack(blocks, norm(d))

    def encode(self, source_ids: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """``source_ids (B, S)`` → memory ``(B, S, D)``; ``mask`` says which tokens are real."""
        bias = self.encoder_bias(source_ids.shape[1])  # (H, S, S)
        return self.dropout(self.encoder(self.embed(source_ids), mask=mask, bias=bias))

    def decode(
        self, target_ids: Tensor, memory: Tensor, *, mask: Tensor | None = None, caches: Caches | None = None
    ) -> Tensor:
        """``target_ids``, ``memory``, ``mask`` and ``caches`` → logits: see :meth:`Transformer.decode`."""
        earlier, new = caches[0].length if caches else 0, target_ids.shape[1]
        bias = self.decoder_bias(new, earlier + new)  # (H, T, earlier and new)
        x = self.embed(target_ids)  # (B, T, D)
        x = self.decoder(x, memory, causal=True, bias=bias, memory_mask=mask, caches=caches)  # (B, T, D)
        scale = self.config.d_model**-0.5 if self.config.tied_head else 1.0  # token vectors are of length √D
        return self.lm_head(self.dropout(x) * scale)
