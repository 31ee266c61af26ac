import pytest
import torch
from torch.distributions import Categorical, kl_divergence

from pioneers.objectives import causal_lm_loss, classification_loss, seq2seq_loss, span_loss, tagging_loss

B, T, V = 2, 5, 7


def test_smoothed_loss_is_the_cross_entropy_with_the_smoothed_target():
    torch.manual_seed(0)
    logits, targets = torch.randn(1, T, V), torch.randint(V, (1, T))
    smoothed = torch.full((T, V), 0.1 / V)
    smoothed[torch.arange(T), targets[0]] += 0.9
    kl = kl_divergence(Categorical(smoothed), Categorical(logits=logits[0])) + Categorical(smoothed).entropy()
    torch.testing.assert_close(seq2seq_loss(logits, targets), kl.mean())
    padded = torch.cat([targets, torch.tensor([[-100]])], dim=1)
    longer = torch.cat([logits, torch.randn(1, 1, V)], dim=1)
    torch.testing.assert_close(seq2seq_loss(longer, padded), kl.mean())


def test_auxiliary_loss_is_added_with_its_weight():
    torch.manual_seed(0)
    logits, labels = torch.randn(B, 3), torch.tensor([2, 0])
    lm_logits, lm_targets = torch.randn(B, T, V), torch.randint(V, (B, T))
    alone = classification_loss(logits, labels)
    expected = -sum(logits.log_softmax(-1)[b, labels[b]] for b in range(B)) / B
    torch.testing.assert_close(alone, expected)
    both = classification_loss(logits, labels, lm_logits=lm_logits, lm_targets=lm_targets, lm_weight=0.3)
    torch.testing.assert_close(both, alone + 0.3 * causal_lm_loss(lm_logits, lm_targets))


def test_span_loss_averages_start_and_end():
    torch.manual_seed(0)
    logits, starts, ends = torch.randn(B, T, 2), torch.tensor([1, 0]), torch.tensor([4, 0])
    logp = logits.log_softmax(dim=1)
    terms = [logp[b, starts[b], 0] + logp[b, ends[b], 1] for b in range(B)]
    torch.testing.assert_close(span_loss(logits, starts, ends), -sum(terms) / (2 * B))


def test_tags_of_padding_do_not_count():
    torch.manual_seed(0)
    logits, tags = torch.randn(B, T, 3), torch.tensor([[0, -100, 2, 1, -100], [1, 1, -100, 0, 2]])
    loss = tagging_loss(logits, tags)
    logits[tags == -100] = 99.0
    assert tagging_loss(logits, tags).item() == pytest.approx(loss.item())
