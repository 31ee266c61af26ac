"""Tokenizers: text to token ids and back."""

from pioneers.tokenizers.bpe import ByteLevelBPE
from pioneers.tokenizers.fast import FastBPE
from pioneers.tokenizers.wordpiece import WordPiece

__all__ = ["ByteLevelBPE", "FastBPE", "WordPiece"]
