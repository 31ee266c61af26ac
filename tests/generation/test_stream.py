import pytest
import torch

from pioneers.generation import generate, sampling, spell, stream
from pioneers.models import GPT, GPTConfig
from pioneers.tokenizers import ByteLevelBPE

PROMPT = torch.tensor([[3, 1, 4]])


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return GPT(GPTConfig(vocab_size=13, max_seq_len=23, d_model=12, num_layers=2, num_heads=3)).eval()


@pytest.mark.parametrize(
    "how", [{}, {"top_k": 1}, {"seed": 5}, {"temperature": 0.7, "top_k": 5}, {"top_p": 0.6, "seed": 2}]
)
def test_the_stream_is_what_generate_returns(model, how):
    whole = generate(model, PROMPT, 17, **how)[0, 3:].tolist()
    assert list(stream(model, PROMPT, 17, **how)) == whole
    stop = whole[7]
    ended = generate(model, PROMPT, 17, stop_ids=[stop], **how)[0, 3:].tolist()
    assert list(stream(model, PROMPT, 17, stop_ids=[stop], **how)) == ended
    assert list(stream(model, PROMPT, 50, **how)) == generate(model, PROMPT, 50, **how)[0, 3:].tolist()


def test_a_token_comes_before_the_next_is_drawn(model, monkeypatch):
    draws = []
    real = sampling.sample
    monkeypatch.setattr(sampling, "sample", lambda *how, **more: draws.append(1) or real(*how, **more))
    tokens = stream(model, PROMPT, 5)
    for count in (1, 2, 3):
        next(tokens)
        assert len(draws) == count


def test_what_cannot_be_continued_is_refused(model):
    with pytest.raises(ValueError, match=r"stream continues one prompt \(1, T\), not 2"):
        stream(model, PROMPT.repeat(2, 1), 3)
    for make in (stream, generate):
        with pytest.raises(ValueError, match="temperature must be positive, not 0"):
            make(model, PROMPT, 3, temperature=0)
    assert list(stream(model, PROMPT, 3, temperature=0, top_k=1)) == list(stream(model, PROMPT, 3, top_k=1))


@pytest.mark.parametrize("text", ["naïve café", "日本語 🤗!", "e\u0301", ""])
def test_characters_come_whole(text):
    tokenizer = ByteLevelBPE([])
    pieces = list(spell(tokenizer.encode(text), tokenizer))
    assert pieces == list(text)


def test_bytes_that_are_no_character_become_a_sign():
    tokenizer = ByteLevelBPE([])
    broken = tokenizer.encode_bytes("a日".encode()[:3])
    assert "".join(spell(broken, tokenizer)) == "a\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ((), "to be, or not to be"),
        (["or"], "to be, "),
        (["be,", "or"], "to "),
        (["or", "be,"], "to "),
        (["bet", "note"], "to be, or not to be"),
        (["be not"], "to be, or not to be"),
        (["to be"], ""),
        (["t"], ""),
    ],
)
def test_the_text_ends_before_a_stop_text(stop, expected):
    tokenizer = ByteLevelBPE.train("to be, or not to be", vocab_size=262)
    assert "".join(spell(tokenizer.encode("to be, or not to be"), tokenizer, stop=stop)) == expected


def test_what_may_become_a_stop_text_is_held_back():
    tokenizer = ByteLevelBPE([])
    pieces = spell(tokenizer.encode("aa.b"), tokenizer, stop=[".c"])
    assert list(pieces) == ["a", "a", ".b"]
