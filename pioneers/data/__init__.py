"""Data sets and batches."""

from pioneers.data.embedded import Digits, digits, language_reference
from pioneers.data.text import RandomWindows, split_text

__all__ = ["Digits", "RandomWindows", "digits", "language_reference", "split_text"]
