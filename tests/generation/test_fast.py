import pytest
import torch
from torch import nn

from pioneers.generation import fast, generate
from pioneers.generation.fast import fast_decode_step
from pioneers.layers import GatedFeedForward, MultiHeadAttention
from pioneers.models import GPT, GPTConfig

SIZES = GPTConfig(vocab_size=31, max_seq_len=23, d_model=20, num_layers=3, num_heads=5, dropout=0.3)


def model(**changes):
    torch.manual_seed(0)
    return randomised(GPT(SIZES.replace(**changes)))


def randomised(module):
    for p in module.parameters():
        nn.init.normal_(p, std=0.3)
    return module.eval()


@torch.no_grad()
def test_a_step_gives_the_logits_of_the_whole_sequence():
    readable = model(d_ff=37)
    ids = torch.randint(31, (3, 11))
    caches = readable.new_caches()
    readable.hidden_states(ids[:, :7], caches=caches)
    step = fast_decode_step(readable)
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


class Adapter(nn.Module):
    """A matrix with a small change beside it, as LoRA has."""

    def __init__(self, linear):
        super().__init__()
        self.linear, self.change = linear, nn.Linear(linear.in_features, linear.out_features)

    @property
    def bias(self):
        return self.linear.bias

    def forward(self, x):
        return self.linear(x) + self.change(x)


class Louder(GPT):
    def hidden_states(self, input_ids, *, caches=None):
        return 3 * super().hidden_states(input_ids, caches=caches)


def with_gate(gpt):
    gpt.stack.blocks[1].ffn = GatedFeedForward(20, 37)


def with_adapter(gpt):
    gpt.stack.blocks[2].attn.v_proj = Adapter(gpt.stack.blocks[2].attn.v_proj)


def with_shared_keys(gpt):
    gpt.stack.blocks[0].attn = MultiHeadAttention(20, 10, num_kv_heads=2)


def with_normed_queries(gpt):
    gpt.stack.blocks[0].attn = MultiHeadAttention(20, 5, qk_norm=nn.LayerNorm)


def without_a_norm(gpt):
    gpt.stack.blocks[0].norm_ffn = nn.Identity()


def with_a_hook(gpt):
    gpt.stack.blocks[1].register_forward_hook(lambda module, args, out: 2 * out)


def with_a_weighted_residual(gpt):
    gpt.stack.blocks[1].residual_scale = 2.0


CHANGES = [
    with_gate, with_adapter, with_shared_keys, with_normed_queries, without_a_norm, with_a_hook,
    with_a_weighted_residual,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_any_other_part_is_run_by_the_model_itself(change):
    readable = model()
    assert fast_decode_step(readable) is not None
    change(readable)
    randomised(readable)
    assert fast_decode_step(readable) is None
    prompts = torch.randint(31, (2, 5))
    cached = generate(readable, prompts, 9, top_k=1)
    assert torch.equal(cached, generate(readable, prompts, 9, top_k=1, use_cache=False))


def test_post_norm_large_and_derived_models_have_no_fast_step(monkeypatch):
    assert fast_decode_step(model(norm_placement="post")) is None
    assert fast_decode_step(model(norm_placement="sandwich")) is None
    assert fast_decode_step(randomised(Louder(SIZES))) is None
    monkeypatch.setattr(fast, "MAX_EMBEDDING", 31 * 20 - 1)
    assert fast_decode_step(model()) is None


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
