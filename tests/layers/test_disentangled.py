"""Disentangled attention beside the paper's sum, one query and one key at a time."""

import math

import pytest
import torch
from torch import nn

from pioneers.analysis import record_attention
from pioneers.layers import (
    BucketedDistances,
    ClippedDistances,
    DisentangledAttention,
    FeedForward,
    TransformerBlock,
    padding_mask,
)

B, T, D, H, K = 2, 7, 15, 3, 5


@pytest.fixture(params=[3, 11], ids=["clipped", "within reach"])
def attn(request):
    torch.manual_seed(0)
    attn = DisentangledAttention(D, H, ClippedDistances(D, request.param))
    for p in attn.parameters():
        nn.init.normal_(p, std=0.5)
    return attn


def delta(i, j, k):
    """Equation (3)."""
    return 0 if i - j <= -k else 2 * k - 1 if i - j >= k else i - j + k


def slow_weights(attn, x):
    """Equation (4), with the authors' δ(i, j) in its last term."""
    k = attn.distances.max_distance
    content_q, content_k = attn.q_proj(x), attn.k_proj(x)
    table = attn.distances.table.weight
    distance_k, distance_q = attn.distance_k_proj(table), attn.distance_q_proj(table)
    scores = torch.empty(len(x), H, T, T)
    for h in range(H):
        head = slice(h * K, (h + 1) * K)
        for i in range(T):
            for j in range(T):
                row = delta(i, j, k)
                q, key = content_q[:, i, head], content_k[:, j, head]
                terms = q * key + q * distance_k[row, head] + key * distance_q[row, head]
                scores[:, h, i, j] = terms.sum(-1) / (3 * K) ** 0.5
    return scores.softmax(-1)


def test_the_scores_are_those_of_the_paper(attn):
    x = torch.randn(B, T, D)
    expected = slow_weights(attn, x)
    torch.testing.assert_close(attn.weights(x), expected, atol=1e-5, rtol=1e-5)
    values = attn.v_proj(x).unflatten(-1, (H, K)).transpose(1, 2)
    out = attn.o_proj((expected @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(attn(x), out, atol=1e-5, rtol=1e-5)


def test_scores_depend_on_the_distance_and_not_on_the_position(attn):
    x = torch.randn(B, 3, D)
    first, later = torch.cat([x, torch.zeros(B, 4, D)], 1), torch.cat([torch.zeros(B, 4, D), x], 1)
    mask = padding_mask(torch.tensor([3, 3]), T)
    torch.testing.assert_close(attn(later, mask=mask.flip(-1))[:, 4:], attn(first, mask=mask)[:, :3])
    assert not torch.allclose(attn(x.flip(1)), attn(x).flip(1), atol=1e-2)


def test_a_bias_is_added_to_the_scores(attn):
    x, bias = torch.randn(B, T, D), torch.randn(H, T, T)
    expected = (attn.weights(x).log() + bias).softmax(-1)
    torch.testing.assert_close(attn.weights(x, bias=bias), expected, atol=1e-5, rtol=1e-5)


def test_a_block_takes_it_and_its_weights_can_be_recorded(attn):
    x = torch.randn(B, T, D)
    block = TransformerBlock(attn, FeedForward(D), norm_placement="post")
    with record_attention(block) as maps:
        assert block(x).shape == x.shape
    torch.testing.assert_close(maps[0], slow_weights(attn, x), atol=1e-5, rtol=1e-5)


def test_the_table_is_dropped_in_training_only(attn):
    x = torch.randn(B, T, D)
    attn.dropout = 0.5
    assert torch.equal(attn.eval().weights(x), attn.weights(x))
    attn.train()
    assert not torch.equal(attn.weights(x), attn.weights(x))


def test_buckets_hold_one_distance_each_and_then_more_and_more():
    torch.manual_seed(0)
    _, row = BucketedDistances(6, 8, 64)(1, 70)
    forward = (row[0].flip(0) - 8).tolist()  # by distance from the query, the last position
    # one each up to 4, then 4 + ⌈3 · ln(d / 4) / ln(63 / 4)⌉ in the other half, and 7 from there on
    assert forward[:5] == [0, 1, 2, 3, 4]
    steps = {d: math.ceil(3 * math.log(d / 4) / math.log(63 / 4) - 1e-6) for d in range(5, 70)}
    assert forward[5:] == [min(7, 4 + step) for step in steps.values()]
    _, both = BucketedDistances(6, 8, 64)(70, 70)
    assert torch.equal(both[0, :64] - 8, 8 - both[:64, 0])
    assert (both[0, 64:] == 0).all()  # the first row is for all keys that are too far ahead


def test_shared_projections_are_those_of_the_content():
    attn = DisentangledAttention(D, H, BucketedDistances(D, 4, 11), shared=True)
    assert attn.distance_k_proj is attn.k_proj
    assert attn.distance_q_proj is attn.q_proj
    assert attn(torch.randn(B, T, D)).shape == (B, T, D)


@pytest.mark.parametrize("buckets", [3, 11])
def test_buckets_that_cannot_be_are_refused(buckets):
    with pytest.raises(ValueError, match=f"at least 4 and less than max_distance=11, not {buckets}"):
        BucketedDistances(D, buckets, 11)
