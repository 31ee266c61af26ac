"""DeiT as timm stores it, in ``VisionTransformerDistilled``: the names of its tensors, for a state dict."""

from pioneers.weights import vit_timm
from pioneers.weights.deit import DISTILLATION_HEAD, DISTILLATION_TOKEN
from pioneers.weights.state_dict import Rename, linear, param

TENSORS: list[Rename] = [
    *vit_timm.TENSORS,
    param("dist_token", DISTILLATION_TOKEN, leading_ones=2),
    *linear("head_dist", DISTILLATION_HEAD),
]
