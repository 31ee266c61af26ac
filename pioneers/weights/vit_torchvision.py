"""ViT as torchvision stores it, in ``VisionTransformer``: the names of its tensors, for a state dict."""

from pioneers.weights.state_dict import Rename, linear, param
from pioneers.weights.vit import CLS_TOKEN, PATCH, POSITION

_L, _B = "encoder.layers.encoder_layer_{}.", "stack.blocks.{}."
TENSORS: list[Rename] = [
    *linear("conv_proj", PATCH),
    param("class_token", CLS_TOKEN, leading_ones=2),
    param("encoder.pos_embedding", POSITION, leading_ones=1),
    *linear(f"{_L}ln_1", f"{_B}norm_attn"),
    param(f"{_L}self_attention.in_proj_weight", *(f"{_B}attn.{name}_proj.weight" for name in "qkv")),
    param(f"{_L}self_attention.in_proj_bias", *(f"{_B}attn.{name}_proj.bias" for name in "qkv")),
    *linear(f"{_L}self_attention.out_proj", f"{_B}attn.o_proj"),
    *linear(f"{_L}ln_2", f"{_B}norm_ffn"),
    *linear(f"{_L}mlp.0", f"{_B}ffn.up"),
    *linear(f"{_L}mlp.3", f"{_B}ffn.down"),
    *linear("encoder.ln", "stack.norm"),
    *linear("heads.head", "head"),
]
