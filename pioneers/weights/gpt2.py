"""GPT-2 as Hugging Face stores it: ``GPT2Model``, ``GPT2LMHeadModel``, ``GPT2ForSequenceClassification``.

The first two are one layout, because the language model's head is the token embedding.
"""

from collections.abc import Mapping
from typing import Any

from pioneers.models import GPT, GPTClassifier, GPTConfig
from pioneers.weights.hf_config import Field, activation, class_labels, feed_forward_width
from pioneers.weights.registry import Layout, ModelKind, register
from pioneers.weights.state_dict import Rename, linear, param, prefixed

FIELDS = (
    Field("vocab_size", "vocab_size", 50257),
    Field("n_positions", "max_seq_len", 1024),
    Field("n_embd", "d_model", 768),
    Field("n_layer", "num_layers", 12),
    Field("n_head", "num_heads", 12),
    feed_forward_width("n_inner", None, d_model="n_embd"),
    activation("activation_function", "gelu_new"),
    Field("resid_pdrop", "dropout", 0.1),
    Field("embd_pdrop", "dropout", 0.1),
    Field("attn_pdrop", "dropout", 0.1),
    Field("layer_norm_epsilon", None, 1e-5),
    Field("scale_attn_weights", None, True),
    Field("scale_attn_by_inverse_layer_idx", None, False),
    Field("add_cross_attention", None, False),
    Field("tie_word_embeddings", None, True),
    Field("quantization_config", None, None),
)
_H, _B = "transformer.h.{}.", "stack.blocks.{}."
TENSORS: list[Rename] = [
    param("transformer.wte.weight", "embed.token.weight"),
    param("transformer.wpe.weight", "embed.position.table"),
    *linear(f"{_H}ln_1", f"{_B}norm_attn"),
    *linear(f"{_H}attn.c_attn", *(f"{_B}attn.{name}_proj" for name in "qkv"), transpose=True),
    *linear(f"{_H}attn.c_proj", f"{_B}attn.o_proj", transpose=True),
    *linear(f"{_H}ln_2", f"{_B}norm_ffn"),
    *linear(f"{_H}mlp.c_fc", f"{_B}ffn.up", transpose=True),
    *linear(f"{_H}mlp.c_proj", f"{_B}ffn.down", transpose=True),
    *linear("transformer.ln_f", "stack.norm"),
]
STORED_MASKS = (f"{_H}attn.bias", f"{_H}attn.masked_bias")
TIED = {"lm_head.weight": "transformer.wte.weight"}


def _end_of_text(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Say that a vocabulary other than GPT-2's has no end of text: left out, the ids mean GPT-2's 50256."""
    gpt2 = settings["vocab_size"] == GPTConfig.preset("gpt2").vocab_size
    return {} if gpt2 else {"bos_token_id": None, "eos_token_id": None}


register(
    Layout(
        kind=ModelKind(GPT, GPTConfig),
        model_type="gpt2",
        architecture="GPT2LMHeadModel",
        fields=FIELDS,
        tensors=TENSORS,
        prefix="transformer.",
        tied=TIED,
        drop=STORED_MASKS,
        more_config=_end_of_text,
    ),
    Layout(
        kind=ModelKind(GPTClassifier, GPTConfig, body=("gpt", GPT), head=("num_classes", "pad_id", "labels")),
        model_type="gpt2",
        architecture="GPT2ForSequenceClassification",
        fields=(*FIELDS, *class_labels("num_classes"), Field("pad_token_id", "pad_id", None)),
        tensors=[*prefixed("gpt", TENSORS), param("score.weight", "head.weight")],
        prefix="transformer.",
        heads=("score.",),
        tied=TIED,
        drop=STORED_MASKS,
        more_config=_end_of_text,
    ),
)
