"""DeBERTa beside Hugging Face's, small and random: outputs, gradients, folders in both directions."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from pioneers import from_pretrained
from pioneers.layers import padding_mask
from pioneers.models import DeBERTa, DeBERTaConfig
from pioneers.weights import save_huggingface, save_pretrained
from pioneers.weights.deberta import MASKED_LM, MASKED_LM_V2, TENSORS, TENSORS_V2
from pioneers.weights.state_dict import to_ours

V, B, T, H = 31, 3, 11, 3
SIZES = {
    "vocab_size": V,
    "hidden_size": 15,
    "num_hidden_layers": 2,
    "num_attention_heads": H,
    "intermediate_size": 19,
    "max_position_embeddings": 17,
    "relative_attention": True,
    "position_biased_input": False,
    "pos_att_type": "c2p|p2c",
}


V3 = {
    "position_buckets": 4,
    "max_relative_positions": 9,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
}
TABLES = {
    "DebertaModel": TENSORS,
    "DebertaForMaskedLM": MASKED_LM,
    "DebertaV2Model": TENSORS_V2,
    "DebertaV2ForMaskedLM": MASKED_LM_V2,
}
EVERY_CLASS = pytest.mark.parametrize("architecture", TABLES)


@pytest.fixture
def make(transformers):
    def make(architecture, **changes):
        family, kind = ("DebertaV2", V3) if "V2" in architecture else ("Deberta", {})
        config = getattr(transformers, f"{family}Config")(**(SIZES | kind | changes))
        model = getattr(transformers, architecture)(config)
        generator = torch.Generator().manual_seed(0)
        for p in model.parameters():
            nn.init.normal_(p, std=0.3, generator=generator)
        return model.eval()

    return make


def ids(*shape):
    """Random ids without 0, which theirs takes for padding: its vector gets no gradient there."""
    return torch.randint(1, V, shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("lengths", [(T, T, T), (T, 7, 4)], ids=["unpadded", "padded"])
@pytest.mark.parametrize(
    "clip", [{}, {"max_relative_positions": 5}], ids=["within reach", "beyond the last distance"]
)
@EVERY_CLASS
def test_outputs_and_all_gradients_are_theirs(architecture, clip, lengths, make, tmp_path):
    theirs = make(architecture, **clip)
    theirs.save_pretrained(tmp_path)
    ours, mask = from_pretrained(tmp_path), padding_mask(torch.tensor(lengths))
    real = mask[:, 0, 0]
    got = ours(ids(B, T), mask=mask)[real]
    out = theirs(ids(B, T), attention_mask=real.long())
    expected = (out.logits if architecture.endswith("LM") else out.last_hidden_state)[real]
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    weights = torch.randn(got.shape, generator=torch.Generator().manual_seed(2))
    for output in (got, expected):
        (output * weights).sum().backward()
    table, wanted = TABLES[architecture], dict(theirs.named_parameters())
    if architecture.endswith("Model"):
        wanted = {f"deberta.{name}": p for name, p in wanted.items()}
    wanted = to_ours({name: p.grad for name, p in wanted.items()}, table, num_heads=H)
    assert wanted.keys() == {name for name, _ in ours.named_parameters()}
    for name, p in ours.named_parameters():
        largest = float(wanted[name].abs().max())
        assert largest > 1e-4, name
        torch.testing.assert_close(p.grad / largest, wanted[name] / largest, atol=1e-4, rtol=0, msg=name)


@EVERY_CLASS
def test_an_exported_folder_has_the_same_outputs_there_and_here(architecture, make, transformers, tmp_path):
    theirs = make(architecture)
    theirs.save_pretrained(tmp_path / "theirs")
    ours = from_pretrained(tmp_path / "theirs")
    save_huggingface(ours, tmp_path / "exported")
    save_pretrained(ours, tmp_path / "own")
    there = getattr(transformers, architecture).from_pretrained(tmp_path / "exported").eval()
    stored, given = (load_file(tmp_path / f / "model.safetensors") for f in ("exported", "theirs"))
    expected = theirs(ids(B, T))[0]
    assert torch.equal(there(ids(B, T))[0], expected)
    inside = "deberta." if architecture.endswith("Model") else ""  # theirs stores a body without its prefix
    assert {name.removeprefix(inside) for name in stored} == given.keys()
    assert all(torch.equal(t, given[name.removeprefix(inside)]) for name, t in stored.items())
    for folder in ("exported", "own"):
        again = from_pretrained(tmp_path / folder)
        assert again.config == ours.config
        assert torch.equal(again(ids(B, T)), ours(ids(B, T)))


@pytest.mark.parametrize("architecture", ["DebertaForMaskedLM", "DebertaV2ForMaskedLM"])
def test_the_head_of_published_files_is_read_and_what_no_model_uses_is_left_out(architecture, make, tmp_path):
    theirs = make(architecture, legacy=False)
    theirs.save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    leftover = {
        "deberta.embeddings.position_embeddings.weight": torch.zeros(17, 15),
        "mask_predictions.dense.weight": torch.zeros(15, 15),
        "mask_predictions.classifier.bias": torch.zeros(1),
    }
    save_file(load_file(path) | leftover, path, {"format": "pt"})
    torch.testing.assert_close(from_pretrained(tmp_path)(ids(B, T)), theirs(ids(B, T)).logits)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"relative_attention": False}, "relative_attention=False; the model here can only be True"),
        ({"pos_att_type": "c2p"}, r"pos_att_type=\['c2p'\]; the model here can only be \['c2p', 'p2c'\]"),
        ({"position_biased_input": True}, "position_biased_input=True; the model here can only be False"),
        ({"type_vocab_size": 2}, "type_vocab_size=2; the model here can only be 0"),
    ],
)
def test_another_kind_of_the_first_version_is_refused(change, message, make, tmp_path):
    make("DebertaModel", **change).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share_att_key": False}, "share_att_key=False; the model here can only be True"),
        ({"norm_rel_ebd": "none"}, "norm_rel_ebd='none'; the model here can only be 'layer_norm'"),
        ({"conv_kernel_size": 3}, "conv_kernel_size=3; the model here can only be 0"),
        ({"position_buckets": -1}, "num_buckets must be a positive integer, not -1"),
    ],
)
def test_another_kind_of_the_third_version_is_refused(change, message, make, tmp_path):
    make("DebertaV2Model", **change).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        from_pretrained(tmp_path)


LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
BUCKETS = V3 | {"position_buckets": 256, "max_relative_positions": -1}


@pytest.mark.parametrize(
    ("preset", "count", "sizes"),
    [
        ("base", 138_601_728, BASE),
        ("large", 405_163_008, LARGE),
        ("v3-small", 141_304_320, BASE | BUCKETS | {"num_hidden_layers": 6}),
        ("v3-base", 183_831_552, BASE | BUCKETS),
        ("v3-large", 434_012_160, LARGE | BUCKETS),
    ],
)
def test_parameter_counts_are_theirs(preset, count, sizes, transformers):
    kind = {name: SIZES[name] for name in ("relative_attention", "position_biased_input", "pos_att_type")}
    family = "DebertaV2" if preset.startswith("v3") else "Deberta"
    config = getattr(transformers, f"{family}Config")(**kind, **sizes)
    with torch.device("meta"):
        ours = [p.numel() for p in DeBERTa(DeBERTaConfig.preset(preset)).parameters()]
        theirs = [p.numel() for p in getattr(transformers, f"{family}Model")(config).parameters()]
    assert sum(ours) == sum(theirs) == count
