"""Quantised matrices: what is packed, how far off they are, and which layers of a model they replace."""

import pytest
import torch
from torch import nn

from pioneers.layers import Packed, QuantizedLinear, dequantize, quantize, quantize_linears
from pioneers.models import GPT, GPTConfig

OUT, IN, BATCH = 7, 24, 5
WIDTHS = pytest.mark.parametrize("bits", [2, 4, 8])
GROUPS = pytest.mark.parametrize("group_size", [None, 8, 24])


def matrix():
    return torch.randn(OUT, IN, generator=torch.Generator().manual_seed(0))


def slowly(weight, bits, group_size):
    """Every weight alone: the nearest multiple of its group's step."""
    largest, rows = {2: 1, 4: 7, 8: 127}[bits], []
    for row in weight.tolist():
        found = []
        for start in range(0, IN, group_size):
            group = row[start : start + group_size]
            step = torch.tensor(max(map(abs, group)) / largest).half().item()
            found += [step * max(-largest, min(largest, round(w / step))) for w in group]
        rows.append(found)
    return torch.tensor(rows)


@WIDTHS
@GROUPS
def test_it_equals_a_loop_over_the_weights(bits, group_size):
    packed = quantize(matrix(), bits=bits, group_size=group_size)
    torch.testing.assert_close(dequantize(packed, bits=bits), slowly(matrix(), bits, group_size or IN))


@WIDTHS
@GROUPS
def test_the_bytes_are_those_of_the_width(bits, group_size):
    codes, scales = quantize(matrix(), bits=bits, group_size=group_size)
    assert codes.dtype == torch.uint8 and codes.shape == (OUT, IN * bits // 8)
    assert scales.dtype == torch.float16 and scales.shape == (OUT, IN // (group_size or IN))


@WIDTHS
def test_no_weight_is_off_by_more_than_half_a_step(bits):
    packed = quantize(matrix(), bits=bits, group_size=8)
    off = (dequantize(packed, bits=bits) - matrix()).abs().unflatten(1, (-1, 8)).amax(-1)
    assert (off <= 0.5 * packed.scales.float() * 1.01).all()


def test_two_codes_share_a_byte_the_first_in_its_low_half():
    codes, scales = quantize(torch.tensor([[7.0, -7.0, 0.0, 3.0]]), bits=4)
    assert codes.tolist() == [[14 + 16 * 0, 7 + 16 * 10]] and scales.tolist() == [[1.0]]


@WIDTHS
def test_zero_stays_zero_also_in_a_row_of_zeros(bits):
    weight = matrix()
    weight[0], weight[1, 3] = 0.0, 0.0
    found = dequantize(quantize(weight, bits=bits), bits=bits)
    assert found[0].abs().max() == 0 and found[1, 3] == 0 and found.isfinite().all()


def test_smaller_groups_confine_an_outlier():
    weight = matrix()
    weight[:, 0] = 100.0
    error = {
        size: dequantize(quantize(weight, bits=8, group_size=size), bits=8) - weight for size in (8, None)
    }
    assert error[8][:, 8:].square().mean() < 1e-3 * error[None][:, 8:].square().mean()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"bits": 3}, r"bits=3 must be 2, 4 or 8"),
        ({"bits": 16}, r"bits=16 must be 2, 4 or 8"),
        ({"bits": 4, "group_size": 5}, r"group_size=5 must divide a row of 24 weights"),
        ({"bits": 4, "group_size": 0}, r"group_size=0 must divide"),
    ],
)
def test_what_does_not_fit_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        quantize(matrix(), **how)


def test_a_row_that_does_not_fill_bytes_and_weights_that_are_not_finite():
    with pytest.raises(ValueError, match="7 weights of 4 bits does not fill whole bytes"):
        quantize(torch.zeros(3, 7), bits=4)
    with pytest.raises(ValueError, match="NaN or infinite"):
        quantize(torch.tensor([[1.0, torch.inf]]), bits=8)
    with pytest.raises(ValueError, match="bits=0"):
        dequantize(quantize(matrix(), bits=8), bits=0)


@WIDTHS
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_multiplies_by_the_rounded_matrix(bits, bias):
    torch.manual_seed(0)
    linear, x = nn.Linear(IN, OUT, bias=bias), torch.randn(BATCH, IN)
    layer = QuantizedLinear(linear, bits=bits, group_size=8)
    rounded = dequantize(Packed(layer.codes, layer.scales), bits=bits)
    expected = nn.functional.linear(x, rounded, linear.bias)
    torch.testing.assert_close(layer(x), expected)
    assert list(layer.parameters()) == [] or not layer.bias.requires_grad


def test_a_state_dict_carries_the_bytes():
    torch.manual_seed(0)
    layers = [QuantizedLinear(nn.Linear(IN, OUT), bits=4, group_size=8) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    x = torch.randn(BATCH, IN)
    assert torch.equal(layers[0](x), layers[1](x))
    assert set(layers[0].state_dict()) == {"codes", "scales", "bias"}


def test_a_model_keeps_its_embedding_and_the_output_layer_tied_to_it():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=23, max_seq_len=13, d_model=24, num_layers=2, num_heads=3)).eval()
    ids = torch.randint(23, (BATCH, 13))
    before, head = model(ids), model.lm_head
    done = quantize_linears(model, bits=8)
    assert done.kept == ["lm_head"] and model.lm_head is head
    assert len(done.replaced) == 2 * 6 and all(
        isinstance(model.get_submodule(name), QuantizedLinear) for name in done.replaced
    )
    assert 0 < (model(ids) - before).abs().max() < 0.05 * before.abs().max()
    with pytest.raises(ValueError, match="no linear layer that could be quantised"):
        quantize_linears(model, bits=8)


def test_nothing_is_replaced_if_one_layer_does_not_fit():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(7, 8))
    with pytest.raises(ValueError, match="7 weights of 4 bits"):
        quantize_linears(model, bits=4)
    assert not any(isinstance(layer, QuantizedLinear) for layer in model)
