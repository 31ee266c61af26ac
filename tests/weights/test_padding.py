"""GPT-2 on rows of unequal length: what stands in the padding, on either side, changes no real token."""

import pytest
import torch

from pioneers.models import GPT, GPTConfig
from pioneers.weights import gpt2, to_ours

LENGTHS = (7, 4, 2)


@pytest.fixture
def pair(make_theirs):
    theirs = make_theirs("GPT2LMHeadModel", attn_implementation="eager")
    config = theirs.config
    ours = GPT(
        GPTConfig(
            vocab_size=config.vocab_size,
            max_seq_len=config.n_positions,
            d_model=config.n_embd,
            num_layers=config.n_layer,
            num_heads=config.n_head,
        )
    )
    ours.load_state_dict(to_ours(theirs.state_dict(), gpt2.TENSORS, drop=gpt2.TIED), strict=False)
    return ours.eval(), theirs


@pytest.mark.parametrize("side", ["right", "left"])
def test_gpt2_has_hugging_faces_logits_and_gradients_with_padding(side, pair):
    ours, theirs = pair
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(31, (len(LENGTHS), max(LENGTHS)), generator=generator)
    real = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    if side == "left":
        real = real.flip(1)
    positions = (real.cumsum(1) - 1).clamp(min=0)
    expected = theirs(ids, attention_mask=real.long(), position_ids=positions).logits[real]
    got = (
        ours(ids)[real]
        if side == "right"
        else torch.cat([ours(row[keep][None])[0] for row, keep in zip(ids, real, strict=True)])
    )
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)
    weights = torch.randn(got.shape, generator=generator)
    (got * weights).sum().backward()
    (expected * weights).sum().backward()
    wanted = {name: p.grad for name, p in theirs.named_parameters()}
    wanted = to_ours(wanted, gpt2.TENSORS, drop=gpt2.TIED)
    mine = {name: p.grad for name, p in ours.named_parameters()}
    assert mine.keys() == wanted.keys()
    for name, grad in mine.items():
        scale = max(1.0, wanted[name].abs().max().item())
        torch.testing.assert_close(grad / scale, wanted[name] / scale, atol=1e-5, rtol=1e-5, msg=name)
