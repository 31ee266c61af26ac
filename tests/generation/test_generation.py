import pytest
import torch

from pioneers.generation import filter_logits, generate, sample
from pioneers.models import GPT, GPTConfig

LOGITS = torch.tensor([[0.5, 0.25, 0.125, 0.125], [0.125, 0.5, 0.25, 0.125]]).log()


@pytest.fixture(params=[True, False], ids=["pre-norm", "post-norm"])
def model(request):
    torch.manual_seed(0)
    config = GPTConfig(
        vocab_size=31, max_seq_len=23, d_model=12, num_layers=3, num_heads=3, norm_first=request.param
    )
    model = GPT(config).eval()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return model


@pytest.mark.parametrize(
    "how", [{"top_k": 1}, {"temperature": 0.7}, {"top_k": 5}, {"top_p": 0.8}, {"top_k": 9, "top_p": 0.6}]
)
def test_cached_generation_equals_uncached_token_for_token(model, how):
    prompt = torch.randint(31, (3, 5), generator=torch.Generator().manual_seed(1))
    cached = generate(model, prompt, 18, seed=3, **how)
    assert torch.equal(cached, generate(model, prompt, 18, seed=3, use_cache=False, **how))
    assert torch.equal(cached[:, :5], prompt)
    assert cached.shape == (3, 23)


def test_greedy_takes_the_most_likely_token(model):
    prompt = torch.tensor([[1, 2, 3]])
    out = generate(model, prompt, 4, top_k=1)
    for t in range(3, 7):
        assert out[0, t] == model(out[:, :t])[0, -1].argmax()


def test_other_seeds_draw_other_tokens(model):
    prompt = torch.zeros(2, 3, dtype=torch.long)
    assert not torch.equal(generate(model, prompt, 15, seed=0), generate(model, prompt, 15, seed=1))


def test_temperature_divides_the_logits():
    torch.testing.assert_close(filter_logits(LOGITS, temperature=0.5), LOGITS * 2)


def test_top_k_keeps_k_tokens():
    kept = filter_logits(LOGITS, top_k=2).isfinite()
    assert kept.tolist() == [[True, True, False, False], [False, True, True, False]]
    assert filter_logits(LOGITS, top_k=99).isfinite().all()


@pytest.mark.parametrize(("top_p", "kept"), [(0.3, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.8, 3), (1.0, 4)])
def test_top_p_keeps_the_smallest_set_that_reaches_p(top_p, kept):
    assert filter_logits(LOGITS, top_p=top_p).isfinite().sum(-1).tolist() == [kept, kept]


def test_samples_follow_the_probabilities():
    draws = sample(LOGITS[:1].expand(20_000, -1), generator=torch.Generator().manual_seed(0)).flatten()
    shares = draws.bincount(minlength=4) / 20_000
    torch.testing.assert_close(shares, LOGITS[0].exp(), atol=0.015, rtol=0)  # four standard errors


def test_bad_arguments_say_what_to_do(model):
    prompt = torch.zeros(1, 3, dtype=torch.long)
    with pytest.raises(ValueError, match="for greedy decoding use top_k=1"):
        filter_logits(LOGITS, temperature=0.0)
    with pytest.raises(ValueError, match="top_k must be at least 1, not 0"):
        filter_logits(LOGITS, top_k=0)
    with pytest.raises(ValueError, match=r"top_p must lie in \(0, 1\], not 1.5"):
        filter_logits(LOGITS, top_p=1.5)
    with pytest.raises(ValueError, match=r"at least one token, got \(1, 0\)"):
        generate(model, prompt[:, :0], 3)
    for use_cache in (True, False):
        with pytest.raises(ValueError, match=r"together are 24 tokens and the model has max_seq_len=23"):
            generate(model, prompt, 21, use_cache=use_cache)
    with pytest.raises(ValueError, match=r"call model.eval\(\) first"):
        generate(model.train(), prompt, 3)
