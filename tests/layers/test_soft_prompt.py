"""A prompt of learned vectors: before the tokens, once, and the only part that is trained."""

import pytest
import torch

from pioneers.generation import generate
from pioneers.layers import SoftPrompt
from pioneers.models import GPT, GPTConfig

P, B, T, V = 2, 3, 5, 11


def gpt():
    torch.manual_seed(0)
    return GPT(GPTConfig(vocab_size=V, max_seq_len=13, d_model=6, num_layers=2, num_heads=3)).eval()


def prompted(ids):
    model = gpt().requires_grad_(False)
    model.embed = SoftPrompt(model.embed, model.embed.token.weight[ids])
    return model


def test_a_prompt_of_token_vectors_is_those_tokens_up_to_their_positions():
    plain, ids = gpt(), torch.randint(V, (B, T))
    first = torch.tensor([3, 7])
    model = prompted(first)
    with torch.no_grad():
        model.embed.prompt += plain.embed.position(P)
    expected = plain(torch.cat([first.expand(B, P), ids], dim=1))
    torch.testing.assert_close(model(ids), expected)
    assert model(ids).shape == (B, P + T, V)


def test_only_the_prompt_learns():
    model = prompted(torch.tensor([3, 7]))
    model(torch.randint(V, (B, T))).square().sum().backward()
    trained = [name for name, p in model.named_parameters() if p.grad is not None]
    assert trained == ["embed.prompt"] and model.embed.prompt.grad.abs().min() > 0


def test_the_prompt_is_a_copy_of_the_vectors_it_begins_with():
    model = prompted(torch.tensor([3, 7]))
    with torch.no_grad():
        model.embed.prompt += 1
    assert torch.equal(model.embed.embed.token.weight, gpt().embed.token.weight)


def test_generation_reads_the_prompt_and_refuses_a_cache():
    model, ids = prompted(torch.tensor([3, 7])), torch.randint(V, (1, T))
    greedy = generate(model, ids, 4, top_k=1, use_cache=False)
    for _ in range(4):
        ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], dim=1)
    assert torch.equal(greedy, ids)
    with pytest.raises(ValueError, match="use_cache=False"):
        generate(model, ids, 4)
