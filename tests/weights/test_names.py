"""Tables of names, here and in another library."""

import re

import pytest
import torch
from torch import nn

from pioneers.models import BERT, GPT, BERTConfig, GPTConfig, Llama, LlamaConfig, ViT, ViTConfig
from pioneers.weights import name_table
from pioneers.weights.registry import layout_of

MODELS = {
    "GPT": lambda: GPT(GPTConfig.preset("mini")),
    "BERT": lambda: BERT(BERTConfig.preset("mini")),
    "ViT": lambda: ViT(ViTConfig.preset("digits")),
    "Llama": lambda: Llama(LlamaConfig.preset("mini")),
}


def names_in(column):
    return [name for cell in column for name in re.findall("`([^`]+)`", cell)]


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_is_in_the_table_by_a_name_of_its_own(name):
    torch.manual_seed(0)
    model = MODELS[name]()
    rows = [line.split(" | ") for line in name_table(model).splitlines()[2:]]
    shown = names_in(row[0] for row in rows)
    assert len(set(shown)) == len(shown)
    parameters = {re.sub(r"\.\d+\.", ".i.", path) for path, _ in model.named_parameters()}
    whole = {path for path in parameters if path in shown}
    layers = {path for path in parameters if path.rpartition(".")[0] in shown}
    assert whole | layers == parameters
    theirs = layout_of(model).tensors_to_theirs(model)
    stored = {re.sub(r"\.\d+\.", ".i.", path) for path in theirs}
    shown = names_in(row[1] for row in rows)
    assert {path for path in stored if path in shown or path.rpartition(".")[0] in shown} == stored


def test_says_what_differs():
    table = name_table(MODELS["GPT"]())
    assert "| in `GPT2LMHeadModel` |" in table
    assert (
        "| `stack.blocks.i.attn.q_proj`<br>`stack.blocks.i.attn.k_proj`<br>`stack.blocks.i.attn.v_proj` | "
        "`transformer.h.i.attn.c_attn` | theirs is transposed; theirs has all of them, one after the other |"
    ) in table


def test_a_model_that_nobody_else_has():
    with pytest.raises(ValueError, match="no other library that is read here has a Linear"):
        name_table(nn.Linear(2, 3))
