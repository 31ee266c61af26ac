"""ELECTRA as Hugging Face stores it: ``ElectraModel``, alone or in one of the two models of pretraining.

``ElectraForPreTraining`` is the discriminator, ``ElectraForMaskedLM`` the generator.
"""

from typing import Any

from pioneers.models import (
    ELECTRA,
    ELECTRAConfig,
    ELECTRADiscriminator,
    ELECTRAForPretraining,
    ELECTRAGenerator,
)
from pioneers.weights import bert
from pioneers.weights.hf_config import Field, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register, register_kind
from pioneers.weights.state_dict import Rename, linear, param, prefixed

FIELDS = bert.replaced(
    bert.FIELDS,
    Field("hidden_size", "d_model", 256),
    Field("num_attention_heads", "num_heads", 4),
    feed_forward_width("intermediate_size", 1024, d_model="hidden_size"),
    Field("hidden_act", None, "gelu"),
    Field(
        "embedding_size",
        "d_embed",
        128,
        to_ours=lambda width, values: None if width == values["hidden_size"] else width,
        to_theirs=lambda width, settings: width or settings["d_model"],
    ),
    Field("generator_hidden_size", "generator_width", 1 / 4),  # named so in the authors' code
)
TENSORS: list[Rename] = [
    *bert.embeddings("electra."),
    *linear("electra.embeddings_project", "project"),
    *bert.blocks("electra."),
]
INSIDE = prefixed("bert", TENSORS)


def _layout(model: type, architecture: str, tensors: list[Rename], **more: Any) -> Layout:
    return Layout(
        kind=ModelKind(model, ELECTRAConfig),
        model_type="electra",
        architecture=architecture,
        fields=FIELDS,
        tensors=tensors,
        prefix="electra.",
        drop=("electra.embeddings.position_ids",),
        **more,
    )


register(
    _layout(
        ELECTRADiscriminator,
        "ElectraForPreTraining",
        [
            *INSIDE,
            *linear("discriminator_predictions.dense", "transform"),
            *linear("discriminator_predictions.dense_prediction", "head"),
        ],
        heads=("discriminator_predictions.",),
    ),
    _layout(
        ELECTRAGenerator,
        "ElectraForMaskedLM",
        [
            *INSIDE,
            *linear("generator_predictions.dense", "masked_lm.transform"),
            *linear("generator_predictions.LayerNorm", "masked_lm.norm"),
            param("generator_lm_head.bias", "masked_lm.lm_head.bias"),
        ],
        heads=("generator_predictions.", "generator_lm_head."),
        tied={"generator_lm_head.weight": "electra.embeddings.word_embeddings.weight"},
    ),
    _layout(ELECTRA, "ElectraModel", TENSORS),
)
register_kind(ModelKind(ELECTRAForPretraining, ELECTRAConfig), *bert.task_kinds(ELECTRA, ELECTRAConfig))
