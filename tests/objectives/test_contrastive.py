import math

import pytest
import torch

from pioneers.objectives import contrastive_loss, pair_logits

B, E, SCALE = 5, 3, 7.0


def vectors(seed):
    return 3 * torch.randn(B, E, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def slow_loss(images, texts, scale, mistake=None):
    """One pair after the other, with one of the mistakes that are easily made."""

    def score(i, j):
        dot = float(images[i] @ texts[j])
        lengths = (
            1 if mistake == "no normalisation" else math.sqrt(images[i] @ images[i] * (texts[j] @ texts[j]))
        )
        return dot / lengths * (1 if mistake == "no temperature" else scale)

    by_image = [-score(i, i) + math.log(sum(math.exp(score(i, j)) for j in range(B))) for i in range(B)]
    by_text = [-score(i, i) + math.log(sum(math.exp(score(j, i)) for j in range(B))) for i in range(B)]
    return sum(by_image) / B if mistake == "only one direction" else (sum(by_image) + sum(by_text)) / (2 * B)


def test_it_is_the_mean_of_both_directions_over_cosines_and_temperature():
    images, texts = vectors(0), vectors(1)
    loss = contrastive_loss(pair_logits(images, texts, SCALE)).item()
    assert loss == pytest.approx(slow_loss(images, texts, SCALE), rel=1e-9)
    for mistake in ("only one direction", "no normalisation", "no temperature"):
        assert abs(loss - slow_loss(images, texts, SCALE, mistake)) > 0.01, mistake


def test_images_and_texts_may_change_places():
    images, texts = vectors(0), vectors(1)
    one, other = pair_logits(images, texts, SCALE), pair_logits(texts, images, SCALE)
    torch.testing.assert_close(one, other.T)
    torch.testing.assert_close(contrastive_loss(one), contrastive_loss(other))


def test_the_length_of_a_vector_does_not_count_and_the_order_of_the_pairs_neither():
    images, texts = vectors(0), vectors(1)
    logits = pair_logits(images, texts, SCALE)
    torch.testing.assert_close(pair_logits(images * torch.arange(1, 6)[:, None], 0.2 * texts, SCALE), logits)
    order = torch.tensor([3, 0, 4, 1, 2])
    mixed = contrastive_loss(pair_logits(images[order], texts[order], SCALE))
    torch.testing.assert_close(mixed, contrastive_loss(logits))


def test_a_sharper_temperature_helps_only_what_is_right():
    right, wrong = torch.eye(B), torch.eye(B).roll(1, dims=0)
    losses = [
        [contrastive_loss(pair_logits(torch.eye(B), t, s)) for s in (1.0, 10.0)] for t in (right, wrong)
    ]
    assert losses[0][1] < losses[0][0] < math.log(B) < losses[1][0] < losses[1][1]


def test_pairs_need_as_many_images_as_texts():
    with pytest.raises(ValueError, match=r"logits \(B, B\), not \(2, 3\)"):
        contrastive_loss(torch.zeros(2, 3))
