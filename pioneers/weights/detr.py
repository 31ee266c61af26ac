"""DETR as transformers has it, in ``DetrForObjectDetection``: the names of its tensors, for a state dict.

The backbone, :data:`BACKBONE`, is not in the table: it is whatever network was given to both models. Folders
of our own format hold detectors around the small backbone only: they do not say which other one it was.
"""

from torch import nn

from pioneers.models import DETR, AnchorDETR, ConvBackbone, DETRConfig
from pioneers.weights.registry import ModelKind, register_kind
from pioneers.weights.state_dict import Rename, linear, param

BACKBONE = "model.backbone."  # what the names of the backbone's tensors begin with on their side


def _attention(theirs: str, ours: str) -> list[Rename]:
    return [row for name in "qkvo" for row in linear(f"{theirs}.{name}_proj", f"{ours}.{name}_proj")]


def _side(side: str) -> list[Rename]:
    """Make the rows that the encoder and the decoder have alike."""
    theirs, ours = f"model.{side}.layers.{{}}.", f"{side}.blocks.{{}}."
    return [
        *_attention(f"{theirs}self_attn", f"{ours}attn"),
        *linear(f"{theirs}self_attn_layer_norm", f"{ours}norm_attn"),
        *linear(f"{theirs}mlp.fc1", f"{ours}ffn.up"),
        *linear(f"{theirs}mlp.fc2", f"{ours}ffn.down"),
        *linear(f"{theirs}final_layer_norm", f"{ours}norm_ffn"),
    ]


_L, _B = "model.decoder.layers.{}.", "decoder.blocks.{}."
TENSORS: list[Rename] = [
    param("model.query_position_embeddings.weight", "queries.weight"),
    *linear("model.input_projection", "proj"),
    *_side("encoder"),
    *_side("decoder"),
    *_attention(f"{_L}encoder_attn", f"{_B}cross_attn"),
    *linear(f"{_L}encoder_attn_layer_norm", f"{_B}norm_cross"),
    *linear("model.decoder.layernorm", "decoder.norm"),
    *linear("class_labels_classifier", "class_head"),
    *(row for i in range(3) for row in linear(f"bbox_predictor.layers.{i}", f"box_head.{2 * i}")),
]


class _DetectorKind(ModelKind):
    def fits(self, model: nn.Module) -> bool:
        return super().fits(model) and type(model.backbone) is ConvBackbone


register_kind(_DetectorKind(DETR, DETRConfig), _DetectorKind(AnchorDETR, DETRConfig))
