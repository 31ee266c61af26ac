"""Every library does the work it is timed for: the same sizes, a finite loss, a gradient."""

import importlib.util
import math

import pytest
import torch

from pioneers.bench.benchmarks import (
    benchmarks,
    bert_benchmark,
    generate_benchmark,
    gpt_benchmark,
    vit_benchmark,
)
from pioneers.models import GPT, BERTConfig, GPTConfig, ViTConfig

GPT_TINY = GPTConfig(vocab_size=37, max_seq_len=11, d_model=12, num_layers=2, num_heads=3)
BERT_TINY = BERTConfig(vocab_size=37, max_seq_len=11, d_model=12, num_layers=2, num_heads=3, dropout=0.0)
VIT_TINY = ViTConfig(image_size=15, patch_size=5, num_classes=7, d_model=12, num_layers=2, num_heads=3)
TRAINING = {
    "gpt": (gpt_benchmark(GPT_TINY, batch_size=3), 37),
    "bert": (bert_benchmark(BERT_TINY, batch_size=5), 37),
    "vit": (vit_benchmark(VIT_TINY, batch_size=5), 7),
}
IMPLEMENTATIONS = [
    (name, library) for name, (benchmark, _) in TRAINING.items() for library in benchmark.implementations
]
PACKAGES = {"x-transformers": "x_transformers", "vit-pytorch": "vit_pytorch", "torch.nn": "torch"}


def need(library):
    for package in (PACKAGES.get(library, library), "torchvision"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


@pytest.mark.parametrize(("name", "library"), IMPLEMENTATIONS)
def test_implementations_have_the_size_and_a_loss_near_that_of_guessing(name, library):
    need(library)
    torch.manual_seed(0)
    benchmark, num_classes = TRAINING[name]
    model, loss = benchmark.implementations[library](torch.device("cpu"))
    value = loss()
    assert value.item() == pytest.approx(math.log(num_classes), rel=0.3)
    value.backward()
    trained = [p for p in model.parameters() if p.grad is not None]
    assert sum(p.numel() for p in trained) == sum(p.numel() for p in model.parameters())
    ours, _ = benchmark.implementations["pioneers"](torch.device("cpu"))
    parameters = [sum(p.numel() for p in m.parameters()) for m in (model, ours)]
    assert parameters[0] == pytest.approx(parameters[1], rel=0.05)  # biases differ


@pytest.mark.parametrize("library", ["pioneers", "transformers"])
def test_generation_gives_all_the_tokens_asked_for(library):
    need(library)
    benchmark = generate_benchmark(GPT_TINY, prompt=3, new_tokens=8)
    _, generate = benchmark.implementations[library](torch.device("cpu"))
    assert generate().shape == (1, 11)
    assert benchmark.amount == 8


def test_operations_are_counted_by_hand():
    benchmark, _ = TRAINING["gpt"]
    batch, seq, width, layers, vocab = 3, 11, 12, 2, 37
    block = 2 * batch * seq * 12 * width**2 + 2 * 2 * batch * seq**2 * width
    assert benchmark.flops() == 3 * (layers * block + 2 * batch * seq * width * vocab)
    assert benchmark.amount == batch * seq


def test_bert_counts_logits_of_the_chosen_tokens_only():
    benchmark, _ = TRAINING["bert"]
    batch, seq, width, layers, vocab = 5, 11, 12, 2, 37
    block = 2 * batch * seq * 12 * width**2 + 2 * 2 * batch * seq**2 * width
    rest = benchmark.flops() / 3 - layers * block
    chosen = rest / (2 * width * (vocab + width))
    assert chosen == int(chosen)
    assert 0 < chosen < 0.35 * batch * seq


def test_the_benchmarks_are_those_of_the_book():
    known = benchmarks(gpt2=True)
    assert list(known) == ["gpt", "bert", "vit", "generate", "gpt2"]
    assert "6 layers, width 256, 8 heads, 8 × 256 tokens" in known["gpt"].title
    assert set(known["vit"].implementations) == {
        "pioneers",
        "timm",
        "torchvision",
        "transformers",
        "vit-pytorch",
    }
    assert list(benchmarks()) == ["gpt", "bert", "vit", "generate"]
    with torch.device("meta"):
        parameters = sum(p.numel() for p in GPT(GPTConfig.preset("gpt2")).parameters())
    per_token = known["gpt2"].flops() / known["gpt2"].amount
    assert per_token == pytest.approx(6 * parameters, rel=0.15)  # Kaplan et al. 2020, section 2.1
