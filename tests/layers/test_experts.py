"""Experts: beside a loop over tokens, beside `transformers`, and what a capacity does."""

import importlib
import importlib.util

import pytest
import torch
from torch import nn

from pioneers.compat import import_torchvision
from pioneers.layers import (
    FeedForward,
    GatedFeedForward,
    KVCache,
    MixtureOfExperts,
    MultiHeadAttention,
    Stack,
    TopKRouter,
    TransformerBlock,
    init_weights,
    routing,
)

B, T, D, F_, E = 2, 11, 7, 13, 5


def randomised(module):
    torch.manual_seed(0)
    for p in module.parameters():
        nn.init.normal_(p, std=0.5)
    return module


def make(k=1, factor=None, shared=None, expert=FeedForward):
    router = TopKRouter(D, E, k=k, capacity_factor=factor)
    return randomised(MixtureOfExperts(router, [expert(D, F_) for _ in range(E)], shared=shared))


def slow(moe, x):
    """One token and one choice at a time."""
    k, factor = moe.router.k, moe.router.capacity_factor
    room = None if factor is None else -(-round(1000 * factor) * T * k // (1000 * E))
    out = torch.zeros_like(x) if moe.shared is None else moe.shared(x)
    for b in range(len(x)):
        taken = [0] * E
        for t in range(x.shape[1]):
            probabilities = (moe.router.gate.weight @ x[b, t]).softmax(0)
            best = probabilities.argsort(descending=True)[:k].tolist()
            total = sum(probabilities[i] for i in best) if k > 1 else 1.0
            for i in best:
                taken[i] += 1
                if room is None or taken[i] <= room:
                    out[b, t] = out[b, t] + probabilities[i] / total * moe.experts[i](x[b, t])
    return out


@pytest.mark.parametrize("factor", [None, 1.0, 1.25, 0.3])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_each_token_gets_the_weighted_sum_of_its_experts(k, factor):
    moe = make(k, factor)
    x = torch.randn(B, T, D)
    torch.testing.assert_close(moe(x), slow(moe, x), atol=1e-5, rtol=1e-5)


def test_a_shared_expert_is_added_for_every_token():
    moe = make(2, 1.0, shared=FeedForward(D, 3))
    x = torch.randn(B, T, D)
    torch.testing.assert_close(moe(x), slow(moe, x), atol=1e-5, rtol=1e-5)


def test_an_expert_computes_only_its_own_tokens():
    moe, seen = make(2), []
    for expert in moe.experts:
        expert.register_forward_hook(lambda _, given, __: seen.append(len(given[0])))
    moe(torch.randn(B, T, D))
    assert len(seen) == E and sum(seen) == 2 * B * T


@pytest.mark.parametrize("factor", [None, 0.5])
@pytest.mark.parametrize("k", [1, 2])
def test_every_parameter_gets_a_gradient_also_of_experts_that_nobody_chose(k, factor):
    moe = make(k, factor, shared=FeedForward(D, 3))
    moe(torch.randn(1, 1, D)).square().sum().backward()
    assert all(p.grad is not None for p in moe.parameters())
    assert moe.router.gate.weight.grad.abs().sum() > 0
    used = [expert.up.weight.grad.abs().sum() > 0 for expert in moe.experts]
    assert sum(used) == k


def test_with_one_expert_it_is_that_expert():
    ffn = FeedForward(D, F_)
    x = torch.randn(B, T, D)
    torch.testing.assert_close(MixtureOfExperts(TopKRouter(D, 1), [ffn])(x), ffn(x))


def test_room_is_given_in_the_order_of_the_positions():
    router = TopKRouter(D, E, k=2, capacity_factor=0.6)
    nn.init.zeros_(router.gate.weight)
    router.gate.weight.data[3, 0], router.gate.weight.data[1, 0] = 9.0, 5.0
    made = router(torch.ones(B, T, D))
    assert router.capacity(T) == 3  # 0.6 · 11 · 2 / 5 = 2.64
    assert made.experts.unique().tolist() == [1, 3]
    assert made.kept.all(-1).tolist() == [[True] * 3 + [False] * 8] * B
    assert made.dropped().item() == pytest.approx(8 / 11)
    assert made.loads().tolist() == pytest.approx([0, 0.5, 0, 0.5, 0])


@pytest.mark.parametrize(
    ("factor", "tokens", "k", "room"), [(1.1, 50, 1, 11), (1.1, 51, 1, 12), (1, 1, 1, 1)]
)
def test_capacity_is_rounded_up_but_rounding_errors_are_not(factor, tokens, k, room):
    assert TopKRouter(D, E, k=k, capacity_factor=factor).capacity(tokens) == room


@pytest.mark.parametrize("factor", [None, 0.4])
def test_later_tokens_and_other_rows_change_nothing(factor):
    moe = make(2, factor)
    x = torch.randn(B, T, D)
    other = x.clone()
    other[0, 6:], other[1] = torch.randn(T - 6, D), torch.randn(T, D)
    torch.testing.assert_close(moe(x)[0, :6], moe(other)[0, :6])


def make_stack(factor=None):
    def block():
        experts = [GatedFeedForward(D, F_) for _ in range(E)]
        moe = MixtureOfExperts(TopKRouter(D, E, k=2, capacity_factor=factor), experts)
        return TransformerBlock(MultiHeadAttention(D, 1), moe, norm=nn.RMSNorm)

    return Stack([block() for _ in range(3)], nn.RMSNorm(D))


def test_a_stack_with_a_cache_gives_what_it_gives_without():
    stack, caches = randomised(make_stack()), [KVCache(T) for _ in range(3)]
    x = torch.randn(B, T, D)
    pieces = [stack(x[:, t : t + 1], causal=True, caches=caches) for t in range(T)]
    torch.testing.assert_close(torch.cat(pieces, 1), stack(x, causal=True), atol=1e-4, rtol=1e-4)


def test_what_routers_decide_is_collected_in_order_and_only_inside():
    stack = make_stack()
    x = torch.randn(B, T, D)
    with routing(stack) as seen:
        expected = stack(x)
        stack(x)
    stack(x)
    assert len(seen) == 6
    torch.testing.assert_close(expected, stack(x))
    first = stack.blocks[0].ffn.router
    assert seen[0].logits.shape == (B, T, E) and seen[0].weights.shape == (B, T, 2)
    h = stack.blocks[0]
    x = x + h.attn(h.norm_attn(x))
    torch.testing.assert_close(seen[0].logits, first.gate(h.norm_ffn(x)))
    assert seen[0].logits.requires_grad and seen[0].loads().sum().item() == pytest.approx(1)
    assert seen[0].dropped() == 0


def test_hooks_are_removed_also_after_an_error():
    stack = make_stack()
    with pytest.raises(RuntimeError), routing(stack):
        raise RuntimeError
    assert not any(module._forward_hooks for module in stack.modules())


def test_experts_in_a_stack_begin_small_like_other_layers_that_add_to_the_stream():
    torch.manual_seed(0)
    experts = [FeedForward(64, 256) for _ in range(3)]
    block = TransformerBlock(MultiHeadAttention(64, 2), MixtureOfExperts(TopKRouter(64, 3), experts))
    stack = Stack([block, block])
    init_weights(stack, std=0.1)
    for expert in experts:
        assert expert.up.weight.std().item() == pytest.approx(0.1, rel=0.05)
        assert expert.down.weight.std().item() == pytest.approx(0.1 / 4**0.5, rel=0.05)


def test_the_router_keeps_its_precision_under_autocast():
    moe = make(2)
    x = torch.randn(B, T, D)
    with routing(moe) as seen:
        exact = moe(x)
        with torch.autocast("cpu", torch.bfloat16):
            low = moe(x)
    torch.testing.assert_close(seen[0].logits, seen[1].logits, atol=0, rtol=0)
    torch.testing.assert_close(low.float(), exact, atol=0.2, rtol=0.05)
    assert not torch.equal(low, exact)


@pytest.mark.parametrize("k", [0, 6])
def test_a_wrong_number_of_choices(k):
    with pytest.raises(ValueError, match=f"between 1 and num_experts=5, not {k}"):
        TopKRouter(D, E, k=k)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="capacity_factor must be positive"):
        TopKRouter(D, E, capacity_factor=0)
    with pytest.raises(ValueError, match="chooses among 5 experts, but there are 3"):
        MixtureOfExperts(TopKRouter(D, E), [FeedForward(D)] * 3)
    with pytest.raises(ValueError, match="no TopKRouter"), routing(nn.Linear(1, 1)):
        pass
    with pytest.raises(ValueError, match="no capacity_factor"):
        TopKRouter(D, E).capacity(3)


def library(name):
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    import_torchvision()
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def their_config(name, **sizes):
    return getattr(importlib.import_module("transformers"), name)(**sizes)


def gradient(p):
    """Zero for an expert that nobody chose; there it has none."""
    return torch.zeros_like(p) if p.grad is None else p.grad


def assert_same(ours, theirs, x, pairs):
    """Outputs, and gradients of a weighted sum of them with respect to the input and to pairs of weights."""
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    made = [ours(inputs[0]), theirs(inputs[1])]
    torch.testing.assert_close(*made, atol=1e-5, rtol=1e-5)
    weights = torch.randn_like(made[0])
    for out in made:
        (out * weights).sum().backward()
    torch.testing.assert_close(inputs[0].grad, inputs[1].grad, atol=1e-4, rtol=1e-4)
    for mine, other in pairs:
        torch.testing.assert_close(mine(), other(), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("room", [1, 2, 3, T])
def test_switch_transformers(room):
    module = library("switch_transformers")
    config = their_config(
        "SwitchTransformersConfig", d_model=D, d_ff=F_, num_experts=E, expert_capacity=room,
        dense_act_fn="relu", dropout_rate=0.0,
    )  # fmt: skip
    theirs = randomised(module.SwitchTransformersSparseMLP(config)).eval()
    experts = [FeedForward(D, F_, activation="relu", bias=False) for _ in range(E)]
    ours = MixtureOfExperts(TopKRouter(D, E, capacity_factor=room * E / T), experts)
    pairs = [(ours.router.gate.weight, theirs.router.classifier.weight)]
    for i, expert in enumerate(experts):
        other = theirs.experts[f"expert_{i}"]
        pairs += [(expert.up.weight, other.wi.weight), (expert.down.weight, other.wo.weight)]
    for mine, other in pairs:
        mine.data.copy_(other.data)
    x = torch.randn(B, T, D)
    with routing(ours) as seen:
        assert_same(ours, theirs, x, [(lambda m=m: m.grad, lambda o=o: gradient(o)) for m, o in pairs])
    chosen, weights, logits = theirs.router(x)
    torch.testing.assert_close(seen[0].logits, logits)
    torch.testing.assert_close(seen[0].weights, weights)
    kept = nn.functional.one_hot(seen[0].experts[..., 0], E) * seen[0].kept
    assert torch.equal(kept, chosen)
    assert (seen[0].dropped() > 0) == (room < T)


@pytest.mark.parametrize("k", [2, 3])
def test_mixtral(k):
    module = library("mixtral")
    config = their_config(
        "MixtralConfig", hidden_size=D, intermediate_size=F_, num_local_experts=E, num_experts_per_tok=k
    )
    theirs = randomised(module.MixtralSparseMoeBlock(config)).eval()
    ours = make(k, expert=GatedFeedForward)
    merged = theirs.experts.gate_up_proj  # (E, 2 F, D)
    ours.router.gate.weight.data.copy_(theirs.gate.weight.data)
    for i, expert in enumerate(ours.experts):
        for mine, other in zip((expert.gate, expert.up), merged[i].chunk(2), strict=True):
            mine.weight.data.copy_(other.data)
        expert.down.weight.data.copy_(theirs.experts.down_proj[i].data)
    pairs = [(lambda: ours.router.gate.weight.grad, lambda: theirs.gate.weight.grad)]
    for i, expert in enumerate(ours.experts):
        pairs += [
            (lambda e=expert: torch.cat([e.gate.weight.grad, e.up.weight.grad]), lambda i=i: merged.grad[i]),
            (lambda e=expert: e.down.weight.grad, lambda i=i: theirs.experts.down_proj.grad[i]),
        ]
    x = torch.randn(B, T, D)
    with routing(ours) as seen:
        assert_same(ours, theirs, x, pairs)
    logits, weights, chosen = theirs.gate(x)
    torch.testing.assert_close(seen[0].logits.flatten(0, 1), logits)
    torch.testing.assert_close(seen[0].weights.flatten(0, 1), weights)
    assert torch.equal(seen[0].experts.flatten(0, 1), chosen)
