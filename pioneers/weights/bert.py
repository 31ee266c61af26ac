"""BERT as Hugging Face stores it: ``BertModel``, and with the five heads it is used with."""

from collections.abc import Mapping, Sequence
from typing import Any

from pioneers.config import Config
from pioneers.models import (
    BERT,
    BERTClassifier,
    BERTConfig,
    BERTForMaskedLM,
    BERTForPretraining,
    BERTReader,
    BERTTagger,
)
from pioneers.models.bert import Encoder
from pioneers.weights.hf_config import Field, activation, class_labels, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param, prefixed


def _at_least_one(count: int, _: Mapping[str, Any]) -> int:
    if not count:
        raise ValueError("1 or more")
    return count


FIELDS = (
    Field("hidden_size", "d_model", 768),
    Field("num_hidden_layers", "num_layers", 12),
    Field("num_attention_heads", "num_heads", 12),
    feed_forward_width("intermediate_size", 3072, d_model="hidden_size"),
    Field("vocab_size", "vocab_size", 30522),
    Field("max_position_embeddings", "max_seq_len", 512),
    Field("type_vocab_size", "num_segments", 2, to_theirs=_at_least_one),
    Field("hidden_dropout_prob", "dropout", 0.1),
    Field("attention_probs_dropout_prob", "dropout", 0.1),
    activation("hidden_act", "gelu"),
    Field("layer_norm_eps", "norm_eps", 1e-12),
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


def embeddings(theirs: str, *, extra_rows: int = 0) -> list[Rename]:
    """Make the rows of the embeddings; ``theirs`` is what the names of the body begin with."""
    return [
        param(f"{theirs}embeddings.word_embeddings.weight", "embed.token.weight"),
        param(
            f"{theirs}embeddings.position_embeddings.weight", "embed.position.table", extra_rows=extra_rows
        ),
        param(f"{theirs}embeddings.token_type_embeddings.weight", "embed.segment.weight"),
        *linear(f"{theirs}embeddings.LayerNorm", "embed.norm"),
    ]


def blocks(theirs: str) -> list[Rename]:
    """Make the rows of the blocks; ``theirs`` is what the names of the body begin with."""
    layer, block = f"{theirs}encoder.layer.{{}}.", "stack.blocks.{}."
    return [
        *linear(f"{layer}attention.self.query", f"{block}attn.q_proj"),
        *linear(f"{layer}attention.self.key", f"{block}attn.k_proj"),
        *linear(f"{layer}attention.self.value", f"{block}attn.v_proj"),
        *linear(f"{layer}attention.output.dense", f"{block}attn.o_proj"),
        *linear(f"{layer}attention.output.LayerNorm", f"{block}norm_attn"),
        *linear(f"{layer}intermediate.dense", f"{block}ffn.up"),
        *linear(f"{layer}output.dense", f"{block}ffn.down"),
        *linear(f"{layer}output.LayerNorm", f"{block}norm_ffn"),
    ]


def replaced(table: Sequence[Field], *rows: Field) -> tuple[Field, ...]:
    """Replace the rows of a ``table`` that have the names of the new ``rows``, and append the others."""
    new = {row.theirs: row for row in rows}
    return (*(row for row in table if row.theirs not in new), *rows)


TENSORS: list[Rename] = [*embeddings("bert."), *blocks("bert."), *linear("bert.pooler.dense", "pooler")]
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


def task(model: type, body: type[Encoder], config: type[Config], *head: str) -> ModelKind:
    """Make the kind of a task ``model`` around the ``body`` of a family, with the names in its ``head``."""
    return ModelKind(model, config, body=("bert", body), head=head)


def task_kinds(body: type[Encoder], config: type[Config]) -> list[ModelKind]:
    """Make the kinds of all task models around the ``body`` of a family; ``config`` is its configuration."""
    return [
        task(BERTClassifier, body, config, "num_classes", "labels"),
        task(BERTTagger, body, config, "num_tags", "labels"),
        task(BERTReader, body, config),
    ]


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
        task(BERTClassifier, BERT, BERTConfig, "num_classes", "labels"),
        "BertForSequenceClassification",
        CLASSIFIER,
        fields=(*FIELDS, *class_labels("num_classes"), HEAD_DROPOUT),
        heads=("classifier.",),
    ),
    _layout(
        task(BERTTagger, BERT, BERTConfig, "num_tags", "labels"),
        "BertForTokenClassification",
        CLASSIFIER,
        fields=(*FIELDS, *class_labels("num_tags"), HEAD_DROPOUT),
        heads=("classifier.",),
        optional=("bert.pooler.",),
    ),
    _layout(
        task(BERTReader, BERT, BERTConfig),
        "BertForQuestionAnswering",
        [*INSIDE, *linear("qa_outputs", "head.proj")],
        heads=("qa_outputs.",),
        optional=("bert.pooler.",),
    ),
    _layout(ModelKind(BERT, BERTConfig), "BertModel", TENSORS),
)
