"""CLIP as Hugging Face stores it: ``CLIPModel``."""

from collections.abc import Mapping
from typing import Any

from pioneers.models import CLIP, CLIPConfig
from pioneers.weights.hf_config import ACTIVATIONS, OUR_ACTIVATIONS, Field
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param

HIGHEST_ID = 2  # of their end-of-text token: means "the highest id" in the published files
COMMON: dict[str, Any] = {"hidden_act": "quick_gelu", "layer_norm_eps": 1e-5, "attention_dropout": 0.0}
DEFAULTS = {
    "text": COMMON
    | {
        "hidden_size": 512, "num_hidden_layers": 12, "num_attention_heads": 8, "intermediate_size": 2048,
        "vocab_size": 49408, "max_position_embeddings": 77, "eos_token_id": 49407,
    },
    "vision": COMMON
    | {
        "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "image_size": 224, "patch_size": 32, "num_channels": 3,
    },
}  # fmt: skip


def _common(settings: Mapping[str, Any], tower: str) -> dict[str, Any]:
    """Write what both towers have: ``tower`` is ``"text"`` or ``"image"``."""
    width = settings[f"{tower}_d_model"]
    return {
        "hidden_size": width,
        "num_hidden_layers": settings[f"{tower}_layers"],
        "num_attention_heads": settings[f"{tower}_heads"],
        "intermediate_size": settings[f"{tower}_d_ff"] or 4 * width,
        "projection_dim": settings["d_embed"],
        "hidden_act": ACTIVATIONS[settings["activation"]][0],
        "layer_norm_eps": settings["norm_eps"],
        "attention_dropout": 0.0,
    }


def _text(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_common(settings, "text"),
        "model_type": "clip_text_model",
        "vocab_size": settings["vocab_size"],
        "max_position_embeddings": settings["max_seq_len"],
        "eos_token_id": HIGHEST_ID if settings["end_id"] is None else settings["end_id"],
        "bos_token_id": None,
    }


def _text_with_end(settings: Mapping[str, Any]) -> dict[str, Any]:
    if settings["end_id"] == HIGHEST_ID:
        raise ValueError(f"another id, since {HIGHEST_ID} means the highest id there,")
    return _text(settings)


def _vision(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_common(settings, "image"),
        "model_type": "clip_vision_model",
        "image_size": settings["image_size"],
        "patch_size": settings["patch_size"],
        "num_channels": settings["in_channels"],
    }


def _row(tower: str, theirs: str, ours: str) -> Field:
    """Make the row of a setting inside ``text_config`` or ``vision_config``."""

    def to_ours(values: Mapping[str, Any], _: Mapping[str, Any]) -> Any:
        given = DEFAULTS[tower] | dict(values)
        value = given[theirs]
        if theirs == "hidden_act":
            if value not in OUR_ACTIVATIONS:
                raise ValueError(f"one whose hidden_act is one of {', '.join(OUR_ACTIVATIONS)}")
            return OUR_ACTIVATIONS[value]
        if theirs == "intermediate_size":
            return None if value == 4 * given["hidden_size"] else value
        return None if theirs == "eos_token_id" and value == HIGHEST_ID else value

    write = {"text": _text, "vision": _vision}[tower] if theirs != "eos_token_id" else _text_with_end
    return Field(f"{tower}_config", ours, {}, to_ours, lambda _, settings: write(settings))


FIELDS = (
    *(
        _row(tower, theirs, f"{ours}_{size}")
        for tower, ours in (("text", "text"), ("vision", "image"))
        for theirs, size in (
            ("hidden_size", "d_model"),
            ("num_hidden_layers", "layers"),
            ("num_attention_heads", "heads"),
            ("intermediate_size", "d_ff"),
        )
    ),
    *(
        _row(tower, theirs, ours)
        for tower in ("text", "vision")
        for theirs, ours in (("hidden_act", "activation"), ("layer_norm_eps", "norm_eps"))
    ),
    _row("text", "vocab_size", "vocab_size"),
    _row("text", "max_position_embeddings", "max_seq_len"),
    _row("text", "eos_token_id", "end_id"),
    _row("vision", "image_size", "image_size"),
    _row("vision", "patch_size", "patch_size"),
    _row("vision", "num_channels", "in_channels"),
    Field("projection_dim", "d_embed", 512),
    Field("quantization_config", None, None),
)


def _blocks(theirs: str, ours: str) -> list[Rename]:
    """Make the rows of a tower's blocks."""
    layer, block = f"{theirs}.encoder.layers.{{}}.", f"{ours}.blocks.{{}}."
    return [
        *linear(f"{layer}layer_norm1", f"{block}norm_attn"),
        *linear(f"{layer}self_attn.q_proj", f"{block}attn.q_proj"),
        *linear(f"{layer}self_attn.k_proj", f"{block}attn.k_proj"),
        *linear(f"{layer}self_attn.v_proj", f"{block}attn.v_proj"),
        *linear(f"{layer}self_attn.out_proj", f"{block}attn.o_proj"),
        *linear(f"{layer}layer_norm2", f"{block}norm_ffn"),
        *linear(f"{layer}mlp.fc1", f"{block}ffn.up"),
        *linear(f"{layer}mlp.fc2", f"{block}ffn.down"),
    ]


TENSORS: list[Rename] = [
    param("logit_scale", "log_scale"),
    param("text_model.embeddings.token_embedding.weight", "text_embed.token.weight"),
    param("text_model.embeddings.position_embedding.weight", "text_embed.position.table"),
    *_blocks("text_model", "text_stack"),
    *linear("text_model.final_layer_norm", "text_stack.norm"),
    param("text_projection.weight", "text_proj.weight"),
    param("vision_model.embeddings.class_embedding", "image_embed.cls_token"),
    param("vision_model.embeddings.patch_embedding.weight", "image_embed.patch.proj.weight"),
    param("vision_model.embeddings.position_embedding.weight", "image_embed.position.table"),
    *linear("vision_model.pre_layrnorm", "image_embed.norm"),
    *_blocks("vision_model", "image_stack"),
    *linear("vision_model.post_layernorm", "image_stack.norm"),
    param("visual_projection.weight", "image_proj.weight"),
]

register(
    Layout(
        kind=ModelKind(CLIP, CLIPConfig),
        model_type="clip",
        architecture="CLIPModel",
        fields=FIELDS,
        tensors=TENSORS,
        prefix="",
        drop=("text_model.embeddings.position_ids", "vision_model.embeddings.position_ids"),
    )
)
