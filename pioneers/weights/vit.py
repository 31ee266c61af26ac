"""ViT as Hugging Face stores it: ``ViTForImageClassification``, and ``ViTModel``, which has no head."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pioneers.models import ViT, ViTConfig
from pioneers.weights.hf_config import Field, class_labels, feed_forward_width, square
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param

PREPROCESSOR = "preprocessor_config.json"


def _statistic(name: str) -> Field:
    """Make the row of the mean or the standard deviation by which pixels in [0, 1] are normalised.

    Theirs are 0.5 where nothing is said; ours are ``()`` for a model that takes the pixels as they are.
    """

    def to_ours(values: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[float, ...]:
        if not values.get("do_normalize", True):
            return ()
        return tuple(values.get(name) or [0.5] * config["num_channels"])

    return Field(PREPROCESSOR, name, {}, to_ours, lambda _, settings: _preprocessor(settings))


def _preprocessor(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Say how a photograph becomes the model's input: scaled to its size and to [0, 1], then normalised."""
    channels = settings["in_channels"]
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": settings["image_size"], "width": settings["image_size"]},
        "resample": 2,  # bilinear
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": bool(settings["image_mean"]),
        "image_mean": list(settings["image_mean"] or [0.0] * channels),
        "image_std": list(settings["image_std"] or [1.0] * channels),
    }


PIXELS = (_statistic("image_mean"), _statistic("image_std"))
FIELDS = (
    Field("hidden_size", "d_model", 768),
    Field("num_hidden_layers", "num_layers", 12),
    Field("num_attention_heads", "num_heads", 12),
    feed_forward_width("intermediate_size", 3072, d_model="hidden_size"),
    square("image_size", "image_size", 224),
    square("patch_size", "patch_size", 16),
    Field("num_channels", "in_channels", 3),
    Field("hidden_dropout_prob", "dropout", 0.0),
    Field("attention_probs_dropout_prob", "dropout", 0.0),
    Field("drop_path_rate", "drop_path", 0.0),  # theirs has none, and keeps the entry
    Field("layer_norm_eps", "norm_eps", 1e-12),
    Field("hidden_act", None, "gelu"),
    Field("qkv_bias", None, True),
    Field("pruned_heads", None, {}),
    Field("quantization_config", None, None),
    *PIXELS,
)
PATCH, CLS_TOKEN, POSITION = "embed.patch.proj", "embed.cls_token", "embed.position.table"


def blocks(layer: str, block: str) -> list[Rename]:
    """Make the rows of one block, whose names begin with ``layer`` there and with ``block`` here."""
    return [
        *linear(f"{layer}layernorm_before", f"{block}norm_attn"),
        *linear(f"{layer}attention.attention.query", f"{block}attn.q_proj"),
        *linear(f"{layer}attention.attention.key", f"{block}attn.k_proj"),
        *linear(f"{layer}attention.attention.value", f"{block}attn.v_proj"),
        *linear(f"{layer}attention.output.dense", f"{block}attn.o_proj"),
        *linear(f"{layer}layernorm_after", f"{block}norm_ffn"),
        *linear(f"{layer}intermediate.dense", f"{block}ffn.up"),
        *linear(f"{layer}output.dense", f"{block}ffn.down"),
    ]


def body(prefix: str) -> list[Rename]:
    """Make the rows of embedding and blocks, whose names begin with ``prefix`` there."""
    return [
        *linear(f"{prefix}embeddings.patch_embeddings.projection", PATCH),
        param(f"{prefix}embeddings.cls_token", CLS_TOKEN, leading_ones=2),
        param(f"{prefix}embeddings.position_embeddings", POSITION, leading_ones=1),
        *blocks(f"{prefix}encoder.layer.{{}}.", "stack.blocks.{}."),
        *linear(f"{prefix}layernorm", "stack.norm"),
    ]


TENSORS: list[Rename] = body("vit.")
CLASSIFIER = [*TENSORS, *linear("classifier", "head")]
POOLER = ("vit.pooler.dense.weight", "vit.pooler.dense.bias")


def _pooler(settings: Mapping[str, Any]) -> dict[str, Tensor]:
    """Make a pooler that gives the class token's state, as a ViT without a head does."""
    width = settings["d_model"]
    return dict(zip(POOLER, (torch.eye(width), torch.zeros(width)), strict=True))


register(
    Layout(
        kind=ModelKind(ViT, ViTConfig),
        model_type="vit",
        architecture="ViTModel",
        fields=FIELDS,
        fixed={"num_classes": 0},
        tensors=TENSORS,
        prefix="vit.",
        drop=POOLER,
        added=_pooler,
        more_config=lambda settings: {"pooler_act": "linear"},
        files=(PREPROCESSOR,),
    ),
    Layout(
        kind=ModelKind(ViT, ViTConfig),
        model_type="vit",
        architecture="ViTForImageClassification",
        fields=(*FIELDS, *class_labels("num_classes")),
        tensors=CLASSIFIER,
        prefix="vit.",
        heads=("classifier.",),
        drop=POOLER,
        files=(PREPROCESSOR,),
    ),
)
