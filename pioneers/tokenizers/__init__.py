"""Tokenizers: text to token ids and back."""

from pioneers.tokenizers.bpe import ByteLevelBPE
from pioneers.tokenizers.bulk import BulkEncoder
from pioneers.tokenizers.byte import ByteTokenizer
from pioneers.tokenizers.fast import FastBPE
from pioneers.tokenizers.library import LibraryBPE, LibraryTokenizer
from pioneers.tokenizers.unigram import Unigram
from pioneers.tokenizers.wordpiece import WordPiece

__all__ = [
    "BulkEncoder",
    "ByteLevelBPE",
    "ByteTokenizer",
    "FastBPE",
    "LibraryBPE",
    "LibraryTokenizer",
    "Unigram",
    "WordPiece",
]
