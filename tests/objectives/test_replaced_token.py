import math

import pytest
import torch
import torch.nn.functional as F

from pioneers.objectives import masked_lm, masked_lm_loss, replaced_token_loss

B, T, V, MASK = 5, 7, 11, 4
REAL = torch.arange(T) < torch.tensor([7, 2, 5, 3, 6])[:, None]


def corrupted():
    """A text, its targets, logits of a generator, and the text with its gaps filled at random."""
    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(5, V, (B, T), generator=draw)
    how = {"mask_id": MASK, "vocab_size": V, "mask_prob": 0.5, "shares": (1.0, 0.0, 0.0)}
    targets = masked_lm(ids, **how, generator=draw)[1]
    gaps = targets != -100
    samples = torch.randint(5, V, (int(gaps.sum()),), generator=draw)
    return ids, targets, torch.randn(len(samples), V, generator=draw), ids.masked_scatter(gaps, samples)


def test_loss_is_that_of_both_models():
    ids, targets, generator_logits, corrupted_ids = corrupted()
    gaps, replaced = targets != -100, corrupted_ids != ids
    assert 0 < replaced.sum() < gaps.sum()  # some samples are the original tokens
    logits = torch.randn(B, T, generator=torch.Generator().manual_seed(2))
    loss = replaced_token_loss(generator_logits, targets, logits, corrupted_ids, mask=REAL)
    terms = [
        -math.log(1 / (1 + math.exp(-logits[b, t] if replaced[b, t] else logits[b, t])))
        for b, t in REAL.nonzero().tolist()
    ]
    expected = F.cross_entropy(generator_logits, targets[gaps]) + 50 * sum(terms) / len(terms)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    without = replaced_token_loss(generator_logits, targets, logits, corrupted_ids, weight=0.0)
    torch.testing.assert_close(without, masked_lm_loss(generator_logits, targets))
    everywhere = replaced_token_loss(generator_logits, targets, logits, corrupted_ids, weight=1.0) - without
    torch.testing.assert_close(everywhere, F.binary_cross_entropy(logits.sigmoid(), replaced.float()))


def test_other_tokens_than_those_of_the_gaps_are_never_replaced():
    ids, targets, generator_logits, corrupted_ids = corrupted()
    logits = torch.full((B, T), -30.0)
    others = targets == -100
    loss = replaced_token_loss(generator_logits, targets, logits, corrupted_ids, mask=others)
    torch.testing.assert_close(loss, masked_lm_loss(generator_logits, targets))
    changed = torch.where(others, ids.roll(1), corrupted_ids)  # not compared where nothing was asked
    assert torch.equal(
        replaced_token_loss(generator_logits, targets, logits, changed),
        replaced_token_loss(generator_logits, targets, logits, corrupted_ids),
    )
