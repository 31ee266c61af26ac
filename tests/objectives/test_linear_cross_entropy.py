import pytest
import torch

from pioneers.objectives import causal_lm_loss, linear_cross_entropy
from pioneers.objectives.linear_cross_entropy import CHUNK_ROWS

B, T, D, V = 3, 173, 7, 31  # B * T is no multiple of the chunk


def case(dtype=torch.float32, *, ignored=11):
    torch.manual_seed(0)
    hidden = torch.randn(B, T, D, dtype=dtype, requires_grad=True)
    weight = torch.randn(V, D, dtype=dtype, requires_grad=True)
    targets = torch.randint(V, (B, T))
    targets[1, 2 : 2 + ignored] = -100
    assert B * T > CHUNK_ROWS and B * T % CHUNK_ROWS
    return hidden, weight, targets


def readable(hidden, weight, targets):
    return causal_lm_loss(hidden @ weight.T, targets)


@pytest.mark.parametrize("factor", [1.0, 2.5])
@pytest.mark.parametrize("ignored", [0, 11])
def test_loss_and_gradients_are_those_of_the_readable_form(factor, ignored):
    hidden, weight, targets = case(ignored=ignored)
    expected = readable(hidden, weight, targets)
    gradients = torch.autograd.grad(expected * factor, [hidden, weight])
    loss = linear_cross_entropy(hidden, weight, targets)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(torch.autograd.grad(loss * factor, [hidden, weight]), gradients)


def test_in_double_precision_gradients_are_those_of_finite_differences():
    hidden, weight, targets = case(torch.float64)
    rows = (hidden.detach()[:1, :5].requires_grad_(), weight)
    assert torch.autograd.gradcheck(lambda h, w: linear_cross_entropy(h, w, targets[:1, :5]), rows)


def test_under_autocast_it_computes_in_bf16_and_gives_float32_gradients():
    hidden, weight, targets = case()
    expected = readable(hidden, weight, targets)
    gradients = torch.autograd.grad(expected, [hidden, weight])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = linear_cross_entropy(hidden, weight, targets)
    loss.backward()
    assert hidden.grad.dtype == weight.grad.dtype == torch.float32
    assert 0 < abs(loss - expected) < 1e-2
    for got, wanted in zip((hidden.grad, weight.grad), gradients, strict=True):
        assert (got - wanted).norm() < 2e-2 * wanted.norm()


def test_without_gradients_the_loss_is_the_same():
    hidden, weight, targets = case()
    with torch.no_grad():
        torch.testing.assert_close(
            linear_cross_entropy(hidden, weight, targets), readable(hidden, weight, targets)
        )


def test_targets_must_fit():
    hidden, weight, targets = case()
    with pytest.raises(ValueError, match=r"hidden is \(3, 173, 7\), targets \(3, 172\)"):
        linear_cross_entropy(hidden, weight, targets[:, 1:])
