"""Two streams: relative attention beside the paper's sum, and what each stream may know."""

import pytest
import torch
from torch import nn

from pioneers.layers import (
    FeedForward,
    RelativeAttention,
    TwoStreamBlock,
    relative_sinusoids,
    sinusoidal_table,
)

B, T, D, H, K = 2, 7, 18, 3, 6


@pytest.fixture
def attn():
    torch.manual_seed(0)
    attn = RelativeAttention(D, H)
    for p in attn.parameters():
        nn.init.normal_(p, std=0.4)
    return attn


def test_the_table_of_distances_holds_sines_then_cosines():
    table, absolute = relative_sinusoids(T, D), sinusoidal_table(T, D)
    sines, cosines = absolute[:, 0::2], absolute[:, 1::2]
    torch.testing.assert_close(table[T - 1 :], torch.cat([sines, cosines], dim=1))
    torch.testing.assert_close(table[:T].flip(0), torch.cat([-sines, cosines], dim=1))


def slow(attn, query, content, segments, mask):
    """The sum of the docstring, one query and one key at a time."""
    table = attn.distance_proj(relative_sinusoids(T, D))
    q, k, v = attn.q_proj(query), attn.k_proj(content), attn.v_proj(content)
    out = torch.zeros(B, T, D)
    for b in range(B):
        for h in range(H):
            head = slice(h * K, (h + 1) * K)
            for i in range(T):
                scores = torch.full((T,), -torch.inf)
                for j in range(T):
                    segment = attn.segment[int(segments[b, i] != segments[b, j]), h]
                    score = (q[b, i, head] + attn.content_bias[h]) @ k[b, j, head]
                    score = score + (q[b, i, head] + attn.distance_bias[h]) @ table[i - j + T - 1, head]
                    score = score + (q[b, i, head] + attn.segment_bias[h]) @ segment
                    scores[j] = score / K**0.5 if mask[b, i, j] else -torch.inf
                out[b, i, head] = scores.softmax(0) @ v[b, :, head]
    return attn.o_proj(out)


def test_the_scores_are_those_of_the_papers(attn):
    query, content = torch.randn(2, B, T, D)
    segments = torch.randint(3, (B, T))
    mask = (torch.rand(B, T, T) < 0.5) | torch.eye(T, dtype=torch.bool)
    other = (segments[:, :, None] != segments[:, None]).long()
    got = attn(query, content, relative_sinusoids(T, D), other_segment=other, mask=mask[:, None])
    torch.testing.assert_close(got, slow(attn, query, content, segments, mask), atol=1e-5, rtol=1e-4)


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="num_heads=5 must divide d_model=18"):
        RelativeAttention(D, 5)


def test_a_query_stream_depends_on_what_its_mask_shows_and_never_on_its_own_token(attn):
    block = TwoStreamBlock(attn, FeedForward(D), d_model=D)
    earlier = torch.ones(T, T, dtype=torch.bool).tril(-1)
    content = earlier | torch.eye(T, dtype=torch.bool)
    h = torch.randn(1, T, D, requires_grad=True)
    masks = {"content_mask": content, "query_mask": earlier}
    states = block(h, torch.randn(1, T, D), relative_sinusoids(T, D), **masks)
    for state, allowed in zip(states, (content, earlier), strict=True):
        for t in range(T):
            (grad,) = torch.autograd.grad(state[0, t].square().sum(), h, retain_graph=True)
            assert torch.equal(grad[0].abs().sum(-1) > 0, allowed[t])


def test_without_queries_there_is_one_stream(attn):
    block, h = TwoStreamBlock(attn, FeedForward(D), d_model=D), torch.randn(B, T, D)
    distances = relative_sinusoids(T, D)
    alone, none = block(h, None, distances)
    assert none is None
    assert torch.equal(alone, block(h, torch.randn(B, T, D), distances)[0])
