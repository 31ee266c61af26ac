"""XLNet beside Hugging Face's, small and random: logits, gradients, folders in both directions."""

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from pioneers import from_pretrained
from pioneers.layers import padding_mask
from pioneers.models import XLNet, XLNetConfig
from pioneers.weights import save_huggingface, save_pretrained
from pioneers.weights.state_dict import to_ours
from pioneers.weights.xlnet import TENSORS

V, B, T, H, D = 31, 3, 11, 3, 18
SIZES = {"vocab_size": V, "d_model": D, "n_layer": 2, "n_head": H, "d_inner": 23}


@pytest.fixture
def make(transformers):
    def make(**changes):
        model = transformers.XLNetLMHeadModel(transformers.XLNetConfig(**(SIZES | changes)))
        generator = torch.Generator().manual_seed(0)
        for p in model.parameters():
            nn.init.normal_(p, std=0.3, generator=generator)
        return model.eval()

    return make


@pytest.fixture
def pair(make, tmp_path):
    theirs = make()
    theirs.save_pretrained(tmp_path / "theirs")
    return from_pretrained(tmp_path / "theirs"), theirs


def ids(*shape, high=V):
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(1))


def assert_same_gradients(ours, theirs, got, expected, unused=()):
    weights = torch.randn(got.shape, generator=torch.Generator().manual_seed(2))
    for logits in (got, expected):
        (logits * weights).sum().backward()
    wanted = {name: p.grad for name, p in theirs.named_parameters() if p.grad is not None}
    wanted = to_ours(wanted, TENSORS, num_heads=H)
    mine = {name: p.grad for name, p in ours.named_parameters() if p.grad is not None}
    assert wanted.keys() == mine.keys() == {n for n, _ in ours.named_parameters() if not n.endswith(unused)}
    for name, grad in mine.items():
        largest = float(wanted[name].abs().max())
        assert largest > 1e-4, name
        torch.testing.assert_close(grad / largest, wanted[name] / largest, atol=1e-4, rtol=0, msg=name)


LENGTHS = pytest.mark.parametrize("lengths", [(T, T, T), (T, 7, 4)], ids=["unpadded", "padded"])


@LENGTHS
@pytest.mark.parametrize("segments", [True, False], ids=["segments", "no segments"])
def test_with_one_stream_logits_and_all_gradients_are_theirs(pair, lengths, segments):
    ours, theirs = pair
    mask, of = padding_mask(torch.tensor(lengths)), ids(B, T, high=3) if segments else None
    real = mask[:, 0, 0]
    got = ours(ids(B, T), segment_ids=of, mask=mask, predict_mask=real)
    seen = None if real.all() else real.long()
    expected = theirs(ids(B, T), attention_mask=seen, token_type_ids=of).logits[real]
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    unused = ("query_token",) if segments else ("query_token", "segment", "segment_bias")
    assert_same_gradients(ours, theirs, got, expected, unused)


def orders(lengths):
    """Random orders of the real tokens, as the rank of each position; padding comes last."""
    generator = torch.Generator().manual_seed(3)
    return torch.stack([
        torch.cat([torch.randperm(n, generator=generator), torch.arange(n, T)]) for n in lengths
    ])  # fmt: skip


@LENGTHS
def test_with_two_streams_and_any_order_logits_and_all_gradients_are_theirs(pair, lengths):
    ours, theirs = pair
    mask, of, rank = padding_mask(torch.tensor(lengths)), ids(B, T, high=2), orders(lengths)
    real, earlier = mask[:, 0, 0], rank[:, None] < rank[:, :, None]
    content = earlier | torch.eye(T, dtype=torch.bool)
    # The last three of each order are predicted: the first sees nothing, where theirs would see everything.
    chosen = (rank >= torch.tensor(lengths)[:, None] - 3) & real
    got = ours(
        ids(B, T), segment_ids=of, mask=mask, content_mask=content, query_mask=earlier, predict_mask=chosen
    )
    mapping = torch.eye(T).expand(B, T, T)[chosen].view(B, 3, T)
    out = theirs(
        ids(B, T),
        attention_mask=real.float(),
        token_type_ids=of,
        perm_mask=(~earlier).float(),
        target_mapping=mapping,
    )
    expected = out.logits.flatten(0, 1)
    assert got.shape == (3 * B, V)
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    assert_same_gradients(ours, theirs, got, expected)


def test_an_exported_folder_has_the_same_logits_there_and_here(pair, transformers, tmp_path):
    ours, theirs = pair
    save_huggingface(ours, tmp_path / "exported")
    save_pretrained(ours, tmp_path / "own")
    there = transformers.XLNetLMHeadModel.from_pretrained(tmp_path / "exported").eval()
    stored, given = (load_file(tmp_path / f / "model.safetensors") for f in ("exported", "theirs"))
    assert stored.keys() == given.keys() - {"lm_loss.weight"}
    assert all(torch.equal(given[name], tensor) for name, tensor in stored.items())
    assert torch.equal(there(ids(B, T)).logits, theirs(ids(B, T)).logits)
    for folder in ("exported", "own"):
        again = from_pretrained(tmp_path / folder)
        assert again.config == ours.config
        assert torch.equal(again(ids(B, T)), ours(ids(B, T)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attn_type": "uni"}, "attn_type='uni'"),
        ({"clamp_len": 5}, "clamp_len=5"),
        ({"bi_data": True}, "bi_data"),
    ],
)
def test_another_kind_of_xlnet_is_refused(change, message, make, tmp_path):
    make(**change).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("preset", "count", "sizes"),
    [
        ("base", 116_750_336, {"d_model": 768, "n_layer": 12, "n_head": 12, "d_inner": 3072}),
        ("large", 360_300_800, {}),
    ],
)
def test_parameter_counts_are_theirs(preset, count, sizes, transformers):
    with torch.device("meta"):
        ours = [p.numel() for p in XLNet(XLNetConfig.preset(preset)).parameters()]
        theirs = transformers.XLNetLMHeadModel(transformers.XLNetConfig(**sizes))
    theirs = [p.numel() for p in theirs.parameters()]
    assert sum(ours) == sum(theirs) == count
