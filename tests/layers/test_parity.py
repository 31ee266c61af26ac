"""PyTorch's own layers with the same weights: outputs and every gradient, padded and not, causal and not."""

import pytest
import torch
from torch import nn

from pioneers.layers import FeedForward, MultiHeadAttention, Stack, TransformerBlock, causal_mask

B, T, S, D, H, F_ = 2, 5, 11, 21, 3, 29  # K is 7
ATTENTION = {"self_attn": "attn", "multihead_attn": "cross_attn"}
LINEAR = {"linear1": "ffn.up", "linear2": "ffn.down"}
ENCODER_NORMS = {"norm1": "norm_attn", "norm2": "norm_ffn"}
DECODER_NORMS = {"norm1": "norm_attn", "norm2": "norm_cross", "norm3": "norm_ffn"}
PADDED = torch.arange(S) >= torch.tensor([[S], [4]])  # True = left out, PyTorch's convention


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


def randomised(module):
    torch.manual_seed(0)
    for p in module.parameters():
        nn.init.normal_(p, std=0.3)
    return module


def attention_names(theirs, ours):
    """Their names → ours; the three projections are one tensor there."""
    names = {f"{theirs}in_proj_{end}": [f"{ours}{n}_proj.{end}" for n in "qkv"] for end in ("weight", "bias")}
    return names | {f"{theirs}out_proj.{end}": [f"{ours}o_proj.{end}"] for end in ("weight", "bias")}


def block_names(theirs, ours, norms):
    names = {
        f"{theirs}{t}.{end}": [f"{ours}{o}.{end}"]
        for t, o in (LINEAR | norms).items()
        for end in ("weight", "bias")
    }
    for t, o in list(ATTENTION.items())[: len(norms) - 1]:
        names |= attention_names(f"{theirs}{t}.", f"{ours}{o}.")
    return names


def copy_weights(ours, theirs, names):
    mine = ours.state_dict()
    theirs.load_state_dict({t: torch.cat([mine[o] for o in group]) for t, group in names.items()})


def assert_same_with_gradients(ours, theirs, names, got, expected, inputs=()):
    """Outputs, and the gradients of a weighted sum of them with respect to every parameter and input."""
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)
    weights = torch.randn_like(got)
    mine, other = dict(ours.named_parameters()), dict(theirs.named_parameters())
    assert {o for group in names.values() for o in group} == mine.keys()
    assert names.keys() == other.keys()
    my_grads = torch.autograd.grad((got * weights).sum(), [*mine.values(), *inputs])
    their_grads = torch.autograd.grad((expected * weights).sum(), [*other.values(), *inputs])
    by_name = dict(zip(mine, my_grads, strict=False))
    for name, grad in zip(other, their_grads, strict=False):
        same = torch.cat([by_name[o] for o in names[name]])
        scale = max(1.0, grad.abs().max().item())
        torch.testing.assert_close(same / scale, grad / scale, atol=1e-5, rtol=1e-5, msg=name)
    for a, b in zip(my_grads[len(mine) :], their_grads[len(other) :], strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("kind", ["self", "causal", "cross", "cross with other values"])
def test_multi_head_attention(kind, padded):
    ours, theirs = randomised(MultiHeadAttention(D, H)), nn.MultiheadAttention(D, H, batch_first=True)
    names = attention_names("", "")
    copy_weights(ours, theirs, names)
    query = torch.randn(B, T if "cross" in kind else S, D, requires_grad=True)
    key = torch.randn(B, S, D, requires_grad=True) if "cross" in kind else query
    value = torch.randn(B, S, D, requires_grad=True) if "values" in kind else key
    inputs = list({id(x): x for x in (query, key, value)}.values())
    mask = ~PADDED[:, None, None] if padded else None
    expected, _ = theirs(
        query,
        key,
        value,
        key_padding_mask=PADDED if padded else None,
        attn_mask=~causal_mask(S) if kind == "causal" else None,
        need_weights=False,
    )
    got = ours(query, key, value, mask=mask, causal=kind == "causal")
    assert_same_with_gradients(ours, theirs, names, got, expected, inputs)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_encoder_layer(placement, causal, padded):
    ours = randomised(make_block(F_, norm_placement=placement))
    theirs = nn.TransformerEncoderLayer(
        D, H, F_, dropout=0.0, activation="gelu", batch_first=True, norm_first=placement == "pre"
    )
    names = block_names("", "", ENCODER_NORMS)
    copy_weights(ours, theirs, names)
    x = torch.randn(B, S, D, requires_grad=True)
    expected = theirs(
        x,
        src_mask=~causal_mask(S) if causal else None,
        src_key_padding_mask=PADDED if padded else None,
    )
    got = ours(x, causal=causal, mask=~PADDED[:, None, None] if padded else None)
    assert_same_with_gradients(ours, theirs, names, got, expected, [x])


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_decoder_layer(placement, padded):
    ours = randomised(make_block(F_, norm_placement=placement, cross=True))
    theirs = nn.TransformerDecoderLayer(
        D, H, F_, dropout=0.0, activation="gelu", batch_first=True, norm_first=placement == "pre"
    )
    names = block_names("", "", DECODER_NORMS)
    copy_weights(ours, theirs, names)
    x, memory = (torch.randn(B, length, D, requires_grad=True) for length in (T, S))
    expected = theirs(x, memory, tgt_mask=~causal_mask(T), memory_key_padding_mask=PADDED if padded else None)
    got = ours(x, memory, causal=True, memory_mask=~PADDED[:, None, None] if padded else None)
    assert_same_with_gradients(ours, theirs, names, got, expected, [x, memory])


class EncoderDecoder(nn.Module):
    """Two stacks, as ``nn.Transformer`` has them."""

    def __init__(self, placement):
        super().__init__()
        how = {"d_ff": F_, "activation": "relu", "norm_placement": placement}
        self.encoder, self.decoder = make_stack(2, **how), make_stack(3, cross=True, **how)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_transformer(placement, padded):
    ours = randomised(EncoderDecoder(placement))
    theirs = nn.Transformer(D, H, 2, 3, F_, dropout=0.0, batch_first=True, norm_first=placement == "pre")
    names = {}
    for side, count, norms in (("encoder", 2, ENCODER_NORMS), ("decoder", 3, DECODER_NORMS)):
        for i in range(count):
            names |= block_names(f"{side}.layers.{i}.", f"{side}.blocks.{i}.", norms)
        names |= {f"{side}.norm.{end}": [f"{side}.norm.{end}"] for end in ("weight", "bias")}
    if placement == "post":  # the paper's model has no norm at the end
        theirs.encoder.norm = theirs.decoder.norm = nn.Identity()
        names = {t: o for t, o in names.items() if ".norm." not in t}
    copy_weights(ours, theirs, names)
    source, target = (torch.randn(B, length, D, requires_grad=True) for length in (S, T))
    left_out = PADDED if padded else None
    expected = theirs(
        source,
        target,
        tgt_mask=~causal_mask(T),
        src_key_padding_mask=left_out,
        memory_key_padding_mask=left_out,
    )
    mask = ~PADDED[:, None, None] if padded else None
    memory = ours.encoder(source, mask=mask)
    got = ours.decoder(target, memory, causal=True, memory_mask=mask)
    assert_same_with_gradients(ours, theirs, names, got, expected, [source, target])
