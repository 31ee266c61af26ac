"""ALBERT as Hugging Face stores it: ``AlbertModel``, ``AlbertForPreTraining`` and ``AlbertForMaskedLM``."""

from typing import Any

from pioneers.models import ALBERT, ALBERTConfig, ALBERTForMaskedLM, ALBERTForPretraining
from pioneers.weights import bert
from pioneers.weights.hf_config import Field, activation, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register, register_kind
from pioneers.weights.state_dict import Rename, linear, param, prefixed

FIELDS = bert.replaced(
    bert.FIELDS,
    Field("hidden_size", "d_model", 4096),
    Field("num_attention_heads", "num_heads", 64),
    feed_forward_width("intermediate_size", 16384, d_model="hidden_size"),
    Field("vocab_size", "vocab_size", 30000),
    Field("embedding_size", "d_embed", 128),
    Field("hidden_dropout_prob", "dropout", 0.0),
    Field("attention_probs_dropout_prob", "dropout", 0.0),
    activation("hidden_act", "gelu_new"),
    Field("num_hidden_groups", None, 1),
    Field("inner_group_num", None, 1),
)
_L, _B = "albert.encoder.albert_layer_groups.0.albert_layers.0.", "stack.blocks.0."  # all blocks are this one
TENSORS: list[Rename] = [
    *bert.embeddings("albert."),
    *linear("albert.encoder.embedding_hidden_mapping_in", "project"),
    *linear(f"{_L}attention.query", f"{_B}attn.q_proj"),
    *linear(f"{_L}attention.key", f"{_B}attn.k_proj"),
    *linear(f"{_L}attention.value", f"{_B}attn.v_proj"),
    *linear(f"{_L}attention.dense", f"{_B}attn.o_proj"),
    *linear(f"{_L}attention.LayerNorm", f"{_B}norm_attn"),
    *linear(f"{_L}ffn", f"{_B}ffn.up"),
    *linear(f"{_L}ffn_output", f"{_B}ffn.down"),
    *linear(f"{_L}full_layer_layer_norm", f"{_B}norm_ffn"),
    *linear("albert.pooler", "pooler"),
]
MASKED_LM = [
    *prefixed("bert", TENSORS),
    *linear("predictions.dense", "masked_lm.transform"),
    *linear("predictions.LayerNorm", "masked_lm.norm"),
    param("predictions.bias", "masked_lm.lm_head.bias"),
]
TIED = {
    "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
    "predictions.decoder.bias": "predictions.bias",
}


def _layout(model: type, architecture: str, tensors: list[Rename], **more: Any) -> Layout:
    return Layout(
        kind=ModelKind(model, ALBERTConfig),
        model_type="albert",
        architecture=architecture,
        fields=FIELDS,
        tensors=tensors,
        prefix="albert.",
        drop=("albert.embeddings.position_ids",),
        **more,
    )


register(
    _layout(
        ALBERTForPretraining,
        "AlbertForPreTraining",
        [*MASKED_LM, *linear("sop_classifier.classifier", "sentence_order.proj")],
        heads=("predictions.", "sop_classifier."),
        tied=TIED,
    ),
    _layout(
        ALBERTForMaskedLM,
        "AlbertForMaskedLM",
        MASKED_LM,
        heads=("predictions.",),
        tied=TIED,
        optional=("albert.pooler.",),
    ),
    _layout(ALBERT, "AlbertModel", TENSORS),
)
register_kind(*bert.task_kinds(ALBERT, ALBERTConfig))
