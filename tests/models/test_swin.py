import pytest
import torch

from pioneers.analysis import record_attention
from pioneers.layers import FeedForward, MultiHeadAttention, TransformerBlock, WindowBias
from pioneers.models import Swin, SwinConfig, SwinV2, SwinV2Config
from pioneers.models.swin import SwinStage

B, CLASSES = 2, 7
SIZES = {
    "image_size": 45, "patch_size": 3, "num_classes": CLASSES, "d_model": 10, "num_layers": (3,),
    "num_heads": (5,), "window_size": 5, "in_channels": 2,
}  # fmt: skip
TWO = {**SIZES, "image_size": 36, "num_layers": (2, 3), "num_heads": (5, 2), "window_size": 3}
BOTH = pytest.mark.parametrize(("model", "config"), [(Swin, SwinConfig), (SwinV2, SwinV2Config)])


def images(side):
    return torch.randn(B, 2, side, side, generator=torch.Generator().manual_seed(0))


@BOTH
def test_grids_halve_and_widths_double(model, config):
    torch.manual_seed(0)
    swin = model(config(**TWO)).eval()
    assert swin.hidden_states(images(36)).shape == (B, 6, 6, 20)
    assert swin(images(36)).shape == (B, CLASSES)
    headless = model(config(**TWO | {"num_classes": 0})).eval()
    headless.load_state_dict({n: t for n, t in swin.state_dict().items() if not n.startswith("head.")})
    torch.testing.assert_close(swin.head(headless(images(36))), swin(images(36)))


@BOTH
def test_a_patch_is_seen_in_its_window_only_until_windows_are_shifted(model, config):
    """Grid of 15 x 15 patches in windows of 5: three after the first block, then across their borders."""
    torch.manual_seed(0)
    swin = model(config(**SIZES)).eval()
    changed = images(45)
    changed[:, :, 18:21, 18:21] += 1  # the patch in row and column 6, in the window of rows 5 to 9

    def reached(blocks):
        stage = swin.stages[0]
        stage.stack.blocks, kept = stage.stack.blocks[:blocks], stage.stack.blocks
        stage.biases, biases = stage.biases[:blocks], stage.biases
        moved = (swin.hidden_states(changed) - swin.hidden_states(images(45))).abs().sum(dim=(0, 3)) > 1e-5
        stage.stack.blocks, stage.biases = kept, biases
        rows, columns = moved.nonzero().T
        return sorted(set(rows.tolist())), sorted(set(columns.tolist()))

    assert reached(1) == (list(range(5, 10)),) * 2
    assert reached(2) == (list(range(2, 12)),) * 2  # shifted windows: rows 2 to 6, 7 to 11
    assert reached(3) == (list(range(15)),) * 2


@BOTH
def test_attention_maps_have_an_axis_of_windows(model, config):
    swin = model(config(**SIZES)).eval()
    with record_attention(swin) as maps, torch.no_grad():
        swin(images(45))
    assert [m.shape for m in maps] == [(B, 9, 5, 25, 25)] * 3
    assert [bool((m == 0).any()) for m in maps] == [False, True, False]


@BOTH
def test_blocks_are_skipped_more_often_the_later_they_are(model, config):
    swin = model(config(**TWO, drop_path=0.4))
    shares = [block.drop_path for stage in swin.stages for block in stage.stack.blocks]
    assert shares == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])


def test_a_stage_whose_grid_is_one_window_has_no_mask():
    block, bias = TransformerBlock(MultiHeadAttention(6, 3), FeedForward(6)), WindowBias(3, 5)
    stage = SwinStage([block, block], [bias, bias], side=5, window_size=5)
    x = torch.randn(B, 5, 5, 6, generator=torch.Generator().manual_seed(0))
    once = block(x.flatten(1, 2), bias=bias())
    torch.testing.assert_close(stage(x), block(once, bias=bias()).unflatten(1, (5, 5)))
    with pytest.raises(ValueError, match="window_size=3 must divide the grid of 5 x 5 tokens"):
        SwinStage([block], [bias], side=5, window_size=3)


def test_the_second_version_normalises_what_is_added():
    """Each layer adds a vector of mean square 1 to the stream, whatever its weights are."""
    torch.manual_seed(0)
    swin = SwinV2(SwinV2Config(**SIZES)).eval()
    block = swin.stages[0].stack.blocks[0]
    for p in block.attn.parameters():
        p.data.mul_(50)
    x = torch.randn(B, 3, 7, 10)
    added = block.norm_attn_out(block.attn(x))
    torch.testing.assert_close(added.square().mean(dim=-1), torch.ones(B, 3, 7), atol=1e-3, rtol=0)
    torch.testing.assert_close(block(x) - x - added, block.norm_ffn_out(block.ffn(x + added)))


def count(model, config):
    with torch.device("meta"):
        return sum(p.numel() for p in model(config).parameters())


@pytest.mark.parametrize(
    ("model", "config", "counts"),
    [
        (
            Swin,
            SwinConfig,
            {"tiny": 28_288_354, "small": 49_606_258, "base": 87_768_224, "large": 196_532_476},
        ),
        (SwinV2, SwinV2Config, {"tiny": 28_347_154, "small": 49_728_418, "base": 87_918_816}),
    ],
)
def test_presets_have_the_published_sizes(model, config, counts):
    """28, 50, 88 and 197 million, as the authors list them: Liu et al. 2021, 2022."""
    assert {name: count(model, config.preset(name)) for name in config.presets} == counts
    published = {"tiny": 28, "small": 50, "base": 88, "large": 197}
    assert {name: round(n / 1e6) for name, n in counts.items()} == {name: published[name] for name in counts}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_heads": (5,)}, r"num_heads must be as many numbers as num_layers=\(2, 3\), not \(5,\)"),
        ({"num_heads": (5, 3)}, "num_heads=3 must divide d_model=20"),
        ({"num_layers": (2, 0)}, "num_layers must be positive integers, one for each stage"),
        ({"num_layers": (), "num_heads": ()}, "num_layers must be positive integers, one for each stage"),
        ({"image_size": 39}, "image_size must be a multiple of 6 for so many stages, not 39"),
        ({"window_size": 5}, "window_size must be a divisor of the 12 x 12 tokens of stage 0, not 5"),
        ({"drop_path": 1.0}, "drop_path must be at least 0 and less than 1"),
        ({"image_mean": (0.5,)}, "image_mean must be one number a channel"),
        ({"labels": ("a",)}, "1 labels for 7 classes"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SwinConfig(**TWO | changes)
    with pytest.raises(ValueError, match="trained_windows must be "):
        SwinV2Config(**TWO, trained_windows=(3,))


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"images must be \(B, C, height, width\) with \(2, 45, 45\)"):
        Swin(SwinConfig(**SIZES))(images(36))
