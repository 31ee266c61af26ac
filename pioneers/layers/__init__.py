"""The layers of every pioneer: plain keyword arguments in, tensors out."""

from pioneers.layers.attention import attention, attention_weights
from pioneers.layers.biases import (
    LogWindowBias,
    RelativeBias,
    WindowBias,
    alibi_bias,
    alibi_slopes,
    log_offsets,
    window_offsets,
)
from pioneers.layers.block import TransformerBlock
from pioneers.layers.cache import KVCache, MemoryCache
from pioneers.layers.cosine import CosineAttention
from pioneers.layers.disentangled import BucketedDistances, ClippedDistances, DisentangledAttention
from pioneers.layers.embeddings import (
    BERTEmbedding,
    GPTEmbedding,
    TokenEmbedding,
    TransformerEmbedding,
    ViTEmbedding,
)
from pioneers.layers.feedforward import FeedForward, GatedFeedForward
from pioneers.layers.image_embeddings import DeiTEmbedding, SwinEmbedding
from pioneers.layers.init import apply_deepnorm, init_by_inputs, init_weights, initial_std
from pioneers.layers.masks import causal_mask, document_mask, padding_mask, window_mask
from pioneers.layers.multi_head import MultiHeadAttention
from pioneers.layers.norms import deepnorm_scales, layer_norm, rms_norm
from pioneers.layers.patches import PatchEmbedding, PatchMerging, patchify, unpatchify
from pioneers.layers.pooling import PoolingAttention, PoolingBlock, TokenPool
from pioneers.layers.positions import (
    LearnedPositions,
    Rotary,
    SinusoidalPositions,
    sinusoidal_table,
    sinusoidal_table_2d,
    sinusoids,
)
from pioneers.layers.stack import Stack
from pioneers.layers.two_stream import RelativeAttention, TwoStreamBlock, relative_sinusoids
from pioneers.layers.windows import cyclic_shift, shifted_window_mask, window_merge, window_partition

__all__ = [
    "BERTEmbedding",
    "BucketedDistances",
    "ClippedDistances",
    "CosineAttention",
    "DeiTEmbedding",
    "DisentangledAttention",
    "FeedForward",
    "GPTEmbedding",
    "GatedFeedForward",
    "KVCache",
    "LearnedPositions",
    "LogWindowBias",
    "MemoryCache",
    "MultiHeadAttention",
    "PatchEmbedding",
    "PatchMerging",
    "PoolingAttention",
    "PoolingBlock",
    "RelativeAttention",
    "RelativeBias",
    "Rotary",
    "SinusoidalPositions",
    "Stack",
    "SwinEmbedding",
    "TokenEmbedding",
    "TokenPool",
    "TransformerBlock",
    "TransformerEmbedding",
    "TwoStreamBlock",
    "ViTEmbedding",
    "WindowBias",
    "alibi_bias",
    "alibi_slopes",
    "apply_deepnorm",
    "attention",
    "attention_weights",
    "causal_mask",
    "cyclic_shift",
    "deepnorm_scales",
    "document_mask",
    "init_by_inputs",
    "init_weights",
    "initial_std",
    "layer_norm",
    "log_offsets",
    "padding_mask",
    "patchify",
    "relative_sinusoids",
    "rms_norm",
    "shifted_window_mask",
    "sinusoidal_table",
    "sinusoidal_table_2d",
    "sinusoids",
    "unpatchify",
    "window_mask",
    "window_merge",
    "window_offsets",
    "window_partition",
]
