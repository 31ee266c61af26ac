"""ViT as timm stores it, in ``VisionTransformer``: the names of its tensors, for a state dict."""

from pioneers.weights.state_dict import Rename, linear, param
from pioneers.weights.vit import CLS_TOKEN, PATCH, POSITION

_B = "stack.blocks.{}."
TENSORS: list[Rename] = [
    *linear("patch_embed.proj", PATCH),
    param("cls_token", CLS_TOKEN, leading_ones=2),
    param("pos_embed", POSITION, leading_ones=1),
    *linear("blocks.{}.norm1", f"{_B}norm_attn"),
    *linear("blocks.{}.attn.qkv", *(f"{_B}attn.{name}_proj" for name in "qkv")),
    *linear("blocks.{}.attn.proj", f"{_B}attn.o_proj"),
    *linear("blocks.{}.norm2", f"{_B}norm_ffn"),
    *linear("blocks.{}.mlp.fc1", f"{_B}ffn.up"),
    *linear("blocks.{}.mlp.fc2", f"{_B}ffn.down"),
    *linear("norm", "stack.norm"),
    *linear("head", "head"),
]
