"""Trained weights: read from and written to folders, ours and other libraries', by tables of names."""

from pioneers.weights import bert, gpt2, t5, vit, vit_timm, vit_torchvision
from pioneers.weights.hub import download
from pioneers.weights.pretrained import from_pretrained, save_huggingface, save_pretrained
from pioneers.weights.state_dict import to_ours, to_theirs
from pioneers.weights.tokenizer import load_tokenizer, save_tokenizer

__all__ = [
    "bert",
    "download",
    "from_pretrained",
    "gpt2",
    "load_tokenizer",
    "save_huggingface",
    "save_pretrained",
    "save_tokenizer",
    "t5",
    "to_ours",
    "to_theirs",
    "vit",
    "vit_timm",
    "vit_torchvision",
]
