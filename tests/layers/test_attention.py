"""Attention: explicit equals fused, and both equal PyTorch's own layer. Axes are distinct primes."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pioneers.layers import (
    KVCache,
    MultiHeadAttention,
    Rotary,
    attention,
    attention_weights,
    causal_mask,
    rms_norm,
)

B, H, T, S, K, KV, D = 2, 3, 5, 7, 11, 13, 33


@pytest.fixture
def qkv():
    torch.manual_seed(0)
    return torch.randn(B, H, T, K), torch.randn(B, H, S, K), torch.randn(B, H, S, KV)


def by_loops(q, k, v, allowed, bias):
    """Attention with Python numbers only: the independent reference."""
    out = torch.zeros(*q.shape[:-1], v.shape[-1])
    for b, h, t in itertools.product(*map(range, q.shape[:3])):
        keys = [s for s in range(k.shape[2]) if allowed[b, h, t, s]]
        scores = [
            sum(x * y for x, y in zip(q[b, h, t].tolist(), k[b, h, s].tolist(), strict=True))
            / math.sqrt(q.shape[-1])
            + bias[b, h, t, s].item()
            for s in keys
        ]
        total = sum(math.exp(x) for x in scores)
        for s, x in zip(keys, scores, strict=True):
            out[b, h, t] += math.exp(x) / total * v[b, h, s]
    return out


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("masked", ["no", "some", "whole rows"])
def test_explicit_fused_and_loops_agree(qkv, causal, with_bias, masked):
    q, k, v = qkv
    mask = None
    if masked != "no":
        mask = torch.rand(B, 1, T, S) > 0.4
        if masked == "whole rows":
            mask[:, :, 1] = False
    bias = torch.randn(H, T, S) if with_bias else None
    fused = attention(q, k, v, mask=mask, bias=bias, causal=causal)
    explicit = attention_weights(q, k, mask=mask, bias=bias, causal=causal) @ v
    allowed = torch.ones(B, H, T, S, dtype=torch.bool) if mask is None else mask.expand(B, H, T, S)
    if causal:
        allowed = allowed & causal_mask(T, S)
    loops = by_loops(q, k, v, allowed, torch.zeros(B, H, T, S) if bias is None else bias.expand(B, H, T, S))
    torch.testing.assert_close(fused, explicit, atol=1e-5, rtol=0)
    torch.testing.assert_close(explicit, loops, atol=1e-5, rtol=0)


@pytest.mark.parametrize("with_bias", [False, True])
def test_a_row_with_nothing_to_attend_to_gives_zeros_and_no_nan_in_the_gradient(qkv, with_bias):
    q, k, v = (x.requires_grad_() for x in qkv)
    mask = torch.ones(T, S, dtype=torch.bool)
    mask[2] = False
    bias = torch.zeros(T, S) if with_bias else None
    for out in (
        attention(q, k, v, mask=mask, bias=bias),
        attention_weights(q, k, mask=mask, bias=bias) @ v,
    ):
        assert (out[:, :, 2] == 0).all()
        grads = torch.autograd.grad(out.sum(), (q, k, v))
        assert all(g.isfinite().all() for g in grads)
        assert (grads[0][:, :, 2] == 0).all()


def test_gradients_of_fused_and_explicit_agree(qkv):
    q, k, v = (x.requires_grad_() for x in qkv)
    target = torch.randn(B, H, T, KV)
    fused = torch.autograd.grad((attention(q, k, v, causal=True) * target).sum(), (q, k, v))
    out = attention_weights(q, k, causal=True) @ v
    explicit = torch.autograd.grad((out * target).sum(), (q, k, v))
    for ours, theirs in zip(fused, explicit, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def test_causal_with_fewer_queries_than_keys_is_aligned_bottom_right(qkv):
    _, k, v = qkv
    whole = attention(k, k, v, causal=True)
    torch.testing.assert_close(attention(k[:, :, -T:], k, v, causal=True), whole[:, :, -T:])
    pytorch = F.scaled_dot_product_attention(k[:, :, -T:], k, v, is_causal=True)
    assert not torch.allclose(pytorch, whole[:, :, -T:], atol=1e-2)  # the trap this guards against


def test_bf16_on_cpu_takes_the_explicit_form_and_stays_close(qkv):
    q, k, v = qkv
    out = attention(q.bfloat16(), k.bfloat16(), v.bfloat16(), causal=True)
    assert out.dtype == torch.bfloat16
    # bfloat16 keeps 8 bits: three rounded products of values near 1 leave an error of about 1e-2.
    torch.testing.assert_close(out.float(), attention(q, k, v, causal=True), atol=3e-2, rtol=0)


@pytest.mark.parametrize("length", [129, 200, 1030])
def test_bf16_in_training_takes_queries_in_chunks_and_gets_the_same_numbers(length):
    torch.manual_seed(0)
    shape = (1, 2, length, 8)
    given = [torch.randn(shape).bfloat16().requires_grad_() for _ in range(3)]
    weight = torch.randn(shape)
    out = attention(*given, causal=True)
    grads = torch.autograd.grad((out.float() * weight).sum(), given)
    exact = [x.detach().float().requires_grad_() for x in given]
    expected = attention(*exact, causal=True)
    wanted = torch.autograd.grad((expected * weight).sum(), exact)
    torch.testing.assert_close(out.float(), expected, atol=3e-2, rtol=0)
    for got, want in zip(grads, wanted, strict=True):
        assert (got.float() - want).norm() < 0.02 * want.norm()


def test_large_scores_neither_overflow_nor_lose_their_row_sum():
    q = torch.full((1, 1, 2, 3), 1e4)
    weights = attention_weights(q, q, causal=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 1, 2))


def test_dropout_drops_weights_only_when_asked(qkv):
    q, k, v = qkv
    torch.manual_seed(0)
    assert not torch.equal(attention(q, k, v, dropout=0.5), attention(q, k, v))
    assert torch.equal(attention(q, k, v, dropout=0.0), attention(q, k, v))


def test_errors_say_what_does_not_fit(qkv):
    q, k, v = qkv
    with pytest.raises(ValueError, match=r"same width K.*q is \(2, 3, 5, 11\), k is \(2, 3, 7, 10\)"):
        attention(q, k[..., :-1], v)
    with pytest.raises(ValueError, match="one value per key: k has 7 positions, v has 6"):
        attention(q, k, v[:, :, :-1])
    with pytest.raises(ValueError, match=r"mask must be boolean .* pass additive terms as bias="):
        attention(q, k, v, mask=torch.zeros(T, S))
    for dtype in (torch.float32, torch.bfloat16):
        with pytest.raises(
            ValueError, match=r"same batch and heads, or 1 .* \(2, 3, 5, 11\), \(2, 2, 7, 11\)"
        ):
            attention(q.to(dtype), k[:, :2].to(dtype), v[:, :2].to(dtype))
        with pytest.raises(
            ValueError, match=r"same batch and heads, or 1 .* \(2, 3, 7, 11\), \(4, 3, 7, 13\)"
        ):
            attention(q.to(dtype), k.to(dtype), torch.cat([v, v]).to(dtype))
    with pytest.raises(ValueError, match=r"same batch and heads, or 1 .* \(2, 3, 5, 11\), \(4, 3, 7, 11\)"):
        attention_weights(q, torch.cat([k, k]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_one_head_and_one_batch_of_keys_serve_all(qkv, dtype):
    q, k, v = (x.to(dtype) for x in qkv)
    k, v = k[:1, :1], v[:1, :1]
    whole = attention(q, k.expand(B, H, -1, -1), v.expand(B, H, -1, -1))
    torch.testing.assert_close(attention(q, k, v), whole)
    torch.testing.assert_close((attention_weights(q, k) @ v), whole, atol=3e-2, rtol=0)


def torch_layer(ours):
    """nn.MultiheadAttention with the weights of ours."""
    theirs = nn.MultiheadAttention(D, H, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in (ours.q_proj, ours.k_proj, ours.v_proj)]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in (ours.q_proj, ours.k_proj, ours.v_proj)]))
        theirs.out_proj.load_state_dict(ours.o_proj.state_dict())
    return theirs


def test_multi_head_attention_equals_pytorchs():
    torch.manual_seed(0)
    ours = MultiHeadAttention(D, H)
    theirs = torch_layer(ours)
    x, memory, positions = torch.randn(B, T, D), torch.randn(B, S, D), torch.randn(B, S, D)
    keep = torch.ones(B, S, dtype=torch.bool)
    keep[0, 4:] = False
    pairs = [
        (ours(x), theirs(x, x, x)),
        (ours(x, causal=True), theirs(x, x, x, attn_mask=~causal_mask(T))),
        (ours(x, memory), theirs(x, memory, memory)),
        (ours(x, memory + positions, memory), theirs(x, memory + positions, memory)),
        (
            ours(x, memory, mask=keep[:, None, None]),
            theirs(x, memory, memory, key_padding_mask=~keep),
        ),
    ]
    for got, (expected, _) in pairs:
        torch.testing.assert_close(got, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(
        ours.weights(x, memory), theirs(x, memory, memory, average_attn_weights=False)[1], atol=1e-6, rtol=0
    )


def test_multi_head_attention_has_pytorchs_gradients():
    torch.manual_seed(0)
    ours = MultiHeadAttention(D, H)
    theirs = torch_layer(ours)
    x, y = torch.randn(B, T, D, requires_grad=True), torch.randn(B, T, D)
    got = torch.autograd.grad((ours(x, causal=True) * y).sum(), [x, ours.q_proj.weight, ours.o_proj.bias])
    out = theirs(x, x, x, attn_mask=~causal_mask(T), need_weights=False)[0]
    expected = torch.autograd.grad((out * y).sum(), [x, theirs.in_proj_weight, theirs.out_proj.bias])
    for mine, other in zip(got, (expected[0], expected[1][:D], expected[2]), strict=True):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=0)


def test_grouped_queries_share_keys_and_values():
    torch.manual_seed(0)
    grouped = MultiHeadAttention(42, 6, num_kv_heads=2)
    full = MultiHeadAttention(42, 6)
    with torch.no_grad():
        for name in ("q_proj", "o_proj"):
            getattr(full, name).load_state_dict(getattr(grouped, name).state_dict())
        for name in ("k_proj", "v_proj"):
            small, large = getattr(grouped, name), getattr(full, name)
            large.weight.copy_(small.weight.unflatten(0, (2, 7)).repeat_interleave(3, 0).flatten(0, 1))
            large.bias.copy_(small.bias.unflatten(0, (2, 7)).repeat_interleave(3, 0).flatten(0, 1))
    x = torch.randn(11, T, 42)
    torch.testing.assert_close(grouped(x), full(x), atol=1e-6, rtol=0)


def test_queries_and_keys_of_each_head_are_normalised_before_they_are_turned():
    torch.manual_seed(0)
    attn = MultiHeadAttention(42, 6, num_kv_heads=2, head_dim=8, qk_norm=nn.RMSNorm)
    for norm in (attn.q_norm, attn.k_norm):
        nn.init.normal_(norm.weight)
    rotary, x = Rotary(8, max_seq_len=T), torch.randn(11, T, 42)

    def heads(proj, count, gain=None):
        split = proj(x).view(11, T, count, 8).transpose(1, 2)
        eps = torch.finfo(torch.float32).eps  # the default of nn.RMSNorm
        return split if gain is None else rotary(rms_norm(split, gain, eps=eps))

    q = heads(attn.q_proj, 6, attn.q_norm.weight)
    k = heads(attn.k_proj, 2, attn.k_norm.weight).repeat_interleave(3, 1)
    weights = (q @ k.mT / 8**0.5).softmax(-1)
    out = weights @ heads(attn.v_proj, 2).repeat_interleave(3, 1)
    torch.testing.assert_close(attn.weights(x, rotary=rotary), weights, atol=1e-5, rtol=0)
    expected = attn.o_proj(out.transpose(1, 2).flatten(2))
    torch.testing.assert_close(attn(x, rotary=rotary), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("qk_norm", [None, nn.RMSNorm])
@pytest.mark.parametrize("prefill", [1, 3, 5])
def test_cached_equals_uncached(prefill, qk_norm):
    torch.manual_seed(0)
    attn = MultiHeadAttention(66, 6, num_kv_heads=3, qk_norm=qk_norm)
    x = torch.randn(7, T, 66)
    cache = KVCache(max_seq_len=T)
    pieces = [x[:, :prefill], *x[:, prefill:].split(1, dim=1)]
    stepwise = torch.cat([attn(piece, causal=True, cache=cache) for piece in pieces], dim=1)
    torch.testing.assert_close(stepwise, attn(x, causal=True), atol=1e-5, rtol=0)
    with pytest.raises(ValueError, match=r"the cache holds 5 positions and 6 are needed"):
        attn(x[:, :1], causal=True, cache=cache)


def test_dropout_is_off_in_eval_mode():
    torch.manual_seed(0)
    attn = MultiHeadAttention(12, 3, dropout=0.5)
    x = torch.randn(B, T, 12)
    assert not torch.equal(attn(x), attn(x))
    attn.eval()
    assert torch.equal(attn(x), attn(x))


def test_impossible_heads_are_refused():
    with pytest.raises(ValueError, match="num_heads=5 must divide d_model=12"):
        MultiHeadAttention(12, 5)
    with pytest.raises(ValueError, match="num_kv_heads=4 must divide num_heads=6"):
        MultiHeadAttention(12, 6, num_kv_heads=4)
