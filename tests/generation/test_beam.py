import itertools

import pytest
import torch

from pioneers.generation import beam_search, generate, length_penalty, translate
from pioneers.layers import padding_mask
from pioneers.models import GPT, T5, GPTConfig, T5Config, Transformer, TransformerConfig

STOP, PAD, START = 2, 0, 1
SIZES = {"vocab_size": 5, "max_seq_len": 11, "d_model": 12, "num_layers": 2, "num_heads": 3}


def drawn_anew(model, std):
    for p in model.parameters():
        torch.nn.init.normal_(p, std=std)
    return model.eval()


@pytest.fixture(params=range(3))
def gpt(request):
    torch.manual_seed(request.param)
    return drawn_anew(GPT(GPTConfig(**SIZES)), 0.4)


@pytest.fixture(params=[*range(3), "t5"])
def transformer(request):
    """An encoder–decoder."""
    if request.param == "t5":
        torch.manual_seed(0)
        return drawn_anew(T5(T5Config(**SIZES, d_ff=17, head_dim=5)), 0.4)
    torch.manual_seed(request.param)
    return drawn_anew(Transformer(TransformerConfig(**SIZES, d_ff=17)), 0.4)


def log_prob(logits, sequence):
    """ln p of the last ``len(sequence)`` tokens from the logits of the positions before them."""
    steps = logits.log_softmax(-1)[-len(sequence) - 1 : -1]
    return sum(step[token].item() for step, token in zip(steps, sequence, strict=True))


def every_sequence(longest):
    """All that a search may return: with a stop at the end and none before, or cut off at ``longest``."""
    others = [token for token in range(SIZES["vocab_size"]) if token != STOP]
    for length in range(longest):
        yield from ((*beginning, STOP) for beginning in itertools.product(others, repeat=length))
    yield from itertools.product(others, repeat=longest)


def brute_force(score, longest, alpha):
    return max(every_sequence(longest), key=lambda s: score(s) / ((5 + len(s)) / 6) ** alpha)


def padded(sequence, width):
    return [*sequence, *[PAD] * (width - len(sequence))]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
@torch.no_grad()
def test_a_beam_that_holds_everything_finds_what_brute_force_finds(transformer, alpha):
    source = torch.tensor([[3, 4, 1, 2, 0], [4, 4, 3, 0, 0]])
    lengths = torch.tensor([5, 3])
    mask = padding_mask(lengths)
    how = {"start_id": START, "stop_id": STOP, "mask": mask, "alpha": alpha}
    found = translate(transformer, source, 3, num_beams=5**3, **how)

    def score(row, sequence):
        target = torch.tensor([[START, *sequence]])
        real = source[row : row + 1, : int(lengths[row])]
        return log_prob(transformer(real, target)[0], sequence)

    best = [brute_force(lambda s, row=row: score(row, s), 3, alpha) for row in (0, 1)]
    assert found.tolist() == [padded(s, found.shape[1]) for s in best]
    assert found.shape[1] == max(map(len, best))


@pytest.mark.parametrize("alpha", [0.0, 0.6])
@torch.no_grad()
def test_continuations_and_scores_are_those_of_brute_force(gpt, alpha):
    prompts = torch.tensor([[3, 4, 1], [1, 1, 4]])
    found = beam_search(gpt, prompts, 3, num_beams=5**3, stop_id=STOP, alpha=alpha)
    for row, prompt in enumerate(prompts.tolist()):

        def score(sequence, prompt=prompt):
            return log_prob(gpt(torch.tensor([[*prompt, *sequence]]))[0], sequence)

        best = brute_force(score, 3, alpha)
        assert found.tokens[row].tolist() == padded([*prompt, *best], found.tokens.shape[1])
        expected = score(best) / length_penalty(len(best), alpha)
        assert found.scores[row].item() == pytest.approx(expected, abs=1e-5)


def simple_search(next_log_probs, longest, num_beams, alpha):
    """The rule of `beam_search` in Python's lists, without its short cuts."""
    hypotheses, finished, stopped = [((), 0.0)], [], 0
    for length in range(1, longest + 1):
        longer = [((*s, t), p + q) for s, p in hypotheses for t, q in enumerate(next_log_probs(s))]
        longer.sort(key=lambda hypothesis: -hypothesis[1])
        ended = [h for h in longer[:num_beams] if h[0][-1] == STOP or length == longest]
        finished += [(p / ((5 + length) / 6) ** alpha, s) for s, p in ended]
        stopped += sum(h[0][-1] == STOP for h in ended)
        if stopped >= num_beams:
            break
        hypotheses = [h for h in longer if h[0][-1] != STOP][:num_beams]
    return max(finished)[1]


@pytest.mark.parametrize("alpha", [0.6, 6.0])
@pytest.mark.parametrize("num_beams", [1, 2, 4])
@torch.no_grad()
def test_a_narrow_beam_keeps_to_its_rule(gpt, num_beams, alpha):
    prompts = torch.tensor([[3, 4], [1, 1], [0, 3]])
    found, _ = beam_search(gpt, prompts, 7, num_beams=num_beams, stop_id=STOP, alpha=alpha)
    for row, prompt in enumerate(prompts.tolist()):
        expected = simple_search(
            lambda s, prompt=prompt: gpt(torch.tensor([[*prompt, *s]]))[0, -1].log_softmax(-1).tolist(),
            7,
            num_beams,
            alpha,
        )
        assert found[row].tolist() == padded([*prompt, *expected], found.shape[1])


def test_one_beam_is_greedy(gpt):
    prompts = torch.tensor([[3, 4], [1, 1], [0, 3]])
    greedy = generate(gpt, prompts, 9, top_k=1, stop_ids=[STOP])
    assert torch.equal(beam_search(gpt, prompts, 9, num_beams=1, stop_id=STOP).tokens, greedy)


@pytest.mark.parametrize("num_beams", [1, 3])
def test_with_and_without_cache_the_tokens_are_the_same(gpt, transformer, num_beams):
    source, mask = torch.tensor([[3, 4, 1, 2, 0, 3], [4, 4, 3, 0, 0, 0]]), padding_mask(torch.tensor([6, 3]))
    how = {"num_beams": num_beams, "stop_id": STOP}
    slow, fast = (
        translate(transformer, source, 10, start_id=START, mask=mask, use_cache=use_cache, **how)
        for use_cache in (False, True)
    )
    assert torch.equal(slow, fast)
    slow, fast = (beam_search(gpt, source, 5, use_cache=use_cache, **how) for use_cache in (False, True))
    assert torch.equal(slow.tokens, fast.tokens)
    torch.testing.assert_close(slow.scores, fast.scores)


@torch.no_grad()
def test_greedy_translation_takes_the_most_likely_token_and_pads_behind_the_stop(transformer):
    sources = torch.tensor([[3, 4, 1, 2], [4, 4, 3, 0], [1, 0, 3, 3]])
    found = translate(transformer, sources, 10, start_id=START, stop_id=STOP, pad_id=4)
    for source, row in zip(sources, found.tolist(), strict=True):
        target = [START]
        while len(target) <= 10 and target[-1] != STOP:
            target.append(transformer(source[None], torch.tensor([target]))[0, -1].argmax().item())
        assert row == [*target[1:], *[4] * (found.shape[1] - len(target) + 1)]


def test_the_memory_is_projected_once(transformer):
    calls = []
    projection = transformer.decoder.blocks[0].cross_attn.k_proj
    projection.register_forward_hook(lambda *_: calls.append(1))
    translate(transformer, torch.tensor([[3, 4, 1]]), 4, start_id=START, stop_id=-1, num_beams=2)
    assert len(calls) == 1


def test_the_length_penalty_is_the_papers():
    assert length_penalty(7, 0.0) == 1
    assert length_penalty(7, 1.0) == 2
    assert length_penalty(19, 0.6) == pytest.approx(4**0.6)


def test_bad_arguments_say_what_to_do(gpt):
    prompt = torch.tensor([[1, 3]])
    with pytest.raises(
        ValueError, match=r"num_beams must be at least 1 and alpha at least 0, not 0 and 0\.6"
    ):
        beam_search(gpt, prompt, 3, num_beams=0, stop_id=STOP)
    with pytest.raises(ValueError, match=r"not 2 and -1\.0"):
        beam_search(gpt, prompt, 3, num_beams=2, stop_id=STOP, alpha=-1.0)
    with pytest.raises(ValueError, match=r"call model.eval\(\) first"):
        beam_search(gpt.train(), prompt, 3, num_beams=2, stop_id=STOP)
