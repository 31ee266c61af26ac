"""DistilBERT as Hugging Face stores it: ``DistilBertModel`` and ``DistilBertForMaskedLM``."""

from pioneers.models import DistilBERT, DistilBERTConfig, DistilBERTForMaskedLM
from pioneers.weights.bert import task_kinds
from pioneers.weights.hf_config import Field, activation, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register, register_kind
from pioneers.weights.state_dict import Rename, linear, param, prefixed

FIELDS = (
    Field("dim", "d_model", 768),
    Field("n_layers", "num_layers", 6),
    Field("n_heads", "num_heads", 12),
    feed_forward_width("hidden_dim", 3072, d_model="dim"),
    Field("vocab_size", "vocab_size", 30522),
    Field("max_position_embeddings", "max_seq_len", 512),
    Field("dropout", "dropout", 0.1),
    Field("attention_dropout", "dropout", 0.1),
    activation("activation", "gelu"),
    Field("sinusoidal_pos_embds", None, False),
    Field("tie_word_embeddings", None, True),
    Field("quantization_config", None, None),
)
_L, _B = "distilbert.transformer.layer.{}.", "stack.blocks.{}."
TENSORS: list[Rename] = [
    param("distilbert.embeddings.word_embeddings.weight", "embed.token.weight"),
    param("distilbert.embeddings.position_embeddings.weight", "embed.position.table"),
    *linear("distilbert.embeddings.LayerNorm", "embed.norm"),
    *linear(f"{_L}attention.q_lin", f"{_B}attn.q_proj"),
    *linear(f"{_L}attention.k_lin", f"{_B}attn.k_proj"),
    *linear(f"{_L}attention.v_lin", f"{_B}attn.v_proj"),
    *linear(f"{_L}attention.out_lin", f"{_B}attn.o_proj"),
    *linear(f"{_L}sa_layer_norm", f"{_B}norm_attn"),
    *linear(f"{_L}ffn.lin1", f"{_B}ffn.up"),
    *linear(f"{_L}ffn.lin2", f"{_B}ffn.down"),
    *linear(f"{_L}output_layer_norm", f"{_B}norm_ffn"),
]
MASKED_LM_HEAD: list[Rename] = [
    *linear("vocab_transform", "transform"),
    *linear("vocab_layer_norm", "norm"),
    param("vocab_projector.bias", "lm_head.bias"),
]

register(
    Layout(
        kind=ModelKind(DistilBERTForMaskedLM, DistilBERTConfig),
        model_type="distilbert",
        architecture="DistilBertForMaskedLM",
        fields=FIELDS,
        tensors=[*prefixed("bert", TENSORS), *prefixed("masked_lm", MASKED_LM_HEAD)],
        prefix="distilbert.",
        heads=("vocab_transform.", "vocab_layer_norm.", "vocab_projector."),
        tied={"vocab_projector.weight": "distilbert.embeddings.word_embeddings.weight"},
        drop=("distilbert.embeddings.position_ids",),
    ),
    Layout(
        kind=ModelKind(DistilBERT, DistilBERTConfig),
        model_type="distilbert",
        architecture="DistilBertModel",
        fields=FIELDS,
        tensors=TENSORS,
        prefix="distilbert.",
        drop=("distilbert.embeddings.position_ids",),
    ),
)
register_kind(*task_kinds(DistilBERT, DistilBERTConfig))
