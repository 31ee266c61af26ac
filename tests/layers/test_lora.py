"""Low-rank adapters: a model begins as it was, ends merged as it computed, and only the adapters move."""

import pytest
import torch
from torch import nn

from pioneers.generation import generate
from pioneers.layers import (
    FeedForward,
    LoRALinear,
    QuantizedLinear,
    adapter_state,
    add_lora,
    load_adapter,
    merge_lora,
)
from pioneers.models import GPT, GPTConfig

IN, OUT, RANK, BATCH = 7, 11, 3, 5
ATTENTION = ["*.q_proj", "*.v_proj"]


def gpt(seed=0):
    torch.manual_seed(seed)
    config = GPTConfig(vocab_size=23, max_seq_len=13, d_model=12, num_layers=2, num_heads=3)
    return GPT(config).eval()


def randomised(model, seed=1):
    generator = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        if "lora" in name:
            nn.init.normal_(p, std=0.2, generator=generator)
    return model


def layer(**how):
    torch.manual_seed(0)
    return LoRALinear(nn.Linear(IN, OUT), rank=RANK, **how)


def test_it_begins_as_the_layer_it_wraps():
    adapter, x = layer(alpha=8), torch.randn(BATCH, IN)
    assert torch.equal(adapter(x), adapter.linear(x))
    assert adapter.lora_a.abs().min() > 0


def test_the_correction_is_alpha_over_rank_times_b_a():
    adapter, x = randomised(layer(alpha=6)), torch.randn(BATCH, IN)
    weight = adapter.linear.weight + 6 / RANK * torch.einsum("or,ri->oi", adapter.lora_b, adapter.lora_a)
    torch.testing.assert_close(adapter(x), x @ weight.T + adapter.linear.bias)


def test_dropout_acts_on_the_correction_in_training_alone():
    adapter, x = randomised(layer(dropout=0.5)), torch.randn(BATCH, IN)
    torch.manual_seed(0)
    dropped = nn.functional.dropout(x, 0.5) @ adapter.correction().T
    torch.manual_seed(0)
    torch.testing.assert_close(adapter(x), adapter.linear(x) + dropped)
    assert torch.equal(adapter.eval()(x), adapter(x))


def test_at_the_start_only_b_has_a_gradient():
    adapter = layer()
    adapter(torch.randn(BATCH, IN)).square().sum().backward()
    assert adapter.lora_a.grad.abs().max() == 0 < adapter.lora_b.grad.abs().min()
    assert adapter.linear.weight.grad is None and adapter.linear.bias.grad is None


@pytest.mark.parametrize("rank", [0, IN + 1])
def test_a_rank_that_does_not_fit(rank):
    with pytest.raises(ValueError, match=rf"rank={rank} must be from 1 to {IN}.* from {IN} to {OUT}"):
        LoRALinear(nn.Linear(IN, OUT), rank=rank)


def test_patterns_choose_layers_and_the_rest_is_frozen():
    model = gpt()
    chosen = add_lora(model, ["*.q_proj", "stack.blocks.1.ffn.*"], rank=2)
    assert chosen == [
        "stack.blocks.0.attn.q_proj", "stack.blocks.1.attn.q_proj", "stack.blocks.1.ffn.up",
        "stack.blocks.1.ffn.down",
    ]  # fmt: skip
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {f"{name}.{part}" for name in chosen for part in ("lora_a", "lora_b")}


def test_a_pattern_without_a_match_names_the_layers_there_are():
    model = gpt()
    with pytest.raises(ValueError, match=r"'\*\.query' matches no linear layer; .*blocks.0.attn.q_proj, "):
        add_lora(model, ["*.q_proj", "*.query"], rank=2)
    assert all(p.requires_grad for p in model.parameters())
    with pytest.raises(ValueError, match="there are: none"):
        add_lora(nn.Linear(3, 3), ["*"], rank=1)  # a layer cannot be replaced in itself


def test_a_tied_output_layer_is_refused():
    with pytest.raises(ValueError, match="lm_head shares its matrix"):
        add_lora(gpt(), ["*"], rank=2)


def test_merged_equals_unmerged_and_has_the_keys_it_had():
    model, ids = gpt(), torch.randint(23, (BATCH, 13))
    keys = list(model.state_dict())
    add_lora(model, [*ATTENTION, "*.ffn.*"], rank=RANK, alpha=8)
    randomised(model)
    apart = model(ids)
    merge_lora(model)
    assert list(model.state_dict()) == keys
    torch.testing.assert_close(model(ids), apart, rtol=0, atol=1e-6)
    assert (model(ids) - gpt()(ids)).abs().max() > 0.01
    with pytest.raises(ValueError, match="no adapters to merge"):
        merge_lora(model)


def test_fast_generation_sees_the_adapters():
    model, prompt = gpt(), torch.randint(23, (1, 3))
    plain = generate(model, prompt, max_new_tokens=9)
    add_lora(model, [*ATTENTION, "*.ffn.*"], rank=RANK, alpha=30)
    randomised(model)
    adapted = generate(model, prompt, max_new_tokens=9)
    merge_lora(model)
    assert torch.equal(generate(model, prompt, max_new_tokens=9), adapted)
    assert not torch.equal(plain, adapted)


def test_adapters_move_from_model_to_model_without_the_rest():
    model, other, ids = gpt(), gpt(), torch.randint(23, (BATCH, 13))
    add_lora(model, ATTENTION, rank=RANK)
    state = adapter_state(randomised(model))
    assert sum(tensor.numel() for tensor in state.values()) == 2 * 2 * RANK * (12 + 12)
    add_lora(other, ATTENTION, rank=RANK)
    load_adapter(other, state)
    assert torch.equal(other(ids), model(ids))
    before = state["stack.blocks.0.attn.q_proj.lora_a"].clone()
    randomised(model, seed=2)
    assert torch.equal(state["stack.blocks.0.attn.q_proj.lora_a"], before)  # a copy


def test_an_adapter_of_other_places_or_another_rank_is_refused():
    state = {}
    for names, rank in ((ATTENTION, RANK), (["*.q_proj"], RANK), (ATTENTION, 2)):
        model = gpt()
        add_lora(model, names, rank=rank)
        state = state or adapter_state(model)
        if names != ATTENTION:
            with pytest.raises(ValueError, match=r"differ in 4 names, such as .*0.attn.v_proj.lora_a"):
                load_adapter(model, state)
        elif rank != RANK:
            with pytest.raises(ValueError, match=r"is \(3, 12\) in the adapter and \(2, 12\) in the model"):
                load_adapter(model, state)


def test_an_adapter_around_a_quantised_layer_learns_and_does_not_merge():
    torch.manual_seed(0)
    model = FeedForward(8, 16)
    model.up, model.down = (QuantizedLinear(linear, bits=4) for linear in (model.up, model.down))
    add_lora(model, ["up", "down"], rank=2)
    randomised(model)(torch.randn(BATCH, 8)).square().sum().backward()
    assert all(p.grad.abs().max() > 0 for name, p in model.named_parameters() if "lora" in name)
    with pytest.raises(TypeError, match=r"cannot be added to a QuantizedLinear.*merge into the original"):
        merge_lora(model)
