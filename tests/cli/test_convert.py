from importlib.util import find_spec

import pytest
import torch

import pioneers
from pioneers.cli import main
from pioneers.weights import load_tokenizer

IDS = torch.tensor([[7, 2, 11, 5, 3]])


def convert(*arguments):
    return main(["convert", *map(str, arguments)])


def outputs(model, kind):
    given = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0)) if kind == "vit" else IDS
    with torch.no_grad():
        found = model(given)
    return found if isinstance(found, torch.Tensor) else found.masked_lm


@pytest.mark.parametrize("kind", ["gpt", "bert", "vit"])
def test_there_and_back_is_the_same_model(kind, trained, tmp_path, capsys):
    assert convert(trained(kind), tmp_path / "theirs", "--to", "huggingface") == 0
    assert convert(tmp_path / "theirs", tmp_path / "ours") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("for transformers to read")
    assert said[1].endswith("for pioneers to read")
    assert "model_type" in (tmp_path / "theirs" / "config.json").read_text()
    before, after = pioneers.from_pretrained(trained(kind)), pioneers.from_pretrained(tmp_path / "ours")
    assert torch.equal(outputs(before, kind), outputs(after, kind))
    assert ("with its tokenizer" in said[0]) == (kind != "vit")
    if kind != "vit":
        text = "The value of an expression, 1,234 naïve words"
        ids = [load_tokenizer(folder).encode(text) for folder in (trained(kind), tmp_path / "ours")]
        assert ids[0] == ids[1]


@pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")
@pytest.mark.parametrize(("kind", "name"), [("gpt", "GPT2LMHeadModel"), ("bert", "BertForPreTraining")])
def test_transformers_reads_model_and_tokenizer(kind, name, trained, tmp_path):
    from pioneers.compat import import_torchvision

    import_torchvision()
    import transformers

    assert convert(trained(kind), tmp_path / "theirs", "--to", "huggingface") == 0
    theirs = getattr(transformers, name).from_pretrained(tmp_path / "theirs").eval()
    with torch.no_grad():
        logits = theirs(IDS)[0]
    ours = outputs(pioneers.from_pretrained(trained(kind)), kind)
    torch.testing.assert_close(logits, ours, rtol=0, atol=1e-5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    assert len(tokenizer) == theirs.config.vocab_size
    if kind == "gpt":
        assert (
            theirs.config.eos_token_id is theirs.generation_config.eos_token_id is tokenizer.eos_token is None
        )
    text = "The value of an expression, 1,234 words!"
    assert tokenizer.encode(text, add_special_tokens=False) == load_tokenizer(trained(kind)).encode(text)
