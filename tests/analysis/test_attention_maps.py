import pytest
import torch

from pioneers.analysis import record_attention
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
