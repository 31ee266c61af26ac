"""A model and its counterpart in transformers, compared layer by layer."""

import pytest
import torch

from pioneers.models import (
    BERT,
    GPT,
    MAE,
    T5,
    BERTConfig,
    GPTConfig,
    Llama,
    LlamaConfig,
    MAEConfig,
    Swin,
    SwinConfig,
    T5Config,
    ViT,
    ViTConfig,
)
from pioneers.weights import compare_layers, save_huggingface
from pioneers.weights.compare import OUTPUT, TOLERANCE
from pioneers.weights.registry import layout_of

TEXT = {"vocab_size": 31, "max_seq_len": 13, "d_model": 12, "num_layers": 2, "num_heads": 3}
MODELS = {
    "gpt": lambda: GPT(GPTConfig(**TEXT)),
    "bert": lambda: BERT(BERTConfig(**TEXT)),
    "llama": lambda: Llama(LlamaConfig(**TEXT | {"num_heads": 6}, d_ff=19, num_kv_heads=3)),
    "t5": lambda: T5(T5Config(vocab_size=31, d_model=12, d_ff=19, num_layers=2, num_heads=3)),
    "vit": lambda: ViT(
        ViTConfig(image_size=15, patch_size=5, num_classes=7, d_model=12, num_layers=2, num_heads=3)
    ),
    "swin": lambda: Swin(
        SwinConfig(
            image_size=24, patch_size=2, num_classes=7, d_model=12, num_layers=(2, 1), num_heads=(2, 3),
            window_size=3,
        )
    ),
}  # fmt: skip


@pytest.fixture
def both(theirs_of):
    """A model with random weights, and its counterpart with the same."""

    def make(kind):
        torch.manual_seed(0)
        ours = MODELS[kind]().eval()
        return ours, theirs_of(ours), layout_of(ours)

    return make


@pytest.fixture
def theirs_of(transformers, tmp_path):
    def read(ours):
        save_huggingface(ours, tmp_path / "theirs")
        reader = getattr(transformers, layout_of(ours).architecture)
        return reader.from_pretrained(tmp_path / "theirs").eval()

    return read


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_model_differs_nowhere(kind, both):
    ours, theirs, layout = both(kind)
    rows = compare_layers(ours, theirs, layout)
    assert max(row.difference for row in rows) < TOLERANCE / 10
    assert not any(row.weights_differ for row in rows)
    assert rows[-1].theirs == OUTPUT
    compared = {name for row in rows for name in row.ours}
    for place in range(2 if kind != "swin" else 1):
        assert any(f".{place}.ffn.down" in name for name in compared)
        assert any(f".{place}.attn.q_proj" in name for name in compared)


def test_changed_weights_are_named(both):
    ours, theirs, layout = both("gpt")
    with torch.no_grad():
        ours.stack.blocks[1].ffn.up.weight[3, 0] += 1
    rows = compare_layers(ours, theirs, layout)
    first = next(row for row in rows if row.difference > TOLERANCE)
    assert (first.ours, first.theirs) == (("stack.blocks.1.ffn.up",), "transformer.h.1.mlp.c_fc")
    assert first.weights_differ


def test_another_computation_with_the_same_weights_is_named(both):
    ours, theirs, layout = both("bert")
    ours.stack.blocks[0].norm_attn.eps = 0.5
    rows = compare_layers(ours, theirs, layout)
    first = next(row for row in rows if row.difference > TOLERANCE)
    assert first.ours == ("stack.blocks.0.norm_attn",) and not first.weights_differ
    assert not any(row.weights_differ for row in rows)


def test_tokens_in_another_order_are_called_so(both):
    rows = compare_layers(*both("swin"))
    assert any(row.reordered for row in rows) and not rows[-1].reordered


def test_a_model_with_two_inputs_is_refused(theirs_of):
    ours = MAE(
        MAEConfig(
            image_size=15, patch_size=5, d_model=12, num_layers=2, num_heads=3, d_ff=48,
            decoder_d_model=8, decoder_layers=1, decoder_heads=2,
        )
    ).eval()  # fmt: skip
    with pytest.raises(ValueError, match="a MAE cannot be compared: only models with one input"):
        compare_layers(ours, theirs_of(ours), layout_of(ours))
