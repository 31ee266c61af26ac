import math

import pytest
import torch

from pioneers.objectives import causal_lm, causal_lm_loss


def test_targets_are_the_inputs_one_step_later():
    tokens = torch.arange(12).view(2, 6)
    input_ids, targets = causal_lm(tokens)
    assert torch.equal(input_ids[:, 1:], targets[:, :-1])
    assert torch.equal(targets[:, -1], tokens[:, -1])


def test_loss_is_the_mean_negative_log_likelihood():
    torch.manual_seed(0)
    logits, targets = torch.randn(2, 3, 5), torch.tensor([[4, 0, 2], [1, 1, -100]])
    logp = logits - logits.exp().sum(-1, keepdim=True).log()
    terms = [-logp[b, t, targets[b, t]].item() for b in range(2) for t in range(3) if targets[b, t] >= 0]
    assert causal_lm_loss(logits, targets).item() == pytest.approx(sum(terms) / 5, abs=1e-5)


def test_knowing_nothing_costs_the_logarithm_of_the_vocabulary():
    loss = causal_lm_loss(torch.zeros(1, 3, 7), torch.tensor([[0, 3, 6]]))
    assert loss.item() == pytest.approx(math.log(7), abs=1e-6)
