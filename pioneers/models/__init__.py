"""The pioneers, one per file: each its configuration, its presets, itself."""

from pioneers.models.albert import ALBERT, ALBERTConfig, ALBERTForMaskedLM, ALBERTForPretraining, ALBERTLogits
from pioneers.models.bart import BART, BARTConfig
from pioneers.models.baselines import ConvBackbone, LSTMLanguageModel, SmallResNet
from pioneers.models.bert import BERT, BERTConfig, MaskedLMHead
from pioneers.models.bert_masked_lm import BERTForMaskedLM
from pioneers.models.bert_pretraining import BERTForPretraining, PretrainingLogits
from pioneers.models.bert_tasks import BERTClassifier, BERTReader, BERTTagger
from pioneers.models.clip import CLIP, CLIPConfig
from pioneers.models.deberta import DeBERTa, DeBERTaConfig, DeBERTaForMaskedLM
from pioneers.models.deit import DeiT, DeiTConfig, DeiTLogits
from pioneers.models.detr import DETR, Detections, DETRConfig, Memory, grid_positions
from pioneers.models.detr_anchors import AnchorDETR
from pioneers.models.distilbert import DistilBERT, DistilBERTConfig, DistilBERTForMaskedLM, student_from
from pioneers.models.electra import ELECTRA, ELECTRAConfig
from pioneers.models.electra_pretraining import (
    ELECTRADiscriminator,
    ELECTRAForPretraining,
    ELECTRAGenerator,
    ELECTRALogits,
)
from pioneers.models.gpt import GPT, GPTConfig
from pioneers.models.gpt_classifier import GPTClassifier
from pioneers.models.gpt_scorer import GPTScorer
from pioneers.models.heads import ClassificationHead, GPTTaskModel, SpanHead, TaskOutput, best_span
from pioneers.models.in_context import InContextRegressor
from pioneers.models.llama import Llama, LlamaConfig
from pioneers.models.mae import MAE, MAEConfig
from pioneers.models.roberta import RoBERTa, RoBERTaConfig, RoBERTaForMaskedLM
from pioneers.models.span_boundary import SpanBoundaryHead
from pioneers.models.swin import Swin, SwinConfig
from pioneers.models.swin_v2 import SwinV2, SwinV2Config
from pioneers.models.t5 import T5, T5Config
from pioneers.models.transformer import Transformer, TransformerConfig
from pioneers.models.vit import ViT, ViTConfig
from pioneers.models.word2vec import Word2Vec
from pioneers.models.xlnet import Streams, XLNet, XLNetConfig

__all__ = [
    "ALBERT",
    "BART",
    "BERT",
    "CLIP",
    "DETR",
    "ELECTRA",
    "GPT",
    "MAE",
    "T5",
    "ALBERTConfig",
    "ALBERTForMaskedLM",
    "ALBERTForPretraining",
    "ALBERTLogits",
    "AnchorDETR",
    "BARTConfig",
    "BERTClassifier",
    "BERTConfig",
    "BERTForMaskedLM",
    "BERTForPretraining",
    "BERTReader",
    "BERTTagger",
    "CLIPConfig",
    "ClassificationHead",
    "ConvBackbone",
    "DETRConfig",
    "DeBERTa",
    "DeBERTaConfig",
    "DeBERTaForMaskedLM",
    "DeiT",
    "DeiTConfig",
    "DeiTLogits",
    "Detections",
    "DistilBERT",
    "DistilBERTConfig",
    "DistilBERTForMaskedLM",
    "ELECTRAConfig",
    "ELECTRADiscriminator",
    "ELECTRAForPretraining",
    "ELECTRAGenerator",
    "ELECTRALogits",
    "GPTClassifier",
    "GPTConfig",
    "GPTScorer",
    "GPTTaskModel",
    "InContextRegressor",
    "LSTMLanguageModel",
    "Llama",
    "LlamaConfig",
    "MAEConfig",
    "MaskedLMHead",
    "Memory",
    "PretrainingLogits",
    "RoBERTa",
    "RoBERTaConfig",
    "RoBERTaForMaskedLM",
    "SmallResNet",
    "SpanBoundaryHead",
    "SpanHead",
    "Streams",
    "Swin",
    "SwinConfig",
    "SwinV2",
    "SwinV2Config",
    "T5Config",
    "TaskOutput",
    "Transformer",
    "TransformerConfig",
    "ViT",
    "ViTConfig",
    "Word2Vec",
    "XLNet",
    "XLNetConfig",
    "best_span",
    "grid_positions",
    "student_from",
]
