"""T5 and mT5 as Hugging Face stores them: ``T5ForConditionalGeneration``, ``MT5ForConditionalGeneration``.

Both are read; ByT5 is stored as a T5. What is written is always a T5: an mT5 is one with a gate and an output
layer of its own.
"""

from collections.abc import Mapping
from typing import Any

from pioneers.models import T5, T5Config
from pioneers.weights.hf_config import Field
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, param

FIELDS = (
    Field("vocab_size", "vocab_size", 32128),
    Field("d_model", "d_model", 512),
    Field("d_ff", "d_ff", 2048),
    Field("num_layers", "num_layers", 6),
    Field(
        "num_decoder_layers",
        "num_decoder_layers",
        None,
        to_ours=lambda count, values: None if count == values["num_layers"] else count,
        to_theirs=lambda count, settings: settings["num_layers"] if count is None else count,
    ),
    Field("num_heads", "num_heads", 8),
    Field("d_kv", "head_dim", 64),
    Field("dropout_rate", "dropout", 0.1),
    Field("n_positions", "max_seq_len", 512),
    Field("relative_attention_num_buckets", None, 32),
    Field("relative_attention_max_distance", None, 128),
    Field("layer_norm_epsilon", None, 1e-6),
    Field("quantization_config", None, None),
)


def _tied(_: Any, values: Mapping[str, Any]) -> bool:
    """Tell whether the output layer is tied: a scaled output is what says so from transformers 5 on."""
    return bool(values["tie_word_embeddings"] and values["scale_decoder_outputs"])


TIED_FIELDS = (
    Field("tie_word_embeddings", "tied_head", True, to_ours=_tied),
    Field("scale_decoder_outputs", "tied_head", True, to_ours=_tied),
)
GATE = "encoder.block.0.layer.1.DenseReluDense.wi_0."


def _stack(side: str, ffn: int, maps: Mapping[str, str]) -> list[Rename]:
    """Make the rows of the encoder or the decoder; ``ffn`` is the number of its feed-forward layer."""
    theirs, ours = f"{side}.block.{{}}.layer.", f"{side}.blocks.{{}}."
    bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    attn = (f"{theirs}0.SelfAttention", f"{ours}attn")
    return [
        param(bias, f"{side}_bias.table.weight"),  # stored in block 0, used by all
        param(f"{theirs}0.layer_norm.weight", f"{ours}norm_attn.weight"),
        *(param(f"{attn[0]}.{name}.weight", f"{attn[1]}.{name}_proj.weight") for name in "qkvo"),
        param(f"{theirs}{ffn}.layer_norm.weight", f"{ours}norm_ffn.weight"),
        *(
            param(f"{theirs}{ffn}.DenseReluDense.{their}.weight", f"{ours}ffn.{our}.weight")
            for their, our in maps.items()
        ),
        param(f"{side}.final_layer_norm.weight", f"{side}.norm.weight"),
    ]


def _tensors(maps: Mapping[str, str]) -> list[Rename]:
    theirs, ours = "decoder.block.{}.layer.1.", "decoder.blocks.{}."
    cross = (f"{theirs}EncDecAttention", f"{ours}cross_attn")
    return [
        param("shared.weight", "embed.token.weight"),
        *_stack("encoder", 1, maps),
        *_stack("decoder", 2, maps),
        param(f"{theirs}layer_norm.weight", f"{ours}norm_cross.weight"),
        *(param(f"{cross[0]}.{name}.weight", f"{cross[1]}.{name}_proj.weight") for name in "qkvo"),
        param("lm_head.weight", "lm_head.weight"),
    ]


PLAIN = _tensors({"wi": "up", "wo": "down"})
GATED = _tensors({"wi_0": "gate", "wi_1": "up", "wo": "down"})


def _layout(name: str, tensors: list[Rename], fields: tuple[Field, ...], **fixed: Any) -> Layout:
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    network = Field("feed_forward_proj", None, "gated-gelu" if fixed["gated"] else "relu")
    copies = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    return Layout(
        kind=ModelKind(T5, T5Config),
        model_type=name.lower(),
        architecture=f"{name}ForConditionalGeneration",
        fields=(*FIELDS, *fields, network),
        fixed=fixed,
        tensors=tensors,
        prefix="",
        heads=(GATE,) if fixed["gated"] else (),
        tied=dict.fromkeys(copies, "shared.weight"),
        drop=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),
        more_config=lambda settings: {"is_encoder_decoder": True, **ids},
    )


register(
    _layout("T5", PLAIN, TIED_FIELDS, gated=False),
    _layout("T5", GATED, TIED_FIELDS, gated=True),
    _layout("MT5", GATED, (), gated=True, tied_head=False),
)
