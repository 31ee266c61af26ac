"""DeiT as Hugging Face stores it: ``DeiTForImageClassificationWithTeacher``.

A DeiT without a distillation token is stored there as a ViT, and read as one.
"""

from pioneers.models import DeiT, DeiTConfig
from pioneers.weights import vit
from pioneers.weights.hf_config import class_labels
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param

DISTILLATION_TOKEN, HEAD, DISTILLATION_HEAD = "embed.distillation_token", "head", "distillation_head"
TENSORS: list[Rename] = [
    *vit.body("deit."),
    param("deit.embeddings.distillation_token", DISTILLATION_TOKEN, leading_ones=2),
    *linear("cls_classifier", HEAD),
    *linear("distillation_classifier", DISTILLATION_HEAD),
]

register(
    Layout(
        kind=ModelKind(DeiT, DeiTConfig),
        model_type="deit",
        architecture="DeiTForImageClassificationWithTeacher",
        fields=(*vit.FIELDS, *class_labels("num_classes")),
        tensors=TENSORS,
        prefix="deit.",
        heads=("cls_classifier.", "distillation_classifier."),
        drop=("deit.pooler.dense.weight", "deit.pooler.dense.bias"),
        files=(vit.PREPROCESSOR,),
    )
)
