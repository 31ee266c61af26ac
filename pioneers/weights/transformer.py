"""The Transformer of 2017, which has a folder of our own format and no counterpart at Hugging Face."""

from pioneers.models import Transformer, TransformerConfig
from pioneers.weights.registry import ModelKind, register_kind

register_kind(ModelKind(Transformer, TransformerConfig))
