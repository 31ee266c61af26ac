"""The table of variations: a row changes one thing, and not the initialisation with it."""

import importlib

import pytest
import torch
from torch import nn

from pioneers.layers import MultiHeadAttention
from pioneers.models import Transformer, TransformerConfig

SIZES = {"vocab_size": 11, "max_seq_len": 7, "d_model": 48, "d_ff": 64, "num_layers": 1, "num_heads": 4}


@pytest.mark.parametrize("case", ["B: keys of width 4", "E: learned positions"])
def test_parts_that_replace_others_start_as_these_do(root, monkeypatch, case):
    monkeypatch.syspath_prepend(root)
    variations = importlib.import_module("experiments.variations")
    changes = {"key_dim": None, "learned_positions": False} | variations.CASES[case]
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(**SIZES))
    before = {name: p.shape for name, p in model.named_parameters()}
    variations.replace_parts(model, **changes)
    assert {name: p.shape for name, p in model.named_parameters()} != before
    matrices = [
        linear.weight
        for attn in model.modules()
        if isinstance(attn, MultiHeadAttention)
        for linear in (attn.q_proj, attn.k_proj, attn.v_proj, attn.o_proj)
    ]
    assert len(matrices) == 12
    if changes["learned_positions"]:
        matrices.append(model.embed.position.table)
    for weights in matrices:
        xavier = nn.init.xavier_uniform_(torch.empty_like(weights))
        assert weights.std().item() == pytest.approx(xavier.std().item(), rel=0.1)
