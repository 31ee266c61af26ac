"""Objectives: pure functions from a batch to inputs and targets, and a loss. They know no model."""

from pioneers.objectives.causal_lm import causal_lm, causal_lm_loss
from pioneers.objectives.masked_lm import masked_lm, masked_lm_loss
from pioneers.objectives.next_sentence import SentencePair, next_sentence
from pioneers.objectives.supervised import classification_loss, seq2seq_loss, span_loss, tagging_loss

__all__ = [
    "SentencePair",
    "causal_lm",
    "causal_lm_loss",
    "classification_loss",
    "masked_lm",
    "masked_lm_loss",
    "next_sentence",
    "seq2seq_loss",
    "span_loss",
    "tagging_loss",
]
