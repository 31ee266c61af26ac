import pytest
import torch

import pioneers.models.gpt as gpt
from pioneers.generation import generate
from pioneers.models import GPT, GPTConfig

SIZES = GPTConfig(vocab_size=31, max_seq_len=23, d_model=20, num_layers=3, num_heads=5, dropout=0.3)


def model(**changes):
    torch.manual_seed(0)
    made = GPT(SIZES.replace(**changes)).eval()
    for p in made.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return made


@torch.no_grad()
def test_a_step_gives_the_logits_of_the_whole_sequence():
    readable = model()
    ids = torch.randint(31, (3, 11))
    caches = readable.new_caches()
    readable.hidden_states(ids[:, :7], caches=caches)
    step = readable.new_step()
    for length in range(8, 12):
        torch.testing.assert_close(
            step(ids[:, length - 1 : length], caches), readable(ids[:, :length])[:, -1], atol=1e-5, rtol=1e-5
        )
        assert caches[-1].length == length


@pytest.mark.parametrize("batch", [1, 3])
def test_generation_by_steps_equals_the_naive_loop(batch):
    readable = model()
    prompts = torch.randint(31, (batch, 5))
    fast = generate(readable, prompts, 17, top_k=1)
    assert torch.equal(fast, generate(readable, prompts, 17, top_k=1, use_cache=False))
    assert not fast.is_inference()


def test_post_norm_gated_and_large_models_have_no_fast_step(monkeypatch):
    assert model(norm_first=False).new_step() is None
    assert model(activation="swiglu").new_step() is None
    assert model().new_step() is not None
    monkeypatch.setattr(gpt, "STEP_MAX_EMBEDDING", 31 * 20 - 1)
    assert model().new_step() is None


def test_a_step_sees_the_weights_as_they_are_when_generation_begins():
    readable = model()
    prompts = torch.randint(31, (2, 5))
    before = generate(readable, prompts, 7, top_k=1)
    with torch.no_grad():
        readable.stack.blocks[0].attn.q_proj.weight.mul_(-3)
        readable.stack.blocks[1].ffn.up.weight.mul_(-3)
    after = generate(readable, prompts, 7, top_k=1)
    assert not torch.equal(before, after)
    assert torch.equal(after, generate(readable, prompts, 7, top_k=1, use_cache=False))
