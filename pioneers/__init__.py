"""Pioneering Transformers: the reference package of the book.

Four pioneers, one block: the Transformer, GPT, BERT and ViT differ in their mask, their embeddings, their
objective and their head. Everything else is in :mod:`pioneers.layers`, once.
"""

import importlib
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import ``pioneers.from_pretrained``, which needs PyTorch, only when it is used."""
    if name == "from_pretrained":
        return importlib.import_module("pioneers.weights").from_pretrained
    raise AttributeError(f"module 'pioneers' has no attribute {name!r}")
