"""Objectives: pure functions from a batch to inputs and targets, and a loss. They know no model."""

from pioneers.objectives.bert_inputs import (
    BERTInputs,
    QuestionInputs,
    pair_inputs,
    question_inputs,
    tagging_inputs,
    text_inputs,
)
from pioneers.objectives.causal_lm import causal_lm, causal_lm_loss
from pioneers.objectives.linear_cross_entropy import linear_cross_entropy
from pioneers.objectives.masked_lm import masked_lm, masked_lm_loss
from pioneers.objectives.next_sentence import SentencePair, next_sentence
from pioneers.objectives.supervised import classification_loss, seq2seq_loss, span_loss, tagging_loss
from pioneers.objectives.task_inputs import (
    TaskInputs,
    TaskTokens,
    classification_inputs,
    entailment_inputs,
    multiple_choice_inputs,
    similarity_inputs,
)

__all__ = [
    "BERTInputs",
    "QuestionInputs",
    "SentencePair",
    "TaskInputs",
    "TaskTokens",
    "causal_lm",
    "causal_lm_loss",
    "classification_inputs",
    "classification_loss",
    "entailment_inputs",
    "linear_cross_entropy",
    "masked_lm",
    "masked_lm_loss",
    "multiple_choice_inputs",
    "next_sentence",
    "pair_inputs",
    "question_inputs",
    "seq2seq_loss",
    "similarity_inputs",
    "span_loss",
    "tagging_inputs",
    "tagging_loss",
    "text_inputs",
]
