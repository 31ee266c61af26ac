"""Swin as Hugging Face stores it: ``SwinForImageClassification``, and ``SwinModel``, which has no head."""

from collections.abc import Mapping
from typing import Any

from pioneers.models import Swin, SwinConfig
from pioneers.weights.hf_config import Field, class_labels, square
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param
from pioneers.weights.vit import PATCH, PIXELS, PREPROCESSOR

MAX_STAGES = 4  # as many as any published model has


def per_stage(theirs: str, ours: str, default: tuple[int, ...]) -> Field:
    """Make the row ``theirs``, ``ours``, ``default`` of numbers for the stages, which are a list there."""

    def to_ours(numbers: Any, _: Mapping[str, Any]) -> Any:
        return tuple(numbers)

    return Field(theirs, ours, default, to_ours, lambda numbers, _: list(numbers))


FIELDS = (
    square("image_size", "image_size", 224),
    square("patch_size", "patch_size", 4),
    Field("num_channels", "in_channels", 3),
    Field("embed_dim", "d_model", 96),
    per_stage("depths", "num_layers", (2, 2, 6, 2)),
    per_stage("num_heads", "num_heads", (3, 6, 12, 24)),
    Field("window_size", "window_size", 7),
    Field("hidden_dropout_prob", "dropout", 0.0),
    Field("attention_probs_dropout_prob", "dropout", 0.0),
    Field("drop_path_rate", "drop_path", 0.1),
    Field("mlp_ratio", None, 4.0),
    Field("qkv_bias", None, True),
    Field("hidden_act", None, "gelu"),
    Field("layer_norm_eps", None, 1e-5),
    Field("use_absolute_embeddings", None, False),
    *PIXELS,
)


def shared(prefix: str) -> list[Rename]:
    """Make the rows that both versions have, whose names begin with ``prefix`` there."""
    rows = [
        *linear(f"{prefix}embeddings.patch_embeddings.projection", PATCH),
        *linear(f"{prefix}embeddings.norm", "embed.norm"),
        *linear(f"{prefix}layernorm", "norm"),
    ]
    for stage in range(MAX_STAGES):
        their_stage, our_stage = f"{prefix}encoder.layers.{stage}.", f"stages.{stage}."
        theirs, ours = their_stage + "blocks.{}.", our_stage + "stack.blocks.{}."
        rows += [
            *linear(f"{theirs}attention.self.query", f"{ours}attn.q_proj"),
            *linear(f"{theirs}attention.self.key", f"{ours}attn.k_proj"),
            *linear(f"{theirs}attention.self.value", f"{ours}attn.v_proj"),
            *linear(f"{theirs}attention.output.dense", f"{ours}attn.o_proj"),
            *linear(f"{theirs}intermediate.dense", f"{ours}ffn.up"),
            *linear(f"{theirs}output.dense", f"{ours}ffn.down"),
            param(f"{their_stage}downsample.reduction.weight", f"merges.{stage}.proj.weight"),
            *linear(f"{their_stage}downsample.norm", f"merges.{stage}.norm"),
        ]
    return rows


def _biases_and_norms(stage: int) -> list[Rename]:
    theirs, ours = f"swin.encoder.layers.{stage}.blocks.{{}}.", f"stages.{stage}."
    table = f"{theirs}attention.self.relative_position_bias_table"
    return [
        param(table, f"{ours}biases.{{}}.table.weight"),
        *linear(f"{theirs}layernorm_before", f"{ours}stack.blocks.{{}}.norm_attn"),
        *linear(f"{theirs}layernorm_after", f"{ours}stack.blocks.{{}}.norm_ffn"),
    ]


TENSORS: list[Rename] = [
    *shared("swin."),
    *(row for stage in range(MAX_STAGES) for row in _biases_and_norms(stage)),
]


def layouts(
    kind: ModelKind, *, body: str, classifier: str, fields: tuple[Field, ...], tensors: list[Rename]
) -> list[Layout]:
    """Make the layouts of one version: without a head, the class ``body`` there, and with one."""
    model_type = body.removesuffix("Model").lower()
    prefix = f"{model_type}."
    stored = f"{prefix}encoder.layers.{{}}.blocks.{{}}.attention.self."
    common: dict[str, Any] = {
        "kind": kind,
        "model_type": model_type,
        "prefix": prefix,
        "drop": (f"{stored}relative_position_index", f"{stored}relative_coords_table"),
        "files": (PREPROCESSOR,),
    }
    return [
        Layout(architecture=body, fields=fields, tensors=tensors, fixed={"num_classes": 0}, **common),
        Layout(
            architecture=classifier,
            fields=(*fields, *class_labels("num_classes")),
            tensors=[*tensors, *linear("classifier", "head")],
            heads=("classifier.",),
            **common,
        ),
    ]


register(
    *layouts(
        ModelKind(Swin, SwinConfig),
        body="SwinModel",
        classifier="SwinForImageClassification",
        fields=FIELDS,
        tensors=TENSORS,
    )
)
