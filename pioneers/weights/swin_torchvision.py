"""Swin as torchvision stores it, in ``SwinTransformer``: the names of its tensors, for a state dict.

``TENSORS`` is for the first version, ``TENSORS_V2`` for the second; ``DROP`` names what both compute anew.
"""

from pioneers.weights.state_dict import Rename, linear, param
from pioneers.weights.swin import MAX_STAGES
from pioneers.weights.vit import PATCH


def _shared(stage: int) -> list[Rename]:
    theirs, ours = f"features.{2 * stage + 1}.{{}}.", f"stages.{stage}.stack.blocks.{{}}."
    merge = f"features.{2 * stage + 2}."
    return [
        param(f"{theirs}attn.qkv.weight", *(f"{ours}attn.{name}_proj.weight" for name in "qkv")),
        *linear(f"{theirs}attn.proj", f"{ours}attn.o_proj"),
        *linear(f"{theirs}mlp.0", f"{ours}ffn.up"),
        *linear(f"{theirs}mlp.3", f"{ours}ffn.down"),
        param(f"{merge}reduction.weight", f"merges.{stage}.proj.weight"),
        *linear(f"{merge}norm", f"merges.{stage}.norm"),
    ]


def _first(stage: int) -> list[Rename]:
    theirs, ours = f"features.{2 * stage + 1}.{{}}.", f"stages.{stage}."
    block = f"{ours}stack.blocks.{{}}."
    return [
        param(f"{theirs}attn.qkv.bias", *(f"{block}attn.{name}_proj.bias" for name in "qkv")),
        param(f"{theirs}attn.relative_position_bias_table", f"{ours}biases.{{}}.table.weight"),
        *linear(f"{theirs}norm1", f"{block}norm_attn"),
        *linear(f"{theirs}norm2", f"{block}norm_ffn"),
    ]


def _second(stage: int) -> list[Rename]:
    theirs, ours = f"features.{2 * stage + 1}.{{}}.", f"stages.{stage}."
    block = f"{ours}stack.blocks.{{}}."
    return [
        param(f"{theirs}attn.qkv.bias", f"{block}attn.q_proj.bias", "", f"{block}attn.v_proj.bias"),
        param(f"{theirs}attn.logit_scale", f"{block}attn.q_norm.log_scale"),
        *linear(f"{theirs}attn.cpb_mlp.0", f"{ours}biases.{{}}.up"),
        param(f"{theirs}attn.cpb_mlp.2.weight", f"{ours}biases.{{}}.down.weight"),
        *linear(f"{theirs}norm1", f"{block}norm_attn_out"),
        *linear(f"{theirs}norm2", f"{block}norm_ffn_out"),
    ]


_AROUND = [
    *linear("features.0.0", PATCH),
    *linear("features.0.2", "embed.norm"),
    *linear("norm", "norm"),
    *linear("head", "head"),
    *(row for stage in range(MAX_STAGES) for row in _shared(stage)),
]
TENSORS: list[Rename] = [*_AROUND, *(row for stage in range(MAX_STAGES) for row in _first(stage))]
TENSORS_V2: list[Rename] = [*_AROUND, *(row for stage in range(MAX_STAGES) for row in _second(stage))]
DROP = (
    "features.{}.{}.attn.relative_position_index",
    "features.{}.{}.attn.relative_coords_table",
)
