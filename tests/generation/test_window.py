"""Texts longer than the context."""

import pytest
import torch
from torch import nn

from pioneers.generation import beam_search, generate, stream
from pioneers.generation.next_token import Window
from pioneers.layers import FeedForward, KVCache, MultiHeadAttention, Stack, TransformerBlock, alibi_bias
from pioneers.models import GPT, GPTConfig, Llama, LlamaConfig

SIZES = {"vocab_size": 31, "max_seq_len": 11, "d_model": 12, "num_layers": 3, "num_heads": 3}
MODELS = {
    "learned": lambda: GPT(GPTConfig(**SIZES)),
    "learned, post-norm": lambda: GPT(GPTConfig(**SIZES, norm_placement="post")),
    "rotary": lambda: Llama(LlamaConfig(**SIZES, d_ff=19, num_kv_heads=1)),
}
PROMPTS = torch.randint(31, (3, 5), generator=torch.Generator().manual_seed(1))


class ALiBi(nn.Module):
    """A language model whose positions have no end."""

    def __init__(self):
        super().__init__()
        self.config = type("Config", (), {"max_seq_len": None})
        self.embed = nn.Embedding(31, 12)
        self.stack = Stack([TransformerBlock(MultiHeadAttention(12, 3), FeedForward(12)) for _ in range(2)])
        self.lm_head = nn.Linear(12, 31)

    def hidden_states(self, input_ids, *, caches=None):
        seen = caches[0].length if caches else 0
        bias = alibi_bias(3, input_ids.shape[1], seen + input_ids.shape[1])
        return self.stack(self.embed(input_ids), bias=bias, causal=True, caches=caches)

    def new_caches(self):
        return [KVCache(99) for _ in self.stack.blocks]


def randomised(make):
    torch.manual_seed(2)
    model = make().eval()
    model.lm_head = nn.Linear(12, 31, bias=False)  # of its own: a tied one repeats the last token
    for p in model.parameters():
        if p.ndim > 1:
            nn.init.normal_(p)
    return model


@pytest.fixture(params=MODELS)
def model(request):
    return randomised(MODELS[request.param])


@torch.no_grad()
def by_hand(model, row, count, slide):
    """Greedy decoding, each token from a pass of its own over the window, which is moved when it is full."""
    row, start = row.tolist(), 0
    for _ in range(count):
        while len(row) - start > 11:
            start += slide
        states = model.hidden_states(torch.tensor([row[start:]]))
        row.append(model.lm_head(states)[0, -1].argmax().item())
    return row


@pytest.mark.parametrize("slide", [None, 1, 4, 11])
def test_greedy_decoding_is_that_of_the_window_computed_anew_for_every_token(model, slide):
    found = generate(model, PROMPTS, 40, top_k=1, slide=slide)
    expected = [by_hand(model, row, 40, slide or 2) for row in PROMPTS]
    assert found.tolist() == expected
    assert min(len({*row[-20:].tolist()}) for row in found) > 1  # what is read decides


@pytest.mark.parametrize("how", [{"seed": 3}, {"top_p": 0.8, "slide": 3}])
def test_the_cache_changes_no_token_beyond_the_context(model, how):
    cached = generate(model, PROMPTS, 40, **how)
    assert torch.equal(cached, generate(model, PROMPTS, 40, use_cache=False, **how))


@torch.no_grad()
def test_with_a_slide_of_one_the_model_reads_the_last_tokens_of_its_context(model):
    row = PROMPTS[:1]
    for _ in range(30):
        row = torch.cat([row, model(row[:, -11:])[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(generate(model, PROMPTS[:1], 30, top_k=1, slide=1), row)


def test_between_two_slides_only_the_newest_token_is_computed(model):
    read = []
    model.embed.register_forward_hook(lambda module, args, out: read.append(args[0].shape[1]))
    generate(model, PROMPTS, 19, slide=4)
    assert read == [5, *[1] * 6, 8, 1, 1, 1, 8, 1, 1, 1, 8, 1, 1, 1]


def test_a_prompt_may_be_longer_than_the_context(model):
    prompt = torch.randint(31, (1, 50))
    found = generate(model, prompt, 7, top_k=1)
    assert torch.equal(found[:, :50], prompt)
    assert found.tolist() == [by_hand(model, prompt[0], 7, 2)]
    assert list(stream(model, prompt, 7, top_k=1)) == found[0, 50:].tolist()


def test_unequal_prompts_continue_as_they_would_alone(model):
    lengths = torch.tensor([2, 5, 4])
    found = generate(model, PROMPTS, 30, top_k=1, lengths=lengths)
    for row, prompt, length in zip(found, PROMPTS, lengths.tolist(), strict=True):
        alone = generate(model, prompt[None, :length], 30, top_k=1)[0]
        assert torch.equal(row[: len(alone)], alone)


@pytest.mark.parametrize("num_beams", [1, 3])
def test_a_beam_goes_beyond_the_context(model, num_beams):
    how = {"num_beams": num_beams, "stop_id": 31 - 1, "alpha": 0.0}
    cached, anew = (beam_search(model, PROMPTS, 25, use_cache=use, **how) for use in (True, False))
    assert torch.equal(cached.tokens, anew.tokens)
    assert cached.tokens.shape[1] > 11
    if num_beams == 1:
        assert torch.equal(cached.tokens, generate(model, PROMPTS, 25, top_k=1, stop_ids=[31 - 1]))


@torch.no_grad()
def test_positions_without_an_end_never_slide():
    model = randomised(ALiBi)
    row = PROMPTS[:1]
    for _ in range(60):
        row = torch.cat([row, model.lm_head(model.hidden_states(row))[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(generate(model, PROMPTS[:1], 60, top_k=1), row)
    assert torch.equal(generate(model, PROMPTS[:1], 60, top_k=1, use_cache=False), row)


@pytest.mark.parametrize("slide", [1, 2, 5, 7])
def test_the_window_holds_the_end_and_at_most_its_size(slide):
    window = Window(size=7, slide=slide)
    for length in range(1, 40):
        held = length - window.start(length)
        assert held == length if length <= 7 else 7 - slide < held <= 7
        assert window.start(length) % slide == 0
