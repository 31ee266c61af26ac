"""The balance loss and the z-loss: beside sums by hand, beside `transformers`, and where they are least."""

import importlib
import importlib.util
import math

import pytest
import torch

from pioneers.compat import import_torchvision
from pioneers.objectives import balance_loss, router_z_loss

B, T, E = 3, 7, 5
MASK = torch.arange(T) < torch.tensor([[7], [2], [5]])


def draw(dtype=torch.float64):
    return 2 * torch.randn(B, T, E, generator=torch.Generator().manual_seed(0), dtype=dtype)


def slow(logits, k, mask):
    """Equations (4) to (6), one token after the other."""
    tokens = [logits[b, t] for b in range(B) for t in range(T) if mask is None or mask[b, t]]
    share, probability = [0.0] * E, [0.0] * E
    for token in tokens:
        for i in token.argsort(descending=True)[:k].tolist():
            share[i] += 1 / len(tokens)
        for i in range(E):
            probability[i] += token.softmax(0)[i].item() / len(tokens)
    return E * sum(f * p for f, p in zip(share, probability, strict=True))


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "padded"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_it_is_the_sum_of_the_paper(k, mask):
    logits = draw()
    assert balance_loss(logits, k=k, mask=mask).item() == pytest.approx(slow(logits, k, mask), rel=1e-5)


@pytest.mark.parametrize("k", [1, 2])
def test_balance_costs_k_and_certainty_about_the_same_experts_costs_all(k):
    even = 9 * torch.stack([torch.eye(E).roll(i, 0) for i in range(k)]).sum(0)[None]  # (1, E, E)
    assert balance_loss(even, k=k).item() == pytest.approx(k, rel=1e-5)
    same = 99.0 * (torch.arange(E) < k).expand(1, T, E)
    assert balance_loss(same, k=k).item() == pytest.approx(E, rel=1e-5)


def test_its_gradient_takes_probability_from_the_expert_with_most_tokens():
    logits = torch.zeros(1, T, E)
    logits[..., 3] = 0.1  # everybody's first choice
    logits.requires_grad_()
    balance_loss(logits).backward()
    probabilities = logits.detach().softmax(-1)
    p = probabilities[..., 3:4]
    expected = E / T * p * ((torch.arange(E) == 3).float() - probabilities)
    torch.testing.assert_close(logits.grad, expected)
    assert (logits.grad[..., 3] > 0).all() and (logits.grad[..., :3] < 0).all()


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "padded"])
def test_the_z_loss_is_the_mean_square_of_the_log_of_the_denominator(mask):
    logits = draw()
    tokens = [logits[b, t] for b in range(B) for t in range(T) if mask is None or mask[b, t]]
    expected = sum(math.log(sum(math.exp(v) for v in token.tolist())) ** 2 for token in tokens) / len(tokens)
    assert router_z_loss(logits, mask=mask).item() == pytest.approx(expected, rel=1e-5)


def test_a_shift_of_all_logits_changes_the_z_loss_only():
    logits = draw()
    assert balance_loss(logits + 3).item() == pytest.approx(balance_loss(logits).item())
    assert router_z_loss(logits + 3) > router_z_loss(logits) + 1


@pytest.mark.parametrize("loss", [balance_loss, router_z_loss])
def test_the_mask_needs_an_entry_per_token(loss):
    with pytest.raises(ValueError, match=r"one entry per token: \(3, 7\), not \(3, 5\)"):
        loss(draw(), mask=torch.ones(B, E, dtype=torch.bool))


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "padded"])
@pytest.mark.parametrize("k", [1, 2])
def test_mixtral(k, mask):
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    import_torchvision()
    theirs = importlib.import_module("transformers.models.mixtral.modeling_mixtral")
    ours_in, theirs_in = (draw(torch.float32).requires_grad_() for _ in range(2))
    ours = balance_loss(ours_in, k=k, mask=mask)
    expected = theirs.load_balancing_loss_func((theirs_in.flatten(0, 1),), E, k, mask)
    torch.testing.assert_close(ours, expected)
    ours.backward()
    expected.backward()
    torch.testing.assert_close(ours_in.grad, theirs_in.grad)
