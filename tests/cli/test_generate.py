import io

import pytest
import torch
from tokenizers import ByteLevelBPETokenizer as ByteLevel

import pioneers
from pioneers.cli import main
from pioneers.generation import generate
from pioneers.models import GPT, GPTConfig, Llama, LlamaConfig
from pioneers.tokenizers import ByteLevelBPE, LibraryBPE
from pioneers.weights import load_tokenizer, save_pretrained, save_tokenizer

PROMPT = "The value"


def written(capsys, *arguments):
    assert main(["generate", *map(str, arguments)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def expected(folder, tokens, **how):
    """The same text by way of the library."""
    model, tokenizer = pioneers.from_pretrained(folder), load_tokenizer(folder)
    ids = torch.tensor([tokenizer.encode(PROMPT)])
    return tokenizer.decode(generate(model, ids, tokens, **how)[0].tolist()) + "\n"


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ([], {}),
        (["--seed", "3"], {"seed": 3}),
        (["--temperature", "0.5", "--top-k", "7"], {"temperature": 0.5, "top_k": 7}),
        (["--top-p", "0.3"], {"top_p": 0.3}),
        (["--greedy"], {"top_k": 1}),
        (["--temperature", "0"], {"top_k": 1}),
    ],
)
def test_the_text_is_that_of_the_library(options, how, trained, capsys):
    found = written(capsys, trained("gpt"), "--prompt", PROMPT, "--tokens", "11", *options)
    assert found == expected(trained("gpt"), 11, **how)


def test_by_default_200_tokens_which_are_more_than_the_model_holds(trained, capsys):
    folder = trained("gpt")
    assert pioneers.from_pretrained(folder).config.max_seq_len == 23
    assert written(capsys, folder, "--prompt", PROMPT) == expected(folder, 200)


def test_several_samples_are_those_of_the_following_seeds(trained, capsys):
    folder = trained("gpt")
    found = written(capsys, folder, "--prompt", PROMPT, "--samples", "3", "--seed", "4", "--tokens", "9")
    texts = [expected(folder, 9, seed=seed) for seed in (4, 5, 6)]
    assert found == ("-" * 15 + "\n").join(texts)
    assert len({*texts}) == 3


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_prompt_may_come_from_a_file_or_from_standard_input(end, trained, tmp_path, capsys, monkeypatch):
    raw = (PROMPT + end).encode()
    (tmp_path / "prompt.txt").write_bytes(raw)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
    for name in (tmp_path / "prompt.txt", "-"):
        found = written(capsys, trained("gpt"), "--prompt-file", name, "--tokens", "9")
        assert found == expected(trained("gpt"), 9)


def test_a_stop_text_ends_it(trained, capsys):
    whole = written(capsys, trained("gpt"), "--prompt", PROMPT, "--greedy").removesuffix("\n")
    stop = whole[len(PROMPT) + 3 :][:2]
    cut = PROMPT + whole[len(PROMPT) :].split(stop)[0]
    found = written(capsys, trained("gpt"), "--prompt", PROMPT, "--greedy", "--stop", "never", "--stop", stop)
    assert found == cut + "\n"
    assert len(cut) < len(whole)


def test_a_special_token_ends_the_text_and_is_not_written(tmp_path, capsys):
    tokenizer = ByteLevelBPE([], ["<|endoftext|>"])
    model = GPT(GPTConfig(vocab_size=257, max_seq_len=23, d_model=12, num_layers=1, num_heads=3))
    with torch.no_grad():  # whatever it has read, the special token is the most likely one
        model.embed.token.weight[:256].zero_()
        model.stack.norm.weight.zero_()
        model.stack.norm.bias.copy_(model.embed.token.weight[256])
    save_pretrained(model, tmp_path)
    save_tokenizer(tokenizer, tmp_path)
    assert written(capsys, tmp_path, "--prompt", PROMPT, "--greedy") == PROMPT + "\n"


def test_a_llama_continues_too_with_a_tokenizer_of_the_library(trained, tmp_path, capsys):
    library = ByteLevel()
    library.train_from_iterator([PROMPT], vocab_size=261, special_tokens=["<|end_of_text|>"])
    save_tokenizer(LibraryBPE(library.to_str()), tmp_path)
    sizes = {"vocab_size": 261, "max_seq_len": 23, "d_model": 12, "d_ff": 19, "num_layers": 1, "num_heads": 3}
    torch.manual_seed(0)
    save_pretrained(Llama(LlamaConfig(**sizes)), tmp_path)
    assert written(capsys, tmp_path, "--prompt", PROMPT, "--tokens", "5") == expected(tmp_path, 5)


def test_a_tokenizer_of_another_model_is_refused(trained, tmp_path, fails):
    folder = trained("gpt")
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "mixed").mkdir(exist_ok=True)
        (tmp_path / "mixed" / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "mixed" / "vocab.txt").write_bytes((trained("bert") / "vocab.txt").read_bytes())
    mixed = fails(["generate", tmp_path / "mixed", "--prompt", PROMPT])
    assert mixed.endswith("has a WordPiece; restore the model's own, a byte-level BPE")
