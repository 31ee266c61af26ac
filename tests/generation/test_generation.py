import pytest
import torch

from pioneers.generation import filter_logits, generate, sample
from pioneers.models import GPT, GPTConfig, Llama, LlamaConfig

LOGITS = torch.tensor([[0.5, 0.25, 0.125, 0.125], [0.125, 0.5, 0.25, 0.125]]).log()


SIZES = {"vocab_size": 31, "max_seq_len": 23, "d_model": 12, "num_layers": 3, "num_heads": 3}
MODELS = {
    "pre-norm": lambda: GPT(GPTConfig(**SIZES)),
    "post-norm": lambda: GPT(GPTConfig(**SIZES, norm_placement="post")),
    "llama": lambda: Llama(LlamaConfig(**SIZES, d_ff=19, num_kv_heads=1)),
    "qwen3": lambda: Llama(LlamaConfig(**SIZES, d_ff=19, head_dim=10, qk_norm=True)),
}


@pytest.fixture(params=MODELS)
def model(request):
    torch.manual_seed(0)
    model = MODELS[request.param]().eval()
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


def test_top_k_keeps_what_is_as_likely_as_its_last():
    kept = filter_logits(torch.tensor([[1.0, 3.0, 2.0, 2.0]]), top_k=2)
    assert kept.tolist() == [[-torch.inf, 3.0, 2.0, 2.0]]


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


@pytest.mark.parametrize("use_cache", [True, False])
def test_unequal_prompts_continue_as_each_would_alone(model, use_cache):
    prompts = torch.randint(31, (3, 7), generator=torch.Generator().manual_seed(1))
    lengths = torch.tensor([7, 2, 4])
    together = generate(model, prompts, 11, top_k=1, use_cache=use_cache, lengths=lengths, pad_id=30)
    assert together.shape == (3, 18)
    for prompt, length, row in zip(prompts, lengths.tolist(), together, strict=True):
        alone = generate(model, prompt[None, :length], 11, top_k=1)[0]
        assert row.tolist() == alone.tolist() + [30] * (7 - length)


def test_rows_end_with_their_stop_token_and_generation_with_the_last_row(model):
    prompts = torch.randint(31, (3, 5), generator=torch.Generator().manual_seed(1))
    free = generate(model, prompts, 17, seed=5)
    stops = [free[0, 8].item(), free[1, 11].item(), free[2, 6].item()]
    ends = [min(p for p in range(5, 22) if row[p] in stops) + 1 for row in free.tolist()]
    steps = []
    model.embed.register_forward_hook(lambda *_: steps.append(1))
    ended = generate(model, prompts, 17, seed=5, stop_ids=stops, pad_id=29)
    assert len(steps) == max(ends) - 5
    for row, whole, end in zip(ended.tolist(), free.tolist(), ends, strict=True):
        assert row == whole[:end] + [29] * (max(ends) - end)


def test_a_stop_token_in_the_prompt_does_not_stop(model):
    prompts = torch.tensor([[4, 4, 4], [4, 7, 9]])
    out = generate(model, prompts, 3, seed=1, lengths=torch.tensor([1, 3]), stop_ids=[4])
    assert out[1, :3].tolist() == [4, 7, 9]
    assert out[0, 1] == generate(model, prompts, 3, seed=1, lengths=torch.tensor([1, 3]))[0, 1]


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
    for slide in (0, 24):
        with pytest.raises(ValueError, match=rf"slide must be from 1 to max_seq_len=23, not {slide}"):
            generate(model, prompt, 21, slide=slide)
    for length in (0, 4):
        with pytest.raises(ValueError, match=rf"lengths must lie between 1 and T=3, got \[{length}\]"):
            generate(model, prompt, 3, lengths=torch.tensor([length]))
    with pytest.raises(ValueError, match=r"call model.eval\(\) first"):
        generate(model.train(), prompt, 3)
