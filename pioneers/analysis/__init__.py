"""Attention maps, measures of prediction, and figures (:mod:`~pioneers.analysis.plots`)."""

from pioneers.analysis.answers import exact_match, overlap_f1
from pioneers.analysis.attention_maps import attention_distance, attention_rollout, record_attention
from pioneers.analysis.detection import AveragePrecision, average_precision, coco_dataset, coco_results
from pioneers.analysis.growing import growing_model
from pioneers.analysis.language import (
    bits_per_character,
    compressed_bits,
    negative_log_likelihood,
    ngram_bits,
)
from pioneers.analysis.regression import predict_average, predict_neighbours, predict_ridge
from pioneers.analysis.results import experiment

__all__ = [
    "AveragePrecision",
    "attention_distance",
    "attention_rollout",
    "average_precision",
    "bits_per_character",
    "coco_dataset",
    "coco_results",
    "compressed_bits",
    "exact_match",
    "experiment",
    "growing_model",
    "negative_log_likelihood",
    "ngram_bits",
    "overlap_f1",
    "predict_average",
    "predict_neighbours",
    "predict_ridge",
    "record_attention",
]
