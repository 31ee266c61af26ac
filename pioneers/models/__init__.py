"""The pioneers, one per file: each its configuration, its presets, itself."""

from pioneers.models.baselines import LSTMLanguageModel, SmallResNet
from pioneers.models.bert import BERT, BERTConfig, MaskedLMHead
from pioneers.models.gpt import GPT, GPTConfig
from pioneers.models.heads import ClassificationHead, SpanHead, best_span
from pioneers.models.transformer import Transformer, TransformerConfig
from pioneers.models.vit import ViT, ViTConfig

__all__ = [
    "BERT",
    "GPT",
    "BERTConfig",
    "ClassificationHead",
    "GPTConfig",
    "LSTMLanguageModel",
    "MaskedLMHead",
    "SmallResNet",
    "SpanHead",
    "Transformer",
    "TransformerConfig",
    "ViT",
    "ViTConfig",
    "best_span",
]
