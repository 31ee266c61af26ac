"""Generating text from a language model."""

from pioneers.generation.decode import generate
from pioneers.generation.sampling import filter_logits, sample

__all__ = ["filter_logits", "generate", "sample"]
