"""Llama and Qwen3 as Hugging Face stores them: ``LlamaForCausalLM`` and ``Qwen3ForCausalLM``.

Sliding windows, biases and stretched rotary positions (Llama 3.1's, for one) are refused by name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pioneers.models import Llama, LlamaConfig
from pioneers.weights.hf_config import Field
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, param


def _rotary_base(_: Any, values: Mapping[str, Any]) -> float:
    """Find the base where transformers 5 has it, in ``rope_parameters``, or where older files do."""
    rotary = values["rope_parameters"] or {}
    if rotary.get("rope_type", "default") != "default" or rotary.keys() - {"rope_type", "rope_theta"}:
        raise ValueError("rotary positions of the type 'default', without any scaling")
    return float(rotary.get("rope_theta", values["rope_theta"]))


def _all_full(kinds: list[str] | None, values: Mapping[str, Any]) -> int:
    """Refuse blocks with another kind of attention; their number says nothing new."""
    if set(kinds or ()) - {"full_attention"}:
        raise ValueError("'full_attention' in every block")
    return int(values["num_hidden_layers"]) if kinds is None else len(kinds)


FIELDS = (
    Field("vocab_size", "vocab_size", 32000),
    Field("max_position_embeddings", "max_seq_len", 2048),
    Field("hidden_size", "d_model", 4096),
    Field("intermediate_size", "d_ff", 11008),
    Field("num_hidden_layers", "num_layers", 32),
    Field("num_attention_heads", "num_heads", 32),
    Field(
        "num_key_value_heads",
        "num_kv_heads",
        None,
        to_ours=lambda heads, values: None if heads == values["num_attention_heads"] else heads,
        to_theirs=lambda heads, settings: settings["num_heads"] if heads is None else heads,
    ),
    Field(
        "head_dim",
        "head_dim",
        None,
        to_ours=lambda width, values: (
            None if width and width * values["num_attention_heads"] == values["hidden_size"] else width
        ),
        to_theirs=lambda width, ours: ours["d_model"] // ours["num_heads"] if width is None else width,
    ),
    Field("tie_word_embeddings", "tied_head", False),
    Field("rope_theta", "rotary_base", 10000.0, to_ours=_rotary_base),
    Field(
        "rope_parameters",
        "rotary_base",
        None,
        to_ours=_rotary_base,
        to_theirs=lambda base, _: {"rope_type": "default", "rope_theta": base},
    ),
    Field("rope_scaling", None, None),
    Field("rms_norm_eps", "norm_eps", 1e-6),
    Field("hidden_act", None, "silu"),
    Field("attention_bias", None, False),
    Field("attention_dropout", None, 0.0),
    Field("quantization_config", None, None),
)
QWEN3_DEFAULTS = {
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "intermediate_size": 22016,
    "num_key_value_heads": 32,
    "head_dim": 128,
}
QWEN3_FIELDS = (
    *(replace(field, default=QWEN3_DEFAULTS.get(field.theirs, field.default)) for field in FIELDS),
    Field("use_sliding_window", None, False),
    Field("layer_types", "num_layers", None, _all_full, lambda count, _: ["full_attention"] * count),
)
_L, _B = "model.layers.{}.", "stack.blocks.{}."
TENSORS: list[Rename] = [
    param("model.embed_tokens.weight", "embed.token.weight"),
    param(f"{_L}input_layernorm.weight", f"{_B}norm_attn.weight"),
    *(param(f"{_L}self_attn.{name}_proj.weight", f"{_B}attn.{name}_proj.weight") for name in "qkvo"),
    param(f"{_L}post_attention_layernorm.weight", f"{_B}norm_ffn.weight"),
    *(param(f"{_L}mlp.{name}_proj.weight", f"{_B}ffn.{name}.weight") for name in ("gate", "up", "down")),
    param("model.norm.weight", "stack.norm.weight"),
    param("lm_head.weight", "lm_head.weight"),
]
QWEN3_TENSORS = [
    *TENSORS,
    *(param(f"{_L}self_attn.{name}_norm.weight", f"{_B}attn.{name}_norm.weight") for name in "qk"),
]


EXPERTS: dict[str, Any] = {"num_experts": None, "experts_per_token": 2}  # of a model without any


def decoder_layout(architecture: str, tensors: list[Rename], fields: Sequence[Field], **fixed: Any) -> Layout:
    """Describe the folders of a Llama or of a model that differs from it in what is ``fixed``."""
    return Layout(
        kind=ModelKind(Llama, LlamaConfig),
        model_type=architecture.removesuffix("ForCausalLM").lower(),
        architecture=architecture,
        fields=fields,
        tensors=tensors,
        prefix="model.",
        fixed=fixed,
        tied={"lm_head.weight": "model.embed_tokens.weight"},
        drop=(f"{_L}self_attn.rotary_emb.inv_freq",),
        more_config=lambda settings: {"bos_token_id": None, "eos_token_id": None},  # not Llama's 1 and 2
    )


register(
    decoder_layout(
        "LlamaForCausalLM", TENSORS, (*FIELDS, Field("mlp_bias", None, False)), qk_norm=False, **EXPERTS
    ),
    decoder_layout("Qwen3ForCausalLM", QWEN3_TENSORS, QWEN3_FIELDS, qk_norm=True, **EXPERTS),
)
