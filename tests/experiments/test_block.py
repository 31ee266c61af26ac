"""The experiments on the block: what is removed is gone, and what is compared is comparable."""

import importlib

import pytest
import torch
from torch import nn

from pioneers.layers import FeedForward, MultiHeadAttention, Stack, TransformerBlock

TINY = {"d_model": 12, "num_heads": 2, "seq_len": 7, "batch_size": 3, "steps": 2}


@pytest.fixture
def block_parts(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    return importlib.import_module("experiments.block_parts")


@pytest.fixture
def norm_placement(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    return importlib.import_module("experiments.norm_placement")


def stack():
    torch.manual_seed(0)
    blocks = [TransformerBlock(MultiHeadAttention(12, 2), FeedForward(12)) for _ in range(2)]
    return Stack(blocks, nn.LayerNorm(12))


def test_without_attention_no_position_sees_another(block_parts):
    x, other = torch.randn(2, 1, 5, 12)
    other[:, 2] = x[:, 2]
    whole, cut = stack(), stack()
    block_parts.remove(cut, "attention")
    assert not torch.allclose(whole(x)[:, 2], whole(other)[:, 2])
    assert torch.equal(cut(x)[:, 2], cut(other)[:, 2])


def test_without_ffn_only_attention_is_added(block_parts):
    x, cut = torch.randn(1, 5, 12), stack()
    block_parts.remove(cut, "ffn")
    h = x
    for block in cut.blocks:
        h = h + block.attn(block.norm_attn(h))
    torch.testing.assert_close(cut(x), cut.norm(h))


def test_without_residual_a_block_is_its_last_layer(block_parts):
    x, cut = torch.randn(1, 5, 12), stack()
    block_parts.remove(cut, "residual")
    block = cut.blocks[0]
    torch.testing.assert_close(block(x), block.ffn(block.norm_ffn(block.attn(block.norm_attn(x)))))


def test_blocks_that_add_nothing_change_neither_likeness_nor_gradient(block_parts, norm_placement):
    idle = stack()
    block_parts.remove(idle, "attention")
    block_parts.remove(idle, "ffn")
    found = block_parts.look_inside(norm_placement.NextByte(idle, 12, 7), 7, windows=4)
    for values in found.values():
        assert values.shape == (3,) and values[0] > 0
        torch.testing.assert_close(values, values[:1].expand(3))


def test_without_norm_none_is_left(block_parts):
    cut = stack()
    block_parts.remove(cut, "norm")
    assert not [module for module in cut.modules() if isinstance(module, nn.LayerNorm)]
    with pytest.raises(ValueError, match="unknown part 'gate'; known: residual, norm, attention, ffn"):
        block_parts.remove(cut, "gate")


def test_networks_that_are_compared_have_matrices_of_one_size(block_parts):
    sizes = set()
    for case in ("the whole block", "relu", "swiglu", "geglu"):
        how = {"d_ff": None, "activation": "gelu"} | block_parts.CASES[case]
        ffn = block_parts.feed_forward(block_parts.CONFIG["d_model"], how["d_ff"], how["activation"])
        sizes.add(sum(p.numel() for p in ffn.parameters() if p.ndim == 2))
    assert len(sizes) == 1


def test_of_the_blocks_only_the_first_is_kept(block_parts):
    how = TINY | {"seed": 0, "num_layers": 3, "lr": 1e-3, "warmup_steps": 1}
    one, three = (block_parts.one_case(**how, keep=keep)["parameters"] for keep in (1, 3))
    last_norm = 2 * TINY["d_model"]
    assert 3 * (one - last_norm) == three - last_norm


@pytest.mark.parametrize("placement", ["post", "pre", "sandwich", "deepnorm"])
def test_every_placement_trains_and_is_repeatable(norm_placement, placement):
    how = TINY | {"placement": placement, "num_layers": 2, "lr": 1e-3, "warmup_steps": 1}
    first, again, other = (norm_placement.one_case(seed=seed, **how) for seed in (0, 0, 1))
    assert first == again != other
    assert 5 < first["bits"] < 20
    assert len(first["curve"]) == 2
