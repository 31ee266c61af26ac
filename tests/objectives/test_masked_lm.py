import math

import pytest
import torch
import torch.nn.functional as F

from pioneers.objectives import masked_lm, masked_lm_loss

MASK, V, SPECIAL = 3, 1009, (0, 1, 2, 3)


def corrupt(ids, **how):
    generator = torch.Generator().manual_seed(0)
    return masked_lm(ids, mask_id=MASK, vocab_size=V, special_ids=SPECIAL, generator=generator, **how)


def test_shares_are_those_of_the_paper_within_binomial_error():
    ids = torch.randint(4, V, (1000, 1000), generator=torch.Generator().manual_seed(1))
    inputs, targets = corrupt(ids)
    chosen = targets != -100
    n = int(chosen.sum())

    def within_error(count, trials, p):
        return abs(count - trials * p) < 4 * math.sqrt(trials * p * (1 - p))

    assert within_error(n, ids.numel(), 0.15)
    assert within_error(int((inputs[chosen] == MASK).sum()), n, 0.8)
    # a random token is the old one once in 1005 draws
    changed = (inputs[chosen] != MASK) & (inputs[chosen] != ids[chosen])
    assert within_error(int(changed.sum()), n, 0.1 * (1 - 1 / 1005))
    assert within_error(int((inputs[chosen] == ids[chosen]).sum()), n, 0.1 * (1 + 1 / 1005))
    assert torch.equal(inputs[~chosen], ids[~chosen])
    assert torch.equal(targets[chosen], ids[chosen])


def test_every_place_and_every_token_is_chosen_as_often_as_any_other():
    ids = torch.randint(4, 14, (100_000, 10), generator=torch.Generator().manual_seed(1))
    _, targets = corrupt(ids)
    chosen = targets != -100
    for place in range(10):
        n = int(chosen[:, place].sum())
        assert abs(n - 15_000) < 4 * math.sqrt(100_000 * 0.15 * 0.85)
    for token in range(4, 14):
        trials = int((ids == token).sum())
        assert abs(int((targets == token).sum()) - 0.15 * trials) < 4 * math.sqrt(trials * 0.15 * 0.85)


def test_special_tokens_are_neither_chosen_nor_drawn():
    ids = torch.arange(4).repeat(50, 5)
    inputs, targets = corrupt(ids, mask_prob=1.0)
    assert torch.equal(inputs, ids)
    assert (targets == -100).all()
    ordinary = torch.full((200, 100), 7)
    drawn, _ = corrupt(ordinary, mask_prob=1.0, shares=(0.0, 1.0, 0.0))
    assert drawn.min() >= 4
    assert drawn.max() < V
    assert drawn.unique().numel() == V - 4


def test_loss_of_the_chosen_rows_is_the_loss_of_all_rows():
    torch.manual_seed(0)
    logits, ids = torch.randn(2, 7, V), torch.randint(4, V, (2, 7))
    _, targets = corrupt(ids, mask_prob=0.5)
    few = masked_lm_loss(logits[targets != -100], targets)
    torch.testing.assert_close(few, masked_lm_loss(logits, targets))
    wanted = targets[targets != -100]
    torch.testing.assert_close(few, F.nll_loss(logits[targets != -100].log_softmax(-1), wanted))
    with pytest.raises(ValueError, match=r"14 rows of logits for \d+ tokens to predict"):
        masked_lm_loss(logits.flatten(0, 1), targets)


def test_bad_shares_are_refused():
    ids = torch.full((1, 3), 7)
    with pytest.raises(ValueError, match="must sum to 1"):
        corrupt(ids, shares=(0.8, 0.1, 0.2))
    with pytest.raises(ValueError, match=r"mask_prob must be in \(0, 1\], not 15"):
        corrupt(ids, mask_prob=15)


def test_the_pieces_of_a_word_are_chosen_together_and_as_often_as_before():
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(4, V, (20_000, 11), generator=generator)
    ids[:, [0, 10]] = 2
    starts = torch.rand(ids.shape, generator=generator) < 0.6
    word_ids = starts.cumsum(1)
    word_ids = word_ids - word_ids[:, :1]
    inputs, targets = corrupt(ids, word_ids=word_ids)
    chosen = targets != -100
    same = (word_ids[:, 1:9] == word_ids[:, 2:10]) & (ids[:, 2:10] != 2)
    assert same.sum() > 50_000
    assert torch.equal(chosen[:, 1:9][same], chosen[:, 2:10][same])
    assert not chosen[:, [0, 10]].any()
    for place in range(1, 10):
        assert abs(int(chosen[:, place].sum()) - 3000) < 4 * math.sqrt(20_000 * 0.15 * 0.85)
    both = same & chosen[:, 1:9]
    masked = inputs == MASK
    differ = int((masked[:, 1:9] != masked[:, 2:10])[both].sum())  # each piece is masked or not on its own
    assert abs(differ - 0.32 * int(both.sum())) < 6 * math.sqrt(int(both.sum()) * 0.32 * 0.68)


def test_every_word_a_token_is_ordinary_masking():
    ids = torch.randint(4, V, (5, 13), generator=torch.Generator().manual_seed(1))
    alone = torch.arange(13).repeat(5, 1)
    for ours, plain in zip(corrupt(ids, word_ids=alone), corrupt(ids), strict=True):
        assert torch.equal(ours, plain)
    for wrong in (alone[:, :-1], alone + 1, alone - 1):
        with pytest.raises(ValueError, match=r"the number of its word, from 0 to T - 1 = 12"):
            corrupt(ids, word_ids=wrong)


def test_static_masking_repeats_ten_versions_and_dynamic_masking_none():
    ids = torch.randint(4, V, (3, 101), generator=torch.Generator().manual_seed(1))

    def versions(generators):
        how = {"mask_id": MASK, "vocab_size": V, "special_ids": SPECIAL}
        return [tuple(masked_lm(ids, **how, generator=g)[0].flatten().tolist()) for g in generators]

    static = versions(torch.Generator().manual_seed(epoch % 10) for epoch in range(40))
    assert static == static[:10] * 4
    assert len(set(static)) == 10
    running = torch.Generator().manual_seed(0)
    assert len(set(versions(running for _ in range(40)))) == 40
