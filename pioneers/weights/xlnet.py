"""XLNet as Hugging Face stores it: ``XLNetLMHeadModel``.

Its settings for the memory of earlier segments are ignored: without a memory to read they change nothing.
"""

from pioneers.models import XLNet, XLNetConfig
from pioneers.weights.hf_config import Field, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param

FIELDS = (
    Field("vocab_size", "vocab_size", 32000),
    Field("d_model", "d_model", 1024),
    Field("n_layer", "num_layers", 24),
    Field("n_head", "num_heads", 16),
    feed_forward_width("d_inner", 4096, d_model="d_model"),
    Field("dropout", "dropout", 0.1),
    Field("ff_activation", None, "gelu"),
    Field("attn_type", None, "bi"),
    Field("bi_data", None, False),
    Field("clamp_len", None, -1),
    Field("untie_r", None, True),
    Field("layer_norm_eps", None, 1e-12),
    Field("tie_word_embeddings", None, True),
    Field("quantization_config", None, None),
)
_L, _B = "transformer.layer.{}.", "blocks.{}."
_A, _ATTN = f"{_L}rel_attn.", f"{_B}attn."
TENSORS: list[Rename] = [
    param("transformer.word_embedding.weight", "embed.token.weight"),
    param("transformer.mask_emb", "query_token", leading_ones=2),
    *(param(f"{_A}{name}", f"{_ATTN}{name}_proj.weight", transpose=True, head_axis=True) for name in "qkv"),
    param(f"{_A}r", f"{_ATTN}distance_proj.weight", transpose=True, head_axis=True),
    param(f"{_A}o", f"{_ATTN}o_proj.weight", head_axis=True),
    param(f"{_A}r_w_bias", f"{_ATTN}content_bias"),
    param(f"{_A}r_r_bias", f"{_ATTN}distance_bias"),
    param(f"{_A}r_s_bias", f"{_ATTN}segment_bias"),
    param(f"{_A}seg_embed", f"{_ATTN}segment"),
    *linear(f"{_A}layer_norm", f"{_B}norm_attn"),
    *linear(f"{_L}ff.layer_1", f"{_B}ffn.up"),
    *linear(f"{_L}ff.layer_2", f"{_B}ffn.down"),
    *linear(f"{_L}ff.layer_norm", f"{_B}norm_ffn"),
    param("lm_loss.bias", "lm_head.bias"),
]

register(
    Layout(
        kind=ModelKind(XLNet, XLNetConfig),
        model_type="xlnet",
        architecture="XLNetLMHeadModel",
        fields=FIELDS,
        tensors=TENSORS,
        prefix="transformer.",
        heads=("lm_loss.",),
        tied={"lm_loss.weight": "transformer.word_embedding.weight"},
    )
)
