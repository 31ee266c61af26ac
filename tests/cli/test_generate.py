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


def test_by_default_as_many_tokens_as_fit(trained, capsys):
    folder = trained("gpt")
    room = 23 - len(load_tokenizer(folder).encode(PROMPT))
    assert written(capsys, folder, "--prompt", PROMPT) == expected(folder, room)


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


def test_what_cannot_be_continued_is_refused(trained, tmp_path, fails):
    folder = trained("gpt")
    assert fails(["generate", folder, "--prompt", ""]) == "the prompt is empty: give --prompt a few words"
    used = len(load_tokenizer(folder).encode(PROMPT))
    assert fails(["generate", folder, "--prompt", PROMPT, "--tokens", "23"]) == (
        f"the prompt has {used} tokens and the model holds 23, which leaves room for {23 - used}: shorten "
        "the prompt or give a smaller --tokens"
    )
    assert "leaves room for 0" in fails(["generate", folder, "--prompt", PROMPT * 9])
    assert "only a GPT or a Llama continues texts" in fails(["generate", trained("bert"), "--prompt", PROMPT])
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "mixed").mkdir(exist_ok=True)
        (tmp_path / "mixed" / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "mixed" / "vocab.txt").write_bytes((trained("bert") / "vocab.txt").read_bytes())
    mixed = fails(["generate", tmp_path / "mixed", "--prompt", PROMPT])
    assert mixed.endswith("has a WordPiece; restore the model's own, a byte-level BPE")
    assert "is not a model folder: it has no config.json" in fails(["generate", tmp_path, "--prompt", PROMPT])
    assert "top_p must lie in (0, 1]" in fails(["generate", folder, "--prompt", PROMPT, "--top-p", "2"])
