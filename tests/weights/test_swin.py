"""Swin, Swin V2 and DeiT beside those of other libraries: logits, gradients, weights both ways."""

import importlib
import json
from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from pioneers import from_pretrained
from pioneers.models import DeiT, DeiTConfig, Swin, SwinConfig, SwinV2, SwinV2Config
from pioneers.weights import (
    deit_timm,
    save_huggingface,
    save_pretrained,
    swin_torchvision,
    to_ours,
    to_theirs,
)
from pioneers.weights.registry import layout_of

B, CLASSES = 2, 7
SIZES = {"image_size": 36, "patch_size": 2, "embed_dim": 10, "depths": [3, 2], "num_heads": [5, 2]}
SIZES |= {"window_size": 3}  # grids of 18 and 9
OURS = {
    "image_size": 36, "patch_size": 2, "num_classes": CLASSES, "d_model": 10, "num_layers": (3, 2),
    "num_heads": (5, 2), "window_size": 3,
}  # fmt: skip
DEIT = {
    "image_size": 15,
    "patch_size": 5,
    "hidden_size": 21,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
}
DEIT |= {"intermediate_size": 19}


def randomised(model):
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        nn.init.normal_(p, std=0.3, generator=generator)
    return model.eval()


@pytest.fixture
def make(transformers):
    """A function from the name of a class of theirs to such a model, with random weights."""

    def make(architecture, **changes):
        family = architecture.split("For")[0].removesuffix("Model")
        sizes = DEIT if family == "DeiT" else SIZES
        config = getattr(transformers, f"{family}Config")(**(sizes | {"num_labels": CLASSES} | changes))
        return randomised(getattr(transformers, architecture)(config))

    return make


def images(side):
    return torch.randn(B, 3, side, side, generator=torch.Generator().manual_seed(1))


def assert_same(got, expected):
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


def gradients(model):
    return {name: p.grad for name, p in model.named_parameters()}


def assert_same_gradients(ours, wanted):
    mine = gradients(ours)
    assert wanted.keys() == mine.keys()
    for name, grad in mine.items():
        largest = float(wanted[name].abs().max())
        if name.endswith("k_proj.bias") and largest < 1e-12:
            continue  # softmax takes it out again: both are rounding errors
        assert largest > 1e-6, name
        torch.testing.assert_close(grad / largest, wanted[name] / largest, atol=1e-4, rtol=0, msg=name)


def backward(*outputs):
    weights = torch.randn(outputs[0].shape, generator=torch.Generator().manual_seed(2)).double()
    for out in outputs:
        (out * weights).sum().backward()


HUGGING_FACE = {
    "SwinForImageClassification": Swin,
    "Swinv2ForImageClassification": SwinV2,
    "DeiTForImageClassificationWithTeacher": DeiT,
}


@pytest.mark.parametrize("architecture", HUGGING_FACE)
def test_logits_and_all_gradients_are_those_of_hugging_face(architecture, make, tmp_path):
    theirs = make(architecture)
    theirs.save_pretrained(tmp_path)
    ours = from_pretrained(tmp_path)
    assert type(ours) is HUGGING_FACE[architecture]
    pixels = images(ours.config.image_size)
    assert_same(ours(pixels), theirs(pixels).logits)
    got, expected = ours.double()(pixels.double()), theirs.double()(pixels.double()).logits
    assert got.std() > 0.01
    backward(got, expected)
    for p in theirs.parameters():  # in a file gradients have the names of files, not those of modules
        p.data = p.grad
    theirs.save_pretrained(tmp_path / "gradients")
    stored = load_file(tmp_path / "gradients" / "model.safetensors")
    assert_same_gradients(ours, to_ours(stored, layout_of(ours).tensors))


@pytest.mark.parametrize("architecture", [*HUGGING_FACE, "SwinModel", "Swinv2Model"])
def test_an_exported_folder_is_theirs(architecture, make, transformers, tmp_path):
    theirs = make(architecture)
    theirs.save_pretrained(tmp_path / "theirs")
    ours = from_pretrained(tmp_path / "theirs")
    pixels = images(ours.config.image_size)
    if architecture.endswith("Model"):
        assert ours.config.num_classes == 0
        assert_same(ours(pixels), theirs(pixels).pooler_output)
    save_huggingface(ours, tmp_path / "exported")
    save_pretrained(ours, tmp_path / "own")
    stored, given = (load_file(tmp_path / f / "model.safetensors") for f in ("exported", "theirs"))
    stored = {name.removeprefix("swin.").removeprefix("swinv2."): t for name, t in stored.items()}
    given = {name.removeprefix("swin.").removeprefix("swinv2."): t for name, t in given.items()}
    assert stored.keys() == given.keys()
    assert all(torch.equal(given[name], tensor) for name, tensor in stored.items())
    there = getattr(transformers, architecture).from_pretrained(tmp_path / "exported").eval()
    assert torch.equal(there(pixels)[0], theirs(pixels)[0])
    processor = json.loads((tmp_path / "exported" / "preprocessor_config.json").read_text())
    assert processor["size"] == {"height": ours.config.image_size, "width": ours.config.image_size}
    for folder in ("exported", "own"):
        again = from_pretrained(tmp_path / folder)
        assert again.config == ours.config
        assert torch.equal(again(pixels), ours(pixels))


def test_windows_smaller_in_training_are_read_and_written(make, tmp_path):
    theirs = make("Swinv2ForImageClassification", pretrained_window_sizes=[2, 3])
    theirs.save_pretrained(tmp_path / "theirs")
    ours = from_pretrained(tmp_path / "theirs")
    assert ours.config.trained_windows == (2, 3)
    assert_same(ours(images(36)), theirs(images(36)).logits)
    save_huggingface(ours, tmp_path / "ours")
    again = from_pretrained(tmp_path / "ours")
    assert again.config == ours.config


@pytest.mark.parametrize("architecture", ["SwinForImageClassification", "Swinv2ForImageClassification"])
def test_a_grid_that_is_one_window_is_not_shifted(architecture, make, tmp_path):
    theirs = make(architecture, image_size=12)  # grids of 6 and 3
    theirs.save_pretrained(tmp_path)
    ours = from_pretrained(tmp_path)
    assert [stage.shift for stage in ours.stages] == [1, 0]
    assert_same(ours(images(12)), theirs(images(12)).logits)


def test_indices_that_older_files_hold_are_not_needed(make, tmp_path):
    theirs = make("SwinForImageClassification")
    theirs.save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    index = "swin.encoder.layers.1.blocks.0.attention.self.relative_position_index"
    save_file({**load_file(path), index: torch.zeros(9, 9)}, path)
    assert_same(from_pretrained(tmp_path)(images(36)), theirs(images(36)).logits)


@pytest.mark.parametrize(
    ("architecture", "changes", "message"),
    [
        ("SwinForImageClassification", {"mlp_ratio": 3.0}, "mlp_ratio=3.0; the model here can only be 4.0"),
        ("SwinForImageClassification", {"use_absolute_embeddings": True}, "use_absolute_embeddings=True"),
        ("SwinForImageClassification", {"image_size": 34}, "image_size must be a multiple of 4"),
        ("Swinv2ForImageClassification", {"window_size": 7}, "window_size must be a divisor of the 18 x 18"),
        ("Swinv2ForImageClassification", {"pretrained_window_sizes": [2, 0]}, "all positive or all 0"),
        ("DeiTForImageClassificationWithTeacher", {"qkv_bias": False}, "qkv_bias=False"),
    ],
)
def test_what_the_models_here_cannot_do_is_refused(architecture, changes, message, make, tmp_path):
    make(architecture, **changes).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        from_pretrained(tmp_path)


def torchvision_model(version, **changes):
    library = importlib.import_module("torchvision.models.swin_transformer")
    sizes = {
        "patch_size": [2, 2], "embed_dim": 10, "depths": [3, 2], "num_heads": [5, 2], "window_size": [3, 3],
        "num_classes": CLASSES,
    }  # fmt: skip
    if version == 2:
        parts = {"block": library.SwinTransformerBlockV2, "downsample_layer": library.PatchMergingV2}
    else:
        parts = {}
    return randomised(library.SwinTransformer(**sizes, **parts))


@pytest.mark.parametrize("version", [1, 2])
def test_swin_is_torchvisions_and_gives_its_weights_back(version, transformers):
    theirs = torchvision_model(version)
    table = swin_torchvision.TENSORS if version == 1 else swin_torchvision.TENSORS_V2
    rename = partial(to_ours, table=table, drop=swin_torchvision.DROP)
    ours = (Swin(SwinConfig(**OURS)) if version == 1 else SwinV2(SwinV2Config(**OURS))).eval()
    ours.load_state_dict(rename(theirs.state_dict()))
    assert_same(ours(images(36)), theirs(images(36)))
    backward(ours.double()(images(36).double()), theirs.double()(images(36).double()))
    assert_same_gradients(ours, rename(gradients(theirs)))
    back = to_theirs(ours.state_dict(), table)
    stored = theirs.state_dict()
    assert stored.keys() - back.keys() == {
        name for name in stored if "relative_" in name and "bias" not in name
    }
    for name, tensor in back.items():
        if version == 2 and name.endswith("qkv.bias"):
            tensor, kept = (x.view(3, -1)[[0, 2]] for x in (tensor, stored[name]))
            assert torch.equal(tensor, kept)
            assert not back[name].view(3, -1)[1].any()
        else:
            assert torch.equal(tensor, stored[name])


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        *((f"swin_{size[0]}", SwinConfig.preset(size)) for size in ("tiny", "small", "base")),
        *((f"swin_v2_{size[0]}", SwinV2Config.preset(size)) for size in ("tiny", "small", "base")),
    ],
)
def test_presets_have_torchvisions_parameters(name, preset, transformers):
    """Its second version has biases of the keys, which it sets to zero; here there are none."""
    with torch.device("meta"):
        theirs = importlib.import_module("torchvision.models").get_model(name)
        ours = (SwinV2 if isinstance(preset, SwinV2Config) else Swin)(preset)
    counted = [sum(p.numel() for p in model.parameters()) for model in (ours, theirs)]
    widths = sum(blocks * preset.width(stage) for stage, blocks in enumerate(preset.num_layers))
    assert counted[1] - counted[0] == (widths if isinstance(preset, SwinV2Config) else 0)


def test_deit_is_timms_and_gives_its_weights_back(transformers):
    timm = importlib.import_module("timm.models.deit")
    theirs = timm.VisionTransformerDistilled(
        img_size=15, patch_size=5, embed_dim=21, depth=2, num_heads=3, num_classes=CLASSES
    )
    randomised(theirs)
    sizes = {"image_size": 15, "patch_size": 5, "d_model": 21, "num_layers": 2, "num_heads": 3}
    ours = DeiT(DeiTConfig(num_classes=CLASSES, **sizes)).eval()
    rename = partial(to_ours, table=deit_timm.TENSORS)
    ours.load_state_dict(rename(theirs.state_dict()))
    assert_same(ours(images(15)), theirs(images(15)))
    backward(ours.double()(images(15).double()), theirs.double()(images(15).double()))
    assert_same_gradients(ours, rename(gradients(theirs)))
    theirs.train().set_distilled_training()
    pixels = images(15).double()
    for mine, other in zip(ours.train()(pixels), theirs(pixels), strict=True):
        assert_same(mine, other)
    back = to_theirs(ours.state_dict(), deit_timm.TENSORS)
    assert back.keys() == theirs.state_dict().keys()
    assert all(torch.equal(back[name], tensor) for name, tensor in theirs.state_dict().items())
