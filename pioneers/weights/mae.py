"""MAE as Hugging Face stores it: ``ViTMAEForPreTraining``.

How much is hidden, and whether the targets are normalised, is the objective's business here; a folder that is
written says nothing about either.
"""

from collections.abc import Sequence

from pioneers.models import MAE, MAEConfig
from pioneers.weights import bert, vit
from pioneers.weights.hf_config import Field, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param, prefixed

FIELDS = bert.replaced(
    vit.FIELDS,
    Field("hidden_dropout_prob", None, 0.0),
    Field("attention_probs_dropout_prob", None, 0.0),
    Field("drop_path_rate", None, 0.0),
    Field("decoder_hidden_size", "decoder_d_model", 512),
    Field("decoder_num_hidden_layers", "decoder_layers", 8),
    Field("decoder_num_attention_heads", "decoder_heads", 16),
    feed_forward_width(
        "decoder_intermediate_size",
        2048,
        d_model="decoder_hidden_size",
        ours="decoder_d_ff",
        our_d_model="decoder_d_model",
    ),
)


def _tensors(layer: str) -> Sequence[Rename]:
    """Make the rows, with ``layer`` as the decoder's blocks are called."""
    blocks = vit.blocks(f"decoder.{layer}.{{}}.", "decoder.blocks.{}.")
    return [
        *prefixed("vit", vit.TENSORS),
        *linear("decoder.decoder_embed", "to_decoder"),
        param("decoder.mask_token", "mask_token", leading_ones=2),
        param("decoder.decoder_pos_embed", "position.table", leading_ones=1),
        *blocks,
        *linear("decoder.decoder_norm", "decoder.norm"),
        *linear("decoder.decoder_pred", "head"),
    ]


TENSORS = _tensors("decoder_layers")
WRITTEN_BY_TRANSFORMERS_5 = _tensors("decoder_encoder.layer")

register(
    *(
        Layout(
            kind=ModelKind(MAE, MAEConfig),
            model_type="vit_mae",
            architecture="ViTMAEForPreTraining",
            fields=FIELDS,
            tensors=tensors,
            prefix="vit.",
            heads=(f"decoder.{layer}.",),
            files=(vit.PREPROCESSOR,),
        )
        for layer, tensors in (
            ("decoder_layers", TENSORS),
            ("decoder_encoder.layer", WRITTEN_BY_TRANSFORMERS_5),
        )
    )
)
