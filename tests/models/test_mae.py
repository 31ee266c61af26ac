import pytest
import torch

from pioneers.layers import patchify
from pioneers.models import MAE, MAEConfig
from pioneers.objectives import mask_patches, masked_pixel_loss

CONFIG = MAEConfig(
    image_size=15, patch_size=5, d_model=12, num_layers=2, num_heads=3, in_channels=2, decoder_d_model=8,
    decoder_layers=1, decoder_heads=2,
)  # fmt: skip
B, N = 5, 9


@pytest.fixture
def model():
    torch.manual_seed(0)
    return MAE(CONFIG).eval()


@pytest.fixture
def images():
    return torch.rand(B, 2, 15, 15, generator=torch.Generator().manual_seed(1))


def hidden(ratio=0.6):
    return mask_patches(torch.rand(B, N, generator=torch.Generator().manual_seed(2)), mask_ratio=ratio)


def test_it_predicts_the_pixels_of_every_patch(model, images):
    visible, restore, _ = hidden()
    assert model(images, visible, restore).shape == (B, N, 50)
    assert model.encode(images, visible).shape == (B, 1 + 3, 12)


def test_what_is_hidden_changes_nothing(model, images):
    visible, restore, masked = hidden()
    pixels = masked[:, None, :, None].expand(B, 2, N, 25).transpose(1, 2).flatten(2)
    covered = patchify(images, 5).masked_fill(pixels, 0.5)
    square = covered.view(B, 3, 3, 2, 5, 5).permute(0, 3, 1, 4, 2, 5).reshape(images.shape)
    assert not torch.equal(square, images)
    torch.testing.assert_close(model(square, visible, restore), model(images, visible, restore))


def test_the_order_of_the_visible_patches_does_not_count(model, images):
    visible, restore, _ = hidden()
    k = visible.shape[1]
    turned = visible.flip(1)
    places = torch.where(restore < k, k - 1 - restore, restore)
    torch.testing.assert_close(model(images, turned, places), model(images, visible, restore))


def test_the_encoder_becomes_a_vit_with_the_same_states_and_learned_positions(model, images):
    vit = model.to_vit(num_classes=7)
    assert vit(images).shape == (B, 7)
    everything = torch.arange(N).expand(B, -1)
    torch.testing.assert_close(vit.hidden_states(images), model.encode(images, everything))
    assert all(p.requires_grad for p in vit.parameters())
    vit(images).sum().backward()
    assert vit.embed.position.table.grad.any()
    with torch.no_grad():
        vit.stack.blocks[0].ffn.up.weight.zero_()
    assert model.vit.stack.blocks[0].ffn.up.weight.any()  # it is a copy
    assert model.to_vit()(images).shape == (B, 12)


def test_positions_are_sines_that_stay(model):
    for position in (model.vit.embed.position, model.position):
        assert not position.table.requires_grad
        assert not position.table[0].any()
        assert len(position.table.unique(dim=0)) == 1 + N


def test_it_learns_to_fill_in_what_the_rest_of_the_image_tells():
    """All pixels of an image have one colour."""
    torch.manual_seed(0)
    model, draw = MAE(CONFIG), torch.Generator().manual_seed(3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(300):
        images = torch.rand(16, 2, 1, 1, generator=draw).expand(-1, -1, 15, 15)
        visible, restore, masked = mask_patches(torch.rand(16, N, generator=draw))
        loss = masked_pixel_loss(
            model(images, visible, restore), images, masked, patch_size=5, normalise=False
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-10:]) / 10 < 0.04 < 1 / 12 < losses[0]  # 1/12 is the variance of the colours


def test_the_papers_encoders_are_the_vits():
    for name, millions in (("base16", 86), ("large16", 303), ("huge14", 631)):
        with torch.device("meta"):
            vit = MAE(MAEConfig.preset(name)).to_vit()
        assert sum(p.numel() for p in vit.parameters()) // 10**6 in (millions - 1, millions)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"patch_size": 4}, "patch_size must be a divisor"),
        ({"d_model": 6}, "d_model must be divisible by 4"),
        ({"decoder_d_model": 6}, "decoder_d_model must be divisible by 4"),
        ({"decoder_heads": 3}, "num_heads=3 must divide d_model=8"),
        ({"decoder_layers": 0}, "decoder_layers must be a positive integer"),
    ],
)
def test_sizes_that_cannot_be_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        CONFIG.replace(**changes)
