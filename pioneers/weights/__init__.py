"""Trained weights: read from and written to folders, ours and other libraries', by tables of names."""

from pioneers.weights import tables
from pioneers.weights.pretrained import export, from_pretrained, save_pretrained
from pioneers.weights.rename import to_ours, to_theirs
from pioneers.weights.tokenizer import load_tokenizer, save_tokenizer

__all__ = [
    "export",
    "from_pretrained",
    "load_tokenizer",
    "save_pretrained",
    "save_tokenizer",
    "tables",
    "to_ours",
    "to_theirs",
]
