import math

import torch

from pioneers.models import BERT, BERTConfig, SpanBoundaryHead
from pioneers.objectives import masked_lm_loss, span_masking

B, T, V, D, P = 3, 17, 31, 12, 5


def case():
    torch.manual_seed(0)
    bert = BERT(BERTConfig(vocab_size=V, max_seq_len=T, d_model=D, num_layers=1, num_heads=3, dropout=0.0))
    head = SpanBoundaryHead(bert, max_span=4, place_dim=P)
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    ids = torch.randint(4, V, (B, T))
    ids[:, 0], ids[:, -1] = 1, 2
    spans = span_masking(ids, mask_id=3, vocab_size=V, special_ids=(0, 1, 2), mask_prob=0.5)
    return bert, head, spans


def test_every_hidden_token_is_predicted_from_the_ends_of_its_span():
    """Joshi et al. 2020, section 3.2, one token at a time."""
    bert, head, spans = case()
    hidden = torch.randn(B, T, D)

    def layer(x, linear, norm):
        x = linear.weight @ x + linear.bias
        x = x * (1 + torch.erf(x / math.sqrt(2))) / 2
        return (x - x.mean()) / (x.var(unbiased=False) + 1e-12).sqrt() * norm.weight + norm.bias

    expected = []
    for b in range(B):
        for i in range(T):
            if spans.targets[b, i] != -100:
                before, after = (spans.left[b, i].item(), spans.right[b, i].item())
                place = head.place.weight[min(i - before - 1, 3)]
                x = torch.cat([hidden[b, before], hidden[b, after], place])
                x = layer(layer(x, head.layers[0], head.layers[2]), head.layers[3], head.layers[5])
                expected.append(bert.embed.token.weight @ x + head.lm_head.bias)
    logits = head(*spans.boundaries(hidden))
    torch.testing.assert_close(logits, torch.stack(expected), atol=1e-4, rtol=1e-4)
    assert head.lm_head.weight is bert.embed.token.weight


def test_the_loss_reaches_the_states_at_the_boundaries_and_no_other():
    _, head, spans = case()
    hidden = torch.randn(B, T, D, requires_grad=True)
    masked_lm_loss(head(*spans.boundaries(hidden)), spans.targets).backward()
    chosen = spans.targets != -100
    next_to = torch.zeros(B, T, dtype=torch.bool)
    next_to[:, :-1] |= chosen[:, 1:]
    next_to[:, 1:] |= chosen[:, :-1]
    assert torch.equal(hidden.grad.any(dim=-1), next_to & ~chosen)
