"""Configurations as Hugging Face writes them ↔ ours, by tables of fields that are read in both directions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pioneers.config import Config

# Names of the same function: ours, then those it has on the other side.
ACTIVATIONS = {
    "gelu_tanh": ("gelu_new", "gelu_pytorch_tanh", "gelu_fast"),
    "gelu": ("gelu",),
    "gelu_sigmoid": ("quick_gelu",),
    "relu": ("relu",),
    "swish": ("silu", "swish"),
}
OUR_ACTIVATIONS = {theirs: ours for ours, names in ACTIVATIONS.items() for theirs in names}


@dataclass(frozen=True)
class Field:
    """One row of a table: a field of theirs, and ours that says the same.

    Args:
        theirs: its name on the other side.
        default: what it means there to leave it out.
        ours: the name here; None if our model has no such choice, so that theirs must be ``default``.
    """

    theirs: str
    default: Any
    ours: str | None = None


GPT2 = (
    Field("vocab_size", 50257, "vocab_size"),
    Field("n_positions", 1024, "max_seq_len"),
    Field("n_embd", 768, "d_model"),
    Field("n_layer", 12, "num_layers"),
    Field("n_head", 12, "num_heads"),
    Field("n_inner", None, "d_ff"),
    Field("activation_function", "gelu_new", "activation"),
    Field("resid_pdrop", 0.1, "dropout"),
    Field("embd_pdrop", 0.1, "dropout"),
    Field("attn_pdrop", 0.1, "dropout"),
    Field("layer_norm_epsilon", 1e-5),
    Field("scale_attn_weights", True),
    Field("scale_attn_by_inverse_layer_idx", False),
    Field("add_cross_attention", False),
    Field("tie_word_embeddings", True),
    Field("quantization_config", None),
)

_ENCODER = (
    Field("hidden_size", 768, "d_model"),
    Field("num_hidden_layers", 12, "num_layers"),
    Field("num_attention_heads", 12, "num_heads"),
    Field("intermediate_size", 3072, "d_ff"),
    Field("hidden_act", "gelu"),
    Field("pruned_heads", {}),
    Field("quantization_config", None),
)

BERT = (
    *_ENCODER,
    Field("vocab_size", 30522, "vocab_size"),
    Field("max_position_embeddings", 512, "max_seq_len"),
    Field("type_vocab_size", 2, "num_segments"),
    Field("hidden_dropout_prob", 0.1, "dropout"),
    Field("attention_probs_dropout_prob", 0.1, "dropout"),
    Field("layer_norm_eps", 1e-12),
    Field("position_embedding_type", "absolute"),
    Field("is_decoder", False),
    Field("add_cross_attention", False),
    Field("tie_word_embeddings", True),
)

VIT = (
    *_ENCODER,
    Field("image_size", 224, "image_size"),
    Field("patch_size", 16, "patch_size"),
    Field("num_channels", 3, "in_channels"),
    Field("id2label", {"0": "LABEL_0", "1": "LABEL_1"}, "num_classes"),
    Field("hidden_dropout_prob", 0.0, "dropout"),
    Field("attention_probs_dropout_prob", 0.0, "dropout"),
    Field("layer_norm_eps", 1e-12, "norm_eps"),
    Field("qkv_bias", True),
)


def fields_to_ours(values: Mapping[str, Any], table: Sequence[Field]) -> dict[str, Any]:
    """The fields of our configuration from a ``config.json`` of theirs.

    Fields outside the table say nothing about the numbers a model computes (names, training, generation).

    Raises:
        ValueError: a field asks for what our model cannot do; the message names it.
    """
    ours: dict[str, Any] = {}
    for field in table:
        value = values.get(field.theirs, field.default)
        if field.ours is None:
            if value != field.default:
                raise _cannot(field, value, f"{field.default!r}")
            continue
        here = _value_to_ours(field, value)
        if ours.setdefault(field.ours, here) != here:
            raise _cannot(field, value, f"{ours[field.ours]!r} like its other values of {field.ours}")
    if ours["d_ff"] == 4 * ours["d_model"]:
        ours["d_ff"] = None
    return ours


def fields_to_theirs(config: Config, table: Sequence[Field]) -> dict[str, Any]:
    """The inverse of :func:`fields_to_ours`.

    Raises:
        ValueError: a field of ours has no name on the other side.
    """
    ours = asdict(config)
    known = {field.ours for field in table}
    for name, value in ours.items():
        standard = type(config).__dataclass_fields__[name].default
        if name not in known and value != standard:
            raise ValueError(
                f"{name}={value!r} has no counterpart in Hugging Face's model, only {standard!r} has: "
                f"keep the model in our own format with save_pretrained"
            )
    ours["d_ff"] = ours["d_ff"] or 4 * ours["d_model"]
    return {
        field.theirs: field.default if field.ours is None else _value_to_theirs(field, ours[field.ours])
        for field in table
    }


def _value_to_ours(field: Field, value: Any) -> Any:
    if field.ours == "num_classes":
        return len(value)
    if field.ours == "activation":
        if value not in OUR_ACTIVATIONS:
            raise _cannot(field, value, f"one of {', '.join(OUR_ACTIVATIONS)}")
        return OUR_ACTIVATIONS[value]
    if field.ours in ("image_size", "patch_size") and isinstance(value, list):
        if len(set(value)) > 1:
            raise _cannot(field, value, "a square")
        return value[0]
    return value


def _value_to_theirs(field: Field, value: Any) -> Any:
    if field.ours == "num_classes":
        return {str(label): f"LABEL_{label}" for label in range(value)}
    if field.ours == "activation" and value not in ACTIVATIONS:
        raise ValueError(
            f"activation={value!r} has no counterpart in Hugging Face's model: "
            f"keep the model in our own format with save_pretrained"
        )
    return ACTIVATIONS[value][0] if field.ours == "activation" else value


def _cannot(field: Field, value: Any, only: str) -> ValueError:
    return ValueError(f"its configuration has {field.theirs}={value!r}; the model here can only be {only}")
