import pytest
import torch

from pioneers.layers import patchify
from pioneers.objectives import keep_patches, mask_patches, masked_pixel_loss, restore_patches

B, N, D = 5, 12, 3


def noise(seed=0, patches=N):
    return torch.rand(B, patches, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("ratio", [0.25, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("patches", [10, 12, 16, 49])
def test_every_image_keeps_the_same_share_and_the_two_parts_are_all(patches, ratio):
    hidden = mask_patches(noise(patches=patches), mask_ratio=ratio)
    kept = {10: {0.25: 7, 0.5: 5, 0.75: 2, 0.9: 1}, 49: {0.25: 36, 0.5: 24, 0.75: 12, 0.9: 4}}
    if patches in kept:
        assert hidden.visible.shape == (B, kept[patches][ratio])
    for row, masked in zip(hidden.visible, hidden.masked, strict=True):
        assert sorted(row.tolist()) == (~masked).nonzero().flatten().tolist()
    assert torch.equal(hidden.restore.sort(dim=1).values, torch.arange(patches).expand(B, -1))


def test_the_largest_noise_is_hidden_and_every_patch_equally_often():
    drawn = torch.rand(4000, 8, generator=torch.Generator().manual_seed(0))
    masked = mask_patches(drawn, mask_ratio=0.75).masked
    assert torch.equal(
        drawn.masked_fill(masked, 0).amax(1) < drawn.masked_fill(~masked, 2).amin(1), masked.any(1)
    )
    assert (masked.float().mean(0) - 0.75).abs().max() < 5 * (0.75 * 0.25 / 4000) ** 0.5


def test_what_was_kept_comes_back_to_its_place():
    patches = torch.randn(B, N, D, generator=torch.Generator().manual_seed(1))
    hidden = mask_patches(noise())
    back = restore_patches(keep_patches(patches, hidden.visible), torch.full((D,), 9.0), hidden.restore)
    assert torch.equal(back[~hidden.masked], patches[~hidden.masked])
    assert (back[hidden.masked] == 9).all()


def test_with_the_wrong_permutation_it_does_not():
    patches = torch.randn(B, N, D, generator=torch.Generator().manual_seed(1))
    hidden = mask_patches(noise())
    order = noise().argsort(dim=1)  # the permutation in place of its inverse
    back = restore_patches(keep_patches(patches, hidden.visible), torch.zeros(D), order)
    assert not torch.equal(back[~hidden.masked], patches[~hidden.masked])


def test_a_share_that_shows_or_hides_nothing_is_refused():
    for ratio, shown in ((0.95, 0), (1.0, 0), (0.0, 12)):
        with pytest.raises(ValueError, match=rf"mask_ratio={ratio} leaves {shown} of 12 patches visible"):
            mask_patches(noise(), mask_ratio=ratio)


def slow_loss(predicted, images, masked, normalise, *, everywhere=False, per_image=False):
    """One pixel after the other; the last two arguments are mistakes."""
    errors = []
    for b in range(len(images)):
        for n in range(masked.shape[1]):
            row, column = divmod(n, 4)
            patch = images[b, :, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            pixels = patch.flatten()
            of = images[b].flatten() if per_image else pixels
            if normalise:
                pixels = (pixels - of.mean()) / (of.var() + 1e-6).sqrt()
            if everywhere or masked[b, n]:
                errors.append(
                    sum((predicted[b, n, i] - pixels[i]) ** 2 for i in range(len(pixels))) / len(pixels)
                )
    return sum(errors) / len(errors)


@pytest.mark.parametrize("normalise", [True, False])
def test_only_hidden_patches_count_each_normalised_by_itself(normalise):
    generator = torch.Generator().manual_seed(2)
    images = torch.rand(B, 2, 6, 8, generator=generator, dtype=torch.float64)
    predicted = torch.randn(B, N, 8, generator=generator, dtype=torch.float64)
    masked = mask_patches(noise()).masked
    loss = masked_pixel_loss(predicted, images, masked, patch_size=2, normalise=normalise)
    torch.testing.assert_close(loss, slow_loss(predicted, images, masked, normalise))
    for mistake in ("everywhere", "per_image")[: 1 + normalise]:
        wrong = slow_loss(predicted, images, masked, normalise, **{mistake: True})
        assert (wrong - loss).abs() > 1e-3, mistake


def test_predicting_nothing_costs_about_one_for_normalised_pixels_and_nothing_where_all_are_equal():
    images = torch.rand(B, 1, 28, 28, generator=torch.Generator().manual_seed(3))
    masked = mask_patches(noise(patches=16)).masked
    nothing = torch.zeros(B, 16, 49)
    torch.testing.assert_close(
        masked_pixel_loss(nothing, images, masked, patch_size=7), torch.tensor(48 / 49), atol=1e-3, rtol=0
    )
    assert masked_pixel_loss(nothing, torch.ones_like(images), masked, patch_size=7) == 0


def test_the_pixels_themselves_are_without_error():
    images = torch.rand(B, 2, 6, 8, generator=torch.Generator().manual_seed(4))
    masked = mask_patches(noise()).masked
    assert masked_pixel_loss(patchify(images, 2), images, masked, patch_size=2, normalise=False) == 0
