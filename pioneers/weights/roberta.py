"""RoBERTa as Hugging Face stores it: ``RobertaModel``, ``RobertaForMaskedLM`` and its classifier.

It counts positions from the id of the padding on, so that the first two vectors of their table belong to no
position. ``RobertaForSequenceClassification`` is a :class:`~pioneers.models.BERTClassifier` whose pooler came
with the task; the dropout it has in front of that pooler is left out here.
"""

from typing import Any

from pioneers.models import BERTClassifier, RoBERTa, RoBERTaConfig, RoBERTaForMaskedLM
from pioneers.weights import bert
from pioneers.weights.hf_config import Field, class_labels
from pioneers.weights.registry import Layout, ModelKind, register, register_kind
from pioneers.weights.state_dict import Rename, linear, param, prefixed

PAD_ID = 1
UNUSED = PAD_ID + 1
FIELDS = bert.replaced(
    bert.FIELDS,
    Field("vocab_size", "vocab_size", 50265),
    Field(
        "max_position_embeddings",
        "max_seq_len",
        512,
        to_ours=lambda rows, _: rows - UNUSED,
        to_theirs=lambda length, _: length + UNUSED,
    ),
    Field("hidden_act", None, "gelu"),
    Field("pad_token_id", None, PAD_ID),
)
BODY: list[Rename] = [*bert.embeddings("roberta.", extra_rows=UNUSED), *bert.blocks("roberta.")]
TENSORS: list[Rename] = [*BODY, *linear("roberta.pooler.dense", "pooler")]


def _layout(kind: ModelKind, architecture: str, tensors: list[Rename], **more: Any) -> Layout:
    drop = ("roberta.embeddings.position_ids",)
    common = {"model_type": "roberta", "fields": FIELDS, "prefix": "roberta.", "drop": drop}
    return Layout(kind=kind, architecture=architecture, tensors=tensors, **(common | more))


register_kind(*bert.task_kinds(RoBERTa, RoBERTaConfig))
register(
    _layout(
        ModelKind(RoBERTaForMaskedLM, RoBERTaConfig),
        "RobertaForMaskedLM",
        [
            *prefixed("bert", TENSORS),
            *linear("lm_head.dense", "masked_lm.transform"),
            *linear("lm_head.layer_norm", "masked_lm.norm"),
            param("lm_head.bias", "masked_lm.lm_head.bias"),
        ],
        heads=("lm_head.",),
        tied={
            "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
            "lm_head.decoder.bias": "lm_head.bias",
        },
        optional=("roberta.pooler.",),
    ),
    _layout(
        bert.task(BERTClassifier, RoBERTa, RoBERTaConfig, "num_classes", "labels"),
        "RobertaForSequenceClassification",
        [
            *prefixed("bert", BODY),
            *linear("classifier.dense", "bert.pooler"),
            *linear("classifier.out_proj", "head.proj"),
        ],
        fields=(*FIELDS, *class_labels("num_classes"), bert.HEAD_DROPOUT),
        heads=("classifier.",),
    ),
    _layout(ModelKind(RoBERTa, RoBERTaConfig), "RobertaModel", TENSORS),
)
