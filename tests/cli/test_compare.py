import json
from importlib.util import find_spec

import pytest

from pioneers.cli import main

pytestmark = pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")


@pytest.fixture
def pair(trained, tmp_path, capsys):
    """A run, and its model as transformers reads it."""
    theirs = tmp_path / "theirs"
    assert main(["convert", str(trained("gpt")), str(theirs), "--to", "huggingface"]) == 0
    capsys.readouterr()
    return str(trained("gpt")), theirs


def test_a_converted_model_differs_nowhere(pair, capsys):
    assert main(["compare", *map(str, pair)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "in GPT2LMHeadModel" in lines[0]
    assert any("attn.q_proj, k_proj, v_proj" in line and "attn.c_attn" in line for line in lines)
    assert lines[-1].startswith("no layer differs")


def test_the_first_difference_is_named(pair, capsys):
    ours, theirs = pair
    config = json.loads((theirs / "config.json").read_text())
    (theirs / "config.json").write_text(json.dumps(config | {"activation_function": "relu"}))
    assert main(["compare", ours, str(theirs)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("first difference: stack.blocks.0.ffn.down; the weights are the same")
