"""From GPT-2 to Llama 3: both ends are the models of the package, and what is compared is comparable."""

import importlib

import pytest
import torch
from torch import nn

from pioneers.models import GPT, GPTConfig, Llama, LlamaConfig

SIZES = {"d_model": 24, "num_heads": 4, "num_kv_heads": 2, "num_layers": 3, "seq_len": 11}
THEIRS = {"vocab_size": 256, "max_seq_len": 11, "d_model": 24, "num_layers": 3, "num_heads": 4}


@pytest.fixture
def experiment(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    return importlib.import_module("experiments.modern_decoder")


def seeded(make):
    torch.manual_seed(0)
    return make()


def test_without_a_change_it_is_gpt_and_with_all_of_them_llama(experiment):
    ids = torch.randint(256, (2, 11), generator=torch.Generator().manual_seed(1))
    gpt = seeded(lambda: GPT(GPTConfig(**THEIRS)))
    llama = seeded(
        lambda: Llama(LlamaConfig(**THEIRS, d_ff=72, num_kv_heads=2, norm_eps=torch.finfo(torch.float).eps))
    )
    for name, expected in (("GPT-2", gpt), ("Llama 3", llama)):
        ours = seeded(lambda name=name: experiment.Decoder(experiment.CHANGES[name], **SIZES))
        torch.testing.assert_close(ours(ids), expected(ids))


def test_each_change_is_made_and_no_other(experiment):
    def traits(model):
        block, modules = model.stack.blocks[0], list(model.modules())
        return {
            "RMSNorm": isinstance(block.norm_attn, nn.RMSNorm),
            "RoPE": model.rotary is not None and not hasattr(model.embed, "position"),
            "SwiGLU": hasattr(block.ffn, "gate"),
            "grouped queries": block.attn.num_kv_heads == 2,
            "no biases": not any(getattr(m, "bias", None) is not None for m in modules),
            "untied head": model.lm_head.weight is not model.embed.token.weight,
            "QK-norm": len(list(block.attn.q_norm.parameters())) > 0,
        }

    for name, parts in experiment.CHANGES.items():
        found = traits(experiment.Decoder(parts, **SIZES))
        assert {part for part, is_there in found.items() if is_there} == set(parts), name


def test_the_matrices_of_the_blocks_have_nearly_as_many_entries(experiment):
    sizes = {key: experiment.CONFIG[key] for key in SIZES}
    counts = []
    for parts in experiment.CHANGES.values():
        blocks = experiment.Decoder(parts, **sizes).stack
        counts.append(sum(p.numel() for p in blocks.parameters() if p.ndim == 2))
    assert max(counts) < 1.002 * min(counts)


def test_a_run_is_repeatable(experiment):
    how = SIZES | {"parts": ("RoPE", "QK-norm"), "rates": (1e-3, 1e-2), "batch_size": 3, "steps": 2}
    first, again, other = (experiment.one_case(seed=seed, **how) for seed in (0, 0, 1))
    assert first == again != other
    assert 5 < first["bits_per_character"] < 20 and first["lr"] == other["lr"]
