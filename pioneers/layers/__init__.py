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
from pioneers.layers.experts import MixtureOfExperts
from pioneers.layers.feedforward import FeedForward, GatedFeedForward
from pioneers.layers.image_embeddings import DeiTEmbedding, SwinEmbedding
from pioneers.layers.init import apply_deepnorm, init_by_inputs, init_weights, initial_std
from pioneers.layers.kernel_attention import (
    KernelAttention,
    kernel_attention,
    kernel_weights,
    positive_features,
)
from pioneers.layers.linformer import LinformerAttention
from pioneers.layers.local_masks import LocalAttention, local_attention, local_global_mask
from pioneers.layers.lora import LoRALinear, adapter_state, add_lora, load_adapter, merge_lora
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
from pioneers.layers.quantized import (
    Packed,
    Quantization,
    QuantizedLinear,
    dequantize,
    quantize,
    quantize_linears,
)
from pioneers.layers.routing import Routing, TopKRouter, routing
from pioneers.layers.soft_prompt import SoftPrompt
from pioneers.layers.stack import Stack
from pioneers.layers.two_stream import RelativeAttention, TwoStreamBlock, relative_sinusoids
from pioneers.layers.variants import VariantAttention, hide_keys
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
    "KernelAttention",
    "LearnedPositions",
    "LinformerAttention",
    "LoRALinear",
    "LocalAttention",
    "LogWindowBias",
    "MemoryCache",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "Packed",
    "PatchEmbedding",
    "PatchMerging",
    "PoolingAttention",
    "PoolingBlock",
    "Quantization",
    "QuantizedLinear",
    "RelativeAttention",
    "RelativeBias",
    "Rotary",
    "Routing",
    "SinusoidalPositions",
    "SoftPrompt",
    "Stack",
    "SwinEmbedding",
    "TokenEmbedding",
    "TokenPool",
    "TopKRouter",
    "TransformerBlock",
    "TransformerEmbedding",
    "TwoStreamBlock",
    "VariantAttention",
    "ViTEmbedding",
    "WindowBias",
    "adapter_state",
    "add_lora",
    "alibi_bias",
    "alibi_slopes",
    "apply_deepnorm",
    "attention",
    "attention_weights",
    "causal_mask",
    "cyclic_shift",
    "deepnorm_scales",
    "dequantize",
    "document_mask",
    "hide_keys",
    "init_by_inputs",
    "init_weights",
    "initial_std",
    "kernel_attention",
    "kernel_weights",
    "layer_norm",
    "load_adapter",
    "local_attention",
    "local_global_mask",
    "log_offsets",
    "merge_lora",
    "padding_mask",
    "patchify",
    "positive_features",
    "quantize",
    "quantize_linears",
    "relative_sinusoids",
    "rms_norm",
    "routing",
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
