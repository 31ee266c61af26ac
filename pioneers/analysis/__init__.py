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
from pioneers.analysis.memory import TrainingMemory, training_memory
from pioneers.analysis.operations import count_operations, training_operations
from pioneers.analysis.pass_at_k import pass_at_k
from pioneers.analysis.power_law import PowerLaw, fit_power_law
from pioneers.analysis.regression import predict_average, predict_neighbours, predict_ridge
from pioneers.analysis.results import experiment

__all__ = [
    "AveragePrecision",
    "PowerLaw",
    "TrainingMemory",
    "attention_distance",
    "attention_rollout",
    "average_precision",
    "bits_per_character",
    "coco_dataset",
    "coco_results",
    "compressed_bits",
    "count_operations",
    "exact_match",
    "experiment",
    "fit_power_law",
    "growing_model",
    "negative_log_likelihood",
    "ngram_bits",
    "overlap_f1",
    "pass_at_k",
    "predict_average",
    "predict_neighbours",
    "predict_ridge",
    "record_attention",
    "training_memory",
    "training_operations",
]
