"""The pioneers, one per file: each its configuration, its presets, itself."""

from pioneers.models.bert import BERT, BERTConfig, MaskedLMHead
from pioneers.models.gpt import GPT, GPTConfig
from pioneers.models.transformer import Transformer, TransformerConfig
from pioneers.models.vit import ViT, ViTConfig

__all__ = [
    "BERT",
    "GPT",
    "BERTConfig",
    "GPTConfig",
    "MaskedLMHead",
    "Transformer",
    "TransformerConfig",
    "ViT",
    "ViTConfig",
]
