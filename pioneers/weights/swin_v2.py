"""Swin V2 as Hugging Face stores it: ``Swinv2ForImageClassification``, and ``Swinv2Model`` without a head."""

from collections.abc import Mapping
from typing import Any

from pioneers.models import SwinV2, SwinV2Config
from pioneers.weights import swin
from pioneers.weights.hf_config import Field
from pioneers.weights.registry import ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param


def _trained_windows() -> Field:
    """Make the row of the windows of pretraining, which are 0 there where they are not others."""

    def to_ours(sizes: Any, _: Mapping[str, Any]) -> tuple[int, ...]:
        if any(sizes) and not all(sizes):
            raise ValueError("all positive or all 0")
        return tuple(sizes) if any(sizes) else ()

    def to_theirs(sizes: tuple[int, ...], settings: Mapping[str, Any]) -> list[int]:
        return list(sizes) or [0] * len(settings["num_layers"])

    return Field("pretrained_window_sizes", "trained_windows", (0, 0, 0, 0), to_ours, to_theirs)


def _biases_and_norms(stage: int) -> list[Rename]:
    theirs, ours = f"swinv2.encoder.layers.{stage}.blocks.{{}}.", f"stages.{stage}."
    attention = f"{theirs}attention.self."
    return [
        *linear(f"{attention}continuous_position_bias_mlp.0", f"{ours}biases.{{}}.up"),
        param(f"{attention}continuous_position_bias_mlp.2.weight", f"{ours}biases.{{}}.down.weight"),
        param(f"{attention}logit_scale", f"{ours}stack.blocks.{{}}.attn.q_norm.log_scale"),
        *linear(f"{theirs}layernorm_before", f"{ours}stack.blocks.{{}}.norm_attn_out"),
        *linear(f"{theirs}layernorm_after", f"{ours}stack.blocks.{{}}.norm_ffn_out"),
    ]


FIELDS = (*swin.FIELDS, _trained_windows())
TENSORS: list[Rename] = [
    *swin.shared("swinv2."),
    *(row for stage in range(swin.MAX_STAGES) for row in _biases_and_norms(stage)),
]

register(
    *swin.layouts(
        ModelKind(SwinV2, SwinV2Config),
        body="Swinv2Model",
        classifier="Swinv2ForImageClassification",
        fields=FIELDS,
        tensors=TENSORS,
    )
)
