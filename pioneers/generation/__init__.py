"""Generating text: from a language model, or from an encoder–decoder and a source."""

from pioneers.generation.beam import Best, beam_search, length_penalty
from pioneers.generation.decode import generate, translate
from pioneers.generation.sampling import filter_logits, sample
from pioneers.generation.stream import spell, stream
from pioneers.generation.text import generate_text, stream_text

__all__ = [
    "Best",
    "beam_search",
    "filter_logits",
    "generate",
    "generate_text",
    "length_penalty",
    "sample",
    "spell",
    "stream",
    "stream_text",
    "translate",
]
