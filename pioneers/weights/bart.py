"""BART as Hugging Face stores it: ``BartForConditionalGeneration``, and ``BartModel``, which is its body.

A table of positions there begins with two rows that nothing reads.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pioneers.models import BART, BARTConfig
from pioneers.weights.hf_config import Field, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param

FIELDS = (
    Field("vocab_size", "vocab_size", 50265),
    Field("max_position_embeddings", "max_seq_len", 1024),
    Field("d_model", "d_model", 1024),
    Field("encoder_layers", "num_layers", 12),
    Field(
        "decoder_layers",
        "num_decoder_layers",
        12,
        to_ours=lambda count, values: None if count == values["encoder_layers"] else count,
        to_theirs=lambda count, settings: settings["num_layers"] if count is None else count,
    ),
    *(Field(f"{side}_attention_heads", "num_heads", 16) for side in ("encoder", "decoder")),
    *(feed_forward_width(f"{side}_ffn_dim", 4096, d_model="d_model") for side in ("encoder", "decoder")),
    Field("dropout", "dropout", 0.1),
    Field("attention_dropout", "inner_dropout", 0.0),
    Field("activation_dropout", "inner_dropout", 0.0),
    Field("activation_function", None, "gelu"),
    Field("scale_embedding", None, False),
    Field("normalize_before", None, False),
    Field("normalize_embedding", None, True),
    Field("add_final_layer_norm", None, False),
    Field("static_position_embeddings", None, False),
    Field("tie_word_embeddings", None, True),
    Field("quantization_config", None, None),
)


def _attention(theirs: str, ours: str) -> list[Rename]:
    maps = {f"{name}_proj": f"{name}_proj" for name in "qkv"} | {"out_proj": "o_proj"}
    return [row for their, our in maps.items() for row in linear(f"{theirs}.{their}", f"{ours}.{our}")]


def _side(side: str) -> list[Rename]:
    """Make the rows of the encoder or the decoder."""
    theirs, ours = f"model.{side}.layers.{{}}.", f"{side}.blocks.{{}}."
    return [
        param(f"model.{side}.embed_positions.weight", f"{side}_embed.position.table", extra_rows=2),
        *linear(f"model.{side}.layernorm_embedding", f"{side}_embed.norm"),
        *_attention(f"{theirs}self_attn", f"{ours}attn"),
        *linear(f"{theirs}self_attn_layer_norm", f"{ours}norm_attn"),
        *linear(f"{theirs}fc1", f"{ours}ffn.up"),
        *linear(f"{theirs}fc2", f"{ours}ffn.down"),
        *linear(f"{theirs}final_layer_norm", f"{ours}norm_ffn"),
    ]


_L, _B = "model.decoder.layers.{}.", "decoder.blocks.{}."
TENSORS: list[Rename] = [
    param("model.shared.weight", "encoder_embed.token.weight"),
    *_side("encoder"),
    *_side("decoder"),
    *_attention(f"{_L}encoder_attn", f"{_B}cross_attn"),
    *linear(f"{_L}encoder_attn_layer_norm", f"{_B}norm_cross"),
]
LOGITS_BIAS = "final_logits_bias"


def _no_bias(settings: Mapping[str, Any]) -> dict[str, Tensor]:
    return {LOGITS_BIAS: torch.zeros(1, settings["vocab_size"])}


COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
register(
    Layout(
        kind=ModelKind(BART, BARTConfig),
        model_type="bart",
        architecture="BartForConditionalGeneration",
        fields=FIELDS,
        tensors=TENSORS,
        prefix="model.",
        tied=dict.fromkeys(COPIES, "model.shared.weight"),
        zeros=(LOGITS_BIAS,),
        added=_no_bias,
        more_config=lambda settings: {"is_encoder_decoder": True},
    )
)
