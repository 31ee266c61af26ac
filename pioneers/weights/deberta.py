"""DeBERTa as Hugging Face stores it: ``Deberta`` and ``DebertaV2``, each as ``…Model`` and ``…ForMaskedLM``.

Of the second family the third version is read, which has no convolution and shares its projections. The head
has one set of names in files that say ``legacy`` and another in the published ones. Both are read, and what
is written is the first, which is what ``DebertaForMaskedLM`` expects unless it is told otherwise.
"""

from collections.abc import Mapping
from typing import Any

from pioneers.models import DeBERTa, DeBERTaConfig, DeBERTaForMaskedLM
from pioneers.weights.hf_config import Field, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param, prefixed


def _distance(_: Any, values: Mapping[str, Any]) -> Any:
    """Find k: by default it is the longest length."""
    given = values["max_relative_positions"]
    return values["max_position_embeddings"] if given < 1 else given


def _needed(theirs: str, default: Any, needed: Any) -> Field:
    """Make the row of a choice that every published model makes differently from the ``default``."""

    def to_ours(value: Any, values: Mapping[str, Any]) -> Any:
        parts = value.split("|") if isinstance(value, str) and isinstance(needed, list) else value
        if (sorted(parts) if isinstance(parts, list) else parts) != needed:
            raise ValueError(repr(needed))
        return _distance(None, values)

    return Field(theirs, "max_distance", default, to_ours, lambda *_: needed)


COMMON = (
    Field("hidden_size", "d_model", 768),
    Field("num_hidden_layers", "num_layers", 12),
    Field("num_attention_heads", "num_heads", 12),
    feed_forward_width("intermediate_size", 3072, d_model="hidden_size"),
    Field("max_position_embeddings", "max_distance", 512, to_ours=_distance),
    Field("max_relative_positions", "max_distance", -1, to_ours=_distance),
    _needed("relative_attention", False, True),
    _needed("pos_att_type", None, ["c2p", "p2c"]),
    _needed("position_biased_input", True, False),
    Field("type_vocab_size", None, 0),
    Field("hidden_dropout_prob", "dropout", 0.1),
    Field("attention_probs_dropout_prob", "dropout", 0.1),
    Field("hidden_act", None, "gelu"),
    Field("layer_norm_eps", None, 1e-7),
    Field("tie_word_embeddings", None, True),
    Field("quantization_config", None, None),
)
FIELDS = (*COMMON, Field("vocab_size", "vocab_size", 50265), Field("talking_head", None, False))
FIELDS_V2 = (
    *COMMON,
    Field("vocab_size", "vocab_size", 128100),
    Field("position_buckets", "num_buckets", -1),
    _needed("share_att_key", False, True),
    _needed("norm_rel_ebd", "none", "layer_norm"),
    Field("conv_kernel_size", None, 0),
)
_L, _B = "deberta.encoder.layer.{}.", "stack.blocks.{}."
_SELF, _ATTN = f"{_L}attention.self.", f"{_B}attn."
_COMMON: list[Rename] = [
    param("deberta.embeddings.word_embeddings.weight", "embed.token.weight"),
    *linear("deberta.embeddings.LayerNorm", "norm"),
    param("deberta.encoder.rel_embeddings.weight", "distances.table.weight"),
    *linear(f"{_L}attention.output.dense", f"{_ATTN}o_proj"),
    *linear(f"{_L}attention.output.LayerNorm", f"{_B}norm_attn"),
    *linear(f"{_L}intermediate.dense", f"{_B}ffn.up"),
    *linear(f"{_L}output.dense", f"{_B}ffn.down"),
    *linear(f"{_L}output.LayerNorm", f"{_B}norm_ffn"),
]
TENSORS: list[Rename] = [
    *_COMMON,
    param(f"{_SELF}in_proj.weight", *(f"{_ATTN}{name}_proj.weight" for name in "qkv"), by_head=True),
    param(f"{_SELF}q_bias", f"{_ATTN}q_proj.bias"),
    param(f"{_SELF}v_bias", f"{_ATTN}v_proj.bias"),
    param(f"{_SELF}pos_proj.weight", f"{_ATTN}distance_k_proj.weight"),
    *linear(f"{_SELF}pos_q_proj", f"{_ATTN}distance_q_proj"),
]
TENSORS_V2: list[Rename] = [
    *_COMMON,
    *linear("deberta.encoder.LayerNorm", "distances.norm"),
    *linear(f"{_SELF}query_proj", f"{_ATTN}q_proj"),
    *linear(f"{_SELF}key_proj", f"{_ATTN}k_proj"),
    *linear(f"{_SELF}value_proj", f"{_ATTN}v_proj"),
]


def _head(tensors: list[Rename], theirs: str, transform: str) -> list[Rename]:
    return [
        *prefixed("deberta", tensors),
        *linear(f"{theirs}{transform}dense", "masked_lm.transform"),
        *linear(f"{theirs}{transform}LayerNorm", "masked_lm.norm"),
        param(f"{theirs}bias", "masked_lm.lm_head.bias"),
    ]


LEGACY, PUBLISHED = "cls.predictions.", "lm_predictions.lm_head."
MASKED_LM, MASKED_LM_V2 = (_head(tensors, LEGACY, "transform.") for tensors in (TENSORS, TENSORS_V2))
TIED = {
    "cls.predictions.decoder.weight": "deberta.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}

_RTD = ("dense", "LayerNorm", "classifier")  # the head that tells replaced tokens
LEFTOVER = (  # stored in published files, and used by none of their models
    "deberta.embeddings.position_embeddings.weight",
    "deberta.embeddings.word_embeddings._weight",
    *(f"mask_predictions.{layer}.weight" for layer in _RTD),
    *(f"mask_predictions.{layer}.bias" for layer in _RTD),
)


def _layouts(body: str, masked_lm: str, tensors: list[Rename], **family: Any) -> list[Layout]:
    """Make the layouts of a family: with the head under either set of names, and without it."""

    def layout(model: type, architecture: str, tensors: list[Rename], **more: Any) -> Layout:
        return Layout(
            kind=ModelKind(model, DeBERTaConfig),
            architecture=architecture,
            tensors=tensors,
            prefix="deberta.",
            drop=LEFTOVER,
            **(family | more),
        )

    legacy, published = _head(tensors, LEGACY, "transform."), _head(tensors, PUBLISHED, "")
    return [
        layout(DeBERTaForMaskedLM, masked_lm, legacy, heads=(LEGACY,), tied=TIED),
        layout(DeBERTaForMaskedLM, masked_lm, published, heads=(PUBLISHED,)),
        layout(DeBERTa, body, tensors),
    ]


V1 = {"model_type": "deberta", "fields": FIELDS, "fixed": {"num_buckets": None}}
V2 = {"model_type": "deberta-v2", "fields": FIELDS_V2}
register(
    *_layouts("DebertaModel", "DebertaForMaskedLM", TENSORS, **V1),
    *_layouts("DebertaV2Model", "DebertaV2ForMaskedLM", TENSORS_V2, **V2),
)
