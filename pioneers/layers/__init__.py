"""The layers of every pioneer: plain keyword arguments in, tensors out."""

from pioneers.layers.attention import attention, attention_weights
from pioneers.layers.biases import RelativeBias, alibi_bias, alibi_slopes
from pioneers.layers.block import TransformerBlock
from pioneers.layers.cache import KVCache, MemoryCache
from pioneers.layers.embeddings import (
    BERTEmbedding,
    GPTEmbedding,
    PatchEmbedding,
    T5Embedding,
    TransformerEmbedding,
    ViTEmbedding,
)
from pioneers.layers.feedforward import FeedForward, GatedFeedForward
from pioneers.layers.init import apply_deepnorm, init_by_inputs, init_weights, initial_std
from pioneers.layers.masks import causal_mask, document_mask, padding_mask, window_mask
from pioneers.layers.multi_head import MultiHeadAttention
from pioneers.layers.norms import deepnorm_scales, layer_norm, rms_norm
from pioneers.layers.patches import patchify, unpatchify
from pioneers.layers.positions import (
    LearnedPositions,
    Rotary,
    SinusoidalPositions,
    sinusoidal_table,
    sinusoidal_table_2d,
)
from pioneers.layers.stack import Stack

__all__ = [
    "BERTEmbedding",
    "FeedForward",
    "GPTEmbedding",
    "GatedFeedForward",
    "KVCache",
    "LearnedPositions",
    "MemoryCache",
    "MultiHeadAttention",
    "PatchEmbedding",
    "RelativeBias",
    "Rotary",
    "SinusoidalPositions",
    "Stack",
    "T5Embedding",
    "TransformerBlock",
    "TransformerEmbedding",
    "ViTEmbedding",
    "alibi_bias",
    "alibi_slopes",
    "apply_deepnorm",
    "attention",
    "attention_weights",
    "causal_mask",
    "deepnorm_scales",
    "document_mask",
    "init_by_inputs",
    "init_weights",
    "initial_std",
    "layer_norm",
    "padding_mask",
    "patchify",
    "rms_norm",
    "sinusoidal_table",
    "sinusoidal_table_2d",
    "unpatchify",
    "window_mask",
]
