"""Attention maps, measures of prediction, and figures (:mod:`~pioneers.analysis.plots`)."""

from pioneers.analysis.answers import exact_match, overlap_f1
from pioneers.analysis.attention_maps import attention_distance, attention_rollout, record_attention
from pioneers.analysis.growing import growing_model
from pioneers.analysis.language import (
    bits_per_character,
    compressed_bits,
    negative_log_likelihood,
    ngram_bits,
)
from pioneers.analysis.results import experiment

__all__ = [
    "attention_distance",
    "attention_rollout",
    "bits_per_character",
    "compressed_bits",
    "exact_match",
    "experiment",
    "growing_model",
    "negative_log_likelihood",
    "ngram_bits",
    "overlap_f1",
    "record_attention",
]
