"""Pooling attention beside torchvision's, and beside a loop over heads and places."""

import importlib

import pytest
import torch
from torch import nn

from pioneers.compat import import_torchvision
from pioneers.layers import FeedForward, PoolingAttention, PoolingBlock

B, D, H, HEIGHT, WIDTH = 2, 15, 3, 7, 11
STRIDES = pytest.mark.parametrize(("q_stride", "kv_stride"), [(1, 1), (2, 3), (3, 2), (1, 4)])


def randomised(model):
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        nn.init.normal_(p, std=0.4, generator=generator)
    return model.eval()


def tokens():
    return torch.randn(B, 1 + HEIGHT * WIDTH, D, generator=torch.Generator().manual_seed(1))


def block(q_stride, kv_stride):
    attn = PoolingAttention(D, H, q_stride=q_stride, kv_stride=kv_stride)
    return randomised(PoolingBlock(attn, FeedForward(D, 4 * D), D, q_stride=q_stride))


def place(x, kernel, row, column, stride):
    """One channel of one pooled token: the weighted sum over its neighbourhood, zero beyond the edge."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            r, c = row * stride + i - 1, column * stride + j - 1
            if 0 <= r < HEIGHT and 0 <= c < WIDTH:
                total = total + kernel[i, j] * x[r * WIDTH + c]
    return total


def pooled(pool, x, stride):
    """``x (1 + N, K)`` of one head, pooled token by token and channel by channel."""
    rows, columns = range(-(-HEIGHT // stride)), range(-(-WIDTH // stride))
    kernel = pool.conv.weight[:, 0].permute(1, 2, 0)  # (3, 3, K)
    places = [place(x[1:], kernel, r, c, stride) for r in rows for c in columns]
    return pool.norm(torch.stack([x[0], *places]))


@STRIDES
def test_attention_equals_a_loop_over_images_heads_and_places(q_stride, kv_stride):
    attn = block(q_stride, kv_stride).attn
    x = tokens()
    got = attn(x, HEIGHT)
    for b in range(B):
        heads = []
        for h in range(H):
            cut = slice(5 * h, 5 * h + 5)
            q = pooled(attn.q_pool, attn.q_proj(x[b])[:, cut], q_stride)
            k = pooled(attn.k_pool, attn.k_proj(x[b])[:, cut], kv_stride)
            v = pooled(attn.v_pool, attn.v_proj(x[b])[:, cut], kv_stride)
            out = (q @ k.T / 5**0.5).softmax(-1) @ v
            heads.append(torch.cat([out[:1], out[1:] + q[1:]]))
        torch.testing.assert_close(got[b], attn.o_proj(torch.cat(heads, dim=1)), atol=1e-5, rtol=1e-4)


@pytest.fixture(scope="module")
def mvit():
    try:
        import_torchvision()
    except ModuleNotFoundError:
        pytest.skip("torchvision is not installed")
    return importlib.import_module("torchvision.models.video.mvit")


def names(ours):
    """Their tensors, made of ours."""
    theirs = {
        "norm1": "norm_attn", "norm2": "norm_ffn", "attn.project.0": "attn.o_proj", "mlp.0": "ffn.up",
        "mlp.3": "ffn.down", **{f"attn.pool_{n}.norm_act.0": f"attn.{n}_pool.norm" for n in "qkv"},
    }  # fmt: skip
    state = {
        f"{their}.{kind}": ours[f"{our}.{kind}"]
        for their, our in theirs.items()
        for kind in ("weight", "bias")
    }
    for kind in ("weight", "bias"):
        state[f"attn.qkv.{kind}"] = torch.cat([ours[f"attn.{n}_proj.{kind}"] for n in "qkv"])
    return state | {
        f"attn.pool_{n}.pool.weight": ours[f"attn.{n}_pool.conv.weight"][:, :, None] for n in "qkv"
    }


@STRIDES
def test_a_block_is_torchvisions(q_stride, kv_stride, mvit):
    ours = block(q_stride, kv_stride)
    config = mvit.MSBlockConfig(
        H, D, D, [1, 3, 3], [1, 3, 3], [1, q_stride, q_stride], [1, kv_stride, kv_stride]
    )
    theirs = mvit.MultiscaleBlock(
        [1, HEIGHT, WIDTH], config, residual_pool=True, residual_with_cls_embed=False, rel_pos_embed=False,
        proj_after_attn=True,
    ).eval()  # fmt: skip
    theirs.load_state_dict(names(ours.state_dict()))
    x, y = tokens().requires_grad_(), tokens().requires_grad_()
    got = ours(x, HEIGHT)
    expected, (_, height, width) = theirs(y, (1, HEIGHT, WIDTH))
    assert got.shape == (B, 1 + height * width, D)
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    weights = torch.randn(got.shape, generator=torch.Generator().manual_seed(2))
    for out in (got, expected):
        (out * weights).sum().backward()
    torch.testing.assert_close(x.grad, y.grad, atol=1e-4, rtol=1e-4)
    wanted = names({name: p.grad for name, p in ours.named_parameters()})
    for name, p in theirs.named_parameters():
        if name == "attn.pool_k.norm_act.0.bias":  # adds the same to every score of a row
            continue
        largest = float(p.grad.abs().max())
        torch.testing.assert_close(wanted[name] / largest, p.grad / largest, atol=1e-4, rtol=0, msg=name)


def test_what_does_not_fit_is_refused():
    attn = PoolingAttention(D, H)
    with pytest.raises(ValueError, match="77 tokens, without the class token, fill no grid of height=5"):
        attn(tokens(), 5)
    with pytest.raises(ValueError, match="num_heads=2 must divide d_model=15"):
        PoolingAttention(D, 2)
