import pytest
import torch

from pioneers.generation import generate, generate_text, stream_text
from pioneers.models import GPT, GPTConfig
from pioneers.tokenizers import ByteLevelBPE

TOKENIZER = ByteLevelBPE.train("the value of the values", 263)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    sizes = {"max_seq_len": 13, "d_model": 12, "num_layers": 2, "num_heads": 3}
    return GPT(GPTConfig(vocab_size=TOKENIZER.vocab_size, **sizes)).eval()


@pytest.mark.parametrize("how", [{}, {"top_k": 1}, {"temperature": 0.5, "top_p": 0.9}])
def test_each_sample_is_that_of_its_seed(model, how):
    ids = torch.tensor([TOKENIZER.encode("the value")])
    texts = generate_text(model, TOKENIZER, "the value", 40, num_samples=3, seed=5, **how)
    expected = [
        TOKENIZER.decode(generate(model, ids, 40, seed=seed, **how)[0].tolist()) for seed in (5, 6, 7)
    ]
    assert texts == expected
    assert "the value" + "".join(stream_text(model, TOKENIZER, "the value", 40, seed=6, **how)) == texts[1]


def test_a_stop_text_ends_every_sample(model):
    whole = generate_text(model, TOKENIZER, "the", 40, num_samples=2)
    stop = whole[0][10:12]
    ended = generate_text(model, TOKENIZER, "the", 40, num_samples=2, stop=[stop])
    assert ended == ["the" + text[3:].split(stop)[0] for text in whole]
    assert len(ended[0]) < len(whole[0])


def test_a_special_token_ends_the_text():
    tokenizer = ByteLevelBPE([], ["<|endoftext|>"])
    model = GPT(GPTConfig(vocab_size=257, max_seq_len=9, d_model=12, num_layers=1, num_heads=3)).eval()
    with torch.no_grad():  # whatever it has read, the special token is the most likely one
        model.embed.token.weight[:256].zero_()
        model.stack.norm.weight.zero_()
        model.stack.norm.bias.copy_(model.embed.token.weight[256])
    assert generate_text(model, tokenizer, "the", 5, top_k=1) == ["the"]


def test_an_empty_prompt_is_refused(model):
    with pytest.raises(ValueError, match="the prompt is empty: give the model a few words to continue"):
        stream_text(model, TOKENIZER, "", 5)
