"""BERT as Hugging Face stores it: ``BertModel``, and with the five heads it is used with."""

from typing import Any

from pioneers.models import (
    BERT,
    BERTClassifier,
    BERTConfig,
    BERTForMaskedLM,
    BERTForPretraining,
    BERTReader,
    BERTTagger,
)
from pioneers.weights.hf_config import Field, class_labels, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param, prefixed

FIELDS = (
    Field("hidden_size", "d_model", 768),
    Field("num_hidden_layers", "num_layers", 12),
    Field("num_attention_heads", "num_heads", 12),
    feed_forward_width("intermediate_size", 3072, d_model="hidden_size"),
    Field("vocab_size", "vocab_size", 30522),
    Field("max_position_embeddings", "max_seq_len", 512),
    Field("type_vocab_size", "num_segments", 2),
    Field("hidden_dropout_prob", "dropout", 0.1),
    Field("attention_probs_dropout_prob", "dropout", 0.1),
    Field("hidden_act", None, "gelu"),
    Field("layer_norm_eps", None, 1e-12),
    Field("position_embedding_type", None, "absolute"),
    Field("is_decoder", None, False),
    Field("add_cross_attention", None, False),
    Field("tie_word_embeddings", None, True),
    Field("pruned_heads", None, {}),
    Field("quantization_config", None, None),
)
HEAD_DROPOUT = Field(
    "classifier_dropout",
    "dropout",
    None,
    to_ours=lambda value, values: values["hidden_dropout_prob"] if value is None else value,
)
_L, _B = "bert.encoder.layer.{}.", "stack.blocks.{}."
TENSORS: list[Rename] = [
    param("bert.embeddings.word_embeddings.weight", "embed.token.weight"),
    param("bert.embeddings.position_embeddings.weight", "embed.position.table"),
    param("bert.embeddings.token_type_embeddings.weight", "embed.segment.weight"),
    *linear("bert.embeddings.LayerNorm", "embed.norm"),
    *linear(f"{_L}attention.self.query", f"{_B}attn.q_proj"),
    *linear(f"{_L}attention.self.key", f"{_B}attn.k_proj"),
    *linear(f"{_L}attention.self.value", f"{_B}attn.v_proj"),
    *linear(f"{_L}attention.output.dense", f"{_B}attn.o_proj"),
    *linear(f"{_L}attention.output.LayerNorm", f"{_B}norm_attn"),
    *linear(f"{_L}intermediate.dense", f"{_B}ffn.up"),
    *linear(f"{_L}output.dense", f"{_B}ffn.down"),
    *linear(f"{_L}output.LayerNorm", f"{_B}norm_ffn"),
    *linear("bert.pooler.dense", "pooler"),
]
MASKED_LM_HEAD: list[Rename] = [
    *linear("cls.predictions.transform.dense", "transform"),
    *linear("cls.predictions.transform.LayerNorm", "norm"),
    param("cls.predictions.bias", "lm_head.bias"),
]
INSIDE = prefixed("bert", TENSORS)
MASKED_LM = [*INSIDE, *prefixed("masked_lm", MASKED_LM_HEAD)]
CLASSIFIER = [*INSIDE, *linear("classifier", "head.proj")]
TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


def _layout(kind: ModelKind, architecture: str, tensors: list[Rename], **more: Any) -> Layout:
    drop = ("bert.embeddings.position_ids",)
    common = {"model_type": "bert", "fields": FIELDS, "prefix": "bert.", "drop": drop}
    return Layout(kind=kind, architecture=architecture, tensors=tensors, **(common | more))


def _task(model: type, *head: str) -> ModelKind:
    return ModelKind(model, BERTConfig, body=("bert", BERT), head=head)


register(
    _layout(
        ModelKind(BERTForPretraining, BERTConfig),
        "BertForPreTraining",
        [*MASKED_LM, *linear("cls.seq_relationship", "next_sentence.proj")],
        heads=("cls.predictions.", "cls.seq_relationship."),
        tied=TIED,
    ),
    _layout(
        ModelKind(BERTForMaskedLM, BERTConfig),
        "BertForMaskedLM",
        MASKED_LM,
        heads=("cls.predictions.",),
        tied=TIED,
        optional=("bert.pooler.",),
    ),
    _layout(
        _task(BERTClassifier, "num_classes", "labels"),
        "BertForSequenceClassification",
        CLASSIFIER,
        fields=(*FIELDS, *class_labels("num_classes"), HEAD_DROPOUT),
        heads=("classifier.",),
    ),
    _layout(
        _task(BERTTagger, "num_tags", "labels"),
        "BertForTokenClassification",
        CLASSIFIER,
        fields=(*FIELDS, *class_labels("num_tags"), HEAD_DROPOUT),
        heads=("classifier.",),
        optional=("bert.pooler.",),
    ),
    _layout(
        _task(BERTReader),
        "BertForQuestionAnswering",
        [*INSIDE, *linear("qa_outputs", "head.proj")],
        heads=("qa_outputs.",),
        optional=("bert.pooler.",),
    ),
    _layout(ModelKind(BERT, BERTConfig), "BertModel", TENSORS),
)
