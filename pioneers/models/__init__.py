"""The pioneers, one per file: each its configuration, its presets, itself."""

from pioneers.models.baselines import LSTMLanguageModel, SmallResNet
from pioneers.models.bert import BERT, BERTConfig, BERTForPretraining, MaskedLMHead, PretrainingLogits
from pioneers.models.bert_masked_lm import BERTForMaskedLM
from pioneers.models.bert_tasks import BERTClassifier, BERTReader, BERTTagger
from pioneers.models.gpt import GPT, GPTConfig
from pioneers.models.gpt_classifier import GPTClassifier
from pioneers.models.heads import ClassificationHead, GPTTaskModel, SpanHead, TaskOutput, best_span
from pioneers.models.t5 import T5, T5Config
from pioneers.models.transformer import Transformer, TransformerConfig
from pioneers.models.vit import ViT, ViTConfig

__all__ = [
    "BERT",
    "GPT",
    "T5",
    "BERTClassifier",
    "BERTConfig",
    "BERTForMaskedLM",
    "BERTForPretraining",
    "BERTReader",
    "BERTTagger",
    "ClassificationHead",
    "GPTClassifier",
    "GPTConfig",
    "GPTTaskModel",
    "LSTMLanguageModel",
    "MaskedLMHead",
    "PretrainingLogits",
    "SmallResNet",
    "SpanHead",
    "T5Config",
    "TaskOutput",
    "Transformer",
    "TransformerConfig",
    "ViT",
    "ViTConfig",
    "best_span",
]
