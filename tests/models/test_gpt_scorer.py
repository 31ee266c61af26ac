import torch

from pioneers.models import GPT, GPTConfig, GPTScorer


def scorer():
    torch.manual_seed(0)
    made = GPTScorer(
        GPT(GPTConfig(vocab_size=13, max_seq_len=11, d_model=6, num_layers=2, num_heads=3))
    ).eval()
    torch.nn.init.normal_(made.head.weight)
    return made


def test_a_score_for_each_position_from_the_state_there():
    model, ids = scorer(), torch.tensor([[1, 5, 2, 7, 3], [4, 4, 0, 12, 9]])
    states = model.gpt.hidden_states(ids)
    expected = torch.stack([state @ model.head.weight[0] for state in states])
    torch.testing.assert_close(model(ids), expected)


def test_a_score_depends_on_nothing_that_comes_later():
    model, ids = scorer(), torch.tensor([[1, 5, 2, 7, 3]])
    changed = ids.clone()
    changed[0, 3] = 0
    before, after = model(ids), model(changed)
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert (before[:, 3:] - after[:, 3:]).abs().min() > 1e-4


def test_every_parameter_learns():
    model = scorer()
    model(torch.randint(13, (3, 11))).square().mean().backward()
    assert all(weights.grad is not None and weights.grad.any() for weights in model.parameters())
