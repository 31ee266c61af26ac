import pytest

from pioneers.weights.hf_config import (
    Field,
    activation,
    class_labels,
    feed_forward_width,
    fields_to_ours,
    fields_to_theirs,
    square,
)

TABLE = (
    Field("hidden_size", "d_model", 8),
    feed_forward_width("inner", 32, d_model="hidden_size"),
    activation("act", "gelu"),
    square("image_size", "image_size", 16),
    Field("causal", None, True),
    *class_labels("num_classes"),
)
THEIRS = {
    "hidden_size": 12,
    "inner": 48,
    "act": "gelu_new",
    "image_size": 24,
    "causal": True,
    "id2label": {"0": "no", "1": "yes"},
    "label2id": {"no": 0, "yes": 1},
}
OURS = {
    "d_model": 12,
    "d_ff": None,
    "activation": "gelu_tanh",
    "image_size": 24,
    "num_classes": 2,
    "labels": ("no", "yes"),
}


def test_a_table_is_read_both_ways():
    assert fields_to_ours(THEIRS, TABLE) == OURS
    assert fields_to_theirs(OURS, {}, TABLE) == THEIRS


def test_what_is_left_out_has_the_default_of_the_other_side():
    assert fields_to_ours({}, TABLE) == {
        "d_model": 8, "d_ff": None, "activation": "gelu", "image_size": 16, "num_classes": 2, "labels": (),
    }  # fmt: skip
    assert fields_to_ours({"hidden_size": 12}, TABLE)["d_ff"] == 32


def test_ids_of_labels_may_be_numbers_in_any_order():
    assert fields_to_ours({"id2label": {1: "yes", 0: "no"}}, TABLE)["labels"] == ("no", "yes")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"act": "elu"}, "act='elu'; the model here can only be one of gelu_new, gelu_pytorch_tanh"),
        ({"image_size": [24, 16]}, r"image_size=\[24, 16\]; the model here can only be a square"),
        ({"causal": False}, "causal=False; the model here can only be True"),
        ({"id2label": {}}, "id2label={}; .* at least one"),
        ({"id2label": {"0": "a", "2": "b"}}, 'labels with the ids "0", "1", "2" and so on'),
    ],
)
def test_what_we_do_not_have_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        fields_to_ours(THEIRS | change, TABLE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"activation": "elu"},
            "activation='elu' has no counterpart in .*, only one of gelu_tanh, gelu, .*: keep",
        ),
        (
            {"bias": False},
            "bias=False has no counterpart in Hugging Face's model, only True has: keep the model",
        ),
    ],
)
def test_what_they_do_not_have_is_named(change, message):
    assert "bias" not in fields_to_theirs(OURS | {"bias": True}, {"bias": True}, TABLE)
    with pytest.raises(ValueError, match=message):
        fields_to_theirs(OURS | change, {"bias": True}, TABLE)
