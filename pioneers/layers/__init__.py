"""The layers of every pioneer: plain keyword arguments in, tensors out."""

from pioneers.layers.attention import MultiHeadAttention, attention, attention_weights
from pioneers.layers.block import TransformerBlock
from pioneers.layers.cache import KVCache
from pioneers.layers.embeddings import ClassToken, PatchEmbedding, TextEmbedding, patchify, unpatchify
from pioneers.layers.feedforward import FeedForward
from pioneers.layers.init import init_weights
from pioneers.layers.masks import causal_mask, padding_mask
from pioneers.layers.norms import layer_norm
from pioneers.layers.positions import LearnedPositions, SinusoidalPositions, sinusoidal_table
from pioneers.layers.stack import Stack

__all__ = [
    "ClassToken",
    "FeedForward",
    "KVCache",
    "LearnedPositions",
    "MultiHeadAttention",
    "PatchEmbedding",
    "SinusoidalPositions",
    "Stack",
    "TextEmbedding",
    "TransformerBlock",
    "attention",
    "attention_weights",
    "causal_mask",
    "init_weights",
    "layer_norm",
    "padding_mask",
    "patchify",
    "sinusoidal_table",
    "unpatchify",
]
