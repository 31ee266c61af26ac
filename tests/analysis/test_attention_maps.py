import pytest
import torch

from pioneers.analysis import attention_distance, attention_rollout, record_attention
from pioneers.layers import KVCache, MultiHeadAttention
from pioneers.models import GPT, GPTConfig


def test_maps_are_the_weights_the_model_uses():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=11, max_seq_len=7, d_model=12, num_layers=2, num_heads=3)).eval()
    ids = torch.randint(11, (2, 5))
    with record_attention(model) as maps:
        recorded = model(ids)
    assert [m.shape for m in maps] == [(2, 3, 5, 5)] * 2
    assert (maps[0].triu(1) == 0).all()
    torch.testing.assert_close(maps[1].sum(-1), torch.ones(2, 3, 5))
    block = model.stack.blocks[0]
    x = block.norm_attn(model.embed(ids))
    values = block.attn.v_proj(x).unflatten(-1, (3, 4)).transpose(1, 2)
    rebuilt = block.attn.o_proj((maps[0] @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(rebuilt, block.attn(x, causal=True), atol=1e-6, rtol=0)
    assert torch.equal(recorded, model(ids))


def test_recording_stops_with_the_block_even_after_an_error():
    attn = MultiHeadAttention(12, 3)
    x = torch.zeros(1, 2, 12)
    with pytest.raises(RuntimeError, match="on purpose"), record_attention(attn) as maps:
        attn(x)
        raise RuntimeError("on purpose")
    attn(x)
    assert len(maps) == 1


def test_a_cache_cannot_be_recorded():
    attn = MultiHeadAttention(12, 3)
    with record_attention(attn), pytest.raises(ValueError, match="while a key/value cache is in use"):
        attn(torch.zeros(1, 2, 12), cache=KVCache(5))


def random_maps(layers=3, batch=2, heads=5, tokens=7):
    return [torch.rand(batch, heads, tokens, tokens).softmax(dim=-1) for _ in range(layers)]


def test_rollout_by_hand():
    """Token 0 reads token 1 in both layers, token 1 reads itself: half of what is left stays each time."""
    weights = torch.tensor([[[[0.0, 1.0], [0.0, 1.0]]]])
    expected = torch.tensor([[[0.25, 0.75], [0.0, 1.0]]])
    torch.testing.assert_close(attention_rollout([weights, weights]), expected)


def test_rollout_is_what_layers_without_values_compute():
    maps = random_maps()
    start = x = torch.rand(2, 7, 11)
    for weights in maps:
        x = (x + (weights @ x[:, None]).mean(dim=1)) / 2
    torch.testing.assert_close(attention_rollout(maps) @ start, x)


def test_rollout_rows_are_distributions():
    rollout = attention_rollout(random_maps())
    assert rollout.shape == (2, 7, 7)
    assert (rollout > 0).all()
    torch.testing.assert_close(rollout.sum(dim=-1), torch.ones(2, 7))


def test_rollout_says_what_is_missing():
    with pytest.raises(ValueError, match="record_attention"):
        attention_rollout([])
    with pytest.raises(ValueError, match="leave cross-attention out"):
        attention_rollout([torch.rand(2, 5, 7, 7), torch.rand(2, 5, 7, 3)])


def test_attention_distance_by_hand():
    to_itself, to_all = torch.eye(5), torch.full((5, 5), 0.2)
    to_the_next = torch.eye(5).roll(1, dims=1)
    weights = torch.stack([to_itself, to_all, to_the_next])[None]  # (B, H, 1 + N, 1 + N)
    weights[:, :, :, 0] += 3  # what goes to the class token does not count
    weights[:, 2, 4] = to_itself[4]
    side, corner = 7.0, 7 * 2**0.5
    expected = [0, (2 * side + corner) / 4, (side + corner + side + 0) / 4]
    torch.testing.assert_close(attention_distance(weights, patch_size=7), torch.tensor(expected))


@pytest.mark.parametrize("shape", [(1, 2, 6, 6), (1, 2, 3, 5)])
def test_the_distance_asks_for_a_square_of_patches(shape):
    with pytest.raises(ValueError, match="N patches in a square"):
        attention_distance(torch.rand(shape), patch_size=7)
