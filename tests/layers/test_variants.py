"""Attention by other rules: each equals a slow form of itself, and refuses what it cannot do."""

import pytest
import torch
from torch import nn

from pioneers.analysis import record_attention
from pioneers.layers import (
    FeedForward,
    KernelAttention,
    KVCache,
    LinformerAttention,
    LocalAttention,
    MultiHeadAttention,
    Rotary,
    TransformerBlock,
    attention,
    attention_weights,
    causal_mask,
    hide_keys,
    kernel_attention,
    kernel_weights,
    local_attention,
    local_global_mask,
    padding_mask,
    positive_features,
    window_mask,
)
from pioneers.layers.kernel_attention import CHUNK

D, H, K = 15, 3, 5


def heads(T, S=None, seed=0):
    torch.manual_seed(seed)
    return (torch.randn(2, H, n, K) for n in (T, S or T, S or T))


def linformer(**sizes):
    torch.manual_seed(0)
    return LinformerAttention(D, H, **{"max_seq_len": 11, "num_compressed": 4, **sizes})


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("window", "num_global"), [(1, 0), (2, 0), (3, 2), (5, 1), (20, 3)])
def test_the_local_mask_entry_by_entry(window, num_global, causal):
    mask = local_global_mask(11, window=window, num_global=num_global, causal=causal)
    for t in range(11):
        for s in range(11):
            near = abs(t - s) < window or t < num_global or s < num_global
            assert mask[t, s] == (near and (s <= t or not causal)), (t, s)


def test_without_global_positions_the_causal_mask_is_the_window_mask():
    assert torch.equal(local_global_mask(11, window=3, causal=True), window_mask(11, window=3))


def test_random_keys_are_added_and_nothing_is_taken_away():
    torch.manual_seed(0)
    plain = local_global_mask(37, window=2, num_global=1)
    mixed = local_global_mask(37, window=2, num_global=1, num_random=5)
    added = (mixed & ~plain).sum(-1)
    assert (mixed | plain).equal(mixed) and added.max() <= 5 and added[1:].float().mean() > 3


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("window", "num_global"), [(1, 0), (2, 0), (3, 2), (5, 1), (7, 9), (40, 3)])
@pytest.mark.parametrize("T", [1, 13, 21])
def test_blocks_give_what_the_mask_gives(T, window, num_global, causal):
    q, k, v = heads(T)
    how = {"window": window, "num_global": min(num_global, T), "causal": causal}
    expected = attention_weights(q, k, mask=local_global_mask(T, **how)) @ v
    torch.testing.assert_close(local_attention(q, k, v, **how), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("causal", [True, False])
def test_a_local_layer_is_multi_head_attention_with_a_mask(causal):
    torch.manual_seed(0)
    local, full, rotary = (
        LocalAttention(12, 3, window=3, num_global=2),
        MultiHeadAttention(12, 3),
        Rotary(4, max_seq_len=13),
    )
    full.load_state_dict(local.state_dict())
    x = torch.randn(2, 13, 12)
    mask = local_global_mask(13, window=3, num_global=2, causal=causal)
    expected = full(x, mask=mask, rotary=rotary)
    torch.testing.assert_close(local(x, causal=causal, rotary=rotary), expected, atol=1e-5, rtol=1e-5)
    with record_attention(local) as maps:
        local(x, causal=causal, rotary=rotary)
    torch.testing.assert_close(maps[0], full.weights(x, mask=mask, rotary=rotary))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("T", [1, 7, CHUNK, CHUNK + 1, 2 * CHUNK + 5])
def test_running_sums_give_what_the_quadratic_form_gives(T, causal):
    q, k, v = heads(T)
    expected = kernel_weights(q, k, causal=causal) @ v
    torch.testing.assert_close(kernel_attention(q, k, v, causal=causal), expected, atol=1e-5, rtol=1e-4)


def test_kernel_weights_are_products_of_features_in_proportion():
    q, k, _ = heads(7)
    weights = kernel_weights(q, k, causal=True)
    raw = (positive_features(q) @ positive_features(k).mT) * causal_mask(7)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, H, 7))
    torch.testing.assert_close(weights * raw.sum(-1, keepdim=True), raw)
    x = torch.tensor([-3.0, -0.5, 0.0, 2.5])
    expected = torch.where(x > 0, x + 1, x.exp())
    torch.testing.assert_close(positive_features(x), expected)


def test_step_by_step_a_kernel_layer_is_a_recurrent_network():
    torch.manual_seed(0)
    layer, x, state = KernelAttention(D, H), torch.randn(2, 11, D), None
    expected = layer(x, causal=True)
    for t in range(11):
        out, state = layer.step(x[:, t], state)
        torch.testing.assert_close(out, expected[:, t], atol=1e-5, rtol=1e-4)
    assert state.shape == (2, H, K, K + 1)


def test_padding_changes_nothing():
    torch.manual_seed(1)
    x, mask = torch.randn(2, 11, D), padding_mask(torch.tensor([7, 11]), 11)
    for layer in (KernelAttention(D, H), linformer()):
        noise = x.clone()
        noise[0, 7:] = 100.0
        padded, noisy = layer(x, mask=mask), layer(noise, mask=mask)
        torch.testing.assert_close(padded[0, :7], noisy[0, :7])
        torch.testing.assert_close(padded[0, :7], layer(x[:1, :7])[0], atol=1e-5, rtol=1e-4)
    nothing = kernel_attention(*heads(3), mask=torch.zeros(2, 1, 1, 3, dtype=torch.bool))
    assert (nothing == 0).all()


def test_linformer_attends_to_mixtures():
    layer, x = linformer(), torch.randn(2, 7, D)
    q, k, v = (p(x).unflatten(-1, (H, K)).transpose(1, 2) for p in (layer.q_proj, layer.k_proj, layer.v_proj))
    k, v = layer.compress_keys[:, :7] @ k, layer.compress_values[:, :7] @ v  # (2, H, 4, K)
    weights = (q @ k.mT / K**0.5).softmax(-1)
    expected = layer.o_proj((weights @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(layer.weights(x), weights)


def test_linformer_with_unit_matrices_is_attention():
    layer, full = linformer(num_compressed=11), MultiHeadAttention(D, H)
    with torch.no_grad():
        layer.compress_keys.copy_(torch.eye(11))
        layer.compress_values.copy_(torch.eye(11))
    full.load_state_dict({name: p for name, p in layer.state_dict().items() if "compress" not in name})
    x = torch.randn(2, 11, D)
    torch.testing.assert_close(layer(x), full(x))
    torch.testing.assert_close(layer.weights(x), full.weights(x))


def test_linformer_starts_with_mixtures_as_long_as_a_key():
    layer = linformer(max_seq_len=997, num_compressed=101)
    mixed = layer.compress_keys @ torch.randn(997, 53)
    assert mixed.std().item() == pytest.approx(1, abs=0.05)


LAYERS = {
    "local": lambda: LocalAttention(D, H, window=2, num_global=1),
    "kernel": lambda: KernelAttention(D, H),
    "linformer": linformer,
}


@pytest.mark.parametrize("name", LAYERS)
def test_every_rule_fits_into_a_block_and_learns(name):
    block = TransformerBlock(LAYERS[name](), FeedForward(D))
    block(torch.randn(2, 11, D)).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in block.parameters())
    unused = {name for name, p in block.named_parameters() if not p.grad.any()}
    assert unused <= {"attn.k_proj.bias"}  # the same for all keys: the softmax removes it


@pytest.mark.parametrize("name", ["local", "kernel"])
def test_a_causal_layer_does_not_see_what_comes_later(name):
    torch.manual_seed(0)
    layer, x = LAYERS[name](), torch.randn(2, 11, D)
    changed = x.clone()
    changed[:, 6:] += 1
    torch.testing.assert_close(layer(x, causal=True)[:, :6], layer(changed, causal=True)[:, :6])
    assert not torch.allclose(layer(x, causal=True)[:, 6:], layer(changed, causal=True)[:, 6:])


REFUSED = [
    ("local", {"mask": causal_mask(11)}, "LocalAttention takes no mask: it has one of its own"),
    ("local", {"bias": torch.zeros(11, 11)}, "only a few"),
    ("local", {"cache": KVCache(11)}, "cuts a sequence into blocks"),
    ("kernel", {"bias": torch.zeros(11, 11)}, "no scores"),
    ("kernel", {"rotary": Rotary(6, max_seq_len=11)}, "takes no rotary"),
    ("kernel", {"cache": KVCache(11)}, "use step"),
    ("kernel", {"mask": causal_mask(11)}, "the same for all queries"),
    ("kernel", {"mask": torch.ones(2, 1, 1, 11)}, "must be boolean"),
    ("linformer", {"causal": True}, "LinformerAttention takes no causal: a compressed key is a mixture"),
    ("linformer", {"bias": torch.zeros(11, 11)}, "mixtures of positions"),
    ("linformer", {"rotary": Rotary(6, max_seq_len=11)}, "takes no rotary"),
    ("linformer", {"cache": KVCache(11)}, "changes every"),
    ("linformer", {"mask": causal_mask(11)}, "the same for all queries"),
]


@pytest.mark.parametrize(("name", "given", "message"), REFUSED)
def test_what_a_rule_cannot_use_is_refused(name, given, message):
    with pytest.raises(ValueError, match=message):
        LAYERS[name]()(torch.zeros(2, 11, D), **given)
    if "cache" not in given:
        with pytest.raises(ValueError, match=message):
            LAYERS[name]().weights(torch.zeros(2, 11, D), **given)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: local_global_mask(5, window=0), "window must be at least 1"),
        (lambda: local_global_mask(5, window=1, num_global=-1), "num_global at least 0"),
        (lambda: local_global_mask(5, window=1, num_global=6), "between 0 and T=5"),
        (lambda: local_global_mask(5, window=1, num_random=-1), "between 0 and T=5"),
        (lambda: local_attention(*heads(3, 5), window=1), "the same shape"),
        (lambda: LocalAttention(D, H, window=0), "window must be at least 1"),
        (lambda: kernel_attention(*heads(3, 5), causal=True), "3 queries and 5 keys"),
        (lambda: linformer(num_compressed=12), "between 1 and max_seq_len=11"),
        (lambda: linformer()(torch.zeros(1, 13, D)), "13 keys"),
        (lambda: hide_keys(torch.zeros(1, 1, 3, 1), causal_mask(3)), "the same for all queries"),
    ],
)
def test_bad_sizes_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_attention_agrees_where_a_window_holds_everything():
    q, k, v = heads(11)
    torch.testing.assert_close(local_attention(q, k, v, window=11), attention(q, k, v), atol=1e-5, rtol=1e-5)
    assert isinstance(LAYERS["kernel"](), nn.Module)
