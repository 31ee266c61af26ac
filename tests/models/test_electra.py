import pytest
import torch

from pioneers.layers import padding_mask
from pioneers.models import ELECTRAConfig, ELECTRAForPretraining

B, T, V, D, E = 3, 7, 31, 12, 5
CONFIG = ELECTRAConfig(
    vocab_size=V, max_seq_len=11, d_model=D, num_layers=2, num_heads=3, d_embed=E, generator_width=2 / 3
)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return ELECTRAForPretraining(CONFIG).eval()


def text():
    generator = torch.Generator().manual_seed(1)
    return torch.randint(5, V, (B, T), generator=generator), torch.rand(B, T, generator=generator) < 0.4


@pytest.mark.parametrize(
    ("preset", "sizes"),
    [("small", (64, 256, 1, 128)), ("base", (256, 1024, 4, 768)), ("large", (256, 1024, 4, 1024))],
)
def test_generators_have_the_published_sizes(preset, sizes):
    config = ELECTRAConfig.preset(preset)
    generator = config.generator()
    assert (generator.d_model, generator.d_ff, generator.num_heads, generator.d_embed) == sizes
    assert generator.num_layers == config.num_layers


def test_one_embedding_serves_both_and_the_projections_are_their_own(model):
    embed = model.discriminator.bert.embed
    assert model.generator.bert.embed is embed
    assert model.generator.masked_lm.lm_head.weight is embed.token.weight
    assert model.generator.bert.project.weight.shape == (8, E)
    assert model.discriminator.bert.project.weight.shape == (D, E)


def test_both_predictions_are_those_of_the_two_models_alone(model):
    ids, predict = text()
    how = {
        "segment_ids": (torch.arange(T) > 3).long().expand(B, T),
        "mask": padding_mask(torch.tensor([7, 4, 2])),
    }
    out = model(ids, predict_mask=predict, **how)
    torch.testing.assert_close(out.generator, model.generator(ids, **how)[predict])
    torch.testing.assert_close(out.discriminator, model.discriminator(out.corrupted_ids, **how))
    assert torch.equal(out.corrupted_ids[~predict], ids[~predict])


def test_samples_follow_the_generators_distribution_and_its_random_numbers(model):
    ids, predict = torch.full((400, 1), 9), torch.ones(400, 1, dtype=torch.bool)
    draws = [
        model(ids, predict_mask=predict, generator=torch.Generator().manual_seed(seed)) for seed in (3, 3, 4)
    ]
    assert torch.equal(draws[0].corrupted_ids, draws[1].corrupted_ids)
    assert not torch.equal(draws[0].corrupted_ids, draws[2].corrupted_ids)
    expected = draws[0].generator[0].softmax(dim=-1)
    found = torch.cat([draws[0].corrupted_ids, draws[2].corrupted_ids]).flatten().bincount(minlength=V) / 800
    assert (found - expected).abs().max() < 5 * (expected.max() / 800).sqrt()


def test_the_discriminator_sends_no_gradient_to_the_generator(model):
    ids, predict = text()
    model(ids, predict_mask=predict).discriminator.sum().backward()
    reached = {name for name, p in model.named_parameters() if p.grad is not None}
    assert reached
    assert all(name.startswith("discriminator.") for name in reached)


def test_a_text_without_hidden_tokens_is_read_as_it_is(model):
    ids, _ = text()
    out = model(ids, predict_mask=torch.zeros(B, T, dtype=torch.bool))
    assert out.generator.shape == (0, V)
    assert torch.equal(out.corrupted_ids, ids)
