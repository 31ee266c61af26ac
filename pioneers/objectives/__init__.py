"""Objectives: pure functions from a batch to inputs and targets, and a loss. They know no model."""

from pioneers.objectives.bert_inputs import (
    BERTInputs,
    QuestionInputs,
    padded_inputs,
    pair_inputs,
    question_inputs,
    tagging_inputs,
    text_inputs,
)
from pioneers.objectives.boxes import box_iou, boxes_to_corners, corners_to_boxes, generalized_box_iou
from pioneers.objectives.causal_lm import causal_lm, causal_lm_loss
from pioneers.objectives.contrastive import contrastive_loss, pair_logits
from pioneers.objectives.denoising import (
    delete_tokens,
    infill_text,
    mask_tokens,
    permute_sentences,
    rotate_document,
)
from pioneers.objectives.distillation import distillation_token_loss, hidden_cosine_loss, soft_target_loss
from pioneers.objectives.grpo import group_advantages, grpo_loss, kl_estimate
from pioneers.objectives.input_formats import (
    FormattedText,
    doc_sentences,
    full_sentences,
    segment_pairs,
    sentence_pairs,
)
from pioneers.objectives.linear_cross_entropy import linear_cross_entropy
from pioneers.objectives.load_balance import balance_loss, router_z_loss
from pioneers.objectives.masked_lm import masked_lm, masked_lm_loss
from pioneers.objectives.masked_patches import (
    MaskedPatches,
    keep_patches,
    mask_patches,
    masked_pixel_loss,
    restore_patches,
)
from pioneers.objectives.next_sentence import SentencePair, next_sentence, sentence_order
from pioneers.objectives.permutation_lm import PermutedText, permutation_lm
from pioneers.objectives.policy import (
    clipped_objective,
    generalized_advantages,
    kl_rewards,
    masked_mean,
    ppo_loss,
    value_loss,
)
from pioneers.objectives.preferences import (
    answer_mask,
    dpo_loss,
    reward_pair_loss,
    sequence_log_probs,
    simpo_loss,
    token_log_probs,
)
from pioneers.objectives.replaced_token import replaced_token_loss
from pioneers.objectives.set_prediction import SetLoss, hungarian_match, matching_cost, set_loss
from pioneers.objectives.skip_gram import skip_gram, skip_gram_loss, subsample
from pioneers.objectives.span_corruption import corrupt_spans, join_spans, random_spans, span_corruption
from pioneers.objectives.span_masking import MaskedSpans, span_masking
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
    "FormattedText",
    "MaskedPatches",
    "MaskedSpans",
    "PermutedText",
    "QuestionInputs",
    "SentencePair",
    "SetLoss",
    "TaskInputs",
    "TaskTokens",
    "answer_mask",
    "balance_loss",
    "box_iou",
    "boxes_to_corners",
    "causal_lm",
    "causal_lm_loss",
    "classification_inputs",
    "classification_loss",
    "clipped_objective",
    "contrastive_loss",
    "corners_to_boxes",
    "corrupt_spans",
    "delete_tokens",
    "distillation_token_loss",
    "doc_sentences",
    "dpo_loss",
    "entailment_inputs",
    "full_sentences",
    "generalized_advantages",
    "generalized_box_iou",
    "group_advantages",
    "grpo_loss",
    "hidden_cosine_loss",
    "hungarian_match",
    "infill_text",
    "join_spans",
    "keep_patches",
    "kl_estimate",
    "kl_rewards",
    "linear_cross_entropy",
    "mask_patches",
    "mask_tokens",
    "masked_lm",
    "masked_lm_loss",
    "masked_mean",
    "masked_pixel_loss",
    "matching_cost",
    "multiple_choice_inputs",
    "next_sentence",
    "padded_inputs",
    "pair_inputs",
    "pair_logits",
    "permutation_lm",
    "permute_sentences",
    "ppo_loss",
    "question_inputs",
    "random_spans",
    "replaced_token_loss",
    "restore_patches",
    "reward_pair_loss",
    "rotate_document",
    "router_z_loss",
    "segment_pairs",
    "sentence_order",
    "sentence_pairs",
    "seq2seq_loss",
    "sequence_log_probs",
    "set_loss",
    "similarity_inputs",
    "simpo_loss",
    "skip_gram",
    "skip_gram_loss",
    "soft_target_loss",
    "span_corruption",
    "span_loss",
    "span_masking",
    "subsample",
    "tagging_inputs",
    "tagging_loss",
    "text_inputs",
    "token_log_probs",
    "value_loss",
]
