"""The benchmarks: each is one piece of work, given to every library that can do it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from pioneers.analysis import count_operations
from pioneers.bench import baselines, pioneers_impl
from pioneers.models import BERT, GPT, BERTConfig, GPTConfig, MaskedLMHead, ViT, ViTConfig
from pioneers.objectives import masked_lm

Train = Callable[[], Tensor]
Work = tuple[nn.Module, Train]

VOCABULARY = 8192  # a byte-level vocabulary of a size that goes with the width
SIZES: dict[str, Any] = {
    "num_layers": 6,
    "d_model": 256,
    "num_heads": 8,
    "max_seq_len": 256,
    "vocab_size": VOCABULARY,
}
PROMPT, NEW_TOKENS = 8, 200


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One piece of work and the libraries that do it.

    Attributes:
        title: the work and its sizes, in words.
        unit: what ``amount`` counts: tokens or images.
        amount: how many of them one step processes.
        implementations: library → function of a device that returns its model and the function to time.
        flops: floating-point operations of one step in its textbook form, the same for every library; a
            backward pass costs two forward passes.
        trains: True if a step is a training step (loss, gradient, AdamW), False if it is the function alone.
    """

    title: str
    unit: str
    amount: int
    implementations: Mapping[str, Callable[[torch.device], Work]]
    flops: Callable[[], int]
    trains: bool = True


def benchmarks(*, gpt2: bool = False) -> dict[str, Benchmark]:
    """Make all benchmarks by name; the 124M GPT-2 only if asked for, because it needs a GPU."""
    gpt, bert = GPTConfig(**SIZES), BERTConfig(**SIZES, dropout=0.0)
    vit = ViTConfig(image_size=64, patch_size=8, num_classes=10, d_model=192, num_layers=6, num_heads=3)
    found = {
        "gpt": gpt_benchmark(gpt, batch_size=8),
        "bert": bert_benchmark(bert, batch_size=8),
        "vit": vit_benchmark(vit, batch_size=16),
        "generate": generate_benchmark(gpt, PROMPT, NEW_TOKENS),
    }
    if gpt2:
        full = GPTConfig.preset("gpt2", dropout=0.0)
        found["gpt2"] = gpt_benchmark(full, batch_size=8, only=("pioneers", "transformers"))
    return found


def gpt_benchmark(config: GPTConfig, *, batch_size: int, only: tuple[str, ...] | None = None) -> Benchmark:
    """A training step of a GPT."""
    ids = _random(config.vocab_size, (batch_size, config.max_seq_len + 1))
    makers = {
        "pioneers": pioneers_impl.gpt,
        "transformers": baselines.gpt_transformers,
        "x-transformers": baselines.gpt_x_transformers,
        "torch.nn": baselines.gpt_torch,
    }
    return Benchmark(
        title=f"GPT, training step: {_sizes(config)}, {batch_size} × {config.max_seq_len} tokens",
        unit="tokens",
        amount=batch_size * config.max_seq_len,
        implementations={name: partial(makers[name], config, ids) for name in only or makers},
        flops=lambda: 3 * count_operations(lambda: GPT(config)(ids[:, :-1].to("meta"))),
    )


def bert_benchmark(config: BERTConfig, *, batch_size: int) -> Benchmark:
    """A training step of masked language modelling; 15% of the tokens are predicted."""
    ids = _random(config.vocab_size, (batch_size, config.max_seq_len))
    generator = torch.Generator().manual_seed(0)
    inputs, targets = masked_lm(ids, mask_id=0, vocab_size=config.vocab_size, generator=generator)
    makers = {"pioneers": pioneers_impl.bert, "transformers": baselines.bert_transformers}

    def forward() -> None:
        bert = BERT(config)
        hidden = bert(inputs.to("meta")).flatten(0, 1)
        MaskedLMHead(bert)(hidden[: int((targets != -100).sum())])

    return Benchmark(
        title=f"BERT, masked LM step: {_sizes(config)}, {batch_size} × {config.max_seq_len} tokens",
        unit="tokens",
        amount=ids.numel(),
        implementations={name: partial(make, config, inputs, targets) for name, make in makers.items()},
        flops=lambda: 3 * count_operations(forward),
    )


def vit_benchmark(config: ViTConfig, *, batch_size: int) -> Benchmark:
    """A training step of image classification."""
    size = (batch_size, config.in_channels, config.image_size, config.image_size)
    images = torch.randn(size, generator=torch.Generator().manual_seed(0))
    labels = _random(config.num_classes, (batch_size,))
    makers = {
        "pioneers": pioneers_impl.vit,
        "timm": baselines.vit_timm,
        "torchvision": baselines.vit_torchvision,
        "transformers": baselines.vit_transformers,
        "vit-pytorch": baselines.vit_pytorch,
    }
    return Benchmark(
        title=f"ViT, training step: {_sizes(config)}, {batch_size} images of {config.image_size} pixels, "
        f"patches of {config.patch_size}",
        unit="images",
        amount=batch_size,
        implementations={name: partial(make, config, images, labels) for name, make in makers.items()},
        flops=lambda: 3 * count_operations(lambda: ViT(config).hidden_states(images.to("meta"))),
    )


def generate_benchmark(config: GPTConfig, prompt: int, new_tokens: int) -> Benchmark:
    """Greedy generation for one prompt."""
    ids = _random(config.vocab_size, (1, prompt))
    whole = torch.zeros(1, prompt + new_tokens - 1, dtype=torch.long, device="meta")
    makers = {"pioneers": pioneers_impl.generation, "transformers": baselines.generation_transformers}
    return Benchmark(
        title=f"GPT, greedy generation: {_sizes(config)}, 1 prompt, {new_tokens} new tokens",
        unit="tokens",
        amount=new_tokens,
        implementations={name: partial(make, config, ids, new_tokens) for name, make in makers.items()},
        flops=lambda: count_operations(lambda: GPT(config)(whole)),
        trains=False,
    )


def _random(high: int, shape: tuple[int, ...]) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(0))


def _sizes(config: GPTConfig | BERTConfig | ViTConfig) -> str:
    return f"{config.num_layers} layers, width {config.d_model}, {config.num_heads} heads"
