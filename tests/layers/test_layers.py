"""Positions, norms, feed-forward, embeddings, block, stack and initialisation."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pioneers.layers import (
    FeedForward,
    GatedFeedForward,
    GPTEmbedding,
    LearnedPositions,
    MultiHeadAttention,
    PatchEmbedding,
    SinusoidalPositions,
    Stack,
    TransformerBlock,
    apply_deepnorm,
    deepnorm_scales,
    init_weights,
    layer_norm,
    patchify,
    rms_norm,
    sinusoidal_table,
    unpatchify,
)
from pioneers.layers.feedforward import ACTIVATIONS

B, T, D, H, F_ = 2, 5, 21, 3, 29


def make_block(d_ff=None, *, activation="gelu", cross=False, **parts):
    """A block of width D with H heads."""
    return TransformerBlock(
        MultiHeadAttention(D, H),
        FeedForward(D, d_ff, activation=activation),
        cross_attn=MultiHeadAttention(D, H) if cross else None,
        **parts,
    )


def make_stack(num_blocks, d_ff=None, *, norm=nn.LayerNorm, **parts):
    """Blocks of width D with H heads, and the last norm that their placement asks for."""
    blocks = [make_block(d_ff, norm=norm, **parts) for _ in range(num_blocks)]
    return Stack(blocks, None if parts.get("norm_placement") == "post" else norm(D))


def test_sinusoids_follow_the_papers_formula():
    table = sinusoidal_table(11, 6)
    for position in range(11):
        for i in range(3):
            angle = position / 10000 ** (2 * i / 6)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_sinusoids_of_odd_width_are_refused():
    with pytest.raises(ValueError, match="d_model=7 must be even"):
        sinusoidal_table(3, 7)


@pytest.mark.parametrize("kind", [LearnedPositions, SinusoidalPositions])
def test_positions_start_where_asked_and_end_at_the_table(kind):
    positions = kind(7, 4)
    assert torch.equal(positions(2, start=3), positions(7)[3:5])
    with pytest.raises(ValueError, match="needs 8 positions and the model has max_seq_len=7"):
        positions(3, start=5)


def test_layer_norm_by_hand():
    x = torch.tensor([100.0, 200, 100, 0])
    y = layer_norm(x, torch.ones(4), torch.zeros(4), eps=0.0)
    np.testing.assert_allclose(y, [0, math.sqrt(2), 0, -math.sqrt(2)], atol=1e-6)


def test_layer_norm_equals_pytorchs_also_where_eps_matters():
    torch.manual_seed(0)
    x, gain, bias = torch.randn(B, T, D) * 0.1, torch.randn(D), torch.randn(D)
    for eps in (1e-5, 0.5):
        torch.testing.assert_close(layer_norm(x, gain, bias, eps=eps), F.layer_norm(x, (D,), gain, bias, eps))


def test_rms_norm_equals_pytorchs_also_where_eps_matters():
    torch.manual_seed(0)
    x, gain = torch.randn(B, T, D) * 0.1, torch.randn(D)
    for eps in (1e-6, 0.5):
        torch.testing.assert_close(rms_norm(x, gain, eps=eps), F.rms_norm(x, (D,), gain, eps))


def test_deepnorm_scales_are_the_papers():
    alpha, beta = deepnorm_scales(1000)
    assert alpha == pytest.approx(2000**0.25)
    assert beta == pytest.approx(8000**-0.25)


def test_feed_forward_is_two_matrices_and_an_activation():
    torch.manual_seed(0)
    ffn = FeedForward(D, F_, activation="relu")
    x = torch.randn(B, T, D)
    hidden = (x @ ffn.up.weight.T + ffn.up.bias).clamp(min=0)
    torch.testing.assert_close(ffn(x), hidden @ ffn.down.weight.T + ffn.down.bias)
    with pytest.raises(ValueError, match="unknown activation 'swoosh'; known: relu, gelu, gelu_tanh,"):
        FeedForward(D, F_, activation="swoosh")


@pytest.mark.parametrize(("activation", "function"), [("swish", F.silu), ("gelu", F.gelu)])
def test_gated_feed_forward_computes_what_llama_does_with_weights_of_the_same_names(activation, function):
    torch.manual_seed(0)
    llama = {name: nn.Linear(D, F_, bias=False) for name in ("gate", "up")}
    llama["down"] = nn.Linear(F_, D, bias=False)
    ffn = GatedFeedForward(D, F_, activation=activation)
    ffn.load_state_dict({f"{name}.weight": linear.weight for name, linear in llama.items()})
    x = torch.randn(B, T, D)
    torch.testing.assert_close(ffn(x), llama["down"](function(llama["gate"](x)) * llama["up"](x)))


def test_sigmoid_form_of_gelu_stays_within_its_published_error():
    x = torch.linspace(-6, 6, 1201)
    error = (ACTIVATIONS["gelu_sigmoid"](x) - ACTIVATIONS["gelu"](x)).abs().max().item()
    assert 0.015 < error < 0.025
    assert (ACTIVATIONS["gelu_tanh"](x) - ACTIVATIONS["gelu"](x)).abs().max().item() < 5e-4


def test_gelu_is_x_times_the_normal_distribution_function():
    x = torch.linspace(-4, 4, 41)
    exact = [v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()]
    ffn = FeedForward(1, 1)
    np.testing.assert_allclose(ffn.activation(x), exact, atol=1e-6)


def test_patchify_cuts_row_by_row_and_unpatchify_puts_together():
    images = torch.arange(7 * 3 * 10 * 22.0).view(7, 3, 10, 22)
    patches = patchify(images, 2)
    assert patches.shape == (7, 5 * 11, 3 * 2 * 2)
    assert torch.equal(patches[1, 11 + 1], images[1, :, 2:4, 2:4].flatten())  # second row, second column
    assert torch.equal(unpatchify(patches, 2, height=10), images)
    with pytest.raises(ValueError, match="patch_size=5 must divide the image, which is 10 x 22 pixels"):
        patchify(images, 5)


@pytest.mark.parametrize(("patch_size", "height"), [(2, 7), (2, 6), (3, 9), (2, 0), (4, 4)])
def test_patches_that_make_no_image_are_refused(patch_size, height):
    with pytest.raises(
        ValueError, match=rf"\(1, 16, 12\) with P={patch_size} make no image of height={height}"
    ):
        unpatchify(torch.zeros(1, 16, 12), patch_size, height=height)


def test_patch_embedding_is_one_linear_map_of_the_patches():
    torch.manual_seed(0)
    embed = PatchEmbedding(6, 3, in_channels=5, d_model=D)
    images = torch.randn(B, 5, 6, 6)
    linear = patchify(images, 3) @ embed.proj.weight.flatten(1).T + embed.proj.bias
    torch.testing.assert_close(embed(images), linear, atol=1e-5, rtol=0)
    with pytest.raises(ValueError, match=r"with \(5, 6, 6\), got \(2, 5, 6, 5\)"):
        embed(images[..., :5])
    with pytest.raises(ValueError, match="patch_size=4 must divide image_size=6"):
        PatchEmbedding(6, 4, in_channels=2, d_model=D)


def test_text_embedding_adds_tokens_and_positions():
    embed = GPTEmbedding(7, D, max_seq_len=T)
    ids = torch.tensor([[3, 0, 5], [6, 6, 1]])
    expected = embed.token.weight[ids] + embed.position.table[2:5]
    assert torch.equal(embed(ids, start=2), expected)


@pytest.mark.parametrize("wrong", [11, -1])
def test_an_id_outside_the_vocabulary_is_named(wrong):
    ids = torch.tensor([[3, wrong, 5]])
    with pytest.raises(ValueError, match=f"token ids 0 to 10, and it was given {wrong}: encode the text"):
        GPTEmbedding(11, 6, max_seq_len=7)(ids)


@pytest.mark.parametrize("ids", [torch.zeros(3, dtype=torch.long), torch.zeros(1, 3)])
def test_text_embedding_refuses_other_shapes(ids):
    with pytest.raises(ValueError, match=r"integer tensor \(B, T\).*use ids\[None\]"):
        GPTEmbedding(7, D, max_seq_len=T)(ids)


def test_sandwich_norm_bounds_what_each_layer_adds():
    torch.manual_seed(0)
    block = make_block(norm=nn.RMSNorm, norm_placement="sandwich")
    x = torch.randn(B, T, D)
    attended = x + F.rms_norm(block.attn(F.rms_norm(x, (D,))), (D,))
    expected = attended + F.rms_norm(block.ffn(F.rms_norm(attended, (D,))), (D,))
    torch.testing.assert_close(block(x), expected)
    with pytest.raises(ValueError, match="unknown norm_placement 'peri'; known: pre, post, sandwich"):
        make_block(norm_placement="peri")


def test_a_block_takes_any_feed_forward_part():
    torch.manual_seed(0)
    gated = GatedFeedForward(D, F_)
    block, x = TransformerBlock(MultiHeadAttention(D, H), gated), torch.randn(B, T, D)
    attended = x + block.attn(block.norm_attn(x))
    torch.testing.assert_close(block(x), attended + gated(block.norm_ffn(attended)))


def test_deepnorm_weights_the_residual_and_draws_smaller():
    torch.manual_seed(0)
    stack = Stack(
        TransformerBlock(MultiHeadAttention(64, 4), FeedForward(64), norm_placement="post") for _ in range(6)
    )
    apply_deepnorm(stack)
    alpha, beta = deepnorm_scales(6)
    block = stack.blocks[2]
    assert block.attn.v_proj.weight.std().item() == pytest.approx(beta * 64**-0.5, rel=0.05)
    assert block.attn.k_proj.weight.std().item() == pytest.approx(64**-0.5, rel=0.05)
    x = torch.randn(B, T, 64)
    attended = F.layer_norm(alpha * x + block.attn(x), (64,))
    torch.testing.assert_close(block(x), F.layer_norm(alpha * attended + block.ffn(attended), (64,)))
    with pytest.raises(ValueError, match="DeepNorm is a post-norm; this stack is 'pre'"):
        apply_deepnorm(make_stack(1))


def test_a_stack_ends_with_its_norm_if_it_has_one():
    torch.manual_seed(0)
    x, norm = torch.randn(B, T, D), nn.RMSNorm(D)
    blocks = [make_block(), make_block()]
    unbounded = blocks[1](blocks[0](x))
    torch.testing.assert_close(Stack(blocks)(x), unbounded)
    torch.testing.assert_close(Stack(blocks, norm)(x), norm(unbounded))


def test_init_draws_residual_projections_smaller():
    torch.manual_seed(0)
    stack = Stack(TransformerBlock(MultiHeadAttention(64, 4), FeedForward(64)) for _ in range(8))
    init_weights(stack, std=0.02)
    attn = stack.blocks[3].attn
    assert isinstance(attn, MultiHeadAttention)
    assert attn.q_proj.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert attn.o_proj.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert stack.blocks[0].ffn.down.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert (attn.q_proj.bias == 0).all()


def test_cross_attention_needs_a_memory():
    stack, x = make_stack(1, cross=True), torch.zeros(2, 5, D)
    with pytest.raises(ValueError, match=r"cross-attention needs a memory \(B, S, D\)"):
        stack(x)
    assert stack(x, x).shape == x.shape


def test_positions_are_added_to_queries_and_keys_and_not_to_values():
    torch.manual_seed(0)
    block = make_block(cross=True)
    x, memory = torch.randn(B, T, D), torch.randn(B, 7, D)
    positions, places = torch.randn(T, D), torch.randn(7, D)
    h = block.norm_attn(x)
    attended = x + block.attn(h + positions, h + positions, h)
    h = block.norm_cross(attended)
    crossed = attended + block.cross_attn(h + positions, memory + places, memory)
    expected = crossed + block.ffn(block.norm_ffn(crossed))
    got = block(x, memory, positions=positions, memory_positions=places)
    torch.testing.assert_close(got, expected)
    assert not torch.allclose(got, block(x + positions, memory + places), atol=1e-3)


def test_mask_and_bias_are_one_for_all_blocks_or_one_for_each():
    torch.manual_seed(0)
    stack, x = make_stack(2), torch.randn(B, T, D)
    masks = [torch.ones(T, T, dtype=torch.bool).tril(), None]
    biases = [None, torch.randn(H, T, T)]
    first, second = stack.blocks
    expected = stack.norm(second(first(x, mask=masks[0]), bias=biases[1]))
    torch.testing.assert_close(stack(x, mask=masks, bias=biases), expected)
    same = stack(x, mask=[masks[0]] * 2)
    torch.testing.assert_close(same, stack(x, mask=masks[0]))
    with pytest.raises(ValueError, match="one entry per block: there are 2 blocks, not 3"):
        stack(x, mask=[None] * 3)


def test_drop_path_drops_whole_sequences_in_training_and_keeps_the_mean():
    torch.manual_seed(0)
    block = make_block(drop_path=0.25)
    nn.init.zeros_(block.ffn.down.weight)
    nn.init.zeros_(block.ffn.down.bias)  # so that attention alone adds something
    x = torch.randn(1, T, D).expand(4000, T, D)
    attended = block.eval()(x[:1]) - x[:1]
    added = block.train()(x) - x
    dropped = (added == 0).all(dim=(1, 2))
    assert dropped.float().mean().item() == pytest.approx(0.25, abs=0.03)
    torch.testing.assert_close(added[~dropped][:1], attended / 0.75, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(added.mean(0, keepdim=True), attended, atol=1e-2, rtol=0.1)
